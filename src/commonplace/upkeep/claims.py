"""Draining a spool: files claimed from it, and how far each of them stands in notes, whoever is killed when.

Of a claim one batch at most is written twice, by whoever takes up what a killed process left; notes are
written in a way that makes a repetition nothing (`Memory.capture`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace.base import paths, records, remedies
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.locks import LockTimeout, locked
from commonplace.base.root import Root
from commonplace.types import Entry
from commonplace.upkeep.spool import KIND, MAX_BYTES, append, decode

if TYPE_CHECKING:
    from commonplace.upkeep.spool import Spool

MOST_CLAIMS = 16  # that no note takes; beyond them what waits stays where it is
MARK_KIND = "claim"
_LARGEST_MARK = 1000  # bytes
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
    """A line of a claim, where it ends in the file, and its entry: None for a damaged or foreign one."""

    raw: bytes
    end: int
    entry: Entry | None
    foreign: bool = False

    @property
    def day(self) -> str:
        """The day whose note takes it; none for a line that no note takes, and why."""
        return self.entry.at.date().isoformat() if self.entry else "foreign" if self.foreign else ""


class Stopped(Exception):
    """A batch that the note of its day did not take, and why; empty where earlier ones wait for that note."""

    def __init__(self, day: str, reason: str = "") -> None:
        super().__init__(reason)
        self.day = day


def drain(spool: Spool, write: Write, wait_s: float, batch: int) -> Drained:
    """Write what a spool holds; see `Spool.drain`."""
    if spool.empty and not spool.workspace.files.is_file(spool.refusals):
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
        return work.report(f"{paths.shown(spool.workspace.spool)}: {records.trouble(error)}")


class _Drain:
    """One drain, under its lock."""

    def __init__(self, spool: Spool, write: Write, batch: int) -> None:
        self._spool, self._write, self._batch = spool, write, batch
        self._files = spool.workspace.files
        self._written = self._damaged = self._refused = 0

    def report(self, trouble: str = "", *, busy: bool = False) -> Drained:
        """Say what was done up to now."""
        return Drained(self._written, self._damaged, self._refused, trouble, busy)

    def run(self) -> Drained:
        self._tidy()
        trouble, blocked = "", set[str]()
        for path in self._claims():
            try:
                self._settle(Claim(self._files, path), blocked)
            except Stopped as stopped:
                trouble = trouble or str(stopped)
                blocked.add(stopped.day)
            except OSError as error:
                trouble = trouble or f"{paths.shown(path)}: {records.trouble(error)}"
        return self.report(trouble)

    def _claims(self) -> list[Path]:
        """The claims there are, with a new one of all that waits; what can be none is set aside."""
        found = []
        for path in claimed(self._spool):
            if told := self._no_claim(path):
                records.set_aside(self._files, path, told)
            else:
                found.append(path)
        if len(found) < MOST_CLAIMS and self._files.is_file(self._spool.path):
            new = self._spool.workspace.spool / f"claimed-{time.time_ns():020d}-{os.getpid()}.jsonl"
            with locked(paths.lock_file(self._spool.workspace, "spool")):
                self._files.rename(self._spool.path, new)
            if not (told := self._no_claim(new)):
                return [*found, new]
            records.set_aside(self._files, new, told)
        return found

    def _no_claim(self, path: Path) -> str:
        """Why a file can be no claim of ours: a link, or larger than a spool may be."""
        if not self._files.is_file(path):
            return "is no regular file"
        return "is larger than a spool may be" if oversized(self._spool, path) else ""

    def _settle(self, claim: Claim, blocked: set[str]) -> None:
        """Write what of a claim is not in notes yet, then remove it. Raises Stopped."""
        batches = [*claim.batches(self._batch)]
        while batches:
            run = batches.pop(0)
            if run[0].day in blocked:
                raise Stopped(run[0].day)
            if run[0].foreign:
                self._set_foreign_aside(claim, run)
                continue
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
        append(self._files, self._spool.aside, _joined(run))
        self._damaged += len(run)

    def _set_foreign_aside(self, claim: Claim, run: Sequence[Line]) -> None:
        place = f"{paths.DERIVED_FOLDER}/{records.FOREIGN_FOLDER}/{KIND}/{claim.path.name}"
        self._files.make_folder(os.path.dirname(place))
        append(self._files, Path(self._files.absolute(place)), _joined(run))
        told = f"a part of {paths.DERIVED_FOLDER}/{KIND} {records.UNSIGNED}"
        aside = f"set aside below {paths.DERIVED_FOLDER}/{records.FOREIGN_FOLDER}, {remedies.say('trust')}"
        records.say(f"{told}; {aside}; {records.SHARE}", self._files)
        claim.advance(run[-1].end)

    def _tidy(self) -> None:
        """Take up how many entries were refused, to count anew, and remove marks whose claims are gone."""
        folder, files = self._spool.workspace.spool, self._files
        for name in files.names(folder):
            claim = f"{name.removesuffix('.done')}.jsonl"
            if name.endswith(".tmp") or (name.endswith(".done") and not files.is_file(folder / claim)):
                files.remove(folder / name)
        with suppress(OSError):
            self._refused = files.stat(self._spool.refusals).st_size
            files.unlink(self._spool.refusals)


class Claim:
    """A file of entries that is being written down, and a small one beside it that says how far that is."""

    def __init__(self, files: Root, path: Path) -> None:
        """Name a claim; how far it is is read now, from the beginning where nothing of ours says so."""
        self.path, self.mark = path, path.with_suffix(".done")
        self._files, self.done = files, 0
        with suppress(OSError, ValueError, records.Foreign):
            told = records.read(files, self.mark, MARK_KIND, limit=_LARGEST_MARK)
            if told.get("claim") == path.name and isinstance(told.get("done"), int):
                self.done = told["done"]

    def advance(self, done: int) -> None:
        """Note that all before this byte stands in notes."""
        told = {"claim": self.path.name, "done": done}
        self._files.exchange(self.mark, records.seal(MARK_KIND, told), durable=False, alone=True)

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not known to be in notes."""
        with self._files.open(self.path) as file:
            end = file.seek(max(0, self.done))
            for raw in file:
                end += len(raw)
                if raw.strip():
                    yield _line(raw, end)

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
        self._files.unlink(self.path)
        self._files.unlink(self.mark, missing_ok=True)


