"""`restore`: what editors overwrote, listed, put back and deleted."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.notes import layout
from commonplace.storage import overwritten
from tests.cli.conftest import Run

NOW = datetime(2026, 2, 14, 12)
NOTE = "memory/2026-02-14.md"


@pytest.fixture
def lost(workspace: Path) -> list[str]:
    """Copies of two versions that old buffers overwrote."""
    found, note = paths.Workspace(workspace), workspace / NOTE
    buffer = note.read_text()
    layout.remember(found, "the walnut desk is upstairs", now=NOW)
    note.write_text(buffer + "- of the owner")
    assert len(overwritten.check(found)) == 1
    layout.remember(found, "it \x1b[31mrained\nall day", now=NOW)
    note.write_text(buffer + "- of the owner")
    assert len(overwritten.check(found)) == 1
    return [copy.name for copy in overwritten.copies(found)]


def test_nothing_was_overwritten(run: Run) -> None:
    for words in (("restore",), ("restore", "--discard")):
        result = run(*words)
        assert (result.exit_code, result.stdout, result.stderr) == (3, "", "no lines were overwritten\n")


def test_the_command_that_is_named_can_be_pasted(run: Run, workspace: Path) -> None:
    run("remember", "one")
    note = workspace / "memory" / f"{datetime.now():%Y-%m-%d}.md"
    buffer = note.read_text()
    run("remember", "the cat's dish is blue")
    note.write_text(buffer + "- of the owner\n")
    message = run("remember", "three").stderr
    assert "another program saved" in message
    program, *words = shlex.split(message.split("`")[1])
    assert program.endswith("commonplace")
    assert run(*words).exit_code == 0
    assert note.read_text().splitlines()[-1].endswith("the cat's dish is blue")


def test_copies_are_listed_and_put_back(run: Run, workspace: Path, lost: list[str]) -> None:
    one, other = lost
    listed = run("restore").stdout
    assert f"{one}: {NOTE}, 1 line overwritten\n  - 12:00 the walnut desk is upstairs\n" in listed
    assert f"{other}: {NOTE}, 2 lines overwritten\n" in listed
    assert "\x1b" not in listed
    result = run("restore", one)
    assert (result.exit_code, result.stdout) == (0, f"{NOTE}: 1 line put back\n")
    text = (workspace / NOTE).read_text()
    assert text.endswith("- of the owner\n- 12:00 the walnut desk is upstairs\n")
    assert "rained" not in text
    assert "there is no copy" in run("restore", one).stderr
    assert run("restore", other).stdout == f"{NOTE}: 2 lines put back\n"
    assert "rained" in (workspace / NOTE).read_text()
    assert run("restore").exit_code == 3


def test_what_stands_again_is_not_written_twice(run: Run, workspace: Path, lost: list[str]) -> None:
    with open(workspace / NOTE, "a") as file:
        file.write("\n- 12:00 the walnut desk is upstairs\n")
    assert f"{lost[0]}: {NOTE}, 0 lines overwritten\n" in run("restore").stdout
    assert run("restore", lost[0]).stdout == f"{NOTE}: 0 lines put back\n"
    assert (workspace / NOTE).read_text().count("walnut") == 1


def test_copies_are_deleted(run: Run, workspace: Path, lost: list[str]) -> None:
    assert run("restore", "--discard", lost[0]).stdout == f"deleted {lost[0]}\n"
    assert run("restore", "--discard").stdout == f"deleted {lost[1]}\n"
    assert overwritten.copies(Workspace(workspace)) == []


def test_a_note_that_is_gone_is_made_anew(run: Run, workspace: Path, lost: list[str]) -> None:
    (workspace / NOTE).unlink()
    assert run("restore", lost[0]).stdout == f"{NOTE}: 1 line put back\n"
    assert len((workspace / NOTE).read_text().splitlines()) == 1
