"""Activities of agents and people in a memory: questions, reads and writes, with time and place.

They are read from their traces: the record of use, the record of changes, and the notes themselves. So the
activities of every process are seen.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, get_args

from commonplace.base import clock, paths
from commonplace.base.errors import CommonplaceError
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.markdown.document import Document
from commonplace.memory import Memory, sources
from commonplace.notes import watch
from commonplace.notes.scan import places
from commonplace.search import usage
from commonplace.search.journal import Journal
from commonplace.storage import journal
from commonplace.types.changes import Run

if TYPE_CHECKING:
    from commonplace.notes.scan import CollectionFiles
    from commonplace.types import NoteInfo, Statement

Kind = Literal["search", "recall", "get", "write", "remove", "change"]
KINDS: Sequence[Kind] = get_args(Kind)
EVERY_S = 0.5  # between two looks at the records
QUIET_S = 0.3  # that a note rests before it is read
MOST_PLACES = 10  # that one activity names
MOST_ENTRIES = 50  # whose words it has
_MOST_NOTES = 200  # that are read at the beginning; of more only the newest
_NEWEST = 7  # daily notes whose entries were written lately
_EARLIER = timedelta(seconds=2)  # than a note was seen to change may its writer have noted the time


class ActivityEntry(NamedTuple):
    """A statement of a note, or the title of a change; `at` is ISO 8601, a day if the time is unknown."""

    at: str
    place: str
    words: str


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that was done: which, when (ISO 8601, to the second), by which agent (empty for the owner).

    `places` are notes or lines of them, the first few, `count` how many: hits of a question, lines that were
    read or written, files of a change. `question` are the words of a `search` or `recall` as the record has
    them, with the `tokens` that were given, those of all notes, and how long it took. `change` is the kind of
    a generated change, `run` its id. `entries` are for who may see notes: the last of what was written, or
    what a change is called.
    """

    kind: Kind
    at: str
    agent: str = ""
    places: tuple[str, ...] = ()
    count: int = 0
    question: str = ""
    tokens: int = 0
    all_tokens: int = 0
    took_ms: float = 0.0
    change: str = ""
    run: str = ""
    entries: tuple[ActivityEntry, ...] = ()

    JSON: ClassVar = "kind at agent places count question tokens all_tokens took_ms change run"


class _SeenNote(NamedTuple):
    """A note when it was last seen: its lines, the digests of what it stated, None where it was not read."""

    lines: int = 0
    stated: frozenset[bytes] | None = frozenset()


