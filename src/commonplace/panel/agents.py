"""This memory given to another agent, and taken from it: the files that would change, then a yes."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from commonplace.actions.clients import INSTALL, SCOPE
from commonplace.clients import installing
from commonplace.panel import text
from commonplace.panel.actions import UNCHANGED, carry_out
from commonplace.panel.dialogs import Choice, Review
from commonplace.panel.host import Host
from commonplace.panel.rows import Row


async def choose(host: Host, name: str) -> None:
    """Enter this memory into a client, or take it out; of any other client show what to paste."""
    door = await host.ask(partial(installing.door, host.memory.workspace.root, name))
    if name == installing.GENERIC:
        lines = [
            text.plain(
                "This goes among the MCP servers of the client; `commonplace install generic` prints it."
            ),
            text.plain(""),
            *map(text.plain, installing.generic(door).split("\n")),
        ]
        await host.push_screen_wait(Review("Any other client", lines, ""))
        return
    target, where = installing.find(name), installing.site(os.environ, Path.cwd())
    has = any(one.ours for one in installing.standing(where) if (one.target, one.scope) == (target, SCOPE))
    remove: object = False
    if has:
        rows = [
            Row(text.plain("bring it up to date", "bold"), "enter"),
            Row(text.plain("take it out", "bold"), "remove"),
        ]
        remove = await host.push_screen_wait(Choice(f"{target.title} has this memory", rows))
        if remove is None:
            host.tell(UNCHANGED)
            return
    await carry_out(host, INSTALL, client=name, remove=remove == "remove")
