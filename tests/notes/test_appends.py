"""Entries of several threads: each where it says, none lost, none written for who may not."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.base.errors import AccessDenied
from commonplace.base.paths import Workspace
from commonplace.notes.appends import append

TITLE = "# Today"
WAIT_S = 20.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "memory").mkdir()
    return Workspace(tmp_path)


@pytest.fixture
def note(workspace: Workspace) -> Path:
    return workspace.memory_dir / "2026-02-13.md"


def test_the_same_entry_of_two_is_written_twice(workspace: Workspace, note: Path) -> None:
    assert [append(workspace, note, "- tea", title=TITLE)[0] for _ in range(2)] == [(3, 3), (4, 4)]
    assert note.read_text() == f"{TITLE}\n\n- tea\n- tea\n"


def test_nobody_writes_for_who_may_only_read(workspace: Workspace, note: Path) -> None:
    append(workspace, note, "- mine", title=TITLE)
    with pytest.raises(AccessDenied):
        append(Workspace(workspace.root, reader="an agent"), note, "- not mine", title=TITLE)
    assert "not mine" not in note.read_text()


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


def test_the_sides_of_an_entry_are_the_lines_around_it(workspace: Workspace, note: Path) -> None:
    lines, sides = append(workspace, note, "- tea", title=TITLE)
    assert (lines, sides) == ((3, 3), (b"# Today\n", b"# Today\n\n- tea\n"))
    lines, sides = append(workspace, note, "- rain", title=TITLE)
    assert (lines, sides) == ((4, 4), (b"# Today\n\n- tea\n", b"# Today\n\n- tea\n- rain\n"))
