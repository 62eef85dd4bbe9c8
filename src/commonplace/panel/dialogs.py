"""Windows above the panes: a question with a preview, a choice, a text or a path, an entry, the keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.suggester import Suggester, SuggestFromList
from textual.widget import Widget
from textual.widgets import Checkbox, Input, OptionList, Static, TextArea

from commonplace.panel import text
from commonplace.panel.rows import Row, Rows
from commonplace.render import count

_Answer = TypeVar("_Answer")
_TODAY = "New entry, in the note of today"
_AROUND = 6  # lines of a window around its list, and of the screen


class Window(ModalScreen[_Answer | None]):
    """A window above the panes: a title, what it asks, the keys; None if it is left."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave")]

    def __init__(self, title: str, foot: str) -> None:
        """Take the title, and what stands below."""
        super().__init__()
        self._title, self._foot = title, foot

    def framed(self, *parts: Widget, kind: str = "") -> ComposeResult:
        """Show the parts between title and foot."""
        with Vertical(classes=f"window {kind}"):
            yield Static(text.plain(self._title, "bold"), id="title", markup=False)
            yield from parts
            yield Static(text.plain(self._foot, "bold"), id="asked", markup=False)

    def action_leave(self) -> None:
        """Leave the window without an answer."""
        self.dismiss(None)


class Listed(Window[_Answer]):
    """A window with a list, which is as high as the screen allows; what is below it is hinted at."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave")]

    def __init__(self, title: str, foot: str, rows: Sequence[Row], at: int | None = None) -> None:
        """Take the rows, and the index of the one under the cursor (-1: no row)."""
        super().__init__(title, foot)
        self._rows, self._at = rows, at

    def compose(self) -> ComposeResult:
        """Show the rows."""
        yield from self.framed(Rows(id="lines"), kind="list")

    def on_mount(self) -> None:
        """Fill the list, and watch how far it goes."""
        rows = self.query_one(Rows)
        self.fill(rows)
        rows.focus()
        self.watch(rows, "scroll_y", self._hint, init=False)
        self.watch(rows, "virtual_size", self._hint, init=False)

    def fill(self, rows: Rows) -> None:
        """Put the rows into the list."""
        rows.put(self._rows, self._at)

    def on_resize(self) -> None:
        """Let the list have what the screen leaves."""
        self.query_one(Rows).styles.max_height = max(3, self.size.height - _AROUND)
        self.call_after_refresh(self._hint)

    def _hint(self) -> None:
        rows = self.query_one(Rows)
        more = rows.max_scroll_y - round(rows.scroll_y)
        self.query_one(".list").border_subtitle = f"↓ {count(more, 'more line')}" if more > 0 else ""


class Review(Listed[bool]):
    """Shows what would be done, and asks; only `y` is a yes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "agree"), Binding("n", "leave")]

    def __init__(self, title: str, lines: Sequence[Content], question: str, hang: int = 0) -> None:
        """Take the lines to show, and the question; without one the dialog can only be closed.

        Lines that do not fit go on `hang` cells further in.
        """
        foot = f"{question}   y yes · n no" if question else "escape closes this"
        super().__init__(title, foot, [Row(line, number, hang=hang) for number, line in enumerate(lines)])
        self._asks = bool(question)

    def action_agree(self) -> None:
        """Answer yes."""
        self.dismiss(self._asks)


