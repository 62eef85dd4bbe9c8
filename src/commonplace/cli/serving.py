"""`mcp`, `serve`: the doors that other programs use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import paths
from commonplace.cli import connecting, failures, session
from commonplace.cli.groups import Group
from commonplace.cli.options import Option, command

if TYPE_CHECKING:
    from commonplace.servers.daemon import Running
    from commonplace.servers.running import Address


@command("mcp")
@click.pass_context
def mcp(ctx: click.Context) -> None:
    """Serve one client over standard input and output, until the input ends: the Model Context Protocol.

    Clients start this themselves; docs/mcp.md shows what they want to be told.
    """
    ctx.exit(connecting.connect(session.workspace(ctx), session.agent(ctx)))


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


def _options() -> Sequence[click.Parameter]:
    """The options of `serve` itself."""
    return [
        Option(["--host"], metavar="HOST", help="Where to listen; otherwise server.host."),
        Option(
            ["--port"],
            type=click.IntRange(0, 65_535),
            metavar="N",
            help="On which port, 0 for any; otherwise server.port.",
        ),
        Option(
            ["--token-file"],
            metavar="FILE",
            help="A file with the token that clients must send; needed beyond this machine.",
        ),
        Option(["--daemon"], is_flag=True, help="Go on in the background, until `commonplace serve stop`."),
    ]


class _Serve(Group):
    """`serve` alone serves; `stop` and `status` stand below it."""

    def __init__(self) -> None:
        super().__init__("serve", commands=[stop, status], help=_serve.__doc__ or "")
        self.params[:0] = _options()
        self.callback = click.pass_context(_serve)


def _serve(
    ctx: click.Context, host: str | None, port: int | None, token_file: str | None, daemon: bool
) -> None:
    """Serve many clients over HTTP, from one process that keeps models in memory, until Ctrl-C.

    The Model Context Protocol stands at /mcp, the state of health at /health. Only this machine is listened
    to unless told otherwise; docs/mcp.md says what is checked.
    """
    if ctx.invoked_subcommand is not None:
        return
    service = connecting.service(session.workspace(ctx), session.agent(ctx))
    address = _address(ctx, host, port, token_file)
    if daemon:
        _in_background(ctx, address)
        return
    from commonplace.servers import running

    def tell(found: Running) -> None:
        if detached:
            running.leave_terminal(folder)
        else:
            session.note(f"serving at {found.url}/mcp (process {found.pid}); Ctrl-C ends it")

    from commonplace.servers.daemon import DETACHED_VARIABLE

    detached, folder = bool(os.environ.pop(DETACHED_VARIABLE, "")), _folder(ctx)
    running.serve(service, address, folder, detached=detached, tell=tell)


def _address(ctx: click.Context, host: str | None, port: int | None, token_file: str | None) -> Address:
    """Where to listen: as the options say, otherwise as the settings do."""
    from commonplace import config
    from commonplace.servers.running import Address

    settings = config.load(Path(session.workspace_root(ctx)), agent=session.agent(ctx)).server
    return Address(
        settings.host if host is None else host,
        settings.port if port is None else port,
        os.path.abspath(os.path.expanduser(named)) if (named := token_file or settings.token_file) else "",
        settings.hosts,
    )


def _in_background(ctx: click.Context, address: Address) -> None:
    from commonplace.servers import daemon

    folder = _folder(ctx)
    daemon.check_alone(folder)
    agent = session.agent(ctx)
    arguments = ["-w", session.workspace_root(ctx), *(["--agent", agent] if agent else []), "serve"]
    arguments += ["--host", address.host, "--port", str(address.port)]
    arguments += ["--token-file", address.token_file] if address.token_file else []
    found = daemon.detach(folder, arguments)
    session.write(f"serving at {found.url}/mcp (process {found.pid}); the record is {folder / daemon.LOG}")


serve = _Serve()
