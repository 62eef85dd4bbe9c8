"""The interface for a host of agents: hooks, the context of a prompt, and a small loop as an example."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.agent.context import Context, ContextBuilder
    from commonplace.agent.loop import AgentLoop, Reply
    from commonplace.agent.store import MemoryStore

__all__ = ["AgentLoop", "Context", "ContextBuilder", "MemoryStore", "Reply"]
_MODULES = {"AgentLoop": "loop", "Context": "context", "ContextBuilder": "context", "Reply": "loop"}


def __getattr__(name: str) -> object:
    """Import public names on first use: a hook process needs one of them at most."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"commonplace.agent.{_MODULES.get(name, 'store')}"), name)
