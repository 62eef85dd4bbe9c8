"""`mcp`, `serve`: the doors that other programs use."""

from __future__ import annotations

import click

from commonplace.cli import connecting, session
from commonplace.cli.options import command


@command("mcp")
@click.pass_context
def mcp(ctx: click.Context) -> None:
    """Serve one client over standard input and output, until the input ends: the Model Context Protocol.

    Clients start this themselves; docs/mcp.md shows what they want to be told.
    """
    ctx.exit(connecting.connect(session.workspace(ctx), session.agent(ctx)))
