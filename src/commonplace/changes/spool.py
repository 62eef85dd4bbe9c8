"""Entries on their way into notes, on disk: any process appends some in no time, one at a time writes them.

`spool/entries.jsonl` of the state is appended to under a lock, a line an entry. Whoever drains it renames it
first (a claim), so that nobody appends to what is being read, and removes it when all of it stands in notes.
A small file beside a claim says how far it is. Of a claim one batch at most is written twice, by whoever
takes up what a killed process left; notes are written in a way that makes a repetition nothing
(`Memory.capture`).

Nothing here imports the engine: a hook process is gone before that would be loaded.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from commonplace.base import paths, records
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.locks import LOCK_WAIT_S, LockTimeout, locked
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.types import Entry, Provenance
from commonplace.types.changes import Writer

if TYPE_CHECKING:
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

MAX_BYTES = 64_000_000  # of everything in the folder; some 60,000 entries
MOST_CLAIMS = 16  # that no note takes; beyond them what waits stays where it is
_LARGEST_MARK = 1000  # bytes
_MARKS = ("long_term", "tentative")
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT
Write = Callable[[Sequence[Entry]], object]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a spool holds: entries that wait, lines set aside, and how many it refused since it was full.

    A file that is larger than a spool may be is not looked into; `oversized` says how many there are.
    """

    entries: int
    damaged: int
    refused: int
    oversized: int = 0


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


class Spool:
    """The spool of one workspace; safe with many threads and processes, whichever is killed when."""

    def __init__(self, workspace: paths.Workspace, *, max_bytes: int = MAX_BYTES) -> None:
        """Name the workspace; nothing is made before there is something to keep."""
        self.workspace, self.max_bytes = workspace, max_bytes

    @property
    def path(self) -> Path:
        """The file that is appended to."""
        return self.workspace.spool / "entries.jsonl"

    @property
    def aside(self) -> Path:
        """The file of lines that no entry could be read from, and of entries that no note took."""
        return self.workspace.spool / "damaged.jsonl"

    def append(self, entry: Entry) -> bool:
        """Append an entry; false if it was refused because the spool is full. Raises as `extend` does."""
        return self.extend([entry]) == 1

    def extend(self, entries: Sequence[Entry], *, timeout_s: float = LOCK_WAIT_S) -> int:
        """Append entries, as many as there is room for; return how many. The rest are counted as refused.

        Secrets and private parts are taken out; an entry that is nothing else is dropped. It outlives the
        process at once, and a power cut some seconds later. Raises AccessDenied, NoteUnreadable and
        OutsideRoots, and then nothing was appended.
        """
        self.workspace.check_writable()
        lines = [encode(clean(entry)) for entry in entries]
        self.prepare()
        files, taken = self.workspace.kept, 0
        with locked(paths.lock_file(self.workspace, "spool"), timeout_s):
            room = self.max_bytes - sum(size for _, size in self._files())
            for line in lines:
                room -= len(line)
                if room < 0:
                    break
                taken += 1
            with records.translated(self.path):
                if taken:
                    append(files, self.path, b"".join(lines[:taken]))
                if refused := len(lines) - taken:
                    append(files, self.refusals, b"." * refused, whole_lines=False)
        return taken

    def drain(self, write: Write, *, wait_s: float = 0.0, batch: int = 200) -> Drained:
        """Hand what waits over to `write`, entries of one day at a time, and remove it when that comes back.

        `write` is given a batch again where a process was killed before it could say that it was written, so
        it must be one that a repetition adds nothing to, such as `Memory.capture`. Of two that drain, one
        does; the other waits `wait_s` for it. What `write` raises of ours ends the work and is in the
        report, and the rest waits on; but an entry that raises ConfigError is set aside.
        """
        is_idle = self.empty and not self.workspace.kept.is_file(self.refusals)
        if is_idle or self.workspace.reader is not None:  # what waits is for whoever may write it
            return Drained()
        work = _Drain(self, write, batch)
        try:
            self.prepare()
            with locked(paths.lock_file(self.workspace, "drain"), wait_s):
                return work.run()
        except LockTimeout:
            return work.report(busy=True)
        except CommonplaceError as error:
            return work.report(str(error))
        except OSError as error:
            spool = self.workspace.spool
            return work.report(f"{paths.shown(spool)}: {records.trouble(error, spool)}")

    def waiting(self) -> Waiting:
        """Count what is here, without changing it."""
        files, refused = self.workspace.kept, 0
        with suppress(OSError):
            refused = files.stat(self.refusals).st_size
        every = [self.path, *self.claims()]
        sane = [path for path in every if not self.oversized(path)]
        entries = sum(_count(files, path) if path == self.path else _left(files, path) for path in sane)
        return Waiting(entries, _count(files, self.aside), refused, len(every) - len(sane))

    def claims(self) -> list[Path]:
        """Return the claims there are, oldest first."""
        folder = self.workspace.spool
        try:
            names = self.workspace.kept.names(folder)
        except OSError:
            return []
        return [folder / name for name in names if name.startswith("claimed-") and name.endswith(".jsonl")]

    def oversized(self, path: Path) -> bool:
        """Whether a file is larger than a spool may be, so that it is none of ours; a missing one is not."""
        try:
            return self.workspace.kept.stat(path).st_size > max(MAX_BYTES, self.max_bytes)
        except OSError:
            return False  # missing, or to be told of by who opens it

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not any(name.endswith(".jsonl") and name != self.aside.name for name, _ in self._files())

    @property
    def refusals(self) -> Path:
        """The file that counts what was refused, a byte each."""
        return self.workspace.spool / "refused"

    def prepare(self) -> None:
        """Make the folder, which must lie in the workspace. Raises NoteUnreadable, OutsideRoots."""
        folder, files = self.workspace.spool, self.workspace.kept
        if files.is_folder(folder):
            return
        paths.prepare_state(self.workspace)
        with records.translated(folder):
            files.make_folder(folder)

    def _files(self) -> Iterator[tuple[str, int]]:
        with (
            suppress(OSError),
            self.workspace.kept.listed(self.workspace.spool) as folder,
            os.scandir(folder) as entries,
        ):
            for entry in entries:
                with suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False).st_size


