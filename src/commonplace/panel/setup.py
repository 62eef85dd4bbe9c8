"""Setup: agents that have this memory, folders that are searched, what comes in and goes out as a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.clients import installing
from commonplace.clients.table import TARGETS
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.memory import Memory, refresh
from commonplace.panel import agents, folders, text, transfer
from commonplace.panel.host import Host, Pane
from commonplace.panel.rows import Row, Rows
from commonplace.render import count

_NAME, _HERE = 18, len("on this machine")  # cells of a column
# Actions with a key, which `enter` on the row runs too.
DOING: Mapping[str, tuple[str, str, Callable[[Host], Coroutine[Any, Any, None]]]] = {
    "add": ("a", "search a further folder as well", folders.add),
    "import": ("i", "bring in what another memory holds", transfer.bring_in),
    "export": ("x", "write all notes into one file", transfer.export),
}
_OF_ONE: Mapping[str, Callable[[Host, str], Coroutine[Any, Any, None]]] = {
    "agent": agents.choose,
    "folder": folders.choose,
}


class SetupPane(Pane):
    """One list: agents, folders, files; `enter` does what a row says."""

    NAME = "setup"

    def compose(self) -> ComposeResult:
        """Show the list."""
        yield Rows(id="set-up", classes="main")

    def renew(self) -> None:
        """Read what is set up."""
        if not self.main.rows:
            self.main.put([Row(text.plain("reading …", "dim"))])
        self.host.act(self._renew(), "setup")

    async def _renew(self) -> None:
        await self.host.reopen()  # another program may have changed settings
        rows = await self.host.ask(lambda: list(_rows(self.host.memory, self.host.closed)))
        self.main.put(rows)

    @on(OptionList.OptionSelected, "#set-up")
    def open_row(self) -> None:
        """Do what the row under the cursor says."""
        value = self.main.row.value if self.main.row else None
        if isinstance(value, tuple):
            kind, name = value
            self.do(kind, name)

    def do(self, kind: str, name: str = "") -> None:
        """Run an action, unless setup is not allowed here."""
        if self.host.closed:
            self.host.tell(self.host.closed, wrong=True)
        elif kind in DOING:
            self.host.act(DOING[kind][2](self.host))
        else:
            self.host.act(_OF_ONE[kind](self.host, name))


def _rows(memory: Memory, closed: str) -> Iterator[Row]:
    if closed:
        yield Row(text.plain(f"{closed}; this is only to look at", "$text-warning"))
        yield Row(text.plain(""))
    yield from _agent_rows()
    yield Row(text.plain(""))
    yield from _folder_rows(memory)
    if not closed:
        yield _doing("add")
        yield Row(text.plain(""))
        yield Row(text.plain("Files", "bold $text-accent"))
        yield _doing("import")
        yield _doing("export")


def _doing(kind: str) -> Row:
    key, what, _ = DOING[kind]
    return Row(text.joined((key.ljust(_NAME), "bold"), what), (kind, ""))


def _agent_rows() -> Iterator[Row]:
    """Each client: whether it is here, and what of this memory it has."""
    where = installing.site(os.environ, Path.cwd())
    standing = installing.standing(where)
    yield Row(text.plain("Agents that may have this memory", "bold $text-accent"))
    for target in TARGETS:
        here = "on this machine" if installing.is_here(target, where) else "not found here"
        mine = [one for one in standing if one.target is target and (one.ours or one.trouble)]
        shown = [
            text.joined(
                (target.title.ljust(_NAME), "bold"), (here.ljust(_HERE), "dim"), "" if mine else "not entered"
            )
        ]
        for one in mine:
            path = paths.shown(one.edit.path)
            what = (
                f"cannot be read: {one.trouble}" if one.trouble else f"{one.edit.what} ({one.scope}): {path}"
            )
            shown.append(text.joined(" " * _NAME, what))
        yield Row(Content("\n").join(shown), ("agent", target.name), hang=_NAME + 2)
    other = text.joined(("any other".ljust(_NAME), "bold"), "shows what to paste into its settings")
    yield Row(other, ("agent", installing.GENERIC))


def _folder_rows(memory: Memory) -> Iterator[Row]:
    """The workspace's own notes, then each collection: what it holds, how it is searched, where it lies."""
    yield Row(text.plain("Folders that are searched", "bold $text-accent"))
    try:
        refresh(memory)
        held = memory.status().collections
    except CommonplaceError as error:
        yield Row(text.plain(str(error), "bold $text-error"))
        return
    for one in held:
        own = one.name == WORKSPACE_COLLECTION
        noted = memory.settings.collections.get(one.name)
        how = "" if own else one.weight if noted is None or noted.by_default else f"{one.weight}, if named"
        name = text.joined(
            (one.name.ljust(_NAME), "bold"), count(one.notes, "note"), how, (paths.shown(one.root), "dim")
        )
        yield Row(name, None if own else ("folder", one.name), hang=_NAME + 2)
