"""This memory entered into a client of agents, in the user's settings, or taken out of it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace

from commonplace.actions.action import Action, Call, Param, Shown
from commonplace.actions.schema import flag, text
from commonplace.base import paths
from commonplace.base.errors import PreviewOutdated
from commonplace.clients import edits, installing
from commonplace.clients.installing import FileOutcome
from commonplace.clients.table import Scope

SCOPE: Scope = "user"  # settings of a project are for who is in its folder: `install --project`


@dataclass(frozen=True, slots=True)
class Entered:
    """A client's files as they change, the command that it starts, and what is left to do by hand."""

    client: str
    diff: str
    starts: str = ""
    changed: tuple[FileOutcome, ...] = ()
    by_hand: str = ""


def _install(call: Call) -> Shown:
    root, remove = call.memory.workspace.root, call.values.get("remove", False)
    target = installing.find(call.values["client"])
    door = installing.door(root, target.name)
    steps = edits.of(target, SCOPE, installing.site(os.environ, root), door)
    changes = installing.preview(steps, remove=remove)
    named = [replace(one, path=paths.shown(f"/{one.path}")) for one in changes]
    starts = "" if remove else shlex.join(door.argv("mcp"))
    shown = Entered(target.title, installing.diff(steps, named), starts)

    def carry() -> Entered:
        if installing.preview(steps, remove=remove) != changes:
            raise PreviewOutdated([paths.shown(one.path) for one in steps])
        done = installing.carry_out(steps, os.environ, remove=remove)
        by_hand = "" if remove else (target.by_hand or {}).get(SCOPE, "")
        return replace(shown, changed=tuple(done), by_hand=by_hand)

    if all(one.before == one.after for one in changes):
        return Shown(shown, None, f"{target.title}: nothing would change")
    title = f"Take this memory out of {target.title}" if remove else f"Give this memory to {target.title}"
    return Shown(shown, carry, title, "Take it out?" if remove else "Write this?", shown.diff)


def _told(done: Entered) -> str:
    names, how = (
        ", ".join(one.what for one in done.changed),
        "entered into" if done.starts else "taken out of",
    )
    return f"{names} {how} {done.client}" + (f"; now {done.by_hand}" if done.by_hand else "")


def _beside(done: Entered) -> list[str]:
    return installing.backups_text(done.changed)


INSTALL = Action(
    "install", "Enter this memory into a client, or take it out.", _install, Entered, _told,
    (
        Param("client", text("Its name.", least=1, most=50), True),
        Param("remove", flag("Take this memory out of it.")),
    ),
    path="/api/clients", preview="Show what would become of a client's files, in your own settings.",
    beside=_beside, owner=True, beyond="install CLIENT", refusals=(409,), doors=frozenset({"http"}),
)  # fmt: skip
ACTIONS = (INSTALL,)