def hold(workspace: paths.Workspace) -> AbstractContextManager[None]:
    """Keep entries from being written into notes. Raises NoteUnreadable."""
    is_there = workspace.kept.is_folder(workspace.spool)
    return locked(paths.lock_file(workspace, "drain")) if is_there else nullcontext()


def sweep(site: Site, targets: Targets, *, change: bool, among: Set[str] | None = None) -> list[Erased]:
    """Name the entries that hold any of it, whoever has claimed them.

    To `change` it is blanked in them, with `among` in these alone; called within `hold`.
    """
    from commonplace.types.changes import Erased

    files, folder = site.workspace.kept, site.workspace.spool

    def cleaned(line: bytes) -> bytes:
        if among is not None and line.decode("utf-8", "replace") not in among:
            return line
        return without(line, targets)

    erased: list[Erased] = []
    change = change and bool(records.listed(files, folder, ".jsonl"))
    with locked(paths.lock_file(site.workspace, "spool")) if change else nullcontext():
        for path in records.listed(files, folder, ".jsonl"):
            dirty = records.clean_lines(files, path, cleaned, change=change)
            erased += [Erased("spool", site.shown(path), n, n, line) for n, line in dirty]
    return erased


def without(raw: bytes, targets: Targets) -> bytes:
    """Return a line without what is forgotten, of the same length: claims count its bytes.

    An entry of a forgotten session, about a person, or with nothing else to say becomes blank.
    """
    from commonplace.transcripts import ours

    body = raw.rstrip(b"\r\n")
    blank, end = b" " * len(body), raw[len(body) :]
    try:
        value = records.decode(body)
    except ValueError:
        return blank + end if targets.matches(body.decode("utf-8", "replace")) else raw
    by = value.get("provenance")
    if isinstance(by, dict) and by.get("session") in targets.session_names:
        return blank + end
    text = json.dumps(value, ensure_ascii=False)
    if not targets.matches(text):
        return raw
    if targets.takes_whole(text):
        return blank + end
    rest = targets.cut(str(value.get("text", "")))
    value = {name: targets.clean(one) for name, one in value.items()} | {"text": rest}
    after = min(json.dumps(value).encode(), ours.encoded(value), key=len)
    if not any(map(str.isalnum, rest)) or len(after) > len(body):
        return blank + end
    return after.ljust(len(body)) + end


def clean(entry: Entry) -> Entry:
    """Return an entry as a note may hold it: no private parts, no secrets, no characters that are none."""
    from dataclasses import replace

    from commonplace.redaction.redact import redact, strip_private

    def cleaned(text: str) -> str:
        text = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        return redact(strip_private(text))[0]

    return replace(entry, text=cleaned(entry.text), heading=cleaned(entry.heading))


def encode(entry: Entry) -> bytes:
    """Return an entry as one line of JSON."""
    data: dict[str, Any] = {"at": entry.at.isoformat(), "text": entry.text}
    if entry.heading:
        data["heading"] = entry.heading
    data |= {name: True for name in _MARKS if getattr(entry, name)}
    if entry.provenance is not None:
        by = entry.provenance
        data["provenance"] = {"by": by.by, "agent": by.agent, "session": by.session, "at": by.at}
    return records.encode(data)


def decode(line: bytes) -> Entry:
    """Return the entry of a line. Raises ValueError for a cut or damaged one."""
    return _entry(records.decode(line))


def _entry(data: Mapping[str, Any]) -> Entry:
    if not isinstance(data.get("text"), str):
        raise ValueError("no entry")
    at, heading, by = data.get("at"), data.get("heading", ""), data.get("provenance")
    if not isinstance(at, str) or not isinstance(heading, str):
        raise ValueError("no entry")
    provenance = None
    if isinstance(by, dict):
        fields = {name: str(by.get(name, "")) for name in ("agent", "session", "at")}
        writers = {name: name for name in get_args(Writer)}
        provenance = Provenance(writers.get(by.get("by"), "untrusted"), **fields)  # whoever is not known
    marks = {name: data.get(name) is True for name in _MARKS}
    return Entry(data["text"], datetime.fromisoformat(at), heading, provenance, **marks)


