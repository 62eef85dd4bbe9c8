"""The queue of entries for notes: any process appends entries, one process at a time writes them.

An entry is deleted once it is in its note. After a kill in between, its batch is written again; the writer
must skip entries that the note already has (`Memory.capture`).

Do not import the engine here: a hook process must end before that would be loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from commonplace.base import paths, records
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.locks import LockTimeout, locked
from commonplace.storage import state
from commonplace.types import Entry, Erased, Provenance, Writer

if TYPE_CHECKING:
    from commonplace.types.store import Site, Targets

_SET_ASIDE = "set-aside.jsonl"
_MARKS = ("long_term", "tentative")
Write = Callable[[Sequence[Entry]], object]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The numbers of entries that wait, and that were set aside."""

    entries: int
    set_aside: int


@dataclass(slots=True)
class Drained:
    """The numbers of entries that a drain wrote and set aside.

    `trouble` is the first error; `busy` is true if another process was draining.
    """

    written: int = 0
    set_aside: int = 0
    trouble: str = ""
    busy: bool = False


class Queue:
    """The waiting entries of one workspace; safe for threads, processes and kills."""

    def __init__(self, workspace: paths.Workspace) -> None:
        """Set the workspace; the file is made by the first append."""
        self.workspace = workspace

    @property
    def set_aside(self) -> Path:
        """The file of entries that no note can take, a line of JSON each; the owner reads and deletes it."""
        return self.workspace.state / _SET_ASIDE

    @property
    def empty(self) -> bool:
        """Tell whether the queue is empty. Raises NoteUnreadable."""
        return not state.rows(self.workspace, "SELECT 1 FROM queue LIMIT 1")

    def append(self, entry: Entry) -> None:
        """Append an entry. Raises as `extend` does."""
        self.extend([entry])

    def extend(self, entries: Sequence[Entry]) -> None:
        """Append entries, without secrets and private parts; skip blank entries.

        An entry survives a kill at once, and a power cut some seconds later. Raises AccessDenied and
        NoteUnreadable, without appending any.
        """
        self.workspace.check_writable()
        values = [(encode(clean(entry)),) for entry in entries if entry.text.strip()]
        with state.writing(self.workspace, durable=False) as connection:
            connection.executemany("INSERT INTO queue(data) VALUES (?)", values)

    def drain(self, write: Write, *, wait_s: float = 0.0, batch: int = 200) -> Drained:
        """Pass the waiting entries to `write`, one day at a time, and delete them when it returns.

        `write` gets a batch again if a process was killed in between, so it must be idempotent. Only one
        process drains; another waits up to `wait_s` seconds for it. An entry for which `write` raises
        ConfigError is set aside; after any other CommonplaceError the entries of that day stay in the queue,
        and the error is reported.
        """
        done = Drained()
        if self.workspace.reader is not None:  # a reader may not write notes
            return done
        try:
            if not self.empty:
                with locked(paths.lock_file(self.workspace, "drain"), wait_s):
                    self._drain(write, batch, done)
        except LockTimeout:
            done.busy = True
        except CommonplaceError as error:
            done.trouble = str(error)
        return done

    def _drain(self, write: Write, batch: int, done: Drained) -> None:
        blocked, place = set[str](), 0
        ((last,),) = state.rows(self.workspace, "SELECT ifnull(max(id), 0) FROM queue") or [(0,)]
        query = "SELECT id, data FROM queue WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        while found := state.rows(self.workspace, query, (place, last, batch)):
            place = found[-1][0]
            for day, same in groupby(found, lambda row: _day(_decoded(row[1]))):
                if day in blocked:  # an earlier entry of the day failed; keep their order
                    continue
                try:
                    self._settle([*same], write, done)
                except CommonplaceError as error:
                    done.trouble = done.trouble or str(error)
                    blocked.add(day)

    def _settle(self, rows: Sequence[tuple[int, str]], write: Write, done: Drained) -> None:
        """Write some entries of one day and delete them; set aside those that raise ConfigError."""
        try:
            entries = [entry for _, data in rows if (entry := _decoded(data))]
            if len(entries) < len(rows):
                raise ConfigError("entry", "cannot be read")
            write(entries)
            done.written += len(rows)
        except ConfigError:  # permanent: a retry would fail as well
            if len(rows) > 1:  # find the invalid entry
                for row in rows:
                    self._settle([row], write, done)
                return
            line = rows[0][1].encode() + b"\n"
            records.rewrite(self.set_aside, lambda data: data + line, within=self.workspace.state)
            done.set_aside += 1
        with state.writing(self.workspace) as connection:  # a new file begins the ids again
            connection.executemany("DELETE FROM queue WHERE id = ? AND data = ?", rows)

    def waiting(self) -> Waiting:
        """Count the entries that wait, and that were set aside. Raises NoteUnreadable."""
        found = state.rows(self.workspace, "SELECT count(*) FROM queue") or [(0,)]
        with suppress(OSError), self.workspace.kept.open(_SET_ASIDE) as file:
            return Waiting(found[0][0], sum(1 for _ in file))
        return Waiting(found[0][0], 0)


def _decoded(data: str | bytes) -> Entry | None:
    """Return the entry in some JSON; None if it is invalid, for example from another version."""
    with suppress(ValueError, TypeError, OverflowError, RecursionError):
        return decode(data)
    return None


def _day(entry: Entry | None) -> str:
    """Return the day (ISO 8601) of an entry, or `MEMORY` for a long-term entry."""
    if entry is None:
        return ""
    return "MEMORY" if entry.long_term else entry.at.date().isoformat()


def hold(workspace: paths.Workspace) -> AbstractContextManager[None]:
    """Hold the drain lock, so that entries stay in the queue. Raises NoteUnreadable."""
    return locked(paths.lock_file(workspace, "drain")) if state.path(workspace).exists() else nullcontext()


def sweep(site: Site, targets: Targets, *, change: bool, among: Set[str] | None = None) -> list[Erased]:
    """Return the entries that contain a target; with `among` (JSON texts), only of these.

    With `change`, remove the targets from them; the caller is within `hold`.
    """
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
    """Return an entry as JSON without the targets of a forgetting.

    None if it belongs to a forgotten session, mentions a forgotten person, or has no other words.
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
    """Return an entry without private parts, secrets and invalid characters (surrogates, NUL)."""
    from commonplace.redaction.redact import redact, strip_private

    def cleaned(text: str) -> str:
        text = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        return redact(strip_private(text))[0]

    return replace(entry, text=cleaned(entry.text), heading=cleaned(entry.heading))


def encode(entry: Entry) -> str:
    """Return an entry as JSON."""
    return json.dumps(
        {name: value for name, value in asdict(entry).items() if value}, default=datetime.isoformat
    )


def decode(line: str | bytes) -> Entry:
    """Return the entry in a line of JSON. Raises ValueError, RecursionError if it is cut or damaged."""
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("no entry")
    text, at, heading, by = (data.get(name, "") for name in ("text", "at", "heading", "provenance"))
    if not (isinstance(text, str) and isinstance(at, str) and isinstance(heading, str)):
        raise ValueError("no entry")
    provenance = None
    if isinstance(by, dict):
        fields = {name: str(by.get(name, "")) for name in ("agent", "session", "at")}
        writers = {name: name for name in get_args(Writer)}
        provenance = Provenance(writers.get(by.get("by"), "untrusted"), **fields)  # if unknown
    marks = {name: data.get(name) is True for name in _MARKS}
    return Entry(text, datetime.fromisoformat(at), heading, provenance, **marks)
