"""The base of every pane: the memory, work in threads, the message line."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from textual.app import App
from textual.containers import Vertical
from textual.widgets import Static

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.memory import Memory
from commonplace.panel import text
from commonplace.panel.rows import NoteLines, Row, Rows
from commonplace.redaction.redact import redact
from commonplace.render import screen
from commonplace.storage.transaction import read
from commonplace.types import Finding, Provenance

Examine = Callable[[], Iterable[tuple[str, Sequence[Finding]]]]  # findings by group
_Result = TypeVar("_Result")
_LONGEST = 500  # characters of a message


class Host(App[None]):
    """The application as panes see it."""

    def __init__(
        self, memory: Memory, examine: Examine, *, now: Callable[[], datetime], agent: str = ""
    ) -> None:
        """Bind to a memory and what examines it; `agent` is who looks, empty for the owner."""
        super().__init__()
        self.memory, self.examine, self.now = memory, examine, now
        self.provenance = Provenance("agent", agent) if agent else None

    async def ask(self, job: Callable[[], _Result]) -> _Result:
        """Run a long job in a thread and return its result; quitting does not wait for it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()

        def settle(result: _Result | None, error: BaseException | None) -> None:
            if not future.done():
                future.set_exception(error) if error else future.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            result, error = None, None
            try:
                result = job()
            except BaseException as raised:  # noqa: BLE001 - it is raised again where it is awaited
                error = raised
            with suppress(RuntimeError):  # the panel is gone
                loop.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=run, name="commonplace-panel", daemon=True).start()
        return await future

    def act(self, work: Coroutine[Any, Any, None], group: str = "act") -> None:
        """Do some work; the later of one group takes the place of the former, but for actions of a person."""
        self.run_worker(self._guarded(work), group=group, exclusive=group != "act")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except CommonplaceError as error:
            self.tell(str(error), wrong=True)
        except OSError as error:
            where = f"{paths.shown(str(error.filename))}: " if error.filename else ""
            self.tell(f"{where}{paths.reason(error)}", wrong=True)
        except Exception as error:  # noqa: BLE001 - the panel lives on, whatever one pane meets
            self.tell(f"unexpected {type(error).__name__}: {error}", wrong=True)

    def tell(self, message: str, *, wrong: bool = False) -> None:
        """Show a message on the message line while the application runs."""
        if not self.is_running:
            return
        said = screen.shorten(screen.one_line(redact(message)[0]), _LONGEST)
        row = Row(
            text.plain(f"! {said}" if wrong else said, "bold $text-error" if wrong else ""), hang=2 * wrong
        )
        self.screen_stack[0].query_one("#message", Static).update(row.wrapped(self.size.width - 2))

    def changed(self) -> None:
        """Show anew what is shown: notes were changed."""
        raise NotImplementedError

    async def reopen(self) -> None:
        """Open the memory anew where settings were changed."""
        raise NotImplementedError

    @property
    def closed(self) -> str:
        """Return why setup is not allowed here; empty if it is."""
        workspace = self.memory.workspace
        if self.provenance or workspace.reader is not None:
            return "an agent sets nothing up"
        return "" if os.access(workspace.root, os.W_OK) else "this workspace is only read"

    def note_bytes(self, path: str) -> bytes | None:
        """Return the bytes of a note of the workspace; None if it is missing."""
        return read(self.memory.workspace, path)


class Pane(Vertical):
    """One of the six; on a narrow screen it shows its main part or, with the class `-side`, the other."""

    NAME: ClassVar[str]

    def __init__(self, host: Host) -> None:
        """Bind to the application; nothing is read before the pane is gone to."""
        super().__init__(id=self.NAME)
        self.host = host

    @property
    def main(self) -> Rows:
        """The list that the pane is about."""
        return self.query_one(".main", Rows)

    @property
    def place(self) -> NoteLines | None:
        """Return the place for an action: the row under the cursor of the focused list or of the main one."""
        focused = self.app.focused
        if isinstance(focused, Rows) and self in focused.ancestors and focused.place:
            return focused.place
        return self.main.place

    def open_side(self) -> None:
        """Go to the other part of the pane."""
        self.add_class("-side")
        rows = self.query_one(".side Rows", Rows)
        rows.focus()
        if rows.highlighted is not None:  # it may not have been in sight before
            rows.show_top(rows.highlighted)

    def back(self) -> None:
        """Go back to the main part."""
        self.remove_class("-side")
        self.main.focus()

    def enter(self) -> None:
        """Put the focus where a person begins, and show what is to be shown."""
        self.main.focus()
        self.renew()

    def renew(self) -> None:
        """Read anew what is shown."""
        raise NotImplementedError
