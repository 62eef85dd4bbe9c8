"""A list of rows with a cursor: hits, days, statements, lines of a note; each row stands for a value.

Rows are wrapped here: Chinese breaks anywhere, and further lines of a row hang below its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from commonplace.render import screen

_REVERSED = Style(reverse=True)
_ABOVE = 3  # lines that stay in sight above a row that is gone to


class NoteLines(NamedTuple):
    """Lines of a note that actions are about, what they say, and the one of them that is shown."""

    path: str
    first: int
    last: int
    text: str = ""
    workspace: str = ""
    shown: str = ""


class Row(NamedTuple):
    """The text and the value of a row; without a value the cursor passes over it.

    Lines that do not fit go on `hang` cells further in.
    """

    shown: Content
    value: object = None
    place: NoteLines | None = None
    hang: int = 0

    def wrapped(self, width: int) -> Content:
        """Return what it shows, no line wider than so many cells if that can be."""
        return Content("\n").join(self._lines(width))

    def _lines(self, width: int) -> Iterator[Content]:
        for line in self.shown.split("\n", allow_blank=True):
            for start, end in screen.rows(line.plain, max(width, 2 * self.hang, 1), self.hang):
                yield Content.assemble(" " * self.hang if start else "", line[start:end])


class Rows(OptionList):
    """The list; `row` is the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("space", "page_down", show=False),
    ]

    def __init__(self, *, id: str, classes: str = "") -> None:
        """Make an empty list."""
        super().__init__(markup=False, compact=True, id=id, classes=classes)
        self.rows: list[Row] = []
        self._width = 0

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        at = self.highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    @property
    def place(self) -> NoteLines | None:
        """Return the place of the row under the cursor."""
        return self.row.place if self.row else None

    def put(self, rows: Iterable[Row], at: int | None = None) -> None:
        """Show other rows; set the cursor to index `at` (-1: no row), else to the former value if present."""
        former, place = self.row, self.highlighted or 0
        self.rows = list(rows)
        self._fill()
        values = [row.value for row in self.rows]
        if at is None and former is not None and former.value in values:
            at = values.index(former.value)
        elif at is None:
            at = min(place if former else 0, len(self.rows) - 1)
        open_rows = [number for number, value in enumerate(values) if value is not None]
        if at < 0:
            self.highlighted = None
        elif open_rows:
            at = next((number for number in open_rows if number >= at), open_rows[-1])
            self.highlighted = at

    def render_line(self, y: int) -> Strip:
        """Draw a line; the row under the cursor is reversed, in any colours, where the list has the focus.

        It is not left to the style sheet, of which the list drops `text-style: reverse`.
        """
        strip = super().render_line(y)
        at = next((segment.style.meta.get("option") for segment in strip if segment.style), None)
        is_marked = self.has_focus and at is not None and at == self.highlighted
        return strip.apply_style(_REVERSED) if is_marked else strip

    def _fill(self) -> None:
        width = self._width = self.scrollable_content_region.width
        self.clear_options()
        shown = (row.wrapped(width) if width else row.shown for row in self.rows)
        self.add_options(
            [
                Option(content, disabled=row.value is None)
                for content, row in zip(shown, self.rows, strict=True)
            ]
        )

    def on_resize(self, event: Resize) -> None:
        """Wrap anew."""
        if self.scrollable_content_region.width != self._width:
            at = self.highlighted
            with self.prevent(OptionList.OptionHighlighted):
                self._fill()
                self.highlighted = at

    def show_top(self, at: int) -> None:
        """Put the cursor on a row, and that row a little below the top."""
        self.highlighted = at
        self.call_after_refresh(self._scroll_to_top)

    def _scroll_to_top(self) -> None:
        self.scroll_to_highlight(top=True)
        if self.scroll_y < self.max_scroll_y:  # else it is further below already
            self.scroll_relative(y=-_ABOVE, animate=False)
