"""Notes: unreadable, and with secrets in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.diagnosis import workspace as checks
from commonplace.notes.scan import FileState
from tests.diagnosis.conftest import Present, by_check, states

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def test_notes_that_are_fine(case: Present) -> None:
    found = by_check(checks.text(case()))
    assert states(found.values()) == {"notes.readable": "ok"}
    assert found["notes.readable"].told.startswith("2 notes read: ")
    assert states(checks.names(case())) == {}


def test_secrets_are_told_by_their_place_alone(case: Present, workspace: Path) -> None:
    with open(workspace / "MEMORY.md", "a") as file:
        file.write(
            f"\n<private>\n- mine: {SECRET}\n</private>\n\n- token {SECRET}\n- more\n- password = hunter2-Kestrel9\n"
        )
    found = by_check(checks.text(case()))["notes.secrets"]
    assert (found.state, found.told) == (
        "warning",
        "2 lines with what looks like a secret: MEMORY.md:11, MEMORY.md:13",
    )
    assert SECRET not in found.told + found.remedy
    assert "hunter2" not in found.told + found.remedy


def test_a_key_of_several_lines_is_told(case: Present, workspace: Path) -> None:
    body = "MIIEpAIBAAKCAQEA0123456789abcdefghij\n" * 3
    (workspace / "memory" / "key.md").write_text(
        f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    )
    assert checks.secret_lines((workspace / "memory" / "key.md").read_text())[0] == 2
    assert states(checks.text(case())) == {"notes.secrets": "warning"}


def test_what_was_redacted_is_no_secret() -> None:
    assert checks.secret_lines("- password = [REDACTED:password]\n- token [REDACTED:github-token]\n") == []


def test_a_note_that_cannot_be_read(tmp_path: Path) -> None:
    gone = FileState("memory", "gone.md", str(tmp_path / "gone.md"), 1, 1)
    assert checks.read([gone], 1.0) == (["gone.md"], [], 1)


def test_unreadable_notes_are_wrong(case: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = FileState("memory", "gone.md", str(workspace / "gone.md"), 1, 1)
    monkeypatch.setattr(checks.scan, "scan", lambda sources: [gone])
    found = by_check(checks.text(case()))["notes.readable"]
    assert (found.state, found.told) == ("wrong", "1 note cannot be read: gone.md")


def test_the_time_is_bounded(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "READ_S", -1.0)
    found = by_check(checks.text(case()))["notes.readable"]
    assert (found.state, found.told) == ("skipped", "0 of 2 notes were read in the -1 s that this may take")


def test_newest_notes_are_read_first(tmp_path: Path) -> None:
    states = []
    for number in range(3):
        path = tmp_path / f"{number}.md"
        path.write_text(SECRET)
        states.append(FileState("memory", path.name, str(path), number, 1))
    assert checks.read(states, 10)[1] == ["2.md:1", "1.md:1", "0.md:1"]
