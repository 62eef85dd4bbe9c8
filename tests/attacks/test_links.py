"""A link to a file from outside, swapped in between the moment a folder is listed and its files are read."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.diagnosis import workspace as diagnosis
from commonplace.edit.resolve import Corpus
from commonplace.notes.scan import CollectionFiles, FileState, scan
from commonplace.types import Selection
from commonplace.upkeep import following

SECRET = "kingfisher"  # stands outside alone
ROUNDS = int(os.environ.get("COMMONPLACE_ATTACK_ROUNDS", "40"))


@contextmanager
def swapping(note: Path, outside: Path, *, inner: bytes) -> Iterator[None]:
    """Let a name stand for a note and for a link to a file from outside in turn, as fast as can be."""
    done = threading.Event()
    spare = note.parent.parent / "spare"

    def swap() -> None:
        number = 0
        while not done.is_set():
            number += 1
            if number % 2:
                spare.unlink(missing_ok=True)
                spare.symlink_to(outside)
            else:
                spare.write_bytes(inner + b"%d\n" % number)
            os.replace(spare, note)
            time.sleep(0)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside" / "keys.md"
    path.parent.mkdir()
    path.write_text(f"# Keys\n\nthe {SECRET} opens the vault\n", "utf-8")
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "memory").mkdir(parents=True)
    for number in range(5):
        (root / "memory" / f"n{number}.md").write_text(
            f"# N{number}\n\nthe vault is shut {number}\n", "utf-8"
        )
    return root


def test_searches_beside_a_swapped_link_tell_nothing_from_outside(workspace: Path, outside: Path) -> None:
    note = workspace / "memory" / "n0.md"
    with (
        Memory.open(workspace, overrides={"embedding.provider": "none", "usage.record": False}) as memory,
        swapping(note, outside, inner=b"# N0\n\nthe vault is shut\n"),
    ):
        for round_ in range(ROUNDS):
            if round_ % 10 == 0:
                memory.sync()
            found = memory.search(f"{SECRET} vault", mode="lexical")
            assert SECRET not in repr(found.hits)
            with suppress(CommonplaceError):
                assert SECRET not in repr(memory.get("memory/n0.md"))


def swapped(state: FileState, outside: Path) -> FileState:
    """The state of a note as it was listed, whose name is a link to a file from outside by now."""
    path = Path(state.absolute)
    path.unlink()
    path.symlink_to(outside)
    return state


def listed(workspace: Path, glob: str = "memory/*.md", kind: str = "") -> list[FileState]:
    return scan([CollectionFiles("workspace", str(workspace), (glob,), (), kind)])


def test_a_link_swapped_in_behind_the_scan_is_refused(workspace: Path, outside: Path) -> None:
    state = swapped(listed(workspace)[0], outside)
    with pytest.raises(OSError, match="leads out of its folder"):
        state.open()


def test_a_folder_swapped_in_behind_the_scan_is_refused(workspace: Path, outside: Path) -> None:
    state = listed(workspace)[0]
    (workspace / "memory").rename(workspace / "gone")
    (workspace / "memory").symlink_to(outside.parent)
    (outside.parent / "n0.md").write_text(SECRET)
    with pytest.raises(OSError, match="leads out of its folder"):
        state.read()
    assert listed(workspace) == []


def test_a_link_that_stays_inside_is_read(workspace: Path) -> None:
    (workspace / "n1.txt").write_text("the vault is shut 1")
    (workspace / "memory" / "n9.md").symlink_to("../n1.txt")
    state = next(state for state in listed(workspace) if state.path == "memory/n9.md")
    assert b"shut 1" in state.read()


def test_doctor_reads_nothing_from_outside(workspace: Path, outside: Path) -> None:
    outside.write_text("password: " + "Tr0ub4dor&3-x9Q\n")
    states = [swapped(listed(workspace)[0], outside)]
    unreadable, secrets, _ = diagnosis.read(states, 1.0)
    assert (unreadable, secrets) == (["workspace/memory/n0.md"], [])


def test_corrections_read_nothing_from_outside(workspace: Path, outside: Path) -> None:
    from commonplace import config
    from commonplace.base.paths import Workspace

    corpus = Corpus(Workspace(workspace), config.load(workspace), lambda path: None)
    swapped(listed(workspace)[0], outside)
    assert corpus.glance("memory/n0.md") == b""
    assert corpus.unreadable


def test_followed_transcripts_are_read_inside_alone(workspace: Path, outside: Path) -> None:
    folder = workspace / "sessions"
    folder.mkdir()
    line = b'{"role": "user", "content": "hello there"}\n'
    (folder / "a.jsonl").write_bytes(line)
    outside.write_bytes(line.replace(b"hello", SECRET.encode()))
    with Memory.open(workspace, overrides={"embedding.provider": "none"}) as memory:
        assert [one.id for one in following.sessions(memory)] == ["sessions/a.jsonl"]
        swapped(listed(workspace, "sessions/*.jsonl", "auto")[0], outside)
        with pytest.raises(CommonplaceError):
            following.read(memory, "sessions/a.jsonl")


Make = Callable[[Path], None]


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, _zero], ids=["a fifo", "a link to /dev/zero"])
def test_what_is_no_file_is_no_note(workspace: Path, make: Make) -> None:
    make(workspace / "memory" / "2026-01-01.md")
    make(workspace / "MEMORY.md")
    with Memory.open(workspace, overrides={"embedding.provider": "none"}) as memory:
        assert memory.search("vault").hits
        assert memory.status().notes == 5
        assert memory.sync().failed == ()


def test_a_note_of_gigabytes_is_not_read_whole(workspace: Path) -> None:
    large = workspace / "memory" / "large.md"
    with large.open("wb") as file:
        file.truncate(10 << 30)
    with Memory.open(workspace, overrides={"embedding.provider": "none"}) as memory:
        assert [(one.path, one.reason) for one in memory.sync().failed] == [
            ("memory/large.md", "larger than 67,108,864 bytes, so it is not read; divide it")
        ]


def exchange_names(folder: int, one: bytes, other: bytes) -> None:
    """Let two names of a folder change places (`renameat2`)."""
    ctypes.CDLL(None).renameat2(folder, one, folder, other, 2)


@contextmanager
def exchanging(workspace: Path, other: Path) -> Iterator[None]:
    """Let `.commonplace` and another entry of the workspace change places, as fast as can be."""
    done = threading.Event()
    folder = os.open(workspace, os.O_RDONLY)

    def exchange() -> None:
        while not done.is_set():
            with suppress(OSError):
                exchange_names(folder, b".commonplace", os.fsencode(other.name))
            time.sleep(0.001)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        os.close(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged where the system can")
@pytest.mark.parametrize("kind", ["link", "file"])
def test_errors_beside_an_exchanged_folder_are_ours(workspace: Path, outside: Path, kind: str) -> None:
    """Whoever exchanges our folder gets a line and no traceback; files outside keep bytes and mode."""
    other = workspace / "other"
    other.symlink_to(outside.parent) if kind == "link" else other.write_text("x")
    outside.chmod(0o644)
    outside.parent.chmod(0o755)
    before = outside.read_bytes()
    (workspace / ".commonplace").mkdir()
    with exchanging(workspace, other):
        for round_ in range(ROUNDS // 10):
            with suppress(OSError):  # the state of version 0.1 is here to be taken over, again and again
                (workspace / ".commonplace" / "spool").mkdir()
                (workspace / ".commonplace" / "spool" / "entries.jsonl").write_text("{}\n")
            for act in (
                lambda memory: memory.remember(f"line {round_}"),  # noqa: B023
                lambda memory: memory.correct("the vault is shut 1", "the vault is shut 1"),
                lambda memory: memory.sync(),
                lambda memory: memory.status(),
            ):
                with (
                    suppress(CommonplaceError),
                    Memory.open(workspace, overrides={"embedding.provider": "none"}) as memory,
                ):
                    act(memory)
    assert outside.read_bytes() == before
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    assert stat.S_IMODE(outside.parent.stat().st_mode) == 0o755


def test_a_folder_that_becomes_a_link_is_not_closed_to_others(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at our transcripts and the change of their mode."""
    (workspace / "sessions").symlink_to(outside.parent)
    outside.chmod(0o644)
    outside.parent.chmod(0o755)
    monkeypatch.setattr(paths, "is_open", lambda folder, *_: folder.name == "sessions")
    assert paths.tighten(paths.Workspace(workspace)) == []
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    assert stat.S_IMODE(outside.parent.stat().st_mode) == 0o755


