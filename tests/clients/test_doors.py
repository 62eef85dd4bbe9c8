"""The doors that are installed: whether each command starts and answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from commonplace.clients import doors, edits, entries, installing
from commonplace.clients.table import Scope
from commonplace.types import Finding

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(autouse=True)
def found_by_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def program(path: Path, script: str = f'exec "{sys.executable}" -P -m commonplace "$@"') -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def install(client: str, command: str, notes: Path, project: Path, scope: Scope = "user") -> None:
    door = entries.door([command], notes, client, "memory")
    site = installing.site(os.environ, project)
    installing.carry_out(edits.of(installing.find(client), scope, site, door), os.environ)


def examined(project: Path) -> list[Finding]:
    return list(doors.answering(os.environ, project))


def test_a_server_that_answers_is_fine(tmp_path: Path, notes: Path) -> None:
    install("cursor", program(tmp_path / "bin" / "commonplace"), notes, tmp_path)
    install("nanobot", program(tmp_path / "bin" / "commonplace"), notes, tmp_path)
    assert [(one.check, one.state) for one in examined(tmp_path)] == [
        ("clients.cursor", "ok"),
        ("clients.nanobot", "ok"),
    ]


def test_nothing_installed_is_nothing_to_examine(tmp_path: Path) -> None:
    assert [one.state for one in examined(tmp_path)] == ["skipped"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'no such option' >&2; exit 2", "does not answer: no such option"),
        ("cat", "does not answer: code 0"),
        ("exit 7", "code 7"),
    ],
)
def test_a_program_that_is_none_of_ours_is_told(tmp_path: Path, notes: Path, script: str, told: str) -> None:
    install("gemini", program(tmp_path / "bin" / "commonplace", script), notes, tmp_path)
    [finding] = [one for one in examined(tmp_path) if one.state != "ok"]
    assert (finding.check, finding.state) == ("clients.gemini", "wrong")
    assert told in finding.told
    assert "install gemini --user" in finding.remedy


def test_no_server_is_left_behind(tmp_path: Path, notes: Path) -> None:
    note = tmp_path / "start"
    install(
        "cursor",
        program(tmp_path / "bin" / "commonplace", f'printenv COMMONPLACE_SERVER_START > "{note}"'),
        notes,
        tmp_path,
    )
    examined(tmp_path)
    assert note.read_text() == "never\n"


def test_what_is_gone_is_told(tmp_path: Path, notes: Path) -> None:
    command = program(tmp_path / "bin" / "commonplace")
    install("cursor", command, notes, tmp_path)
    notes.rmdir()
    [finding] = examined(tmp_path)
    assert "a workspace that is not there" in finding.told
    Path(command).unlink()
    [finding] = examined(tmp_path)
    assert finding.told.endswith("is not there")


def test_no_program_of_a_foreign_project_is_started(tmp_path: Path, notes: Path) -> None:
    project = tmp_path / "project"
    evil = program(project / "commonplace", f'touch "{tmp_path}/started"')
    install("cursor", evil, notes, project, "project")
    [finding] = examined(project)
    assert (finding.state, "not tried" in finding.told) == ("warning", True)
    assert not (tmp_path / "started").exists()


def test_a_broken_file_does_not_end_the_examination(tmp_path: Path, notes: Path, private_home: Path) -> None:
    install("cursor", program(tmp_path / "bin" / "commonplace"), notes, tmp_path)
    (private_home / ".gemini").mkdir()
    (private_home / ".gemini" / "settings.json").write_text("{")
    found = {one.check: one.state for one in examined(tmp_path)}
    assert found == {"clients.gemini": "warning", "clients.cursor": "ok"}


def test_hooks_that_are_missing_are_told(tmp_path: Path, notes: Path, private_home: Path) -> None:
    install("claude-code", program(tmp_path / "bin" / "commonplace", "exit 0"), notes, tmp_path)
    path = private_home / ".claude" / "settings.json"
    said = json.loads(path.read_text())
    del said["hooks"]["Stop"]
    path.write_text(json.dumps(said))
    [finding] = [one for one in examined(tmp_path) if "lacks" in one.told]
    assert finding.told.endswith("lacks 1 hook: Stop")
