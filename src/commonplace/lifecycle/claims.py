"""Draining a spool: files claimed from it, and how far each of them stands in notes, whoever is killed when.

Of a claim one batch at most is written twice, by whoever takes up what a killed process left; notes are
written in a way that makes a repetition nothing (`Memory.capture`).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from commonplace import paths
from commonplace.atomic import LockTimeout, locked
from commonplace.errors import CommonplaceError, ConfigError
from commonplace.lifecycle.spool import append, decode
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
    end: int
    entry: Entry | None

    @property
    def day(self) -> str:
        """The day whose note takes it; empty for a damaged one."""
        return self.entry.at.date().isoformat() if self.entry else ""


class Stopped(Exception):
    """A batch that the note of its day did not take, and why; empty where earlier ones wait for that note."""

    def __init__(self, day: str, reason: str = "") -> None:
        super().__init__(reason)
        self.day = day


def drain(spool: Spool, write: Write, wait_s: float, batch: int) -> Drained:
    """Write what a spool holds; see `Spool.drain`."""
    if spool.empty and not spool.refusals.exists():
        return Drained()
    work = _Drain(spool, write, batch)
    try:
        spool.prepare()
        with locked(paths.lock_file(spool.workspace, "drain"), wait_s):
            return work.run()
    except LockTimeout:
        return work.report(busy=True)
    except CommonplaceError as error:
        return work.report(str(error))
    except OSError as error:
        return work.report(f"{paths.shown(spool.workspace.spool)}: {paths.reason(error)}")


class _Drain:
    """One drain, under its lock."""

    def __init__(self, spool: Spool, write: Write, batch: int) -> None:
        self._spool, self._write, self._batch = spool, write, batch
        self._written = self._damaged = self._refused = 0

    def report(self, trouble: str = "", *, busy: bool = False) -> Drained:
        """Say what was done up to now."""
        return Drained(self._written, self._damaged, self._refused, trouble, busy)

    def run(self) -> Drained:
        self._tidy()
        trouble, blocked = "", set[str]()
        for path in self._claims():
            try:
                self._settle(Claim(path), blocked)
            except Stopped as stopped:
                trouble = trouble or str(stopped)
                blocked.add(stopped.day)
            except OSError as error:
                trouble = trouble or f"{paths.shown(path)}: {paths.reason(error)}"
        return self.report(trouble)

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
        batches = [*claim.batches(self._batch)]
        while batches:
            run = batches.pop(0)
            if run[0].day in blocked:
                raise Stopped(run[0].day)
            try:
                self._put(run)
            except ConfigError:  # nothing that time mends: which of them is it?
                if len(run) > 1:
                    batches[:0] = [[line] for line in run]
                    continue
                self._set_aside(run)
            claim.advance(run[-1].end)
        claim.remove()

    def _put(self, run: Sequence[Line]) -> None:
        """Write entries of one day into its note. Raises Stopped, and ConfigError for what no note takes."""
        entries = [line.entry for line in run if line.entry is not None]
        if not entries:
            self._set_aside(run)
            return
        try:
            self._write(entries)
        except ConfigError:
            raise
        except CommonplaceError as error:
            raise Stopped(run[0].day, str(error)) from error
        self._written += len(entries)

    def _set_aside(self, run: Sequence[Line]) -> None:
        append(self._spool.aside, b"".join(line.raw.rstrip(b"\n") + b"\n" for line in run))
        self._damaged += len(run)

    def _tidy(self) -> None:
        """Take up how many entries were refused, to count anew, and remove marks whose claims are gone."""
        for mark in self._spool.workspace.spool.glob("claimed-*.done"):
            if not mark.with_suffix(".jsonl").exists():
                mark.unlink()
        with suppress(OSError):
            self._refused = os.path.getsize(self._spool.refusals)
            os.unlink(self._spool.refusals)


class Claim:
    """A file of entries that is being written down, and a small one beside it that says how far that is."""

    def __init__(self, path: Path) -> None:
        """Name a claim; how far it is is read now, from the beginning where nothing says so."""
        self.path, self.mark = path, path.with_suffix(".done")
        try:
            with opened(self.mark) as file:
                self.done = int(file.read())
        except (OSError, ValueError):
            self.done = 0

    def advance(self, done: int) -> None:
        """Note that all before this byte stands in notes."""
        temporary = self.mark.with_suffix(".tmp")
        with suppress(FileNotFoundError):
            temporary.unlink()
        append(temporary, b"%d" % done)
        os.replace(temporary, self.mark)

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not known to be in notes."""
        with opened(self.path) as file:
            end = file.seek(self.done)
            for raw in file:
                end += len(raw)
                if raw.strip():
                    yield Line(raw, end, _entry(raw))

    def batches(self, most: int) -> Iterator[list[Line]]:
        """Yield runs of entries of one day, and runs of damaged lines."""
        run: list[Line] = []
        for line in self.lines():
            if run and (len(run) >= most or run[0].day != line.day):
                yield run
                run = []
            run.append(line)
        if run:
            yield run

    def remove(self) -> None:
        """Remove what is written down; a mark that is left says nothing of another claim, as names differ."""
        self.path.unlink()
        with suppress(FileNotFoundError):
            self.mark.unlink()


def claimed(spool: Spool) -> list[Path]:
    """Return the claims of a spool, oldest first."""
    return sorted(spool.workspace.spool.glob("claimed-*.jsonl"))


def left(path: Path) -> int:
    """Count the entries of a claim that are not known to be in notes."""
    try:
        return sum(1 for _ in Claim(path).lines())
    except OSError:
        return 0  # written down meanwhile


def lines(path: Path) -> int:
    """Count the lines of a file; there are none in one that is missing."""
    try:
        with opened(path) as file:
            return sum(1 for line in file if line.strip())
    except OSError:
        return 0


def opened(path: Path) -> BinaryIO:
    """Open a file of the spool to be read; no link, and nothing that has no end. Raises OSError."""
    file = open(os.open(path, paths.OPEN_FLAGS), "rb")  # noqa: SIM115  # its reader closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return file


def _entry(raw: bytes) -> Entry | None:
    try:
        entry = decode(raw)
    except ValueError:
        return None
    return entry if entry.text.strip() else None
