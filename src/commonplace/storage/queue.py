"""Entries on their way into notes: any process appends some, one at a time writes them down.

An entry is deleted once its note has it. After a kill in between a batch is written once more, in a way that
makes a repetition nothing (`Memory.capture`).

Nothing here imports the engine: a hook process is gone before that would be loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from commonplace.base import paths, records
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.locks import LockTimeout, locked
from commonplace.base.root import Root
from commonplace.storage import keyvalue, state
from commonplace.types import Entry, Provenance
from commonplace.types.changes import Writer

if TYPE_CHECKING:
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

MAX_BYTES = 64_000_000  # of all entries; some 60,000
_SET_ASIDE = "set-aside.jsonl"
_REFUSED = "refused"
_MARKS = ("long_term", "tentative")
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT
Write = Callable[[Sequence[Entry]], object]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of entries that wait, of those set aside, and of those refused since there was no room."""

    entries: int
    set_aside: int
    refused: int


@dataclass(frozen=True, slots=True)
class Drained:
    """The number of entries that a drain wrote and set aside, those refused before, and why it did no more.

    `busy` says that another process drains.
    """

    written: int = 0
    set_aside: int = 0
    refused: int = 0
    trouble: str = ""
    busy: bool = False


class Queue:
    """The entries of one workspace that wait; for any thread and process, whichever is killed when."""

    def __init__(self, workspace: paths.Workspace, *, max_bytes: int = MAX_BYTES) -> None:
        """Name the workspace; nothing is made before there is something to keep."""
        self.workspace, self.max_bytes = workspace, max_bytes

    @property
    def set_aside(self) -> Path:
        """The file of entries that no note takes, a line of JSON each, for their owner to read and delete."""
        return self.workspace.state / _SET_ASIDE

    @property
    def empty(self) -> bool:
        """Whether no entry waits. Raises NoteUnreadable."""
        return not state.rows(self.workspace, "SELECT 1 FROM queue LIMIT 1")

    def append(self, entry: Entry) -> bool:
        """Append an entry; false if it was refused because there is no room. Raises as `extend` does."""
        return self.extend([entry]) == 1

    def extend(self, entries: Sequence[Entry]) -> int:
        """Append entries, as many as there is room for; return how many. The rest are counted as refused.

        Secrets and private parts are taken out. An entry outlives the process at once, and a power cut some
        seconds later. Raises AccessDenied and NoteUnreadable, with nothing appended.
        """
        self.workspace.check_writable()
        cleaned = list(map(clean, entries))
        values = [encode(entry) for entry in cleaned if entry.text.strip()]
        with state.writing(self.workspace, durable=False) as connection:
            ((used,),) = connection.execute("SELECT total(size) FROM queue").fetchall()
            room, taken = self.max_bytes - float(str(used)), list[tuple[int, str]]()
            for value in values:
                room -= len(value)
                if room < 0:
                    break
                taken.append((len(value), value))
            connection.executemany("INSERT INTO queue(size, data) VALUES (?, ?)", taken)
        if refused := len(values) - len(taken):
            keyvalue.update(self.workspace, _REFUSED, "", lambda was: {"n": (was or {"n": 0})["n"] + refused})
        return len(entries) - refused

    def drain(self, write: Write, *, wait_s: float = 0.0, batch: int = 200) -> Drained:
        """Hand the entries that wait to `write`, those of one day at a time, and delete them when it returns.

        `write` is given a batch again where a process was killed in between, so a repetition must add nothing
        to notes. Of two processes that drain, one does; the other waits `wait_s` for it. An entry for which
        `write` raises ConfigError is set aside; any other error of ours leaves the entries of that day where
        they are, and is reported.
        """
        if self.workspace.reader is not None:  # what waits is for a process that may write it
            return Drained()
        work = _Drain(self, write, batch)
        try:
            if self.empty and not keyvalue.read(self.workspace, _REFUSED):
                return Drained()
            with locked(paths.lock_file(self.workspace, "drain"), wait_s):
                return work.run()
        except LockTimeout:
            return work.report(busy=True)
        except CommonplaceError as error:
            return work.report(str(error))

    def waiting(self) -> Waiting:
        """Count the entries, without changing any. Raises NoteUnreadable."""
        found = state.rows(self.workspace, "SELECT count(size) FROM queue") or [(0,)]
        lines = 0
        with suppress(OSError):
            lines = self.workspace.kept.read(_SET_ASIDE, limit=MAX_BYTES).count(b"\n")
        return Waiting(found[0][0], lines, (keyvalue.read(self.workspace, _REFUSED) or {"n": 0})["n"])


