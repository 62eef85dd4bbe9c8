"""This memory given to another agent, and taken from it: the files that would change, then a yes."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path

from commonplace.base import paths
from commonplace.clients import edits, installing
from commonplace.clients.entries import Door
from commonplace.clients.files import KEPT_DAYS, Edit
from commonplace.clients.table import Scope, Target
from commonplace.panel import text
from commonplace.panel.actions import UNCHANGED
from commonplace.panel.dialogs import Choice, Review
from commonplace.panel.host import Host
from commonplace.panel.rows import Row
from commonplace.render import count

_SCOPE: Scope = "user"  # settings of a project are for who is in its folder: `commonplace install --project`


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
    target = installing.find(name)
    steps = edits.of(target, _SCOPE, installing.site(os.environ, Path.cwd()), door)
    entered = await host.ask(partial(_diff, steps, remove=False))
    removed = await host.ask(partial(_diff, steps, remove=True))
    remove = bool(removed)
    if entered and removed:
        rows = [
            Row(text.plain("bring it up to date", "bold"), "enter"),
            Row(text.plain("take it out", "bold"), "remove"),
        ]
        picked = await host.push_screen_wait(Choice(f"{target.title} has this memory", rows))
        if picked is None:
            host.tell(UNCHANGED)
            return
        remove = picked == "remove"
    title, question = (
        (f"Take this memory out of {target.title}", "Take it out?")
        if remove
        else (f"Give this memory to {target.title}", "Write this?")
    )
    if not await host.push_screen_wait(Review(title, [*text.diff(removed if remove else entered)], question)):
        host.tell(UNCHANGED)
        return
    await _carry_out(host, target, steps, door, remove=remove)


def _diff(steps: list[Edit], *, remove: bool) -> str:
    return installing.diff(steps, installing.preview(steps, os.environ, remove=remove))


async def _carry_out(host: Host, target: Target, steps: list[Edit], door: Door, *, remove: bool) -> None:
    """Change the files, and show what is left for a person to do."""
    change = installing.uninstall if remove else installing.install
    outcomes = await host.ask(partial(change, steps, os.environ))
    changed = [one for one in outcomes if one.changed]
    done = "taken out of" if remove else "entered into"
    lines = [text.plain(f"{one.what} {done} {paths.shown(one.path)}") for one in changed]
    if backups := [one.backup for one in changed if one.backup]:
        folder = paths.shown(backups[0].parent)
        kept = f"{count(len(backups), 'former version')} kept for {KEPT_DAYS} days in {folder}"
        lines.append(text.plain(kept, "dim"))
    if not remove:
        lines.append(text.plain(f"it starts {shlex.join(door.argv('mcp'))}", "dim"))
        if by_hand := (target.by_hand or {}).get(_SCOPE):
            lines += [text.plain(""), text.plain(f"Now {by_hand}.", "bold")]
    host.tell(f"{', '.join(one.what for one in changed)} {done} {target.title}")
    host.changed()
    await host.push_screen_wait(Review(f"{target.title}: done", lines, ""))
