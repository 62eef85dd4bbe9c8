"""Settings: defaults, user's file, workspace's file (harmless keys only), agent, environment, flags.

A workspace's file may have come with a stranger's folder, so it cannot set providers, commands, addresses or
folders outside.
"""

from __future__ import annotations

from commonplace.config.collections import by_default, contexts_for, reference
from commonplace.config.files import AGENT_VARIABLE, stamp, user_file
from commonplace.config.loading import Loaded, load, trace
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
        set_collection,
        set_update,
        set_values,
    )

__all__ = [
    "AGENT_VARIABLE", "KEYS", "Collection", "Key", "Loaded", "Reach", "Settings", "add_collection",
    "add_context", "agents", "by_default", "contexts_for", "limited", "load", "reach", "reference",
    "remove_collection", "remove_context", "rename_collection", "rewrite", "set_collection", "set_update",
    "set_values", "stamp", "trace", "user_file",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the functions that edit files when they are first used; a search only reads."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from commonplace.config import editing

    return getattr(editing, name)
