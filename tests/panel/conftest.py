"""A workspace in English and Chinese with a hostile note, and a person at the keys of the panel."""

from __future__ import annotations

import asyncio
import io
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from textual.pilot import Pilot
from textual.widgets import Input

from commonplace.memory import Memory
from commonplace.panel.application import Panel
from commonplace.panel.rows import Rows
from commonplace.types import Finding

NOW = datetime(2026, 3, 15, 10, 0)
WIDE, BOTH, NARROW = (120, 40), (100, 24), (80, 24)  # BOTH is the smallest that shows two parts
LONGEST_S = 60.0  # a condition that does not come true in that time never will
NOTES = {
    "MEMORY.md": (
        "# Memory\n\n## Tea\n\n- Aged white tea after lunch.\n- No coffee after 14:00.\n"
        "- Perhaps oolong in winter. <!-- tentative -->\n\n"
        "## 家\n\n- 地址：余杭区五常街道梧桐里 7 幢 1102，2026-03-28 搬入，租约到 2028-03-25，月租 6800。\n"
    ),
    "memory/2026-02-13.md": (
        "# 2026-02-13\n\n## Deploy\n\n- The deploy moved to Thursday.\n- Lin signs it off.\n\n"
        "## 部署\n\n- 周五下午不部署。\n"
    ),
    "memory/2026-02-14.md": "# 2026-02-14\n\n- Nothing but rain, and a pot of white tea.\n",
    "memory/2026-03-14.md": (
        "# 2026-03-14\n\n- 09:05 Moved the queue to PostgreSQL."
        " <!-- by: agent; agent: scout; session: s1; at: 2026-03-14T09:05:00 -->\n- 18:20 豆豆学会骑车。\n"
    ),
    "memory/hostile.md": (
        "# [bold red]Hostile[/bold red]\n\n- [@click=app.quit]press[/] [link=https://x.example]here[/link]"
        " \x1b[31mred\x1b[0m \x1b]0;owned\x07 \x9b31m wombat\n- [/] [unclosed wombat $primary\n"
    ),
}
QUIET = {"embedding.provider": "none", "usage.record": False}
FINDINGS = [
    ("notes", [Finding("notes.text", "ok", "5 notes are text")]),
    ("index", [Finding("index.file", "warning", "the index is old", "run `commonplace sync`")]),
    ("disk", [Finding("disk.space", "wrong", "the disk is full", "make room")]),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace of five notes."""
    root = tmp_path / "notes"
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
        os.utime(root / path, (1_770_000_000, 1_770_000_000))
    return root


@pytest.fixture
def memory(workspace: Path) -> Iterator[Memory]:
    """Its memory as the panel opens it, without a model."""
    with Memory.open(workspace, overrides=QUIET) as memory:
        yield memory


class Person:
    """Who sits before the panel: presses keys, looks at the screen."""

    def __init__(self, panel: Panel, pilot: Pilot[Any]) -> None:
        self.panel, self.pilot = panel, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Put a text into the field in focus: a key for each letter would show the screen as often."""
        field = self.panel.focused
        assert isinstance(field, Input)
        field.insert_text_at_cursor(text)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for a condition."""
        loop = asyncio.get_running_loop()
        end = loop.time() + LONGEST_S
        while not holds():
            assert loop.time() < end, self.screen
            await asyncio.sleep(0.05)

    async def sees(self, text: str) -> None:
        """Wait for a text on the screen."""
        await self.until(lambda: text in self.screen)

    async def search(self, question: str) -> None:
        """Ask a question, and go to the hits."""
        await self.press("slash")
        self.panel.query_one("#question", Input).value = question
        await self.press("enter")
        await self.until(lambda: self.rows("hits").rows)
        await self.pilot.pause()

    def rows(self, name: str) -> Rows:
        return self.panel.screen.query_one(f"#{name}", Rows)

    @property
    def screen(self) -> str:
        """The screen as text."""
        width, height = self.panel.size
        console = Console(
            width=width, height=height, file=io.StringIO(), force_terminal=True, color_system="truecolor",
            record=True, legacy_windows=False,
        )  # fmt: skip
        console.print(self.panel.screen._compositor.render_update(full=True))
        return "\n".join(map(str.rstrip, console.export_text().rstrip("\n").split("\n"))) + "\n"

    @property
    def message(self) -> str:
        """What is said below the panes."""
        return " ".join(str(self.panel.screen_stack[0].query_one("#message").render()).split())

    @property
    def still(self) -> str:
        """The screen without what takes another time or size on another day."""
        return re.sub(r"\d+ ms\b", "N ms", self.screen)


Scene = Callable[[Person], Awaitable[None]]
Play = Callable[..., Person]


@pytest.fixture
def play(memory: Memory, workspace: Path) -> Play:
    """Open the panel, let a person do something, close it; return the person."""

    def run(
        scene: Scene, size: tuple[int, int] = BOTH, examine: Sequence[tuple[str, list[Finding]]] = FINDINGS,
        **named: Any,
    ) -> Person:  # fmt: skip
        def opened_anew() -> Memory:
            return stack.enter_context(Memory.open(workspace, overrides=QUIET))

        @asynccontextmanager
        async def opened() -> Any:
            panel = Panel(memory, lambda: examine, now=lambda: NOW, reopen=opened_anew, **named)
            panel.animation_level = "none"
            async with panel.run_test(size=size) as pilot:
                yield Person(panel, pilot)

        async def played() -> Person:
            async with opened() as person:
                await scene(person)
            return person

        with ExitStack() as stack:
            return asyncio.run(played())

    return run
