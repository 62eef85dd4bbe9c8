"""Settings: defaults < user's file < workspace's file (harmless keys) < agent < environment < flags.

A workspace's file may have come with a folder that somebody else made, so it can set only what cannot
hurt: no providers, commands, addresses or folders outside (DESIGN, promise 7).
"""

from __future__ import annotations

from commonplace.config.loading import (
    AGENT_VARIABLE,
    Loaded,
    by_default,
    contexts_for,
    load,
    reference,
    stamp,
    trace,
    user_file,
)
from commonplace.config.settings import KEYS, Collection, Key, Settings
from commonplace.config.workspaces import Reach, agents, limited, reach

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.config.editing import (
        add_collection,
        add_context,
        remove_collection,
        remove_context,
        rename_collection,
        rewrite,
        set_by_default,
        set_update,
        set_values,
        set_weight,
    )

__all__ = [
    "AGENT_VARIABLE",
    "KEYS",
    "Collection",
    "Key",
    "Loaded",
    "Reach",
    "Settings",
    "add_collection",
    "add_context",
    "agents",
    "by_default",
    "contexts_for",
    "limited",
    "load",
    "reach",
    "reference",
    "remove_collection",
    "remove_context",
    "rename_collection",
    "rewrite",
    "set_by_default",
    "set_update",
    "set_values",
    "set_weight",
    "stamp",
    "trace",
    "user_file",
]


def __getattr__(name: str) -> object:
    """Import what changes the files when it is first used; a search only reads them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from commonplace.config import editing

    return getattr(editing, name)