PLANTED = (
    "index.sqlite",
    "index.sqlite-shm",
    "index.sqlite-wal",
    "usage.sqlite",
    "usage.sqlite-shm",
    "usage.missed",
    "locks/notes.lock",
    "locks/sync.lock",
    "redaction",
    "server.log",
)


@pytest.mark.parametrize("name", PLANTED)
def test_a_hard_link_to_a_file_outside_is_not_written_to(tmp_path: Path, outside: Path, name: str) -> None:
    """Among what version 0.1 had, beside an index that SQLite can open."""
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "a.md").write_text("- The walnut desk is upstairs.\n")
    settings = {"embedding.provider": "none"}
    with Memory.open(root, overrides=settings) as memory:
        memory.search("walnut desk")
    outside.write_bytes(b"precious " * 5000)
    outside.chmod(0o644)
    planted = root / ".commonplace" / name
    planted.parent.mkdir(parents=True)
    own = paths.Workspace(root).index
    own.rename(root / ".commonplace" / "index.sqlite")
    planted.unlink(missing_ok=True)
    os.link(outside, planted)
    for _ in range(2):
        with Memory.open(root, overrides=settings) as memory:
            with suppress(CommonplaceError):
                memory.remember("The kettle is red.")
            assert memory.search("walnut desk").hits
            with suppress(CommonplaceError):
                memory.forget([Selection("text", "kettle")])
    assert outside.read_bytes() == b"precious " * 5000
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_a_note_with_two_names_stays_writable(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n")
    os.link(root / "MEMORY.md", tmp_path / "copy.md")
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.remember("The kettle is red.", long_term=True)
    assert "kettle" in (root / "MEMORY.md").read_text()
