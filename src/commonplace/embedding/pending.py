"""Batches under way, written down so that a program that was stopped takes their results later."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from commonplace import atomic, paths, records

KIND = "batches"


@dataclass(frozen=True, slots=True)
class Job:
    """A batch that was started: its name, whose vectors it makes, the keys of its texts, and when (epoch)."""

    name: str
    fingerprint: str
    keys: tuple[str, ...]
    started: float


@dataclass(frozen=True, slots=True)
class State:
    """What must outlive a process: batches under way; failures in a row, the last one's time and cause."""

    jobs: tuple[Job, ...] = ()
    failures: int = 0
    failed: float = 0.0
    trouble: str = ""


class Store(Protocol):
    """Where a state is kept; two processes must not embed by batches with the same one at a time."""

    def read(self) -> State:
        """Return the state, an empty one if there is none or it cannot be understood."""

    def write(self, state: State) -> None:
        """Replace the state as a whole."""


class MemoryStore:
    """A state that lives as long as the process."""

    def __init__(self, state: State | None = None) -> None:
        """Start with a state, or an empty one."""
        self.state = state or State()

    def read(self) -> State:
        """Return the state."""
        return self.state

    def write(self, state: State) -> None:
        """Replace the state."""
        self.state = state


class FileStore:
    """A state in a JSON file, signed. It holds names of batches and digests of texts, no text and no key."""

    def __init__(self, path: Path, lock: Path) -> None:
        """Name the file, and the lock file under which it is replaced."""
        self._path, self._lock = path, lock

    def read(self) -> State:
        """Return the state, an empty one if there is none of ours or it cannot be understood."""
        try:
            found = records.read(paths.root_of(self._path), self._path, KIND)
            jobs = tuple(
                Job(str(j["name"]), str(j["fingerprint"]), tuple(map(str, j["keys"])), float(j["started"]))
                for j in found["jobs"]
            )
            return State(jobs, int(found["failures"]), float(found["failed"]), str(found["trouble"]))
        except (OSError, ValueError, TypeError, KeyError, records.Foreign):
            return State()

    def write(self, state: State) -> None:
        """Replace the file. Raises NoteUnreadable if it cannot be written."""
        with atomic.locked(self._lock):
            records.update(paths.root_of(self._path), self._path, KIND, lambda _: asdict(state))