class Choice(Listed[object]):
    """A choice of one row; None if cancelled."""

    def __init__(self, title: str, rows: Sequence[Row], at: int = 0) -> None:
        """Take the rows to choose from, and the index of the one under the cursor (-1: no row)."""
        super().__init__(title, "enter takes it · escape none", rows, at)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the row under the cursor."""
        event.stop()
        row = self.query_one(Rows).row
        self.dismiss(row.value if row else None)


class Marking(Listed[tuple[object, ...]]):
    """Rows of which a person marks those to write, all of them at first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", priority=True),
        Binding("a", "mark_all"),
        Binding("y", "take"),
        Binding("n", "leave"),
    ]

    def __init__(self, title: str, rows: Sequence[Row]) -> None:
        """Take the rows; those without a value are only shown."""
        super().__init__(title, "", rows)
        self._every = [row.value for row in rows if row.value is not None]
        self._marked = set(self._every)

    def fill(self, rows: Rows) -> None:
        """Put the rows, each with its mark, into the list; say how many are marked."""
        rows.put(self._drawn(row) for row in self._rows)
        keys = "y yes · space marks · a all or none · n no"
        asked = f"Write {len(self._marked)} of {len(self._every)}?   {keys}"
        self.query_one("#asked", Static).update(text.plain(asked, "bold"))

    def _drawn(self, row: Row) -> Row:
        if row.value is None:
            return row
        box = ("[x] " if row.value in self._marked else "[ ] ", "bold")
        return row._replace(shown=Content.assemble(box, row.shown))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Mark the row under the cursor, or take its mark away."""
        event.stop()
        self.action_mark()

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        rows = self.query_one(Rows)
        if rows.row is not None and rows.row.value is not None:
            self._marked ^= {rows.row.value}
            self.fill(rows)

    def action_mark_all(self) -> None:
        """Mark all rows, or unmark all if all are marked."""
        self._marked = set() if len(self._marked) == len(self._every) else set(self._every)
        self.fill(self.query_one(Rows))

    def action_take(self) -> None:
        """Take what is marked, in the order of the rows."""
        self.dismiss(tuple(value for value in self._every if value in self._marked))


class Line(Window[str]):
    """One line of text."""

    def __init__(self, title: str, hint: str) -> None:
        """Take the question, and an example."""
        super().__init__(title, "enter takes it · escape leaves")
        self._hint = hint

    def compose(self) -> ComposeResult:
        """Show the field."""
        yield from self.framed(Input(placeholder=self._hint, compact=True, id="line"), kind="short")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed."""
        event.stop()
        self.dismiss(event.value.strip())


class Wording(Window[str]):
    """A new wording of a statement; empty to strike it without a replacement, None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "take", priority=True)]

    def __init__(self, title: str, former: str) -> None:
        """Take the present statement."""
        keys = "F7 selects all; an empty text strikes it · Ctrl+S shows what changes · escape leaves"
        super().__init__(title, keys)
        self._former = former

    def compose(self) -> ComposeResult:
        """Show the statement, to be changed."""
        yield from self.framed(TextArea(self._former, soft_wrap=True, compact=True, id="wording"))

    def on_mount(self) -> None:
        """Put the cursor at the end."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        area.focus()

    def action_take(self) -> None:
        """Take the text as it is."""
        self.dismiss(self.query_one(TextArea).text.strip())


