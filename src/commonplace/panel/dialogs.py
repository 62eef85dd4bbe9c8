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
from textual.widgets import Checkbox, Input, OptionList, Static, TextArea

from commonplace.panel import text
from commonplace.panel.rows import Row, Rows
from commonplace.render import count

_Answer = TypeVar("_Answer")
_AROUND = 6  # lines of a window around its list, and of the screen


class Listed(ModalScreen[_Answer]):
    """A window with a list, which is as high as the screen allows; what is below it is hinted at."""

    def on_mount(self) -> None:
        """Fill the list, and watch how far it goes."""
        rows = self.query_one(Rows)
        self.fill(rows)
        rows.focus()
        self.watch(rows, "scroll_y", self._hint, init=False)
        self.watch(rows, "virtual_size", self._hint, init=False)

    def fill(self, rows: Rows) -> None:
        """Put the rows into the list."""
        raise NotImplementedError

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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)"),
        Binding("n", "answer(False)"),
        Binding("escape", "answer(False)"),
        Binding("q", "answer(False)"),
    ]

    def __init__(self, title: str, lines: Sequence[Content], question: str, hang: int = 0) -> None:
        """Take the lines to show, and the question; without one the dialog can only be closed.

        Lines that do not fit go on `hang` cells further in.
        """
        super().__init__()
        self._title, self._lines, self._question, self._hang = title, lines, question, hang

    def compose(self) -> ComposeResult:
        """Show the lines between title and question."""
        with Vertical(classes="window list"):
            yield Static(text.plain(self._title, "bold"), markup=False)
            yield Rows(id="lines")
            asked = f"{self._question}   y yes · n no" if self._question else "escape closes this"
            yield Static(text.plain(asked, "bold"), id="asked", markup=False)

    def fill(self, rows: Rows) -> None:
        """Put the lines into the list."""
        rows.put(Row(line, number, hang=self._hang) for number, line in enumerate(self._lines))

    def action_answer(self, agreed: bool) -> None:
        """Close the window with an answer."""
        self.dismiss(agreed and bool(self._question))


class Choice(Listed[object]):
    """A choice of one row; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave"), Binding("q", "leave")]

    def __init__(self, title: str, rows: Sequence[Row], at: int = 0) -> None:
        """Take the rows to choose from, and the index of the one under the cursor (-1: no row)."""
        super().__init__()
        self._title, self._rows, self._at = title, rows, at

    def compose(self) -> ComposeResult:
        """Show the rows."""
        with Vertical(classes="window list"):
            yield Static(text.plain(self._title, "bold"), markup=False)
            yield Rows(id="lines")
            yield Static(text.plain("enter takes it · escape none", "bold"), markup=False)

    def fill(self, rows: Rows) -> None:
        """Put what is chosen from into the list."""
        rows.put(self._rows, self._at)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the row under the cursor."""
        event.stop()
        row = self.query_one(Rows).row
        self.dismiss(row.value if row else None)

    def action_leave(self) -> None:
        """Cancel; the result is None."""
        self.dismiss(None)


