"""A list of rows with a cursor: hits, days, statements, lines of a note; each row stands for a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.binding import Binding
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class Place(NamedTuple):
    """Lines of a note that actions are about, and what they say."""

    path: str
    first: int
    last: int
    text: str = ""
    workspace: str = ""


class Row(NamedTuple):
    """What a row shows and what it stands for; without a value the cursor passes over it."""

    shown: Content
    value: object = None
    place: Place | None = None


class Rows(OptionList):
    """The list; `row` is the one under the cursor."""

    BINDINGS = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("space", "page_down", show=False),
    ]

    def __init__(self, *, id: str, classes: str = "") -> None:
        """Make an empty list."""
        super().__init__(markup=False, compact=True, id=id, classes=classes)
        self.rows: list[Row] = []

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        at = self.highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    @property
    def place(self) -> Place | None:
        """What the row under the cursor is about."""
        return self.row.place if self.row else None

    def put(self, rows: Iterable[Row], at: int | None = None) -> None:
        """Show other rows, the cursor at one of them, or else where it was, by what it stood for."""
        former, place = self.row, self.highlighted or 0
        self.rows = list(rows)
        self.clear_options()
        self.add_options([Option(row.shown, disabled=row.value is None) for row in self.rows])
        values = [row.value for row in self.rows]
        if at is None and former is not None and former.value in values:
            at = values.index(former.value)
        elif at is None:
            at = min(place if former else 0, len(self.rows) - 1)
        open_rows = [number for number, value in enumerate(values) if value is not None]
        if open_rows:
            at = next((number for number in open_rows if number >= at), open_rows[-1])
            self.highlighted = at

    def show_top(self, at: int) -> None:
        """Put the cursor on a row, and that row a little below the top."""
        self.highlighted = at
        self.call_after_refresh(self.scroll_to_highlight, True)
