"""Entries of several threads in one write: each where it says, none lost, none written for who may not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import paths
from commonplace.base.errors import AccessDenied, NoteUnreadable
from commonplace.base.locks import LockTimeout, locked
from commonplace.base.paths import Workspace
from commonplace.markdown.document import Document
from commonplace.markdown.statements import bullet
from commonplace.notes import appends
from commonplace.notes.appends import append
from commonplace.storage import writes

TITLE = "# Today"
WAIT_S = 20.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "memory").mkdir()
    return Workspace(tmp_path)


@pytest.fixture
def note(workspace: Workspace) -> Path:
    return workspace.memory_dir / "2026-02-13.md"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The note of each write."""
    made: list[Path] = []
    replace = writes.replace

    def counted(
        workspace: Workspace, path: Path, compose: Callable[[Document], Document], **named: float
    ) -> None:
        made.append(path)
        replace(workspace, path, compose, **named)

    monkeypatch.setattr(writes, "replace", counted)
    return made


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


@contextmanager
def crowd(workspace: Workspace, note: Path, calls: Sequence[Callable[[], object]]):
    """Yield what becomes of calls: the first of them waits for the lock of notes, the others behind it."""
    with ThreadPoolExecutor(len(calls)) as threads, locked(paths.lock_file(workspace, "notes")):
        futures: list[Future[object]] = [threads.submit(calls[0])]
        until(lambda: note in appends._queues and not appends._queues[note].waiting)
        for number, call in enumerate(calls[1:], 1):
            futures.append(threads.submit(call))
            until(lambda number=number: len(appends._queues[note].waiting) == number)
        yield futures


def test_those_who_wait_share_a_write(workspace: Workspace, note: Path, written: list[Path]) -> None:
    entries = [f"- entry {number}\n  and more" for number in range(12)]
    calls = [lambda entry=entry: append(workspace, note, entry, title=TITLE)[0] for entry in entries]
    with crowd(workspace, note, calls) as futures:
        pass
    lines = note.read_text().split("\n")
    for entry, future in zip(entries, futures, strict=True):
        first, last = future.result()
        assert "\n".join(lines[first - 1 : last]) == entry
    assert len(lines) == 2 + 2 * len(entries) + 1
    assert written == [note, note]


def test_the_same_entry_of_two_is_written_twice(workspace: Workspace, note: Path) -> None:
    with crowd(workspace, note, [lambda: append(workspace, note, "- tea", title=TITLE)[0]] * 3) as futures:
        pass
    assert note.read_text() == f"{TITLE}\n\n- tea\n- tea\n- tea\n"
    assert sorted(future.result() for future in futures) == [(3, 3), (4, 4), (5, 5)]


def test_two_notes_do_not_wait_for_each_other(workspace: Workspace, note: Path) -> None:
    other = workspace.memory_file
    append(workspace, note, "- one")
    held = appends._Queue()
    appends._queues[note] = held
    with held.turn, ThreadPoolExecutor(1) as threads:
        assert threads.submit(append, workspace, other, "- two").result(WAIT_S)[0] == (1, 1)


def test_nobody_writes_for_who_may_only_read(workspace: Workspace, note: Path) -> None:
    reader = Workspace(workspace.root, reader="an agent")
    calls = [lambda: append(workspace, note, "- mine", title=TITLE)[0]] * 2
    with crowd(workspace, note, calls), pytest.raises(AccessDenied):
        append(reader, note, "- not mine", title=TITLE)
    assert "not mine" not in note.read_text()


def test_all_are_told_of_a_note_that_cannot_be_written(workspace: Workspace, note: Path) -> None:
    with crowd(workspace, note, [lambda: append(workspace, note, "- x", title=TITLE)[0]] * 4) as futures:
        note.mkdir()
    for future in futures:
        with pytest.raises(NoteUnreadable):
            future.result()
    note.rmdir()
    assert append(workspace, note, "- x", title=TITLE)[0] == (3, 3)


def test_a_lock_that_does_not_come_is_told_to_all(workspace: Workspace, note: Path) -> None:
    with ThreadPoolExecutor(3) as threads, locked(paths.lock_file(workspace, "notes")):
        futures = [threads.submit(append, workspace, note, "- x", timeout_s=0.05) for _ in range(3)]
        for future in futures:
            with pytest.raises(LockTimeout):
                future.result(WAIT_S)
    assert not note.exists()


def test_many_threads_lose_nothing(workspace: Workspace, note: Path) -> None:
    start = threading.Barrier(8)

    def work(number: int) -> list[tuple[int, int]]:
        start.wait(WAIT_S)
        return [append(workspace, note, f"- {number} {turn}", title=TITLE)[0] for turn in range(10)]

    with ThreadPoolExecutor(8) as threads:
        places = list(threads.map(work, range(8)))
    lines = note.read_text().split("\n")
    for number, own in enumerate(places):
        assert [lines[first - 1] for first, _ in own] == [f"- {number} {turn}" for turn in range(10)]
    assert len(lines) == 2 + 80 + 1


TEXTS = st.text(st.sampled_from("ab -#*`>\n\t1.|~王"), min_size=1).filter(str.strip)


@given(
    st.sampled_from(["", "# Today\n", "# Today\n\n- was here\n\n## Work\n\n- done\n\nA paragraph.\n"]),
    st.lists(st.tuples(TEXTS, st.sampled_from([None, "Work", "New"])), min_size=1, max_size=6),
)
def test_together_they_are_as_one_after_the_other(before: str, texts: list[tuple[str, str | None]]) -> None:
    entries = [(bullet(text.strip(), "14:05"), heading) for text, heading in texts]
    together, places = appends._insert(Document.of(before), dict(enumerate(entries)), {})
    alone = Document.of(before)
    for _, heading in dict.fromkeys((None, heading) for _, heading in entries):
        for entry in [entry for entry, under in entries if under == heading]:
            alone = alone.insert(entry, heading=heading).document
    # An item that says nothing is no list for who comes later: a blank line more.
    assert list(filter(None, together.bare)) == list(filter(None, alone.bare))
    lines = together.bare
    for number, (entry, _) in enumerate(entries):
        first, last = places[number]
        assert "\n".join(lines[first - 1 : last]) == entry