def claimed(spool: Spool) -> list[Path]:
    """Return the claims of a spool, oldest first."""
    folder = spool.workspace.spool
    try:
        names = spool.workspace.files.names(folder)
    except OSError:
        return []
    return [folder / name for name in names if name.startswith("claimed-") and name.endswith(".jsonl")]


def oversized(spool: Spool, path: Path) -> bool:
    """Whether a file is larger than a spool may be, so that it is none of ours; a missing one is not."""
    try:
        return spool.workspace.files.stat(path).st_size > max(MAX_BYTES, spool.max_bytes)
    except OSError:
        return False  # missing, or to be told of by who opens it


def left(files: Root, path: Path) -> int:
    """Count the entries of a claim that are not known to be in notes."""
    try:
        return sum(1 for _ in Claim(files, path).lines())
    except OSError:
        return 0  # written down meanwhile


def lines(files: Root, path: Path, most: int = MAX_BYTES) -> int:
    """Count the lines in the first `most` bytes of a file; there are none in one that is missing."""
    try:
        with files.open(path) as file:
            return sum(1 for line in BytesIO(file.read(most)) if line.strip())
    except OSError:
        return 0


def _line(raw: bytes, end: int) -> Line:
    try:
        entry = decode(raw)
    except records.Unsigned:
        return Line(raw, end, None, foreign=True)
    except ValueError:
        return Line(raw, end, None)
    return Line(raw, end, entry if entry.text.strip() else None)


def _joined(run: Sequence[Line]) -> bytes:
    return b"".join(line.raw.rstrip(b"\n") + b"\n" for line in run)
