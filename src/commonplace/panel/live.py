"""The live feed: who writes and recalls what, newest first."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import OptionList

from commonplace.base.errors import CommonplaceError
from commonplace.memory import watch
from commonplace.panel import text
from commonplace.panel.events import Events, FeedEvent
from commonplace.panel.host import Host, Pane
from commonplace.panel.note import NoteView
from commonplace.panel.rows import Row, Rows
from commonplace.render import screen

LOOK_S = 1.0  # between two looks at the record of use and the log of changes
QUIET_S = 0.3  # after which files that change are read
_LONGEST = 160  # cells of what an event says
_HANG = 2


class LivePane(Pane):
    """The events, and the note of one."""

    NAME = "live"

    def __init__(self, host: Host) -> None:
        """Prepare the feed; following starts later."""
        super().__init__(host)
        self._events = Events(host.memory)
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._is_followed = self._is_begun = False
        self._files: set[str] = set()  # that changed and are not read yet

    def compose(self) -> ComposeResult:
        """Show the parts."""
        with Horizontal(classes="split"):
            yield Rows(id="events", classes="main")
            yield NoteView(self.host, id="event-note", classes="side")

    def renew(self) -> None:
        """Begin to follow, at the first call; show what there is."""
        if not self._is_followed:
            self._is_followed = True
            self.main.put([Row(text.plain("reading …", "dim"))])
            self.host.act(self._follow(), "follow")

    async def _follow(self) -> None:
        threading.Thread(target=self._watch, name="commonplace-panel-watch", daemon=True).start()
        await self.host.ask(self._events.begin)
        self._is_begun = True
        self._show()
        self.set_interval(LOOK_S, self._look)

    def _watch(self) -> None:
        with suppress(CommonplaceError, OSError):
            watch(self.host.memory, self._noted, stop=self._stop, debounce_s=QUIET_S)

    def _noted(self, files: frozenset[str]) -> None:
        """Note files that changed; the next look reads them."""
        with self._lock:
            self._files |= files

    def _look(self) -> None:
        self.host.act(self._take(), "look")

    async def _take(self) -> None:
        with self._lock:
            files, self._files = self._files, set()
        if await self.host.ask(partial(self._events.look, files, self.host.now())):
            self._show()

    def _show(self) -> None:
        events = self._events.newest()
        today = self.host.now()
        rows = [Row(_shown(event, today), event, event.place, _HANG) for event in events]
        is_first = not self.main.highlighted
        self.main.put(
            rows or [Row(text.plain("nothing has been written or asked yet", "dim"))], 0 if is_first else None
        )

    @on(OptionList.OptionHighlighted, "#events")
    def preview(self) -> None:
        """Show the note of the event under the cursor."""
        view = self.query_one(NoteView)
        if self.main.place is None:
            view.clear()
        else:
            self.host.act(view.show(self.main.place), "preview")

    @on(OptionList.OptionSelected, "#events")
    def open_event(self) -> None:
        """Go to the note."""
        self.open_side()

    def on_unmount(self) -> None:
        """Watch no longer."""
        self._stop.set()


def _shown(event: FeedEvent, now: datetime) -> Content:
    """An event on one line: today's with the time, others with the day."""
    then = datetime.fromtimestamp(event.at, now.tzinfo)
    day = f"{then:%Y-%m-%d}" if then.date() != now.date() else ""
    when = " ".join(filter(None, [day, "" if event.is_day else f"{then:%H:%M}"])) or f"{then:%Y-%m-%d}"
    said = screen.shorten(screen.one_line(event.said), _LONGEST)
    return text.joined((when, "dim"), (event.who or "you", "bold"), (event.what, "$text-accent"), said)
