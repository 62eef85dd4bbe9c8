"""The programs that this memory can be entered into, and where it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.servers.api.operations import Operation, OperationCall
from commonplace.servers.api.schema import answer, flag, listed, text

if TYPE_CHECKING:
    pass

_LIST = "commonplace install --list"


def _clients(call: OperationCall) -> object:
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
    return {
        "clients": rows,
        "generic": installing.generic(installing.door(call.memory.workspace.root, installing.GENERIC)),
    }


def _place(call: OperationCall, one: Any) -> dict[str, object]:  # noqa: ANN401 - a `Standing`
    """Return the place of our entry, and the other workspaces that it leads to."""
    root = os.path.realpath(call.memory.workspace.root)
    folders = {argv[argv.index("-w") + 1] for argv in one.ours.values() if "-w" in argv[:-1]}
    others = sorted(paths.shown(folder) for folder in folders if os.path.realpath(folder) != root)
    return {
        "what": one.edit.what,
        "path": paths.shown(one.edit.path),
        "trouble": one.trouble,
        "others": others,
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
)  # fmt: skip
