"""`mcp` from its options to the end of the input, whoever parsed them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service


def connect(workspace: str | None = None, agent: str | None = None) -> int:
    """Serve the client at the other end of standard input; return the exit code."""
    from commonplace.servers import stdio

    return stdio.run(service(workspace, agent))


def service(workspace: str | None, agent: str | None) -> Service:
    """Make what serves a workspace, which is opened when it is first needed.

    Raises WorkspaceNotFound and ConfigError at once: a client shows best what fails at the start.
    """
    from commonplace import config
    from commonplace.base import paths
    from commonplace.servers.methods import Service
    from commonplace.servers.stdio import tell

    root = paths.resolve_workspace(workspace, os.environ)
    name = os.environ.get(config.AGENT_VARIABLE, "") if agent is None else agent
    settings = config.load(root, agent=name)

    def open_memory() -> Memory:
        from commonplace.memory import Memory

        return Memory(root, settings, agent=name)

    return Service(open_memory, name, tell)
