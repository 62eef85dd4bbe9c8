"""Locks and whole-file writes, apart from what is written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.notes import layout
from commonplace.storage import files, overwritten


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "locks" / "x.lock"


@given(before=st.none() | st.binary(max_size=200), after=st.binary(max_size=200))
def test_any_bytes_replace_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, before: bytes | None, after: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    target = folder / "deep" / "er.md"
    if before is not None:
        target.parent.mkdir()
        target.write_bytes(before)
    seen: list[bytes] = []
    files.replace(target, lambda data: seen.append(data) or after, lock=folder / "x.lock")
    assert seen == [before or b""]
    assert target.read_bytes() == after
    assert os.listdir(target.parent) == ["er.md"]


def test_what_compose_raises_leaves_everything_as_it_was(tmp_path: Path, lock: Path) -> None:
    target = tmp_path / "a.md"
    target.write_bytes(b"old")

    def fail(data: bytes) -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.replace(target, fail, lock=lock)
    assert target.read_bytes() == b"old"
    with locks.locked(lock, timeout_s=0):
        pass


@pytest.mark.parametrize("stem", ["n" * 252, "记" * 84, "👍" * 63, ".", "a b", "-rf", "$(x)"])
def test_a_name_as_long_or_odd_as_the_system_allows(tmp_path: Path, lock: Path, stem: str) -> None:
    target = tmp_path / "odd" / f"{stem}.md"
    for text in (b"one", b"two"):
        files.replace(target, lambda data, text=text: data + text, lock=lock)
    assert target.read_bytes() == b"onetwo"
    assert os.listdir(target.parent) == [target.name]


@pytest.mark.parametrize("make", ["folder", "fifo", "loop", "below a file", "too long"])
def test_what_cannot_be_replaced_is_told_in_one_line(tmp_path: Path, lock: Path, make: str) -> None:
    target = tmp_path / "target"
    if make == "folder":
        target.mkdir()
    elif make == "fifo":
        os.mkfifo(target)
    elif make == "loop":
        target.symlink_to(target)
    elif make == "below a file":
        (tmp_path / "file").touch()
        target = tmp_path / "file" / "target"
    else:
        target = tmp_path / ("x" * 300)
    with pytest.raises(NoteUnreadable) as caught:
        files.replace(target, lambda data: b"new", lock=lock)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")) == []


def test_a_link_to_nothing_makes_what_it_names(tmp_path: Path, lock: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to("real.md")
    files.replace(link, lambda data: b"new", lock=lock)
    assert link.is_symlink()
    assert (tmp_path / "real.md").read_bytes() == b"new"


def test_a_set_of_permissions_survives(tmp_path: Path, lock: Path) -> None:
    target = tmp_path / "a.md"
    target.touch()
    for mode in (0o600, 0o644, 0o640, 0o444, 0o755):
        target.chmod(mode)
        files.replace(target, lambda data: data + b"x", lock=lock)
        assert stat.S_IMODE(target.stat().st_mode) == mode


def test_litter_of_a_dead_writer_is_swept_by_the_next(tmp_path: Path, lock: Path) -> None:
    target = tmp_path / "a.md"
    code = (
        "import os, sys; from pathlib import Path; from commonplace.storage import files\n"
        "os.replace = lambda *a, **b: os._exit(9)\n"
        "files.replace(Path(sys.argv[1]), lambda data: b'half', lock=Path(sys.argv[2]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target), str(lock)], check=False)
    assert done.returncode == 9
    assert len([path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]) == 1
    files.replace(target, lambda data: data + b"whole", lock=lock)
    assert target.read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def test_a_file_that_is_renamed_over_the_note_at_the_last_moment_is_read(
    tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, late = tmp_path / "a.md", [b"- theirs\n"]
    target.write_bytes(b"- before\n")
    exchange = files._exchange_names

    def beside(place: files._OpenName) -> bool:
        if late:
            (tmp_path / "new").write_bytes(late.pop())
            os.replace(tmp_path / "new", target)
        return exchange(place)

    monkeypatch.setattr(files, "_exchange_names", beside)
    files.replace(target, lambda data: data + b"- ours\n", lock=lock)
    assert target.read_bytes() == b"- theirs\n- ours\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".tmp") == []


@pytest.mark.parametrize("moved", [False, True])
def test_an_editor_that_saves_twice_while_its_file_is_put_back_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    workspace = paths.Workspace(tmp_path)
    workspace.memory_dir.mkdir()
    note = workspace.memory_dir / "2026-02-13.md"
    now, saves, exchange = datetime(2026, 2, 13, 12), ["second", "first"], files._exchange_names
    layout.remember(workspace, "before", now=now)

    def beside(place: files._OpenName) -> bool:
        if saves:
            text = note.read_text() + f"- theirs {saves.pop()}\n"
            if moved and not saves:
                note.rename(tmp_path / "backup")
            (tmp_path / "new").write_text(text)
            if not moved or saves:
                os.replace(tmp_path / "new", note)
        done = exchange(place)
        if moved and not saves and (tmp_path / "new").exists():
            os.replace(tmp_path / "new", note)
        return done

    monkeypatch.setattr(files, "_exchange_names", beside)
    told = [*layout.remember(workspace, "ours", now=now).warnings, *overwritten.check(workspace)]
    assert saves == []
    kept = note.read_text() + "".join(copy.content.decode() for copy in overwritten.copies(workspace))
    for line in ("before", "ours", "theirs first", "theirs second"):
        assert line in kept
    assert told


def test_a_lock_folder_that_leaves_the_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    workspace = paths.Workspace(tmp_path / "work")
    workspace.state.mkdir(parents=True)
    workspace.locks.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommonplaceError), locks.locked(paths.lock_file(workspace, "n")):
        raise AssertionError("made outside")
    assert os.listdir(tmp_path / "elsewhere") == []
