"""Draining a spool: files claimed from it, and how far each of them stands in notes, whoever is killed when.

Before a batch is written, a file beside the claim says which it is and how often the note said the same
before. Whoever finds that file later counts again, and so knows whether the batch was written: a note is
replaced as a whole, with the batch or without it.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace import paths
from commonplace.atomic import LockTimeout, locked
from commonplace.errors import CommonplaceError, ConfigError, NoteNotFound
from commonplace.lifecycle.spool import decode
from commonplace.types import Entry

if TYPE_CHECKING:
    from commonplace.lifecycle.spool import Spool

MOST_CLAIMS = 16  # that no note takes; beyond them what waits stays where it is
Write = Callable[[Sequence[Entry]], object]


@dataclass(frozen=True, slots=True)
class Drained:
    """What a drain did: entries written, lines set aside, entries refused before, and why no more was done.

    `busy` says that another process drains.
    """

    written: int = 0
    damaged: int = 0
    refused: int = 0
    trouble: str = ""
    busy: bool = False


class Line(NamedTuple):
    """A line of a claim, where it ends in the file, and its entry, None for a damaged one."""

    raw: bytes
    start: int
    end: int
    entry: Entry | None


class Stopped(Exception):
    """A batch that the note of its day did not take, and why; empty where earlier ones wait for that note."""

    def __init__(self, day: str, reason: str = "") -> None:
        super().__init__(reason)
        self.day = day


def drain(spool: Spool, write: Write, wait_s: float, batch: int) -> Drained:
    """Write what a spool holds; see `Spool.drain`."""
    if spool.empty and not spool.refusals.exists():
        return Drained()
    try:
        with locked(paths.lock_file(spool.workspace, "drain"), wait_s):
            return _Drain(spool, write, batch).run()
    except LockTimeout:
        return Drained(busy=True)
    except CommonplaceError as error:
        return Drained(trouble=str(error))
    except OSError as error:
        return Drained(trouble=f"{paths.shown(spool.workspace.spool)}: {paths.reason(error)}")


class _Drain:
    """One drain, under its lock."""

    def __init__(self, spool: Spool, write: Write, batch: int) -> None:
        self._spool, self._write, self._batch = spool, write, batch
        self._written = self._damaged = 0

    def run(self) -> Drained:
        self._remove_orphans()
        trouble, blocked = "", set[str]()
        for path in self._claims():
            try:
                self._settle(Claim(path), blocked)
            except Stopped as stopped:
                trouble = trouble or str(stopped)
                blocked.add(stopped.day)
        return Drained(self._written, self._damaged, self._refused(), trouble)

    def _claims(self) -> list[Path]:
        """The claims there are, with a new one of all that waits."""
        found = claimed(self._spool)
        if len(found) < MOST_CLAIMS and self._spool.path.exists():
            new = self._spool.workspace.spool / f"claimed-{time.time_ns():020d}-{os.getpid()}.jsonl"
            with locked(paths.lock_file(self._spool.workspace, "spool")):
                os.rename(self._spool.path, new)
            found.append(new)
        return found

    def _settle(self, claim: Claim, blocked: set[str]) -> None:
        """Write what of a claim is not in notes yet, then remove it. Raises Stopped."""
        batches = [] if claim.is_over(self._spool.workspace) else [*claim.batches(self._batch)]
        while batches:
            run = batches.pop(0)
            if run[0].entry is None:
                self._set_aside(run)
                continue
            try:
                self._put(claim, run, blocked)
            except ConfigError:  # nothing that time mends: which of them is it?
                if len(run) > 1:
                    batches[:0] = [[line] for line in run]
                else:
                    self._set_aside(run)
        claim.remove()

    def _put(self, claim: Claim, run: Sequence[Line], blocked: set[str]) -> None:
        """Write entries of one day into its note. Raises Stopped, and ConfigError for what no note takes."""
        entries = _entries(run)
        day = _day(entries[0])
        if day in blocked:
            raise Stopped(day)
        try:
            claim.intend(run[0].start, run[-1].end, counts(self._spool.workspace, entries))
            self._write(entries)
        except ConfigError:
            raise
        except CommonplaceError as error:
            raise Stopped(day, str(error)) from error
        self._written += len(entries)

    def _set_aside(self, lines: Sequence[Line]) -> None:
        with open(self._spool.aside, "ab") as file:
            file.write(b"".join(line.raw.rstrip(b"\n") + b"\n" for line in lines))
        self._damaged += len(lines)

    def _refused(self) -> int:
        """Return how many entries were refused since somebody was told, and begin to count anew."""
        try:
            count = os.path.getsize(self._spool.refusals)
            os.unlink(self._spool.refusals)
        except OSError:
            return 0
        return count

    def _remove_orphans(self) -> None:
        for state in self._spool.workspace.spool.glob("claimed-*.json*"):
            if state.suffix != ".jsonl" and not state.with_suffix(".jsonl").exists():
                with suppress(OSError):
                    state.unlink()


class Claim:
    """A file of entries that is being written down, and the file beside it that says how far that is."""

    def __init__(self, path: Path) -> None:
        """Name a claim; what is said of it is read now."""
        self.path, self.state = path, path.with_suffix(".json")
        self.done, self.end, self.before = _state(self.state)

    def intend(self, done: int, end: int, before: Sequence[int]) -> None:
        """Note what is being written: lines from `done` to `end`, which the note said `before` times."""
        self.done, self.end, self.before = done, end, list(before)
        temporary = self.state.with_suffix(".json.tmp")
        with open(temporary, "wb") as file:
            file.write(json.dumps({"done": done, "end": end, "before": self.before}).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.state)

    def is_over(self, workspace: paths.Workspace) -> bool:
        """Go on behind the batch that was being written, if it stands in its note; tell whether that was all.

        Raises Stopped where the note cannot be read.
        """
        entries = _entries([line for line in self.lines() if line.end <= self.end])
        if entries and len(entries) == len(self.before) and self._is_written(workspace, entries):
            self.done = self.end
        return self.done >= os.path.getsize(self.path)

    def _is_written(self, workspace: paths.Workspace, entries: Sequence[Entry]) -> bool:
        said = [_squeezed(entry.text) for entry in entries]
        added = [sum(text.count(sign(entry)) for text in said) for entry in entries]
        try:
            found = counts(workspace, entries)
        except CommonplaceError as error:
            raise Stopped(_day(entries[0]), str(error)) from error
        there = sum(now >= before + more for now, before, more in zip(found, self.before, added, strict=True))
        # All of a batch is there or nothing is. The majority decides, for somebody may have edited one of its
        # entries since, and another process may have written the same words.
        return 2 * there > len(entries)

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not known to be in notes."""
        with open(self.path, "rb") as file:
            at = file.seek(self.done)
            for raw in file:
                start, at = at, at + len(raw)
                if raw.strip():
                    yield Line(raw, start, at, _entry(raw))

    def batches(self, most: int) -> Iterator[list[Line]]:
        """Yield runs of entries of one day, and runs of lines that hold none."""
        run: list[Line] = []
        for line in self.lines():
            if run and (len(run) >= most or _line_day(run[0]) != _line_day(line)):
                yield run
                run = []
            run.append(line)
        if run:
            yield run

    def remove(self) -> None:
        """Remove what is written down; in this order, since a state without its claim means nothing."""
        self.path.unlink()
        with suppress(FileNotFoundError):
            self.state.unlink()