class Marking(Listed[tuple[object, ...]]):
    """Rows of which a person marks those to write, all of them at first; empty if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", priority=True),
        Binding("a", "mark_all"),
        Binding("y", "take"),
        Binding("n", "leave"),
        Binding("escape", "leave"),
        Binding("q", "leave"),
    ]

    def __init__(self, title: str, rows: Sequence[Row]) -> None:
        """Take the rows; those without a value are only shown."""
        super().__init__()
        self._title, self._rows = title, rows
        self._every = [row.value for row in rows if row.value is not None]
        self._marked = set(self._every)

    def compose(self) -> ComposeResult:
        """Show the rows between title and question."""
        with Vertical(classes="window list"):
            yield Static(text.plain(self._title, "bold"), markup=False)
            yield Rows(id="lines")
            yield Static(id="asked", markup=False)

    def fill(self, rows: Rows) -> None:
        """Put the rows, each with its mark, into the list."""
        rows.put(self._drawn(row) for row in self._rows)
        self._ask()

    def _show(self) -> None:
        self.fill(self.query_one(Rows))

    def _ask(self) -> None:
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
        row = self.query_one(Rows).row
        if row is not None and row.value is not None:
            self._marked ^= {row.value}
            self._show()

    def action_mark_all(self) -> None:
        """Mark all rows, or unmark all if all are marked."""
        self._marked = set() if len(self._marked) == len(self._every) else set(self._every)
        self._show()

    def action_take(self) -> None:
        """Take what is marked, in the order of the rows."""
        self.dismiss(tuple(value for value in self._every if value in self._marked))

    def action_leave(self) -> None:
        """Cancel; the result is empty."""
        self.dismiss(())


class Line(ModalScreen[str]):
    """One line of text; empty if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave")]

    def __init__(self, title: str, hint: str) -> None:
        """Take the question, and an example."""
        super().__init__()
        self._title, self._hint = title, hint

    def compose(self) -> ComposeResult:
        """Show the field."""
        with Vertical(classes="window short"):
            yield Static(text.plain(self._title, "bold"), markup=False)
            yield Input(placeholder=self._hint, compact=True, id="line")
            yield Static(text.plain("enter takes it · escape leaves", "bold"), markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed."""
        event.stop()
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """Cancel; the result is empty."""
        self.dismiss("")


class Wording(ModalScreen[str | None]):
    """A new wording of a statement; empty to strike it without a replacement, None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "take", priority=True),
        Binding("escape", "leave"),
    ]

    def __init__(self, title: str, former: str) -> None:
        """Take the present statement."""
        super().__init__()
        self._title, self._former = title, former

    def compose(self) -> ComposeResult:
        """Show the statement, to be changed."""
        with Vertical(classes="window"):
            yield Static(text.plain(self._title, "bold"), markup=False)
            yield TextArea(self._former, soft_wrap=True, compact=True, id="wording")
            yield Static(
                text.plain(
                    "F7 selects all; an empty text strikes it · Ctrl+S shows what changes · escape leaves",
                    "bold",
                ),
                markup=False,
            )

    def on_mount(self) -> None:
        """Put the cursor at the end."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        area.focus()

    def action_take(self) -> None:
        """Take the text as it is."""
        self.dismiss(self.query_one(TextArea).text.strip())

    def action_leave(self) -> None:
        """Cancel; the result is None."""
        self.dismiss(None)


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


class Draft(NamedTuple):
    """A new entry as it was written; `heading` is a section of MEMORY.md where it is for the long term."""

    text: str
    heading: str
    long_term: bool
    tentative: bool


class Entry(ModalScreen[Draft | None]):
    """A new entry; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "take", priority=True),
        Binding("escape", "leave"),
    ]

    def __init__(self, sections: Sequence[str]) -> None:
        """Take the sections of MEMORY.md, which are suggested where it is for the long term."""
        super().__init__()
        self._sections = SuggestFromList(sections, case_sensitive=False)

    def compose(self) -> ComposeResult:
        """Show the fields."""
        with Vertical(classes="window"):
            yield Static(text.plain("New entry, in the note of today", "bold"), id="where", markup=False)
            yield TextArea(soft_wrap=True, compact=True, id="entry")
            yield Completed(placeholder="heading (may stay empty)", compact=True, id="heading")
            yield Tick("into MEMORY.md, below that section", compact=True, id="long_term")
            yield Tick("tentative: searched, but not recalled until confirmed", compact=True, id="tentative")
            yield Static(
                text.plain("ctrl+s writes it · tab next field · escape leaves", "bold"), markup=False
            )

    def on_mount(self) -> None:
        """Begin with the text; tab leads on."""
        area = self.query_one(TextArea)
        area.tab_behavior = "focus"
        area.focus()

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        """Say where it goes."""
        if event.checkbox.id == "long_term":
            where = "New entry, in MEMORY.md" if event.value else "New entry, in the note of today"
            self.query_one("#where", Static).update(text.plain(where, "bold"))
            heading = self.query_one("#heading", Input)
            heading.placeholder = "section (may stay empty)" if event.value else "heading (may stay empty)"
            heading.suggester = self._sections if event.value else None

    def action_take(self) -> None:
        """Return the draft; None if its text is empty."""
        body = self.query_one(TextArea).text.strip()
        long_term, tentative = (
            self.query_one(f"#{name}", Checkbox).value for name in ("long_term", "tentative")
        )
        heading = self.query_one("#heading", Input).value.strip()
        self.dismiss(Draft(body, heading, long_term, tentative) if body else None)

    def action_leave(self) -> None:
        """Cancel; the result is None."""
        self.dismiss(None)


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


class Location(ModalScreen[Located | None]):
    """A path, and a name where one can be given; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave")]

    def __init__(
        self, title: str, hint: str, name: str = "", typed: Located = _NOTHING, *, folders: bool = False
    ) -> None:
        """Take the question, an example, a label of the name, former input; complete `folders` alone."""
        super().__init__()
        self._title, self._hint, self._named = title, hint, name
        self._typed, self._folders = typed, folders

    def compose(self) -> ComposeResult:
        """Show the fields."""
        with Vertical(classes="window short"):
            yield Static(text.plain(self._title, "bold"), markup=False)
            suggester = Paths(folders=self._folders)
            path, name, wrong = self._typed
            if wrong:
                yield Static(text.plain(wrong, "bold $text-error"), markup=False)
            yield Completed(path, self._hint, suggester=suggester, compact=True, id="path")
            if self._named:
                yield Input(name, self._named, compact=True, id="name")
            keys = "enter takes it · tab completes the path · escape leaves"
            yield Static(text.plain(keys, "bold"), markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the typed path and name; None without a path."""
        event.stop()
        path, *name = (field.value.strip() for field in self.query(Input))
        self.dismiss(Located(path, "".join(name)) if path else None)

    def action_leave(self) -> None:
        """Cancel; the result is None."""
        self.dismiss(None)