class Completed(Input):
    """A field in which tab takes what is suggested, and otherwise leads on."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", show=False)]

    async def action_complete(self) -> None:
        """Take the suggestion, or go to the next field."""
        found = None
        if self.suggester is not None and self.value:
            typed = self.value if self.suggester.case_sensitive else self.value.casefold()
            found = await self.suggester.get_suggestion(typed)
        if found and found != self.value:
            self.value = found
            self.action_end()
        else:
            self.screen.focus_next()


class Tick(Checkbox):
    """A box that shows by more than a colour whether it is ticked."""

    BUTTON_INNER = " "

    def watch_value(self) -> None:
        """Draw the mark."""
        self.BUTTON_INNER = "x" if self.value else " "
        super().watch_value()


class EntryDraft(NamedTuple):
    """A new entry as it was written; `heading` is a section of MEMORY.md where it is for the long term."""

    text: str
    heading: str
    long_term: bool
    tentative: bool


class NewEntry(Window[EntryDraft]):
    """A new entry; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "take", priority=True)]

    def __init__(self, sections: Sequence[str]) -> None:
        """Take the sections of MEMORY.md, which are suggested where it is for the long term."""
        super().__init__(_TODAY, "ctrl+s writes it · tab next field · escape leaves")
        self._sections = SuggestFromList(sections, case_sensitive=False)

    def compose(self) -> ComposeResult:
        """Show the fields."""
        yield from self.framed(
            TextArea(soft_wrap=True, compact=True, id="entry"),
            Completed(placeholder="heading (may stay empty)", compact=True, id="heading"),
            Tick("into MEMORY.md, below that section", compact=True, id="long_term"),
            Tick("tentative: searched, but not recalled until confirmed", compact=True, id="tentative"),
        )

    def on_mount(self) -> None:
        """Begin with the text; tab leads on."""
        area = self.query_one(TextArea)
        area.tab_behavior = "focus"
        area.focus()

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        """Say where it goes."""
        if event.checkbox.id == "long_term":
            where = "New entry, in MEMORY.md" if event.value else _TODAY
            self.query_one("#title", Static).update(text.plain(where, "bold"))
            heading = self.query_one("#heading", Input)
            heading.placeholder = f"{'section' if event.value else 'heading'} (may stay empty)"
            heading.suggester = self._sections if event.value else None

    def action_take(self) -> None:
        """Return the draft; None if its text is empty."""
        body = self.query_one(TextArea).text.strip()
        long_term, tentative = (
            self.query_one(f"#{name}", Checkbox).value for name in ("long_term", "tentative")
        )
        heading = self.query_one("#heading", Input).value.strip()
        self.dismiss(EntryDraft(body, heading, long_term, tentative) if body else None)


# --- paths ----------------------------------------------------------------------------------------------


class Paths(Suggester):
    """Completes a path by the first folder, or file, whose name goes on from what is typed."""

    def __init__(self, *, folders: bool) -> None:
        """Say whether `folders` alone are meant."""
        super().__init__(use_cache=False, case_sensitive=True)
        self._folders = folders

    async def get_suggestion(self, value: str) -> str | None:
        """Look into the folder that is typed so far."""
        return await asyncio.to_thread(self._next, value)

    def _next(self, value: str) -> str | None:
        head, slash, begun = value.rpartition("/")
        try:
            entries = sorted(os.scandir(os.path.expanduser(head + slash) or "."), key=lambda one: one.name)
            for entry in entries:
                is_shown = entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
                if is_shown and (entry.is_dir() or not self._folders):
                    return f"{head}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
        except OSError:  # no such folder, or not ours to look into
            return None
        return None


class Located(NamedTuple):
    """A path, an optional name for its contents, and the error if the two were refused."""

    path: str = ""
    name: str = ""
    wrong: str = ""


_NOTHING = Located()


class Location(Window[Located]):
    """A path, and a name where one can be given; None if cancelled."""

    def __init__(
        self, title: str, hint: str, name: str = "", typed: Located = _NOTHING, *, folders: bool = False
    ) -> None:
        """Take the question, an example, a label of the name, former input; complete `folders` alone."""
        super().__init__(title, "enter takes it · tab completes the path · escape leaves")
        self._hint, self._named = hint, name
        self._typed, self._folders = typed, folders

    def compose(self) -> ComposeResult:
        """Show the fields, below what was wrong with the former input."""
        path, name, wrong = self._typed
        trouble = Static(text.plain(wrong, "bold $text-error"), markup=False)
        field = Completed(path, self._hint, suggester=Paths(folders=self._folders), compact=True, id="path")
        names = [Input(name, self._named, compact=True, id="name")] if self._named else []
        yield from self.framed(*[trouble] * bool(wrong), field, *names, kind="short")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the typed path and name; None without a path."""
        event.stop()
        path, *name = (field.value.strip() for field in self.query(Input))
        self.dismiss(Located(path, "".join(name)) if path else None)
