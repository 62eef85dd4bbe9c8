"""What agents and people do in a memory as it happens: who asked, read or wrote something, when and where.

It is seen where it is left: in the record of use, in the record of changes, and in the notes themselves. So
it does not matter which process did it. Nothing of what a note says is told.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.changes import runs
from commonplace.markdown import statements
from commonplace.markdown.document import decode, parse
from commonplace.notes import scan, watch
from commonplace.search import journal, usage
from commonplace.types.changes import Run

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.notes.scan import Source
    from commonplace.types import Statement

Kind = Literal["search", "recall", "get", "write", "remove", "change"]
EVERY_S = 0.5  # between two looks at the records
QUIET_S = 0.3  # that a note rests before it is read
MOST_PLACES = 10  # that one activity names
_EARLIER = timedelta(seconds=2)  # than a note was seen to change may its writer have noted the time


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that was done: which, when (ISO 8601, to the second), by which agent (empty for the owner).

    `places` are notes or lines of them, the first few, `count` how many: hits of a question, lines that were
    read or written, files of a change. `question` are the words of a `search` or `recall` as the record has
    them, with the `tokens` that were given, those of all notes, and how long it took. `change` is the kind of
    a generated change, `run` its id.
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


def follow(memory: Memory, tell: Callable[[Activity], None], *, stop: threading.Event) -> None:
    """Call `tell` with what is done from now on, until `stop` is set."""
    activities = Activities(memory)
    changed: set[str] = set()
    lock = threading.Lock()

    def note(names: frozenset[str]) -> None:
        with lock:
            changed.update(names)

    roots = [Path(source.root) for source in activities.sources]
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


class Activities:
    """What was done in one memory since the last look; of one thread."""

    def __init__(self, memory: Memory) -> None:
        """Begin now."""
        from commonplace.memory import sources

        self.sources = [source for source in sources(memory) if not source.format]
        self._workspace = memory.workspace
        self._record = journal.place(memory.workspace)
        self._signature: object = None
        self._asked = self._opened = usage.LAST
        self._runs = max(runs.names(self._workspace), default="")
        self._made: dict[str, str] = {}  # notes that runs changed, with the digests that these left
        self._lines = {note.path: note.lines for note in memory.notes()}
        self._told: dict[
            str, frozenset[str]
        ] = {}  # digests of the stamped statements of a note that are told
        self._began = datetime.now() - _EARLIER
        list(self._uses())  # those before are no news

    def new(self, changed: Iterable[str] = ()) -> list[Activity]:
        """Return what was done since the last call; `changed` are files that may be others by now."""
        done: list[Activity] = []
        with suppress(CommonplaceError, OSError):  # what cannot be read now is read at the next look
            done += self._uses()
        for run in self._new_runs():
            done.append(_of_run(run))
            self._made.update((file.path, file.after) for file in run.files)
        for name in sorted(changed):
            with suppress(CommonplaceError, OSError):
                done += self._writes(name)
        return done

    # --- the records --------------------------------------------------------------------------------

    def _uses(self) -> Iterator[Activity]:
        """What was asked and read since the last look, by the record of use."""
        signature = [_signature(Path(f"{self._record}{end}")) for end in ("", "-wal")]
        if signature == self._signature:
            return
        news = usage.news(self._record, self._asked, self._opened)
        self._signature, self._asked, self._opened = signature, news.asked, news.opened
        for one in news.questions:
            yield Activity(
                one.kind, _moment(one.at), one.agent, one.places[:MOST_PLACES], one.hits,
                one.question, one.tokens, one.all_tokens, round(one.ms, 1),
            )  # fmt: skip
        for opening in news.openings:
            yield Activity("get", _moment(opening.at), opening.agent, (opening.place,), opening.lines)

    def _new_runs(self) -> Iterator[Run]:
        for name in runs.names(self._workspace):
            if name > self._runs and (run := runs.load(self._workspace, name)) and run.state != "begun":
                self._runs = name
                yield run

    # --- the notes ----------------------------------------------------------------------------------

    def _writes(self, name: str) -> Iterator[Activity]:
        """What was written into a note, by whom as far as it says so; nothing where a run did it."""
        source, inner = self._placed(name)
        if source is None:
            return
        shown = inner if source.name == self.sources[0].name else f"{source.name}/{inner}"
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        try:
            data = paths.read_contained(Path(source.root, inner), [Path(source.root)])
        except CommonplaceError:
            before = self._lines.pop(shown, None)
            if before is not None and self._made.pop(shown, None) != "":
                yield Activity("remove", now, "", (shown,), before)
            return
        text = decode(data)
        lines = text.count("\n") + (not text.endswith("\n"))
        before, self._lines[shown] = self._lines.get(shown, 0), lines
        stamped = self._stamped(text, shown)
        if self._made.get(shown) == hashlib.sha256(data).hexdigest():
            return
        for agent, places in stamped.items():
            yield Activity("write", now, agent, tuple(places[:MOST_PLACES]), len(places))
        if not stamped:
            yield Activity("write", now, "", (shown,), max(0, lines - before))

    def _placed(self, name: str) -> tuple[Source | None, str]:
        """The source that a file belongs to as a note, and its path there; None for any other file."""
        real = os.path.realpath(name)
        for source in self.sources:
            root = os.path.realpath(source.root)
            inner = os.path.relpath(real, root).replace(os.sep, "/")
            if (
                paths.is_within(real, root)
                and scan.Globs(source.globs)(inner)
                and not scan.Globs(source.ignore)(inner)
            ):
                return source, inner
        return None, ""

    def _stamped(self, text: str, shown: str) -> dict[str, list[str]]:
        """The new entries of a note that say which agent wrote them and when, by agent."""
        found: dict[str, list[str]] = {}
        told = self._told.get(shown, frozenset())
        seen = set()
        for one in statements.read(parse(text, shown)):
            if "at" in one.said and "by" in one.said:
                digest = hashlib.sha256(
                    f"{one.text}\0{one.said['at']}".encode("utf-8", "replace")
                ).hexdigest()
                seen.add(digest)
                if digest not in told and self._is_new(one):
                    found.setdefault(one.said.get("agent") or one.said["by"], []).append(one.citation)
        self._told[shown] = frozenset(seen)
        return found

    def _is_new(self, statement: Statement) -> bool:
        try:
            at = datetime.fromisoformat(statement.said["at"])
        except ValueError:
            return False
        return at.astimezone().replace(tzinfo=None) >= self._began


def _of_run(run: Run) -> Activity:
    about = run.about
    agent = about.agent or ("" if about.by == "owner" else about.by)
    places = tuple(file.path for file in run.files[:MOST_PLACES])
    return Activity("change", run.at, agent, places, len(run.files), change=about.kind, run=run.id)


def _signature(path: Path) -> object:
    try:
        status = paths.root_of(path).stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
