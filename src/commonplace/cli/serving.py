"""`mcp`, `serve`: the doors that other programs use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import paths
from commonplace.cli import connecting, failures, session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, option
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from commonplace.servers.daemon import Running


@command("mcp")
@click.pass_context
def mcp(ctx: click.Context) -> None:
    """Serve one client over standard input and output, until the input ends: the Model Context Protocol.

    Clients start this themselves; docs/mcp.md shows what they want to be told.
    """
    ctx.exit(connecting.connect(session.workspace(ctx), session.agent(ctx)))


class _Serve(Group):
    """`serve` alone serves; its options stand before `stop` and `status`, which take none of them."""


_host = option("--host", metavar="HOST", help="Where to listen; otherwise server.host.")
_port = option(
    "--port", type=click.IntRange(0, 65_535), metavar="N", help="On which port; otherwise server.port."
)
_token_file = option(
    "--token-file",
    type=click.Path(dir_okay=False),
    help="A file with the token that clients must send; needed beyond this machine.",
)
_daemon = option("--daemon", is_flag=True, help="Go on in the background until `commonplace serve stop`.")
_detached = option("--detached", is_flag=True, hidden=True)


@command("stop")
@click.pass_context
def stop(ctx: click.Context) -> None:
    """End the server of this workspace, once it has answered what it is answering."""
    from commonplace.servers import daemon

    ended = daemon.stop(_folder(ctx))
    if ended is None:
        failures.warn("this workspace is not served")
        ctx.exit(failures.NOTHING_FOUND)
    session.write(f"ended the server at {ended.url} (process {ended.pid})")


@command("status")
@click.pass_context
def status(ctx: click.Context) -> None:
    """Show whether this workspace is served, where, and whether the server answers."""
    from commonplace.servers import daemon

    found = daemon.find(_folder(ctx))
    if found is None:
        failures.warn("this workspace is not served")
        ctx.exit(failures.NOTHING_FOUND)
    well = "answers" if daemon.is_well(found) else "does not answer"
    session.write(f"{found.url}/mcp · process {found.pid} · since {found.since} · {well}")


def _folder(ctx: click.Context) -> Path:
    root = Path(session.workspace_root(ctx))
    return paths.server_folder(paths.Workspace(root))
