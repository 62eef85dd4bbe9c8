"""Search as you type: hits with their factors, and the note at the hit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static

from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.memory import draft, question_words
from commonplace.panel import text
from commonplace.panel.host import Host, Pane
from commonplace.panel.note import NoteView
from commonplace.panel.rows import NoteLines, Row, Rows
from commonplace.render import count, hits, screen
from commonplace.types import Hit, SearchResult

PAUSE_S = 0.12  # after the last key
MOST_HITS = 30
_SHOWN = 100  # cells of a line that a hit says
_LINES = 3  # that a hit says where no word of the question is in it


@dataclass(frozen=True, slots=True)
class _TypedQuestion:
    """A question; while it is typed, only this machine is used and hits are not reranked by a model."""

    text: str
    in_full: bool = False


class Field(Input):
    """The field; from it one goes down to the hits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "leave", show=False),
        Binding("escape", "leave", show=False),
    ]

    def action_leave(self) -> None:
        """Go to the hits."""
        if isinstance(self.parent, SearchPane):
            self.screen.set_focus(self.parent.main)  # at once: the next key is no letter any more


class SearchPane(Pane):
    """The field, the hits, the note."""

    NAME = "search"

    def __init__(self, host: Host) -> None:
        """Start without a question."""
        super().__init__(host)
        self._timer: Timer | None = None
        self._waiting: _TypedQuestion | None = None  # at most one search runs, and the newest question waits
        self._is_searching = self._has_struck = False
        self._pattern: re.Pattern[str] | None = None
        self._asked = _TypedQuestion("")
        self._shown = ""  # the question that the hits answer

    def compose(self) -> ComposeResult:
        """Show the parts."""
        yield Field(placeholder="search your memory", compact=True, id="question")
        yield Static(id="state", classes="title", markup=False)
        with Horizontal(classes="split"):
            yield Rows(id="hits", classes="main")
            yield NoteView(self.host, id="note", classes="side")
        yield Static(id="factors", markup=False)

    def enter(self) -> None:
        """Begin in the field, or among the hits where there are some, as they are by now."""
        if self.main.rows:
            self.main.focus()
            self.renew()
        else:
            self.focus_field()

    def focus_field(self) -> None:
        """Go to the field."""
        self.remove_class("-side")
        self.query_one(Field).focus()

    def renew(self) -> None:
        """Ask the same again."""
        if self._asked.text:
            self._ask(self._asked)

    # --- asking -------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask once no key was pressed for a moment."""
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(PAUSE_S, partial(self._ask, _TypedQuestion(event.value)))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Ask as the settings say, and go to the hits."""
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._ask(_TypedQuestion(event.value, in_full=True))
        self.main.focus()

    def _ask(self, question: _TypedQuestion) -> None:
        self._asked = self._waiting = question
        if not self._is_searching:
            self._is_searching = True
            self.host.act(self._answer(), "search")

    async def _answer(self) -> None:
        """Answer the waiting question until the queue is empty; drop answers to superseded questions."""
        try:
            while (question := self._waiting) is not None:
                self._waiting = None
                if not question.text.strip():
                    self._show(question, None)
                    continue
                result = await self.host.ask(partial(self._search, question))
                if self._waiting is None:
                    self._show(question, result)
        finally:
            self._is_searching = False

    def _search(self, question: _TypedQuestion) -> SearchResult:
        memory, today = self.host.memory, self.host.now().date()
        if question.in_full:
            return memory.search(question.text, limit=MOST_HITS, now=today, history=self._has_struck)
        return draft(memory, question.text, limit=MOST_HITS, now=today, history=self._has_struck)

    # --- showing ------------------------------------------------------------------------------------

    def _show(self, question: _TypedQuestion, result: SearchResult | None) -> None:
        self._pattern = screen.matcher(question_words(question.text)) if result else None
        found = result.hits if result else ()
        self.query_one("#state", Static).update(text.plain(_state(result), "dim"))
        is_same, self._shown = question.text == self._shown, question.text
        self.main.put((_row(hit, self._pattern) for hit in found), None if is_same else 0)
        if not found:
            self._clear()

    def _clear(self) -> None:
        self.query_one(NoteView).clear()
        self.query_one("#factors", Static).update("")

    @on(OptionList.OptionHighlighted, "#hits")
    def preview(self) -> None:
        """Show the note at the hit under the cursor, and what its score is made of."""
        hit = self._hit
        if hit is None or self.main.place is None:
            self._clear()
            return
        lines = text.bars(hits.shares(hit.score, hit.factors))
        self.query_one("#factors", Static).update(Content("\n").join(lines))
        self.host.act(self.query_one(NoteView).show(self.main.place, self._pattern), "preview")

    @property
    def _hit(self) -> Hit | None:
        value = self.main.row.value if self.main.row else None
        return value if isinstance(value, Hit) else None

    @on(OptionList.OptionSelected, "#hits")
    def open_hit(self) -> None:
        """Go to the note."""
        self.open_side()

    def toggle_struck(self) -> None:
        """Find struck text as well, or no longer."""
        self._has_struck = not self._has_struck
        self.host.tell("struck text too" if self._has_struck else "without struck text")
        self.renew()

    def toggle_factors(self) -> None:
        """Show or hide what the score is made of."""
        self.toggle_class("-factors")


def _state(result: SearchResult | None) -> str:
    """How many hits, what answered, and what the person should know."""
    if result is None:
        return ""
    warnings = [screen.one_line(warning) for warning in result.warnings]
    if not result.hits:
        return " · ".join(["nothing is found", *warnings])
    level = hits.footer(result).split(" · ")
    return " · ".join([*level, *warnings]) if level else count(len(result.hits), "hit")


def _row(hit: Hit, pattern: re.Pattern[str] | None) -> Row:
    """Return the row of a hit: title; place, date, score, collection; an excerpt.

    The excerpt is the line with the most matches, or the first lines if no line matches.
    """
    names = [hit.title, *hit.headings]
    title = " › ".join(dict.fromkeys(screen.one_line(name) for name in names if name))
    where = screen.place(hit.path, hit.start_line, hit.end_line)
    collection = "" if hit.collection == WORKSPACE_COLLECTION else hit.collection
    about = " · ".join(filter(None, [where, hit.date, hits.score(hit), collection, *hit.standing]))
    lines = [line for line in hit.text.split("\n") if line.strip()]
    matched = [sum(b - a for a, b in screen.matches(text.line(line), pattern)) for line in lines]
    line = lines[matched.index(max(matched))] if any(matched) else ""
    best = [line] if line else lines[:_LINES]
    said = [text.marked(screen.shorten(screen.one_line(line), _SHOWN), pattern) for line in best]
    shown = Content("\n").join([text.plain(title or hit.path, "bold"), text.plain(about, "dim"), *said])
    place = NoteLines(hit.path, hit.start_line, hit.end_line, hit.text, hit.workspace, line)
    return Row(shown, hit, place, 2)
