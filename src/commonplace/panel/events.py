"""The events of a memory as the live feed shows them: the last ones, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from commonplace.memory import Memory
from commonplace.panel.rows import NoteLines
from commonplace.render import count
from commonplace.upkeep.activity import Activities, Activity

MOST = 200  # events that are kept
_ASKED = {"search": "searched", "recall": "recalled"}


class FeedEvent(NamedTuple):
    """Something that happened: when (seconds of the epoch), who, what; `is_day` where only that is known."""

    at: float
    who: str
    what: str
    said: str
    place: NoteLines | None = None
    is_day: bool = False

    @property
    def order(self) -> tuple[float, int]:
        """Oldest first; of one moment what stands further above."""
        return self.at, self.place.first if self.place else 0


class Events:
    """The events so far; used from one thread at a time."""

    def __init__(self, memory: Memory) -> None:
        """Start with an empty list; reading comes later."""
        self._memory = memory
        self._events: list[FeedEvent] = []

    def begin(self) -> None:
        """Read what was done lately, so that what is done from now on is known from it."""
        self._activities = Activities(self._memory, MOST)
        self._events = [event for one in self._activities.lately for event in _shown(one)]

    def look(self, files: Iterable[str] = (), now: datetime | None = None) -> bool:
        """Read what was done since the last look, in `files` by `now`; say whether there was anything."""
        done = self._activities.new(files, now)
        if any(one.change == "forget" for one in done):
            self.begin()  # what was forgotten is in no event any more
        else:
            self._events += [event for one in done for event in _shown(one)]
        return bool(done)

    def newest(self) -> Sequence[FeedEvent]:
        """Return the events, newest first."""
        self._events = sorted(self._events, key=lambda event: event.order)[-MOST:]
        return self._events[::-1]


def _shown(activity: Activity) -> Iterator[FeedEvent]:
    at, who, places = _moment(activity.at), activity.agent, activity.places
    first = _place(places[0]) if places else None
    if activity.kind in _ASKED:
        given = f"“{activity.question}” {count(activity.count, 'passage')}, {count(activity.tokens, 'token')}"
        said = f"{given} · {places[0]}" if places else given
        yield FeedEvent(at, who, _ASKED[activity.kind], said, first)
    elif activity.kind == "get":
        yield FeedEvent(at, who, "opened", places[0], first)
    elif activity.kind == "remove":
        yield FeedEvent(at, who, "removed", places[0])
    elif activity.entries:
        for when, place, words in activity.entries:
            what = activity.change or "wrote"
            stands = _place(place)._replace(text="" if activity.change else words) if place else None
            yield FeedEvent(_moment(when), who, what, words, stands, len(when) == len("2026-02-13"))
    else:
        yield FeedEvent(at, who, "changed", places[0], first)


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _place(citation: str) -> NoteLines:
    """The place that a citation (`path#L3-L9`) names, or the beginning of a note."""
    path, is_line, lines = citation.rpartition("#L")
    if not is_line:
        return NoteLines(citation, 1, 1)
    first, _, last = lines.partition("-L")
    return NoteLines(path, int(first), int(last or first))
