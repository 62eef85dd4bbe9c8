"""The last versions of notes and the writers of their entries: which are kept, and what damages them.

What is said and restored is in `tests/life/test_overwritten.py`.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.notes import layout
from commonplace.storage import overwritten, state, writes
from commonplace.types import Provenance

NOW = datetime(2026, 2, 13, 12)


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "memory").mkdir()
    return paths.Workspace(tmp_path)


def remember(workspace: paths.Workspace, text: str) -> tuple[str, ...]:
    return layout.remember(workspace, text, now=NOW, times=False).warnings


def note(workspace: paths.Workspace) -> Path:
    return workspace.daily(NOW.date())


def execute(workspace: paths.Workspace, sql: str, *values: object) -> None:
    with state.writing(workspace) as connection:
        connection.execute(sql, values)


def test_a_damaged_version_is_none(workspace: paths.Workspace) -> None:
    for damage in (b"", b"x" * 100, b"\xff\xfe"):
        remember(workspace, "one")
        execute(workspace, "UPDATE note SET bytes = ?", damage)
        note(workspace).write_text("- of the owner\n")
        assert overwritten.check(workspace) == []
        assert remember(workspace, "three") == ()


def test_copies_are_bounded(workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "_MOST_COPIES", 3)
    for number in range(5):
        remember(workspace, f"line {number}")
        note(workspace).write_text("# A day\n")
        assert len(overwritten.check(workspace)) == 1
    lines = [copy.lines()[-1] for copy in overwritten.copies(workspace)]
    assert lines == ["- line 2", "- line 3", "- line 4"]


def test_a_copy_of_which_nothing_is_left_is_deleted(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    note(workspace).write_text("# A day\n")
    overwritten.check(workspace)
    (copy,) = overwritten.copies(workspace)
    overwritten.save(workspace, copy._replace(content=b"# A day\n"))
    assert overwritten.copies(workspace) == []


def test_a_killed_write_leaves_the_version_of_before(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    before, status = note(workspace).read_bytes(), note(workspace).stat()
    after = before + b"- never written\n"
    record = writes.guard(workspace, note(workspace))
    record.prepare(before, status, after, status)
    assert (record.is_last_version(before), record.is_last_version(after)) == (True, False)
    record.replaced()
    assert (record.is_last_version(before), record.is_last_version(after)) == (False, True)
    assert overwritten.check(workspace) == []
    assert remember(workspace, "two") == ()
    note(workspace).write_bytes(before)
    (said,) = overwritten.check(workspace)
    assert "without a line of this memory (- two)" in said


def test_a_clock_that_jumps_ahead_drops_nothing(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, "one")
    buffer = note(workspace).read_text()
    remember(workspace, "the walnut desk is upstairs")
    layout.remember(workspace, "long", now=NOW, long_term=True)
    now, now_ns = time.time(), time.time_ns()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + 2 * 86_400 * 10**9)
    assert overwritten.check(workspace) == []
    remember(workspace, "three")
    note(workspace).write_text(buffer + "- of the owner\n")
    (told,) = overwritten.check(workspace)
    assert "without 2 lines" in told


def test_the_versions_of_the_notes_written_last_are_kept(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "_MOST_NOTES", 3)
    for day in range(1, 7):
        layout.remember(workspace, "one", now=NOW.replace(day=day))
    overwritten.check(workspace)
    kept = [path for (path,) in state.rows(workspace, "SELECT path FROM note ORDER BY path")]
    assert kept == [b"memory/2026-02-0%d.md" % day for day in (4, 5, 6)]


def test_who_wrote_an_entry_is_known_whatever_its_comments_say(workspace: paths.Workspace) -> None:
    agent = Provenance("agent", "scout")
    layout.remember(workspace, "The lamp is lit.", now=NOW, times=False, provenance=agent)
    remember(workspace, "The door is shut.")
    assert "by: agent" in note(workspace).read_text()
    stripped = b"# A day\n\n* The lamp is lit.\n- The door is shut.\n- Of the owner.\n"
    marked = stripped.replace(b"lit.", b"lit. <!-- by: agent; agent: scout -->")
    assert writes.attributed(workspace, stripped) == marked
    assert writes.attributed(workspace, stripped.replace(b"lit.", b"lit. <!-- by: owner -->")) == marked
    assert writes.attributed(workspace, marked) == marked
