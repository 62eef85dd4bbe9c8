"""What happens in a memory: questions of agents, entries written, generated changes, whoever makes them.

Read from the record of use, from the log of changes and from the notes, so that what another process does is
seen as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from commonplace.changes import runs
from commonplace.changes.transaction import read
from commonplace.edit.resolve import Corpus
from commonplace.memory import Memory, listing, recent_use, use_files
from commonplace.panel.rows import Place
from commonplace.render import count
from commonplace.types import Run, Statement, Use

MOST = 200  # events that are kept
_NOTES = 7  # the newest daily notes whose entries are shown at the beginning
_MOST_AT_ONCE = 50  # entries of one note


class Event(NamedTuple):
    """Something that happened: when (seconds of the epoch), who, what; `is_day` where only that is known."""

    at: float
    who: str
    what: str
    said: str
    place: Place | None = None
    is_day: bool = False

    @property
    def order(self) -> tuple[float, int]:
        """Newest first; of one moment what stands further below."""
        return -self.at, -(self.place.first if self.place else 0)


class Events:
    """The events so far, and what was read to know them; used from one thread at a time."""

    def __init__(self, memory: Memory) -> None:
        """Read nothing yet."""
        self._memory = memory
        self._stated: dict[str, set[str]] = {}  # what each note stated when it was last read
        self._events: dict[tuple[str, ...], Event] = {}
        self._seen: object = None

    def begin(self) -> None:
        """Read the newest notes, so that what is written from now on is known from what stood there."""
        notes, _ = listing(self._memory)
        own = [note.path for note in notes if note.collection == "memory"]
        daily = sorted((note.date, note.path) for note in notes if note.date and note.path in own)
        newest = [path for _, path in daily[-_NOTES:]]
        corpus = self._corpus()
        for path in own:
            if path in newest or len(own) <= MOST:
                stated = corpus.statements(path) if path in corpus.paths else []
                self._stated[path] = {one.text for one in stated}
                for one in stated if path in newest else ():
                    self._add(_entry(one, None))
        self.look()

    def changed(self, files: Iterable[str], now: float) -> None:
        """Read notes whose files changed: what they state that they did not state before was written now."""
        root = os.path.realpath(self._memory.workspace.root)
        corpus = self._corpus()
        for file in files:
            path = os.path.relpath(os.path.realpath(file), root).replace(os.sep, "/")
            if not path.lower().endswith(".md") or path.startswith("../"):
                continue
            if path not in corpus.paths:
                if self._stated.pop(path, None) is not None:
                    self._add(Event(now, "", "removed", path))
                continue
            stated = corpus.statements(path)
            former = self._stated.get(path)
            self._stated[path] = {one.text for one in stated}
            if former is None:  # nobody read it before: what is new in it is not known, unless all of it is
                former = set() if len(stated) <= 1 else self._stated[path]
            new = [one for one in stated if one.text not in former and not one.struck]
            for one in new[-_MOST_AT_ONCE:]:
                self._add(_entry(one, now))
            if not new:
                self._add(Event(now, "", "changed", path, Place(path, 1, 1)))

    def look(self) -> bool:
        """Read the record of use and the log of changes if they differ; say whether they did."""
        seen = (runs.names(self._memory.workspace)[-1:], *map(_signature, use_files(self._memory)))
        if seen == self._seen:
            return False
        self._seen = seen
        for use in recent_use(self._memory, MOST):
            self._add(_use(use))
        for run in islice(runs.newest_first(self._memory.workspace), MOST):
            self._add(_run(run))
        return True

    def newest(self) -> Sequence[Event]:
        """Return the events, newest first."""
        newest = sorted(self._events.items(), key=lambda item: item[1].order)[:MOST]
        self._events = dict(newest)
        return [event for _, event in newest]

    def _corpus(self) -> Corpus:
        workspace = self._memory.workspace
        return Corpus(workspace, self._memory.settings, lambda path: read(workspace, path))

    def _add(self, event: Event) -> None:
        path = event.place.path if event.place else ""
        # A question and what it found are one event, whenever it is read; so is an entry of a note.
        at = "" if event.what == "wrote" else f"{event.at:.3f}"
        self._events.setdefault((at, event.who, event.what, event.said, path), event)


def _signature(path: object) -> tuple[int, int]:
    try:
        stat = os.stat(str(path))
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def _entry(statement: Statement, now: float | None) -> Event:
    """An entry: when it says it was written, else `now`, else the day of its note and its hour."""
    said = statement.said
    at, is_day = _moment(said.get("at", "")), False
    if at is None:
        at = now
    if at is None:
        day = os.path.basename(statement.path)[:10]
        at, is_day = _moment(f"{day}T{statement.hour or '00:00'}"), not statement.hour
    place = Place(statement.path, statement.first, statement.last, statement.text)
    who = said.get("agent") or said.get("by", "")
    return Event(at or 0.0, who, "wrote", statement.text, place, is_day)


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _use(use: Use) -> Event:
    if use.kind == "get":
        return Event(use.at, use.agent, "opened", use.places[0], _place(use.places[0]))
    what = {"search": "searched", "recall": "recalled"}[use.kind]
    given = f"“{use.question}” {count(use.hits, 'passage')}, {count(use.tokens, 'token')}"
    if not use.places:
        return Event(use.at, use.agent, what, given)
    return Event(use.at, use.agent, what, f"{given} · {use.places[0]}", _place(use.places[0]))


def _place(citation: str) -> Place:
    """The place that a citation (`path#L3-L9`) names."""
    path, _, lines = citation.rpartition("#L")
    first, _, last = lines.partition("-L")
    return Place(path, int(first), int(last or first))


def _run(run: Run) -> Event:
    file = next((file.path for file in run.files if file.after), "")
    who = run.about.agent or ("" if run.about.by == "owner" else run.about.by)
    at = _moment(run.at) or 0.0
    return Event(at, who, run.about.kind, run.about.title, Place(file, 1, 1) if file else None)
