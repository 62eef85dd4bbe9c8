"""The panel: six panes behind a line of names, the keys, the themes."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

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
from commonplace.panel.host import Host, Pane
from commonplace.panel.rows import Place
from commonplace.panel.search import Field, SearchPane
from commonplace.panel.timeline import TimelinePane

if TYPE_CHECKING:
    from commonplace.panel.health import Examine

# Values of `--theme`: dark and light in 24-bit colours, and the 16 colours of the terminal itself.
THEMES: Mapping[str, str] = {"dark": "textual-dark", "light": "textual-light", "terminal": "ansi-dark"}
_KEY = 9  # cells of a key where all are listed
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
        Binding("F", "forget_any"),
        Binding("m", "more"),
        Binding("n", "write"),
        Binding("f", "factors"),
        Binding("s", "struck"),
        Binding("left_square_bracket", "step(-1)"),
        Binding("right_square_bracket", "step(1)"),
        Binding("g", "go_to"),
        Binding("h", "history"),
        Binding("u", "undo"),
        Binding("r", "review"),
        Binding("a", "set_up('add')"),
        Binding("i", "set_up('import')"),
        Binding("x", "set_up('export')"),
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
        super().__init__(memory, now=now, agent=agent)
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
        self._examine, self._reopen = examine, reopen
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
        if name == "timeline":
            return TimelinePane(self)
        if name == "memory":
            from commonplace.panel.longterm import MemoryPane

            return MemoryPane(self)
        if name == "live":
            from commonplace.panel.live import LivePane

            return LivePane(self)
        if name == "setup":
            from commonplace.panel.setup import SetupPane

            return SetupPane(id=name)
        from commonplace.panel.health import HealthPane

        return HealthPane(self._examine)

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

        doing: Mapping[str, Callable[[Host, Place], Coroutine[Any, Any, None]]] = {
            "edit": actions.edit,
            "correct": actions.correct,
            "confirm": actions.confirm,
            "forget": actions.forget,
        }
        self.act(doing[name](self, place))

    def action_write(self) -> None:
        """Write a new entry."""
        from commonplace.panel import actions

        self.act(actions.write(self))

    def action_more(self) -> None:
        """Offer the actions that have no key."""
        from commonplace.panel import actions

        self.act(actions.more(self))

    def action_forget_any(self) -> None:
        """Forget a person, a session or words."""
        from commonplace.panel import actions

        self.act(actions.forget_any(self))

    def action_struck(self) -> None:
        """Find struck text as well, or no longer."""
        if isinstance(self.pane, SearchPane):
            self.pane.toggle_struck()

    def action_factors(self) -> None:
        """Show what the score of a hit is made of."""
        if isinstance(self.pane, SearchPane):
            self.pane.toggle_factors()

    def action_step(self, by: int) -> None:
        """Go to the day before or after."""
        if isinstance(self.pane, TimelinePane):
            self.pane.step(by)

    def action_go_to(self) -> None:
        """Go to a day."""
        if isinstance(self.pane, TimelinePane):
            self.act(self.pane.go_to())

    def action_history(self) -> None:
        """Go to the history of MEMORY.md."""
        from commonplace.panel.longterm import MemoryPane

        if isinstance(self.pane, MemoryPane):
            self.pane.open_side()

    def action_undo(self) -> None:
        """Take back the change under the cursor of the history."""
        from commonplace.panel import actions
        from commonplace.panel.longterm import MemoryPane

        if isinstance(self.pane, MemoryPane):
            run = self.pane.run_under_cursor
            if run is None:
                self.tell("no generated change is under the cursor of the history")
            else:
                self.act(actions.undo(self, run))

    def action_review(self) -> None:
        """Review a consolidation, or examine again."""
        if self.pane.NAME == "memory":
            from commonplace.panel.consolidation import review

            self.act(review(self))
        elif self.pane.NAME == "health":
            self.pane.renew()

    def action_set_up(self, kind: str) -> None:
        """Add a folder, bring in, or export."""
        from commonplace.panel.setup import SetupPane

        if isinstance(self.pane, SetupPane):
            self.pane.do(kind)

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
