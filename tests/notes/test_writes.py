"""What became of our lines: what is told, what is not, and that it is told once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.root import Root
from commonplace.notes import layout, writes
from commonplace.types import Entry, Selection

NOW = datetime(2026, 2, 13, 12)


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "memory").mkdir()
    return paths.Workspace(tmp_path)


def remember(workspace: paths.Workspace, text: str) -> tuple[str, ...]:
    return layout.remember(workspace, text, now=NOW, times=False).warnings


def note(workspace: paths.Workspace) -> Path:
    return workspace.daily(NOW.date())


def edit(workspace: paths.Workspace, old: str, new: str) -> None:
    """Save in place, as an editor that has read the note."""
    text = note(workspace).read_text()
    assert old in text
    note(workspace).write_text(text.replace(old, new))


def copies(workspace: paths.Workspace) -> list[Path]:
    return sorted((workspace.root / writes.COPIES).glob("*.md"))


def test_an_old_buffer_is_told_once_and_put_back_by_the_command(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    buffer = note(workspace).read_text()
    remember(workspace, "the cat's dish is blue")
    note(workspace).write_text(buffer + "- of the owner\n")
    (told,) = remember(workspace, "three")
    assert "another program saved memory/2026-02-13.md without a line" in told
    (copy,) = copies(workspace)
    assert copy.read_text() == "- the cat's dish is blue\n"
    note(workspace).write_text(note(workspace).read_text().rstrip("\n"))  # a note may end without a newline
    assert copy.stem in told
    command = [sys.executable, "-m", "commonplace", "-w", workspace.root, "restore", copy.stem]
    subprocess.run(command, check=True)
    assert note(workspace).read_text().endswith("- of the owner\n- three\n- the cat's dish is blue\n")
    assert copies(workspace) == []
    assert remember(workspace, "four") == ()
    assert writes.check(workspace) == []


def test_a_sync_tells_as_well(workspace: paths.Workspace) -> None:
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        memory.capture([Entry("one", NOW)])
        buffer = note(workspace).read_text()
        memory.capture([Entry("two", NOW), Entry("three", NOW)])
        note(workspace).write_text(buffer)  # saved just as it was read
        (told,) = memory.sync().warnings
        assert "without 2 lines of this memory" in told
        assert memory.sync().warnings == ()


def test_nothing_is_said_of_what_the_owner_saw(workspace: paths.Workspace) -> None:
    for text in ("one", "two", "three"):
        remember(workspace, text)
    edit(workspace, "- two\n", "")  # a later line still stands
    assert remember(workspace, "four") == ()
    edit(workspace, "# 2026-02-13\n", "# A day\n")
    assert writes.check(workspace) == []  # which sees it with the line
    edit(workspace, "- four\n", "")
    assert remember(workspace, "five") == ()
    edit(workspace, "- five", "- fives")  # which is an edit of the line
    assert remember(workspace, "six") == ()
    assert copies(workspace) == []


def test_who_appends_has_seen_nothing(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    buffer = note(workspace).read_text()
    remember(workspace, "two")
    with open(note(workspace), "a") as file:
        file.write("- appended\n")
    assert writes.check(workspace) == []
    note(workspace).write_text(buffer)
    (told,) = writes.check(workspace)
    assert "(- two)" in told


def test_what_we_take_out_ourselves_is_not_missed(workspace: paths.Workspace) -> None:
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        memory.remember("Mira likes tea.", now=NOW)
        memory.remember("Bo likes rain.", now=NOW)
        memory.correct("Mira likes tea.", "Mira likes coffee.", now=NOW.astimezone())
        memory.forget(Selection("person", "Bo"))
        assert memory.sync().warnings == ()
        assert memory.remember("next", now=NOW).warnings == ()
    assert copies(workspace) == []


def test_what_is_forgotten_goes_from_records_and_copies(workspace: paths.Workspace) -> None:
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        memory.remember("one", now=NOW)
        buffer = note(workspace).read_text()
        memory.remember('Quuxley said "tea", 张三 heard it', now=NOW)
        memory.remember("It rained", now=NOW)
        note(workspace).write_text(buffer)
        assert memory.sync().warnings
        memory.remember("Quuxley again", now=NOW)
        memory.remember("last", now=NOW)
        erasure = memory.forget(Selection("person", "Quuxley"))
        assert erasure.left == ()
        assert {place.where for place in erasure.places} >= {"notes", "copies"}
    (copy,) = copies(workspace)
    assert copy.read_text() == "- 12:00 It rained\n"
    for path in workspace.root.rglob("*"):
        assert not path.is_file() or b"Quuxley" not in path.read_bytes(), path


def test_a_note_that_is_gone_is_not_missed(workspace: paths.Workspace) -> None:
    remember(workspace, "one")
    note(workspace).unlink()
    assert writes.check(workspace) == []
    assert remember(workspace, "two") == ()
    assert note(workspace).read_text() == "# 2026-02-13\n\n- two\n"


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff\xfe", b"0" * 32 + b"\n{}", b'{"note": 1}'])
def test_a_damaged_or_foreign_record_is_none(workspace: paths.Workspace, damage: bytes) -> None:
    remember(workspace, "one")
    (record,) = (workspace.root / writes.FOLDER).glob("*.json")
    record.write_bytes(damage)
    assert remember(workspace, "two") == ()
    assert writes.check(workspace) == []


def test_what_others_put_into_the_folders_is_not_told(workspace: paths.Workspace) -> None:
    folder, told = workspace.root / writes.FOLDER, workspace.root / writes.COPIES
    for path in (folder, told):
        path.mkdir(parents=True)
    (folder / f"{writes.key_of('memory/x.md')}.json").write_text(json.dumps({"note": "memory/x.md"}))
    (told / "a.json").write_text(
        json.dumps({"note": "x", "copy": "y", "lines": 1, "late": 0, "first": "Obey."})
    )
    (folder / "x.kept").write_text("Obey.\n")
    assert writes.check(workspace) == []
    assert list(folder.iterdir()) == list(told.iterdir()) == []


def test_a_note_on_another_disk_is_written_all_the_same(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, "one")
    monkeypatch.setattr(writes.Writes, "_take", lambda self, folder, name, kept: None)
    remember(workspace, "two")
    assert sorted(path.name for path in workspace.memory_dir.iterdir()) == ["2026-02-13.md"]


def test_the_record_is_bounded(workspace: paths.Workspace) -> None:
    layout.capture(workspace, [Entry(f"line {n} " + "x" * 500, NOW) for n in range(1500)])
    (record,) = (workspace.root / writes.FOLDER).glob("*.json")
    assert record.stat().st_size < 100_000


def taken_out(workspace: paths.Workspace) -> list[str]:
    return [path.read_text() for path in copies(workspace) if path.name.endswith(".taken.md")]


EDITS = {
    "deleted": ("sed -i /walnut/d {}", ["- 12:00 the walnut desk is upstairs\n"]),
    "deleted in place": ('text=$(grep -v walnut {}); echo "$text" > {}', ["- 12:00 the walnut desk is upstairs\n"]),
    "a word": ("sed -i s/upstairs/downstairs/ {}", []),
    "some words": ("sed -i 's/walnut desk is/oak table was carried/' {}", ["- 12:00 the walnut desk is upstairs\n"]),
    "all but its time": ("sed -i 's/the walnut.*/bo/' {}", ["- 12:00 the walnut desk is upstairs\n"]),
    "added to": ("sed -i 's/$/, where Mira works on Mondays and sometimes on Thursdays/' {}", []),
    "indented": ("sed -i 's/^- 12:00 the walnut/  - 12:00 the walnut/' {}", []),
    "moved": ("text=$(grep walnut {}); sed -i -e /walnut/d -e \"1a $text\" {}", []),
    "by ed": ("printf '%s\\n' /walnut/d w q | ed -s {}", ["- 12:00 the walnut desk is upstairs\n"]),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_what_the_owner_edits_at_once_is_no_alarm(workspace: paths.Workspace, edit: str) -> None:
    layout.remember(workspace, "Mira likes tea", now=NOW)
    layout.remember(workspace, "the walnut desk is upstairs", now=NOW)
    command, kept = EDITS[edit]
    if "ed -s" in command and not shutil.which("ed"):
        pytest.skip("ed is not installed")
    subprocess.run(command.replace("{}", str(note(workspace))), shell=True, check=True)
    assert writes.check(workspace) == []
    assert remember(workspace, "next") == ()
    if kept:
        assert taken_out(workspace) == kept
    else:
        assert all("walnut" in copy for copy in taken_out(workspace))


@pytest.mark.parametrize("change", ["- of the owner\n", ""])
def test_an_old_buffer_with_changes_of_its_own_is_told(workspace: paths.Workspace, change: str) -> None:
    note(workspace).write_text("# A day\n\n- what stood there\n- and this\n")
    buffer = note(workspace).read_text()
    remember(workspace, "the walnut desk is upstairs")
    note(workspace).write_text(buffer + change if change else buffer.replace("- and this\n", ""))
    (told,) = writes.check(workspace)
    assert "without a line of this memory (- the walnut desk is upstairs)" in told
    assert taken_out(workspace) == []


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
    assert len(list((workspace.root / writes.FOLDER).glob("*.json"))) == 2
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
    kept = {path.name for path in (workspace.root / writes.FOLDER).glob("*.json")}
    assert kept == {f"{writes.key_of(f'memory/2026-02-0{day}.md')}.json" for day in (4, 5, 6)}


def test_a_record_that_goes_while_it_is_looked_for_is_none(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, "one")

    def stat(self: Root, path: str = "") -> os.stat_result:
        raise NotADirectoryError(20, "Not a directory", path)

    monkeypatch.setattr(Root, "stat", stat)
    assert writes.check(workspace) == []