def claimed(spool: Spool) -> list[Path]:
    """Return the claims of a spool, oldest first."""
    return sorted(spool.workspace.spool.glob("claimed-*.jsonl"))


def left(path: Path) -> int:
    """Count the entries of a claim that are not known to be in notes."""
    try:
        return sum(1 for _ in Claim(path).lines())
    except FileNotFoundError:
        return 0  # written down meanwhile


def lines(path: Path) -> int:
    """Count the lines of a file; there are none in one that is missing."""
    try:
        with open(path, "rb") as file:
            return sum(1 for line in file if line.strip())
    except OSError:
        return 0


def counts(workspace: paths.Workspace, entries: Sequence[Entry]) -> list[int]:
    """Count how often the note of their day says what each of these entries says."""
    note = _squeezed(_note(workspace, entries[0]))
    return [note.count(sign(entry)) for entry in entries]


def sign(entry: Entry) -> str:
    """Return what an entry is known by in a note: its longest line, without blanks.

    Blanks are changed by whoever indents it, and comments are put between lines.
    """
    return max(map(_squeezed, re.split(r"\n|<!--|-->", entry.text)), key=len)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _note(workspace: paths.Workspace, entry: Entry) -> str:
    from commonplace.notes.parse import decode as text_of

    try:
        return text_of(paths.read_contained(workspace.daily(entry.at.date()), [workspace.root]))
    except NoteNotFound:
        return ""


def _entries(lines: Sequence[Line]) -> list[Entry]:
    return [line.entry for line in lines if line.entry is not None]


def _day(entry: Entry) -> str:
    return entry.at.date().isoformat()


def _line_day(line: Line) -> str:
    return _day(line.entry) if line.entry else ""


def _entry(raw: bytes) -> Entry | None:
    try:
        entry = decode(raw)
    except ValueError:
        return None
    return entry if entry.text.strip() else None


def _state(path: Path) -> tuple[int, int, list[int]]:
    try:
        said = json.loads(path.read_bytes())
        return int(said["done"]), int(said["end"]), [int(count) for count in said["before"]]
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0, []
