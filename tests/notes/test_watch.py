"""Real events, real folders: changes are told once quiet, the interval holds, and nothing ends silently."""

import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.notes import watch as module

PATIENCE_S = 20.0


class Watching:
    """A watch in a thread, with what it told."""

    def __init__(self) -> None:
        self.changes: queue.Queue[frozenset[str]] = queue.Queue()
        self.states: queue.Queue[str] = queue.Queue()
        self.stop = threading.Event()
        self.thread = threading.Thread()

    def start(
        self, *roots: Path, on_change: Callable[[frozenset[str]], None] | None = None, interval_s: float = 300
    ) -> None:
        self.thread = threading.Thread(
            target=module.watch,
            args=(roots, on_change or self.changes.put),
            kwargs={
                "debounce_s": 0.05,
                "interval_s": interval_s,
                "stop": self.stop,
                "on_state": self.states.put,
            },
        )
        self.thread.start()

    def change(self, write: Callable[[], object]) -> frozenset[str]:
        """Write again and again until a change is told: the watch takes a moment to begin."""
        for _ in range(int(PATIENCE_S / 0.5)):
            write()
            with suppress(queue.Empty):
                while not (changed := self.changes.get(timeout=0.5)):
                    pass  # the look when it begins
                return changed
        raise AssertionError("no change was told")


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    monkeypatch.setattr(module, "_TICK_S", 0.1)
    running = Watching()
    yield running
    running.stop.set()
    running.thread.join(PATIENCE_S)
    assert not running.thread.is_alive()


@pytest.mark.parametrize("polling", ["", "true"])
def test_changed_note_is_told(
    tmp_path: Path, watching: Watching, monkeypatch: pytest.MonkeyPatch, polling: str
) -> None:
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", polling)
    note = tmp_path / "a.md"
    note.write_text("0")
    watching.start(tmp_path)
    numbers = iter(range(10**6))
    changed = watching.change(lambda: note.write_text("x" * next(numbers)))
    assert changed == {str(note)}


def test_only_notes_and_folders_count(tmp_path: Path) -> None:
    from watchfiles import Change

    (tmp_path / "Makefile").touch()
    (tmp_path / "sub").mkdir()

    def passes(path: str) -> bool:
        return module._is_note(Change.added, str(tmp_path / path))

    assert passes("a.md")
    assert passes("B.MD")
    assert passes("sub")
    assert not passes("a.txt")
    assert not passes("Makefile")
    assert not passes(".commonplace/index.md")
    assert not passes(".git/a.md")


def test_a_note_that_moves_or_goes_is_told(tmp_path: Path, watching: Watching) -> None:
    note = tmp_path / "a.md"
    note.write_text("0")
    watching.start(tmp_path)
    watching.change(lambda: note.write_text("1"))
    note.rename(tmp_path / "b.md")
    told: set[str] = set()
    while not {str(note), str(tmp_path / "b.md")} <= told:
        told |= watching.changes.get(timeout=PATIENCE_S)
    (tmp_path / "b.md").unlink()
    while str(tmp_path / "b.md") not in watching.changes.get(timeout=PATIENCE_S):
        pass


def test_folder_that_vanishes_is_watched_again(tmp_path: Path, watching: Watching) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    watching.start(root)
    watching.change(lambda: (root / "a.md").write_text("1"))
    shutil.rmtree(root)
    assert watching.states.get(timeout=PATIENCE_S) == f"{root} is missing; waiting for it"
    root.mkdir()
    assert watching.states.get(timeout=PATIENCE_S) == f"{root} is back"
    while str(root / "b.md") not in watching.change(lambda: (root / "b.md").write_text("2")):
        pass


def test_error_of_the_caller_is_said_and_the_watch_goes_on(tmp_path: Path, watching: Watching) -> None:
    def fail(changed: frozenset[str]) -> None:
        raise RuntimeError("database is locked")

    watching.start(tmp_path, on_change=fail, interval_s=0.1)
    for _ in range(2):
        state = watching.states.get(timeout=PATIENCE_S)
        assert state == "a change could not be taken up (database is locked)"


def test_failing_events_fall_back_to_polling_then_to_the_interval(
    tmp_path: Path, watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*paths: object, **options: object) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("watchfiles.watch", fail)
    watching.start(tmp_path, interval_s=0.2)
    first, second = (watching.states.get(timeout=PATIENCE_S) for _ in range(2))
    assert first == "file events stopped (OS file watch limit reached); polling instead"
    assert second == "file events stopped (OS file watch limit reached); looking every 0.2 s instead"
    assert watching.changes.get(timeout=PATIENCE_S) == frozenset()
    assert watching.changes.get(timeout=PATIENCE_S) == frozenset()
    assert watching.states.empty()
