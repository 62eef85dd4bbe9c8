"""`tui`: the panel in the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import MissingExtra
from commonplace.cli import session
from commonplace.cli.options import command, option
from commonplace.config.files import AGENT_VARIABLE

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Finding


@command("tui", several=True)
@option(
    "--theme",
    type=click.Choice(("dark", "light", "terminal")),
    help="Colours; otherwise by what the terminal says of itself. T changes them.",
)
def tui(ctx: click.Context, theme: str | None) -> None:
    """Look at this memory in a panel of the terminal: search, timeline, MEMORY.md, a live feed, health.

    `?` shows the keys. Questions asked here are not recorded as use. Needs the extra `tui` (Textual).
    """
    if not (session.can_ask() and session.is_terminal(sys.stdout)):
        raise click.UsageError("the panel needs a terminal; other commands can be piped", ctx)
    try:
        from commonplace.panel.application import Panel
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise MissingExtra("the panel", "tui") from error

    def opened() -> Memory:
        return session.open_memories(ctx, lambda _: {"usage.record": False})

    memory = opened()
    root, agent = str(memory.workspace.root), session.asking_agent(ctx)
    Panel(memory, lambda: _examined(root, agent), reopen=opened, agent=agent, theme=theme or "").run()


def _examined(root: str, agent: str) -> Iterator[tuple[str, Sequence[Finding]]]:
    """Yield the findings of `doctor --offline` on the workspace."""
    from commonplace.diagnosis import examination

    environ = {**os.environ, AGENT_VARIABLE: agent} if agent else os.environ
    return examination.examine(examination.present(root, environ, offline=True))