def append(root: Root, path: Path, data: bytes, *, whole_lines: bool = True) -> None:
    """Append bytes to a file, all or none; behind a cut line they begin a new one. Raises OSError."""
    descriptor = root.descriptor(path, _APPEND)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if whole_lines and end:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                data = b"\n" + data
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.ftruncate(descriptor, end)  # a full disk: who appends keeps them, and tries again
            raise
    finally:
        os.close(descriptor)


# --- draining ---------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line of a claim, where it ends in the file, and its entry (None for a damaged one)."""

    raw: bytes
    end: int
    entry: Entry | None

    @property
    def day(self) -> str:
        """The day whose note takes it; none for a line that no note takes, and why."""
        if self.entry is None:
            return ""
        return "MEMORY" if self.entry.long_term else self.entry.at.date().isoformat()


class Stopped(Exception):
    """A batch that the note of its day did not take, and why; empty where earlier ones wait for that note."""

    def __init__(self, day: str, reason: str = "") -> None:
        super().__init__(reason)
        self.day = day


class _Drain:
    """One drain, under its lock."""

    def __init__(self, spool: Spool, write: Write, batch: int) -> None:
        self._spool, self._write, self._batch = spool, write, batch
        self._files = spool.workspace.kept
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
                trouble = trouble or f"{paths.shown(path)}: {records.trouble(error, path)}"
        return self.report(trouble)

    def _claims(self) -> list[Path]:
        """The claims there are, with a new one of all that waits."""
        spool = self._spool
        claims = [path for path in spool.claims() if self._is_claim(path)]
        if len(claims) < MOST_CLAIMS and self._files.is_file(spool.path):
            new = spool.workspace.spool / f"claimed-{time.time_ns():020d}-{os.getpid()}.jsonl"
            with locked(paths.lock_file(spool.workspace, "spool")):
                self._files.rename(spool.path, new)
            claims += [new] if self._is_claim(new) else []
        return claims

    def _is_claim(self, path: Path) -> bool:
        """Tell whether a file can be a claim; a link, and a file that is too large, get another name."""
        if self._files.is_file(path) and not self._spool.oversized(path):
            return True
        self._files.rename(path, path.with_name(f"aside-{path.name}"))
        return False

    def _settle(self, claim: Claim, blocked: set[str]) -> None:
        """Write what of a claim is not in notes yet, a day at a time, then remove it. Raises Stopped."""
        batches = [*claim.batches(self._batch)]
        while batches:
            run = batches.pop(0)
            if run[0].day in blocked:
                raise Stopped(run[0].day)
            entries = [line.entry for line in run if line.entry is not None]
            try:
                if entries:
                    self._write(entries)
                    self._written += len(entries)
                else:
                    self._set_aside(run)
            except ConfigError:  # nothing that time mends: which of them is it?
                if len(run) > 1:
                    batches[:0] = [[line] for line in run]
                    continue
                self._set_aside(run)
            except CommonplaceError as error:
                raise Stopped(run[0].day, str(error)) from error
            claim.advance(run[-1].end)
        claim.remove()

    def _set_aside(self, run: Sequence[Line]) -> None:
        append(self._files, self._spool.aside, _joined(run))
        self._damaged += len(run)

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
        with suppress(OSError, ValueError):
            told = records.read(files, self.mark, limit=_LARGEST_MARK)
            if told.get("claim") == path.name and isinstance(told.get("done"), int):
                self.done = told["done"]

    def advance(self, done: int) -> None:
        """Note that all before this byte stands in notes."""
        told = {"claim": self.path.name, "done": done}
        self._files.exchange(self.mark, records.encode(told), durable=False, alone=True)

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not known to be in notes."""
        with self._files.open(self.path) as file:
            end = file.seek(max(0, self.done))
            for raw in file:
                end += len(raw)
                if raw.strip():
                    entry = None
                    with suppress(ValueError, TypeError, OverflowError):  # damaged
                        entry = decode(raw)
                    yield Line(raw, end, entry if entry and entry.text.strip() else None)

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


def _left(files: Root, path: Path) -> int:
    """Count the entries of a claim that are not known to be in notes."""
    try:
        return sum(1 for _ in Claim(files, path).lines())
    except OSError:
        return 0  # written down meanwhile


def _count(files: Root, path: Path) -> int:
    """Count the lines in the first `MAX_BYTES` of a file; there are none in one that is missing."""
    try:
        with files.open(path) as file:
            return sum(1 for line in BytesIO(file.read(MAX_BYTES)) if line.strip())
    except OSError:
        return 0


def _joined(run: Sequence[Line]) -> bytes:
    return b"".join(line.raw.rstrip(b"\n") + b"\n" for line in run)