def follow(
    memory: Memory,
    tell: Callable[[Activity], None],
    *,
    stop: threading.Event,
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Call `begun`, and then `tell` with what is done from there on, until `stop` is set."""
    activities = Activities(memory)
    begun()
    changed: set[str] = set()
    lock = threading.Lock()

    def note(names: frozenset[str]) -> None:
        with lock:
            changed.update(names)

    roots = [*map(Path, places(activities.sources))]
    watching = threading.Thread(
        target=watch.watch, args=(roots, note), kwargs={"stop": stop, "debounce_s": QUIET_S},
        name="commonplace-activity", daemon=True,
    )  # fmt: skip
    watching.start()
    while not stop.wait(EVERY_S):
        with lock:
            names, changed = changed, set()
        for activity in activities.new(names):
            tell(activity)
    watching.join()


def lately(memory: Memory, most: int, kinds: Sequence[Kind] = KINDS) -> list[Activity]:
    """Return the last of what was done, newest first, of some kinds."""
    done = [one for one in Activities(memory, most).lately if one.kind in kinds]
    done.sort(key=lambda one: _seconds(one.at))
    return done[::-1][:most]


class Activities:
    """The activities in one memory since the last look; for one thread at a time."""

    def __init__(self, memory: Memory, most: int = 0) -> None:
        """Begin now; `lately` holds what was done before: `most` of each kind, in no order."""
        home, *further = sources(memory)  # which may hold transcripts of its own beside its notes
        self.sources = [home, *(source for source in further if not source.format)]
        self._began = datetime.now() - _EARLIER
        self._workspace = memory.workspace
        self._record = Journal(memory.workspace, memory.settings.usage).path
        self._signature: object = None
        self._rows: tuple[int, int] | None = None  # the last of the record of use that were seen
        self._runs = max(journal.names(self._workspace), default="")
        self._made: dict[str, str] = {}  # notes that runs changed, with the digests that these left
        self._notes: dict[str, _SeenNote] = {}
        self.lately = list(self._begin(memory.notes(), most))

    def new(self, changed: Iterable[str] = (), now: datetime | None = None) -> list[Activity]:
        """Return what was done since the last call; `changed` are files that may be others by `now`."""
        done: list[Activity] = []
        with suppress(CommonplaceError, OSError):  # what cannot be read now is read at the next look
            done += self._uses()
        for run in self._new_runs():
            done.append(_of_run(run))
            self._made.update((file.path, file.after) for file in run.files)
        at = (now or datetime.now()).astimezone().isoformat(timespec="seconds")
        for name in sorted(changed):
            with suppress(CommonplaceError, OSError):
                done += self._writes(name, at)
        return done

    def _begin(self, notes: Sequence[NoteInfo], most: int) -> Iterator[Activity]:
        """Read the present notes and records; yield the latest activities."""
        self._notes = {note.path: _SeenNote(note.lines, None) for note in notes}
        own = [
            note
            for note in notes
            if note.collection == WORKSPACE_COLLECTION and not self.sources[0].format_of(note.path)
        ]
        daily = sorted((note.date, note.path) for note in own if note.date)
        newest = {path for _, path in daily[-_NEWEST:]}
        for note in own:
            if note.path in newest or len(own) <= _MOST_NOTES:
                with suppress(CommonplaceError, OSError):  # gone meanwhile, or unreadable
                    stated = self._read(self._data(self.sources[0], note.path), note.path)
                    if most and note.path in newest:
                        yield from _written(stated, note.path)
        yield from self._uses(most)
        newest_first = journal.newest_first(self._workspace)
        done = (run for run in newest_first if run.state != "begun" and run.about.kind != "remember")
        yield from map(_of_run, islice(done, most))

    # --- the records --------------------------------------------------------------------------------

    def _uses(self, most: int = usage.MOST_NEWS) -> Iterator[Activity]:
        """Yield the searches and reads since the last look, from the record of use."""
        signature = [_signature(Path(f"{self._record}{end}")) for end in ("", "-wal")]
        if signature == self._signature:
            return
        uses, self._rows = usage.news(self._record, self._rows, most)
        self._signature = signature
        for one in uses:
            yield Activity(
                one.kind, _moment(one.at), one.agent, one.places[:MOST_PLACES], one.found,
                one.question, one.tokens, one.all_tokens, round(one.ms, 1),
            )  # fmt: skip

    def _new_runs(self) -> Iterator[Run]:
        for name in journal.names(self._workspace):
            if name > self._runs and (run := journal.load(self._workspace, name)) and run.state != "begun":
                self._runs = name
                if run.about.kind != "remember":  # the note says it
                    yield run

    # --- the notes ----------------------------------------------------------------------------------

    def _writes(self, name: str, now: str) -> Iterator[Activity]:
        """Yield the change of a note, by its writer as far as the note names one; skip changes of a run."""
        source, inner = self._placed(name)
        if source is None:
            return
        shown = inner if source.name == self.sources[0].name else f"{source.name}/{inner}"
        try:
            data = self._data(source, inner)
        except CommonplaceError:
            before = self._notes.pop(shown, None)
            if before is not None and self._made.pop(shown, None) != "":
                yield Activity("remove", now, "", (shown,), before.lines)
            return
        before = self._notes.get(shown, _SeenNote())
        stated = self._read(data, shown)
        if self._made.get(shown) == hashlib.sha256(data).hexdigest():
            return
        new = [one for one in stated if not one.struck and self._is_new(one, before)]
        yield from _written(new, shown, now, self._notes[shown].lines - before.lines)

    def _read(self, data: bytes, shown: str) -> list[Statement]:
        """Return a note's statements, and remember them for the next look."""
        note = Document.read(data, shown)
        self._notes[shown] = _SeenNote(len(note.lines), frozenset(map(_digest, note.statements)))
        return note.statements

    def _is_new(self, statement: Statement, before: _SeenNote) -> bool:
        """Return True if a statement is new to its note; for an unread note, if its time is recent."""
        if before.stated is not None:
            return _digest(statement) not in before.stated
        at = _parsed(statement.said.get("at", ""))
        return at is not None and clock.local(at) >= self._began

    @staticmethod
    def _data(source: CollectionFiles, inner: str) -> bytes:
        return paths.read_contained(Path(source.root, inner), [Path(source.root)])

    def _placed(self, name: str) -> tuple[CollectionFiles | None, str]:
        """The source that a file belongs to as a note, and its path there; None for any other file."""
        real = os.path.realpath(name)
        for source in self.sources:
            root = os.path.realpath(source.root)
            inner = os.path.relpath(real, root).replace(os.sep, "/")
            if paths.is_within(real, root) and source.covers(inner) and not source.format_of(inner):
                return source, inner
        return None, ""


def _written(new: Iterable[Statement], note: str, now: str = "", lines: int = 0) -> Iterator[Activity]:
    """New entries of a note by who wrote them; what is nested in one is by the same.

    Without `now` they stood there: each was written when it says so. `lines` are more than there were.
    """
    by_agent: dict[str, list[ActivityEntry]] = {}
    agent, end = "", 0
    for one in new:
        if "at" in one.said or one.first > end:
            agent, end = _writer(one), one.end
        by_agent.setdefault(agent, []).append(ActivityEntry(_time(one, now), one.citation, one.text))
    if now and not by_agent:
        by_agent[""] = []
    for agent, entries in by_agent.items():
        places, count = tuple(entry.place for entry in entries[:MOST_PLACES]), len(entries)
        if now and not agent:
            places, count = (note,), max(0, lines - sum(map(len, by_agent.values())) + len(entries))
        at = now or entries[-1].at
        yield Activity("write", at, agent, places, count, entries=tuple(entries[-MOST_ENTRIES:]))


def _writer(statement: Statement) -> str:
    """Return the writer that an entry names beside its time: agent or importer; empty for the owner."""
    said = statement.said
    by = said.get("agent") or said.get("by", "") if "at" in said else ""
    return "" if by == "owner" else by


def _time(statement: Statement, now: str) -> str:
    """When an entry says it was written, else `now`, else the day of its note and its hour."""
    said, day = statement.said.get("at", ""), os.path.basename(statement.path)[:10]
    if at := _parsed(said):
        return at.isoformat(timespec="seconds")
    return now or (f"{day}T{statement.hour}" if statement.hour else day)


def _digest(statement: Statement) -> bytes:
    said = f"{statement.text}\0{statement.said.get('at', '')}"
    return hashlib.sha256(said.encode("utf-8", "replace")).digest()


def _of_run(run: Run) -> Activity:
    about = run.about
    agent = about.agent or ("" if about.by == "owner" else about.by)
    places = tuple(file.path for file in run.files[:MOST_PLACES])
    left = next((file.path for file in run.files if file.after), "")
    return Activity(
        "change", run.at, agent, places, len(run.files),
        change=about.kind, run=run.id, entries=(ActivityEntry(run.at, left, about.title),),
    )  # fmt: skip


def _signature(path: Path) -> object:
    try:
        status = paths.root_of(path).stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _seconds(text: str) -> float:
    """When that was, in seconds since 1970; 0 where it says no time."""
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(text).timestamp()
    return 0.0


def _parsed(text: str) -> datetime | None:
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(text).astimezone()
    return None
