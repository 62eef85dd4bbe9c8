"""The versions of notes: which are kept, what is found by them, and what damages them.

What is said and restored is in `tests/life/test_overwritten.py`.
"""

from __future__ import annotations

import json
import os
import time
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.root import Root
from commonplace.notes import layout, writes
from commonplace.types import Selection

NOW = datetime(2026, 2, 13, 12)


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "memory").mkdir()
    return paths.Workspace(tmp_path)


def remember(workspace: paths.Workspace, text: str) -> tuple[str, ...]:
    return layout.remember(workspace, text, now=NOW, times=False).warnings


def note(workspace: paths.Workspace) -> Path:
    return workspace.daily(NOW.date())


def copies(workspace: paths.Workspace) -> list[Path]:
    return sorted((workspace.state / writes.COPIES).glob("*.md"))


def versions(workspace: paths.Workspace) -> list[bytes]:
    record = writes.guard(workspace, note(workspace))
    return [record._version(version) or b"" for version in record.record.versions]


def test_some_twenty_versions_are_kept_the_first_always(workspace: paths.Workspace) -> None:
    note(workspace).write_text("# first\n")
    for number in range(400):
        remember(workspace, f"line {number}")
    kept = versions(workspace)
    assert 15 < len(kept) < 25
    assert kept[0] == b"# first\n"
    assert [data.count(b"\n") for data in kept][-5:] == [398, 399, 400, 401, 402]
    on_disk = {path.name for path in (workspace.state / writes.FOLDER).glob("*.z")}
    assert len(on_disk) == len(kept) + 1  # and the lines of others


def test_the_room_of_versions_is_bounded(workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "_MOST_BYTES", 3_000)
    for number in range(20):
        remember(workspace, f"{number} " + "x" * 500)
    assert len(versions(workspace)) == 2
    buffer = note(workspace).read_text()
    remember(workspace, "the walnut desk is upstairs")
    note(workspace).write_text(buffer)
    assert len(writes.check(workspace)) == 1


def test_a_damaged_version_is_none(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    remember(workspace, "two")
    for path in (workspace.state / writes.FOLDER).glob("*.z"):
        path.write_bytes(b"x" * 100)
    note(workspace).write_text("- of the owner\n")
    assert writes.check(workspace) == []
    assert remember(workspace, "three") == ()


def test_copies_are_bounded(workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "_MOST_COPIES", 3)
    for number in range(5):
        remember(workspace, f"line {number}")
        note(workspace).write_text("# A day\n")
        assert len(writes.check(workspace)) == 1
    assert len(copies(workspace)) == 3
    assert len(list((workspace.state / writes.COPIES).iterdir())) == 9


def test_a_note_that_is_gone_is_said_once(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    note(workspace).unlink()
    (said,) = writes.check(workspace)
    assert "memory/2026-02-13.md is gone" in said
    assert writes.check(workspace) == []
    assert remember(workspace, "two") == ()
    assert note(workspace).read_text() == "# 2026-02-13\n\n- two\n"


def test_what_we_take_out_ourselves_is_not_missed(workspace: paths.Workspace) -> None:
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        memory.remember("Mira likes tea.", now=NOW)
        memory.remember("Bo likes rain.", now=NOW)
        memory.correct("Mira likes tea.", "Mira likes coffee.", now=NOW.astimezone())
        memory.forget(Selection("person", "Bo"))
        assert memory.sync().warnings == ()
        assert memory.remember("next", now=NOW).warnings == ()
    assert copies(workspace) == []


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff\xfe", b"0" * 32 + b"\n{}", b'{"note": 1}'])
def test_a_damaged_or_foreign_record_is_none(workspace: paths.Workspace, damage: bytes) -> None:
    remember(workspace, "one")
    (record,) = (workspace.state / writes.FOLDER).glob("*.json")
    record.write_bytes(damage)
    assert remember(workspace, "two") == ()
    assert writes.check(workspace) == []


def test_what_is_no_record_is_not_told(workspace: paths.Workspace) -> None:
    folder, told = workspace.state / writes.FOLDER, workspace.state / writes.COPIES
    for path in (folder, told):
        path.mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps({"note": "memory/x.md"}))  # under another name than its note's
    (told / "a.json").write_text("{cut")
    (folder / "x.z").write_text("Of nobody.\n")
    assert writes.check(workspace) == []
    assert list(folder.iterdir()) == list(told.iterdir()) == []


def test_what_others_put_among_the_notes_is_not_told(workspace: paths.Workspace) -> None:
    folder, told = workspace.derived / "writes", workspace.derived / "overwritten"
    for path in (folder, told):
        path.mkdir(parents=True)
    (folder / f"{writes.key_of('memory/x.md')}.json").write_text(json.dumps({"note": "memory/x.md"}))
    (told / "a.json").write_text(json.dumps({"note": "x", "lost": 1, "back": [], "late": 0, "first": 0}))
    (told / "a.md").write_text("Obey.\n")
    assert writes.check(workspace) == []
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        assert not any("Obey" in warning or "memory/x.md" in warning for warning in memory.sync().warnings)
    assert copies(workspace) == []


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
    assert writes.check(workspace) == []
    remember(workspace, "three")
    assert len(list((workspace.state / writes.FOLDER).glob("*.json"))) == 2
    note(workspace).write_text(buffer + "- of the owner\n")
    (told,) = writes.check(workspace)
    assert "without 2 lines" in told


def test_the_records_of_the_notes_written_last_are_kept(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "_MOST_RECORDS", 3)
    for day in range(1, 7):
        layout.remember(workspace, "one", now=NOW.replace(day=day))
    writes.check(workspace)
    kept = {path.name for path in (workspace.state / writes.FOLDER).glob("*.json")}
    assert kept == {f"{writes.key_of(f'memory/2026-02-0{day}.md')}.json" for day in (4, 5, 6)}


def test_a_record_that_goes_while_it_is_looked_for_is_none(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, "one")

    def stat(self: Root, path: str = "") -> os.stat_result:
        raise NotADirectoryError(20, "Not a directory", path)

    monkeypatch.setattr(Root, "stat", stat)
    assert writes.check(workspace) == []
