"""The programs that this memory is entered into: which there are, and one entered or taken out as shown."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from commonplace.base.messages import message
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import CODE, PREVIEW_AGAIN, Call, Operation
from commonplace.servers.api.schema import answer, flag, listed, record, text

if TYPE_CHECKING:
    from commonplace.clients.entries import Door
    from commonplace.clients.files import Edit
    from commonplace.clients.table import Target

_LIST, _COMMAND = "commonplace install --list", "commonplace install CLIENT"


def _clients(call: Call) -> object:
    from commonplace.clients import installing
    from commonplace.clients.table import TARGETS

    where = installing.site(os.environ, call.memory.workspace.root)
    standing = installing.standing(where)
    rows = [
        {
            "name": target.name,
            "title": target.title,
            "is_here": installing.is_here(target, where),
            "installed": [
                _place(call, one)
                for one in standing
                if one.target is target and (one.ours or one.trouble) and one.scope == "user"
            ],
        }
        for target in TARGETS
    ]
    return {"clients": rows, "generic": installing.generic(_door(call, installing.GENERIC))}


def _place(call: Call, one: Any) -> dict[str, object]:  # noqa: ANN401 - a `Standing`
    """Where something of ours stands, and whether it leads to this workspace."""
    from commonplace.base import paths

    root = os.path.realpath(call.memory.workspace.root)
    folders = {argv[argv.index("-w") + 1] for argv in one.ours.values() if "-w" in argv[:-1]}
    others = sorted(paths.shown(folder) for folder in folders if os.path.realpath(folder) != root)
    return {
        "what": one.edit.what,
        "path": paths.shown(one.edit.path),
        "trouble": one.trouble,
        "others": others,
    }


def _door(call: Call, client: str) -> Door:
    from commonplace.clients import installing

    return installing.door(call.memory.workspace.root, client)


def _steps(call: Call, target: Target) -> list[Edit]:
    """How each of the user's files of a client changes."""
    from commonplace.clients import edits, installing

    where = installing.site(os.environ, call.memory.workspace.root)
    return edits.of(target, "user", where, _door(call, target.name))


def _preview(call: Call) -> object:
    from commonplace.base import paths
    from commonplace.clients import installing

    name, remove = call.values["client"], call.values.get("remove", False)
    target = installing.find(name)
    steps = _steps(call, target)
    changes = installing.preview(steps, os.environ, remove=remove)
    differs = [one for one in changes if one.before != one.after]
    code = call.offer("client", (name, remove, changes)) if differs else ""
    named = [replace(one, path=paths.shown(f"/{one.path}")) for one in changes]
    return {
        "diff": installing.diff(steps, named),
        "starts": "" if remove else shlex.join(_door(call, name).argv("mcp")),
        "preview": code,
    }


def _carry_out(call: Call) -> object:
    from commonplace.base import paths
    from commonplace.clients import installing

    name, remove, shown = call.redeem("client")
    target = installing.find(name)
    steps = _steps(call, target)
    if installing.preview(steps, os.environ, remove=remove) != shown:
        reason = message(
            "client.changed",
            "the settings of {client} were changed meanwhile, so nothing was written",
            client=target.title,
        )
        raise Refused(409, reason, PREVIEW_AGAIN)
    done = (installing.uninstall if remove else installing.install)(steps, os.environ)
    by_hand = "" if remove else (target.by_hand or {}).get("user", "")
    return {
        "changed": [
            {
                "what": one.what,
                "path": paths.shown(one.path),
                "backup": paths.shown(one.backup) if one.backup else "",
            }
            for one in done
            if one.changed
        ],
        "by_hand": by_hand,
    }


_PLACE = answer(
    what={"enum": ["server", "hooks", "skill"]}, path=text(), trouble=text("Why it cannot be read."),
    others=listed(text(), "Other workspaces that it leads to."),
)  # fmt: skip
OPERATIONS = (
    Operation(
        "GET", "/api/clients", "clients", "List programs of agents, and where this memory is entered.",
        _clients,
        answer(
            clients=listed(
                answer(
                    name=text(), title=text(), is_here=flag("Whether it is on this machine."),
                    installed=listed(_PLACE),
                )
            ),
            generic=text("What the user of any other program pastes into its settings."),
        ),
        refusals=(409,), lane="light", owner=True, beyond=_LIST,
    ),
    Operation(
        "POST", "/api/clients/preview", "preview_client",
        "Show what would become of a client's files, in your own settings.", _preview,
        answer(
            diff=text(), starts=text("The command that the client would start."),
            preview=text("Carries out just what is shown, once; empty where nothing would change."),
        ),
        body=record(
            "client", client=text("Its name.", least=1, most=50), remove=flag("Take this memory out of it.")
        ),
        refusals=(409,), owner=True, beyond=_COMMAND,
    ),
    Operation(
        "POST", "/api/clients", "change_client", "Enter this memory into a client, or take it out.",
        _carry_out,
        answer(
            changed=listed(answer(what=text(), path=text(), backup=text("Its former version."))),
            by_hand=text("What is left to do in the client."),
        ),
        body=record("preview", preview=CODE),
        refusals=(409,), owner=True, beyond=_COMMAND,
    ),
)  # fmt: skip
