"""A note with its line numbers, a stretch of it marked."""

from __future__ import annotations

import re
from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from commonplace.panel import text
from commonplace.panel.host import Host
from commonplace.panel.rows import NoteLines, Row, Rows
from commonplace.render import screen
from commonplace.types import Excerpt

AROUND = 200  # lines shown before and after a place


class NoteView(Vertical):
    """Shows the note at a place; each line is a row that actions may be about."""

    def __init__(self, host: Host, *, id: str, classes: str = "") -> None:
        """Bind to what reads notes."""
        super().__init__(id=id, classes=classes)
        self._host = host

    def compose(self) -> ComposeResult:
        """Show a title and the lines."""
        yield Static(id=f"{self.id}-title", classes="title", markup=False)
        yield Rows(id=f"{self.id}-lines")

    @property
    def lines(self) -> Rows:
        """The lines of the note."""
        return self.query_one(Rows)

    def clear(self) -> None:
        """Empty the title and the lines."""
        self._title("")
        self.lines.put(())

    async def show(self, place: NoteLines, pattern: re.Pattern[str] | None = None) -> None:
        """Show the note of a place, its lines marked, words of a question too. Raises as `get` does."""
        first = max(1, place.first - AROUND)
        reference = f"{place.path}:{first}-{place.last + AROUND}"
        try:
            excerpt = await self._host.ask(partial(self._host.memory.get, reference))
        except Exception:
            self.clear()
            raise
        self._title(f"{excerpt.path}:{place.first}  of {excerpt.total_lines:,} lines")
        self.lines.put(_rows(excerpt, place, pattern), place.first - first)
        self.lines.show_top(min(place.first - first, len(excerpt.lines) - 1))

    def _title(self, title: str) -> None:
        self.query_one(f"#{self.id}-title", Static).update(text.plain(title, "bold"))


def _rows(excerpt: Excerpt, place: NoteLines, pattern: re.Pattern[str] | None) -> list[Row]:
    width = len(str(excerpt.end_line))
    rows = []
    for number, line in enumerate(excerpt.lines, excerpt.start_line):
        is_meant = place.first <= number <= place.last
        gutter = f"{number:>{width}} {'▌' if is_meant else ' '}"
        shown = Content.assemble(
            (gutter, "$text-accent" if is_meant else "dim"), text.marked(line, pattern if is_meant else None)
        )
        hang = width + 2 + screen.hang(text.line(line))
        rows.append(Row(shown, number, NoteLines(excerpt.path, number, number, line), hang))
    return rows
