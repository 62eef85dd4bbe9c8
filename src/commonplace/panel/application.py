"""The panel: six panes behind a line of names, the keys, the themes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Click
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from commonplace import config
from commonplace.memory import Memory
from commonplace.panel import keys, text
from commonplace.panel.dialogs import Review
from commonplace.panel.host import Examine, Host, Pane
from commonplace.panel.search import Field, SearchPane

# Values of `--theme`: dark and light in 24-bit colours, and the 16 colours of the terminal itself.
THEMES: Mapping[str, str] = {"dark": "textual-dark", "light": "textual-light", "terminal": "ansi-dark"}
_KEY = 9  # cells of a key where all are listed
_PANES: Mapping[str, tuple[str, str]] = {
    "timeline": ("timeline", "TimelinePane"),
    "memory": ("longterm", "MemoryPane"),
    "live": ("live", "LivePane"),
    "health": ("health", "HealthPane"),
    "setup": ("setup", "SetupPane"),
}  # by name: module and class
WIDE = 100  # columns from which a pane has two parts side by side


class Name(Static):
    """The name of a pane; a click goes there."""

    class Chosen(Message):
        """A pane was chosen by the mouse."""

        def __init__(self, pane: str) -> None:
            """Name it."""
            super().__init__()
            self.pane = pane

    def on_click(self, event: Click) -> None:
        """Go to the pane."""
        event.stop()
        self.post_message(self.Chosen(str(self.name)))


class Panel(Host):
    """The application."""

    CSS_PATH = "panel.tcss"
    TITLE = "commonplace"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"go('{pane}')") for number, pane in enumerate(keys.PANES, 1)),
        Binding("slash", "field"),
        Binding("escape", "leave"),
        Binding("e", "on_place('edit')"),
        Binding("c", "on_place('correct')"),
        Binding("t", "on_place('confirm')"),
        Binding("d", "on_place('forget')"),
        Binding("F", "start('forget_any')"),
        Binding("m", "start('more')"),
        Binding("n", "start('write')"),
        Binding("f", "of_pane('toggle_factors')"),
        Binding("s", "of_pane('toggle_struck')"),
        Binding("left_square_bracket", "of_pane('step', -1)"),
        Binding("right_square_bracket", "of_pane('step', 1)"),
        Binding("g", "of_pane('go_to')"),
        Binding("h", "of_pane('open_history')"),
        Binding("u", "of_pane('undo')"),
        Binding("r", "of_pane('review')"),
        Binding("a", "of_pane('do', 'add')"),
        Binding("i", "of_pane('do', 'import')"),
        Binding("x", "of_pane('do', 'export')"),
        Binding("T", "theme"),
        Binding("question_mark", "keys"),
        Binding("q", "quit"),
    ]

    def __init__(
        self,
        memory: Memory,
        examine: Examine,
        *,
        reopen: Callable[[], Memory] | None = None,
        now: Callable[[], datetime] = datetime.now,
        agent: str = "",
        theme: str = "",
    ) -> None:
        """Take the memory, what examines it, the clock, who looks, and a theme of `THEMES`.

        `reopen` opens the memory with settings that were changed; without it they hold from the next start.
        """
        super().__init__(memory, examine, now=now, agent=agent)
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
        self._reopen = reopen
        self._stamp = config.stamp(memory.workspace.root)
        if not theme:
            is_plain = self.no_color or self.console.color_system in ("standard", "windows", None)
            theme = "terminal" if is_plain else "light" if _is_light(os.environ) else "dark"
        self.theme = THEMES[theme]

    def compose(self) -> ComposeResult:
        """Show names, panes, the message, the keys."""
        with Horizontal(id="names"):
            for number, (pane, title) in enumerate(keys.PANES.items(), 1):
                yield Name(f" {number} {title} ", name=pane, id=f"name-{pane}", markup=False)
        with ContentSwitcher(initial="search", id="panes"):
            yield SearchPane(self)
        yield Static(id="message", markup=False)
        yield Static(id="keys", markup=False)

    async def on_mount(self) -> None:
        """Begin in the search field."""
        await self.action_go("search")
        from commonplace.actions.statements import notice

        if waits := "" if self.provenance else await self.ask(partial(notice, self.memory)):
            self.tell(waits)

    def _made(self, name: str) -> Pane:
        """Make a pane when it is first opened, and import its module; the start loads no pane."""
        module, kind = _PANES[name]
        made: Pane = getattr(import_module(f"commonplace.panel.{module}"), kind)(self)
        return made

    @property
    def pane(self) -> Pane:
        """The pane that is shown."""
        switcher = self.screen_stack[0].query_one("#panes", ContentSwitcher)
        pane = switcher.visible_content
        assert isinstance(pane, Pane)
        return pane

    def changed(self) -> None:
        """Read the pane anew that is shown; others are when they are gone to."""
        self.pane.renew()

    async def reopen(self) -> None:
        """Open the memory anew where settings were changed; the live feed, which follows the former, goes."""
        stamp = await self.ask(partial(config.stamp, self.memory.workspace.root))
        if self._reopen is not None and stamp != self._stamp:
            former, self.memory = self.memory, await self.ask(self._reopen)
            self._stamp = stamp
            await self.screen_stack[0].query("#live").remove()
            await self.ask(former.close)

    # --- keys ---------------------------------------------------------------------------------------

    async def on_name_chosen(self, event: Name.Chosen) -> None:
        """Go to the pane that was clicked."""
        await self.action_go(event.pane)

    async def action_go(self, pane: str) -> None:
        """Go to a pane."""
        stack = self.screen_stack[0]
        panes = stack.query_one("#panes", ContentSwitcher)
        if not panes.query(f"#{pane}"):
            await panes.add_content(self._made(pane), set_current=True)
        panes.current = pane
        for name in stack.query(Name):
            name.set_class(name.name == pane, "-current")
        self.pane.enter()
        self.on_descendant_focus()

    def on_descendant_focus(self) -> None:
        """Say at the bottom which keys do what here."""
        hints = keys.IN_FIELD if isinstance(self.focused, Field) else keys.hints(self.pane.NAME)
        self.screen_stack[0].query_one("#keys", Static).update(text.plain(hints, "dim"))

    async def action_field(self) -> None:
        """Go to the search field."""
        await self.action_go("search")
        self.query_one(SearchPane).focus_field()

    def action_leave(self) -> None:
        """Go back to the main part of the pane."""
        self.pane.back()

    def action_on_place(self, name: str) -> None:
        """Do something to what is under the cursor."""
        place = self.pane.place
        if place is None:
            self.tell("nothing is under the cursor that this could be done to")
            return
        from commonplace.panel import actions

        self.act(getattr(actions, name)(self, place))

    def action_start(self, name: str) -> None:
        """Do something that is about nothing under the cursor."""
        from commonplace.panel import actions

        self.act(getattr(actions, name)(self))

    def action_of_pane(self, name: str, *values: object) -> None:
        """Do what a key does in the pane that is shown; nothing in another."""
        if method := getattr(self.pane, name, None):
            method(*values)

    def action_theme(self) -> None:
        """Take the next theme."""
        themes = [*THEMES.values()]
        self.theme = themes[(themes.index(self.theme) + 1) % len(themes)]

    def action_keys(self) -> None:
        """Show the keys."""
        own = keys.OF_PANES[self.pane.NAME]
        rows = [*own.items(), *keys.EVERYWHERE.items()]
        lines = [text.joined((f"{key:<{_KEY}}", "bold"), what) for key, what in rows]
        self.push_screen(Review("Keys", lines, "", hang=_KEY + 2))


def _is_light(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal's background is light (COLORFGBG, as rxvt and Konsole set it)."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
