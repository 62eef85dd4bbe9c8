"""MEMORY.md: its sections and statements; the changes of all notes, undo, review of a consolidation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from commonplace.edit.resolve import Corpus
from commonplace.panel import actions, text
from commonplace.panel.host import Host, Pane
from commonplace.panel.rows import NoteLines, Row, Rows
from commonplace.render import screen
from commonplace.storage import journal
from commonplace.types import Run, Statement

MOST_RUNS = 100  # changes listed


class MemoryPane(Pane):
    """The statements, and the history of the workspace."""

    NAME = "memory"

    def __init__(self, host: Host) -> None:
        """Start empty."""
        super().__init__(host)
        self._path = host.memory.workspace.memory_file.name

    def compose(self) -> ComposeResult:
        """Show the parts."""
        with Horizontal(classes="split"):
            yield Rows(id="statements", classes="main")
            with Vertical(classes="side"):
                yield Static(text.plain("History", "bold"), classes="title", markup=False)
                yield Rows(id="runs")
                yield Static(id="run-title", classes="title", markup=False)
                yield Rows(id="diff")

    def renew(self) -> None:
        """Read the file and the log."""
        self.host.act(self._renew(), "memory")

    async def _renew(self) -> None:
        stated = await self.host.ask(self._statements)
        self.main.put(_rows(stated) if stated else [_nothing(self._path)])
        history = await self.host.ask(self._history)
        listed = self.query_one("#runs", Rows)
        former = next((row.value.id for row in listed.rows if isinstance(row.value, Run)), "")
        at = 0 if history and history[0].id != former else None  # on the newest change, if there is a new one
        nothing = [Row(text.plain("no generated change yet", "dim"))]
        listed.put(map(_run_row, history) if history else nothing, at)
        if not history:
            self._put_diff("", ())

    def _statements(self) -> list[Statement]:
        memory = self.host.memory
        corpus = Corpus(memory.workspace, memory.settings, self.host.note_bytes)
        return corpus.statements(self._path) if self._path in corpus.paths else []

    def _history(self) -> list[Run]:
        return list(islice(journal.newest_first(self.host.memory.workspace), MOST_RUNS))

    @property
    def run_under_cursor(self) -> Run | None:
        """The change under the cursor of the history."""
        row = self.query_one("#runs", Rows).row
        return row.value if row and isinstance(row.value, Run) else None

    def undo(self) -> None:
        """Take back the change under the cursor of the history."""
        if self.run_under_cursor is None:
            self.host.tell("no generated change is under the cursor of the history")
        else:
            self.host.act(actions.undo(self.host, self.run_under_cursor))

    def review(self) -> None:
        """Review a consolidation."""
        from commonplace.panel.consolidation import review

        self.host.act(review(self.host))

    @on(OptionList.OptionHighlighted, "#runs")
    def show_run(self) -> None:
        """Show what the change under the cursor changed."""
        if self.run_under_cursor is not None:
            self.host.act(self._show_run(self.run_under_cursor), "run")

    async def _show_run(self, run: Run) -> None:
        diff = await self.host.ask(partial(journal.diff, self.host.memory.workspace, run))
        self._put_diff(run.about.title + (f" ({run.about.why})" if run.about.why else ""), text.diff(diff))

    def _put_diff(self, title: str, lines: Iterator[Content] | Sequence[Content]) -> None:
        self.query_one("#run-title", Static).update(text.plain(title, "bold"))
        self.query_one("#diff", Rows).put((Row(line, number) for number, line in enumerate(lines)), 0)

    @on(OptionList.OptionSelected, "#runs")
    def open_diff(self) -> None:
        """Go to the diff."""
        self.query_one("#diff", Rows).focus()

    @on(OptionList.OptionSelected, "#statements")
    def open_history(self) -> None:
        """Go to the history."""
        self.open_side()


def _nothing(path: str) -> Row:
    return Row(text.plain(f"{path} states nothing yet; n writes an entry", "dim"))


def _rows(stated: Sequence[Statement]) -> Iterator[Row]:
    """The statements below their sections."""
    headings: tuple[str, ...] = ()
    for statement in stated:
        if statement.headings != headings:
            headings = statement.headings
            yield Row(text.plain(" › ".join(headings[1:] or headings) or "(no section)", "bold $text-accent"))
        place = NoteLines(statement.path, statement.first, statement.last, statement.text)
        yield Row(_shown(statement), (statement.first, statement.text), place, 2)


def _shown(statement: Statement) -> Content:
    said = statement.said
    marks = [
        *(["struck"] if statement.struck else []),
        *(["pinned"] if "pinned" in said else []),
        *([said["status"]] if "status" in said else []),
        *([f"since {said['since']}"] if "since" in said else []),
        *([f"until {said['until']}"] if "until" in said and not statement.struck else []),
        *([f"by {said.get('agent') or said['by']}"] if "by" in said else []),
    ]
    indent = " " * (len(statement.item) - len(statement.item.lstrip()))
    body = text.plain(
        f"{indent}• {screen.one_line(statement.text)}", "strike dim" if statement.struck else ""
    )
    return Content.assemble(body, text.plain(f"  {' · '.join(marks)}" if marks else "", "dim"))


def _run_row(run: Run) -> Row:
    about = run.about
    when = run.at[:16].replace("T", " ")
    marks = "undone " if run.undone else "" if run.kept else "not kept "
    added, removed = (sum(getattr(file, side) for file in run.files) for side in ("added", "removed"))
    head = text.joined(
        (when, "dim"), (about.kind, "bold"), about.agent or about.by, f"+{added} -{removed}", marks
    )
    return Row(Content("\n").join([head, text.plain(f"  {about.title}")]), run)
