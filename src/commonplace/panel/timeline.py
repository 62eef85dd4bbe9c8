"""The timeline: days with what notes say of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import ContentSwitcher, OptionList, Static

from commonplace.base.errors import NoteNotFound
from commonplace.memory import days
from commonplace.panel import text
from commonplace.panel.dialogs import Line
from commonplace.panel.host import Pane
from commonplace.panel.note import NoteView
from commonplace.panel.rows import NoteLines, Row, Rows
from commonplace.render import count
from commonplace.types import Moment, Timeline

MOST_LINES = 12  # of an entry


class TimelinePane(Pane):
    """The days, and the entries of one."""

    NAME = "timeline"

    def compose(self) -> ComposeResult:
        """Show the parts."""
        with Horizontal(classes="split"):
            yield Rows(id="days", classes="main thin")
            with ContentSwitcher(initial="day", classes="side"):
                with Vertical(id="day"):
                    yield Static(id="day-title", classes="title", markup=False)
                    yield Rows(id="moments")
                yield NoteView(self.host, id="day-note")

    def renew(self) -> None:
        """Count the days."""
        self.host.act(self._renew(), "days")

    async def _renew(self) -> None:
        try:
            counted = await self.host.ask(partial(days, self.host.memory))
        except NoteNotFound:
            counted = {}
        self.main.put(_rows(counted))
        if not counted:
            self.query_one("#day-title", Static).update(text.plain("no note has a date yet", "dim"))
            self.query_one("#moments", Rows).put(())

    @on(OptionList.OptionHighlighted, "#days")
    def show_day(self) -> None:
        """Show the entries of the day under the cursor."""
        if self.main.row is not None:
            self.query_one(ContentSwitcher).current = "day"
            self.host.act(self._show_day(str(self.main.row.value)), "day")

    async def _show_day(self, day: str) -> None:
        memory, today = self.host.memory, self.host.now().date()
        around = await self.host.ask(partial(memory.timeline, day, before=0, after=0, now=today))
        title = f"{_named(day)} · {count(len(around.moments), 'passage')}"
        self.query_one("#day-title", Static).update(text.plain(title, "bold"))
        self.query_one("#moments", Rows).put(map(_entry, _shown(around)), 0)

    @on(OptionList.OptionSelected, "#days")
    def open_day(self) -> None:
        """Go to the entries."""
        self.add_class("-side")
        self.query_one("#moments", Rows).focus()

    @on(OptionList.OptionSelected, "#moments")
    def open_note(self) -> None:
        """Show the note of the entry."""
        place = self.query_one("#moments", Rows).place
        if place is not None:
            self.query_one(ContentSwitcher).current = "day-note"
            view = self.query_one(NoteView)
            view.lines.focus()
            self.host.act(view.show(place), "preview")

    def back(self) -> None:
        """From a note to the entries, from these to the days."""
        switcher = self.query_one(ContentSwitcher)
        if switcher.current == "day-note":
            switcher.current = "day"
            self.query_one("#moments", Rows).focus()
        else:
            super().back()

    def step(self, by: int) -> None:
        """Go to the day before (-1) or after (1)."""
        if self.main.rows and self.main.highlighted is not None:
            self.main.highlighted = max(0, min(len(self.main.rows) - 1, self.main.highlighted - by))

    def go_to(self) -> None:
        """Go to a day that is asked for."""
        self.host.act(self._go_to())

    async def _go_to(self) -> None:
        """Ask for a day, in any words that `on:` takes, and go to it, or to the nearest one before."""
        asked = await self.host.push_screen_wait(Line("Go to a day", "2026-02-13, yesterday, 上周三"))
        if not asked:
            return
        memory, today = self.host.memory, self.host.now().date()
        found = await self.host.ask(partial(memory.timeline, asked, before=1, after=0, now=today))
        if not found.moments:
            raise NoteNotFound(asked, reason="no note is of that day, nor of one before it")
        day = next((one for one in found.moments if one.is_anchor), found.moments[-1]).date
        if found.warnings:
            self.host.tell(f"{found.warnings[0]}; the nearest before it is {day}")
        known = [row.value for row in self.main.rows]
        if day in known:
            self.main.show_top(known.index(day))
            self.main.focus()


def _rows(counted: Mapping[str, int]) -> list[Row]:
    width = max((len(f"{number:,}") for number in counted.values()), default=1)
    return [
        Row(Content.assemble((f"{number:>{width},}", "dim"), f"  {_named(day)}"), day)
        for day, number in counted.items()
    ]


def _named(day: str) -> str:
    """A day with its day of the week."""
    try:
        return f"{day} {date.fromisoformat(day):%a}"
    except ValueError:
        return text.line(day)


def _shown(around: Timeline) -> list[Moment]:
    return [moment for moment in around.moments if moment.is_anchor]


def _entry(moment: Moment) -> Row:
    lines = [line for line in moment.text.split("\n") if line.strip()]
    more = len(lines) - MOST_LINES
    where = " › ".join([*moment.headings[-1:], f"{moment.path}:{moment.start_line}"])
    labels = (" · ".join(moment.labels), "bold $text-warning")
    shown = [text.joined((where, "$text-accent"), labels), *map(text.plain, lines[:MOST_LINES])]
    shown += [text.plain(f"… {count(more, 'line')} more", "dim")] if more > 0 else []
    place = NoteLines(moment.path, moment.start_line, moment.end_line, moment.text)
    return Row(Content("\n").join(shown), moment.citation, place, 2)