class _Drain:
    """One drain, under its lock."""

    def __init__(self, queue: Queue, write: Write, batch: int) -> None:
        self._queue, self._write, self._batch = queue, write, batch
        self._written = self._set_aside = self._refused = 0

    def report(self, trouble: str = "", *, busy: bool = False) -> Drained:
        """Report what was done up to now."""
        return Drained(self._written, self._set_aside, self._refused, trouble, busy)

    def run(self) -> Drained:
        workspace = self._queue.workspace
        if refused := keyvalue.read(workspace, _REFUSED):
            self._refused = refused["n"]
            keyvalue.remove(workspace, _REFUSED, [""])
        trouble, blocked, done = "", set[str](), 0
        ((last,),) = state.rows(workspace, "SELECT ifnull(max(id), 0) FROM queue") or [(0,)]
        query = "SELECT id, data FROM queue WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        while found := state.rows(workspace, query, (done, last, self._batch)):
            done = found[-1][0]
            for day, same in groupby(found, lambda row: _day(decoded(row[1]))):
                if day in blocked:  # the note of the day takes its entries in their order
                    continue
                try:
                    self._settle([*same])
                except CommonplaceError as error:
                    trouble = trouble or str(error)
                    blocked.add(day)
        return self.report(trouble)

    def _settle(self, rows: Sequence[tuple[int, str]]) -> None:
        """Write some entries of one day, and delete them; set aside those that no note will ever take."""
        try:
            entries = [entry for _, data in rows if (entry := decoded(data))]
            if len(entries) < len(rows):
                raise ConfigError("entry", "cannot be read")
            self._write(entries)
            self._written += len(rows)
        except ConfigError:  # no time mends that
            if len(rows) > 1:  # which of them is it?
                for row in rows:
                    self._settle([row])
                return
            with records.translated(self._queue.set_aside):
                append(self._queue.workspace.kept, self._queue.set_aside, rows[0][1].encode() + b"\n")
            self._set_aside += 1
        with state.writing(self._queue.workspace) as connection:
            connection.executemany(
                "DELETE FROM queue WHERE id = ? AND data = ?", rows
            )  # ids of a new file repeat


def decoded(data: str | bytes) -> Entry | None:
    """Return the entry of some JSON; None for other JSON, as another version may have left it."""
    with suppress(ValueError, TypeError, OverflowError, RecursionError):
        return decode(data)
    return None


def _day(entry: Entry | None) -> str:
    """The day whose note takes an entry."""
    if entry is None:
        return ""
    return "MEMORY" if entry.long_term else entry.at.date().isoformat()


def hold(workspace: paths.Workspace) -> AbstractContextManager[None]:
    """Keep entries from being written into notes. Raises NoteUnreadable."""
    return locked(paths.lock_file(workspace, "drain")) if state.path(workspace).exists() else nullcontext()


def sweep(site: Site, targets: Targets, *, change: bool, among: Set[str] | None = None) -> list[Erased]:
    """Name the entries that hold any of it.

    To `change` it is taken out of them, with `among` out of these alone; called within `hold`.
    """
    from commonplace.types.changes import Erased

    workspace, erased, done = site.workspace, list[Erased](), list[tuple[str | None, int]]()
    rows = state.rows(workspace, "SELECT id, data FROM queue ORDER BY id")
    for place, (number, data) in enumerate(rows, 1):
        if (among is None or data in among) and (rest := without(data, targets)) != data:
            erased.append(Erased("spool", site.shown(state.path(workspace)), place, place, data))
            done.append((rest, number))
    if done and change:
        with state.writing(workspace) as connection:
            connection.executemany("UPDATE queue SET data = ? WHERE id = ?", [one for one in done if one[0]])
            connection.executemany("DELETE FROM queue WHERE id = ?", [one[1:] for one in done if not one[0]])
        state.erase(workspace)
    return erased


def without(data: str, targets: Targets) -> str | None:
    """Return an entry as JSON without what is forgotten.

    None for an entry of a forgotten session, about a forgotten person, or without any other words.
    """
    value = json.loads(data)
    by = value.get("provenance")
    if isinstance(by, dict) and by.get("session") in targets.session_names:
        return None
    text = json.dumps(value, ensure_ascii=False)
    if not targets.matches(text):
        return data
    rest = targets.cut(str(value.get("text", "")))
    if targets.takes_whole(text) or not any(map(str.isalnum, rest)):
        return None
    cleaned = {name: targets.clean(one) for name, one in value.items()} | {"text": rest}
    return json.dumps(cleaned)


def clean(entry: Entry) -> Entry:
    """Return an entry as a note may hold it: no private parts, no secrets, no characters that are none."""
    from dataclasses import replace

    from commonplace.redaction.redact import redact, strip_private

    def cleaned(text: str) -> str:
        text = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        return redact(strip_private(text))[0]

    return replace(entry, text=cleaned(entry.text), heading=cleaned(entry.heading))


def encode(entry: Entry) -> str:
    """Return an entry as JSON."""
    data: dict[str, Any] = {"at": entry.at.isoformat(), "text": entry.text}
    if entry.heading:
        data["heading"] = entry.heading
    data |= {name: True for name in _MARKS if getattr(entry, name)}
    if entry.provenance is not None:
        by = entry.provenance
        data["provenance"] = {"by": by.by, "agent": by.agent, "session": by.session, "at": by.at}
    return json.dumps(data)


def decode(line: str | bytes) -> Entry:
    """Return the entry of a line of JSON. Raises ValueError, RecursionError for a cut or damaged one."""
    data = json.loads(line)
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
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
