"""`mcp`, `serve`: the doors that other programs use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.cli import failures, session, shortcut
from commonplace.cli.options import Group, Option, command, option

if TYPE_CHECKING:
    from commonplace.servers.daemon import Running
    from commonplace.servers.running import Address


@command("mcp")
@click.pass_context
def mcp(ctx: click.Context) -> None:
    """Serve one client over standard input and output, until the input ends: the Model Context Protocol.

    Clients start this themselves; docs/agents.md shows what they want to be told.
    """
    ctx.exit(shortcut.connect(session.workspace(ctx), session.agent(ctx)))


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
@option("--show-token", is_flag=True, help="Print the header that clients must send.")
@click.pass_context
def status(ctx: click.Context, show_token: bool) -> None:
    """Show whether this workspace is served, where, whether the server answers, and where its token is."""
    from commonplace.servers import daemon

    running = daemon.find(_folder(ctx))
    if running is None:
        failures.warn("this workspace is not served")
        ctx.exit(failures.NOTHING_FOUND)
    well = "answers" if daemon.is_well(running) else "does not answer"
    session.write(f"{running.url}/mcp · process {running.pid} · since {running.since} · {well}")
    _tell_token(running, show_token)


def _folder(ctx: click.Context) -> Path:
    return paths.server_folder(session.workspace_of(ctx))


_OPTIONS = (
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
        help="A file with the token that clients must send; otherwise one is made and kept for you.",
    ),
    Option(["--no-token"], is_flag=True, help="Ask for no token: every user of this machine gets in."),
    Option(["--new-token"], is_flag=True, help="Make another token; the former one is refused."),
    Option(["--show-token"], is_flag=True, help="Print the header that clients must send."),
    Option(["--daemon"], is_flag=True, help="Go on in the background, until `commonplace serve stop`."),
)


class _Serve(Group):
    """`serve` alone serves; `stop` and `status` stand below it."""

    def __init__(self) -> None:
        super().__init__("serve", commands=[stop, status], help=_serve.__doc__ or "")
        self.params[:0] = _OPTIONS
        self.callback = click.pass_context(_serve)


def _serve(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    token_file: str | None,
    no_token: bool,
    new_token: bool,
    show_token: bool,
    daemon: bool,
) -> None:
    """Serve many clients over HTTP, from one process that keeps models in memory, until Ctrl-C.

    The Model Context Protocol stands at /mcp, the state of health at /health. Only this machine is listened
    to unless told otherwise, and clients must send a token; docs/agents.md says how, and what is checked.
    """
    if ctx.invoked_subcommand is not None:
        return
    if no_token and (token_file or new_token or show_token):
        raise click.UsageError("--no-token goes with no other option about tokens", ctx)
    if new_token and token_file:
        raise click.UsageError("--new-token makes one of our own; --token-file names yours", ctx)
    service = shortcut.service(session.workspace(ctx), session.agent(ctx))
    from commonplace.servers import running
    from commonplace.servers.daemon import DETACHED_VARIABLE

    address = _address(ctx, host, port, token_file, anew=new_token, open=no_token)
    if daemon:
        _tell_token(_in_background(ctx, address), show_token)
        return

    def tell(server: Running) -> None:
        if detached:
            running.leave_terminal(folder)
        else:
            session.note(f"serving at {server.url}/mcp (process {server.pid}); Ctrl-C ends it")
            _tell_token(server, show_token)

    detached, folder = bool(os.environ.pop(DETACHED_VARIABLE, "")), _folder(ctx)
    running.serve(service, address, folder, detached=detached, tell=tell)


def _address(
    ctx: click.Context, host: str | None, port: int | None, token_file: str | None, *, anew: bool, open: bool
) -> Address:
    """Where to listen and with which token, by the options and the settings where they say nothing."""
    from commonplace.servers.running import Address

    workspace = session.workspace_of(ctx)
    defaults = config.load(workspace.root, agent=session.agent(ctx)).server
    named = token_file or defaults.token_file
    return Address(
        defaults.host if host is None else host,
        defaults.port if port is None else port,
        os.path.abspath(os.path.expanduser(named)) if named else "",
        defaults.hosts,
        os.fspath(paths.server_token(workspace)) if defaults.require_token else "",
        anew=anew,
        open=open,
    )


def _tell_token(server: Running, show: bool) -> None:
    """Say what clients must send and where they find it; the token itself only where it is asked for."""
    place = server.token
    if not place:
        failures.warn("no token is asked for: every user of this machine can read and change this memory")
    elif show:
        from commonplace.servers import access

        token = access.token("" if place.startswith("$") else place)
        if not token:
            raise ConfigError("serve", f"the server has its token from {place}, which is not set here")
        session.write(f"Authorization: Bearer {token.reveal()}")
    else:
        shown = place if place.startswith("$") else f"the file {paths.shown(place)}"
        session.write(f"clients send the header `Authorization: Bearer TOKEN`; TOKEN is in {shown}")


def _in_background(ctx: click.Context, address: Address) -> Running:
    from commonplace.servers import daemon

    folder = _folder(ctx)
    daemon.check_alone(folder, new_token=address.anew)
    agent = session.agent(ctx)
    arguments = ["-w", session.workspace_root(ctx), *(["--agent", agent] if agent else []), "serve"]
    arguments += ["--host", address.host, "--port", str(address.port)]
    arguments += ["--token-file", address.token_file] if address.token_file and not address.open else []
    arguments += [*(["--no-token"] if address.open else []), *(["--new-token"] if address.anew else [])]
    server = daemon.detach(folder, arguments)
    session.write(f"serving at {server.url}/mcp (process {server.pid}); the record is {folder / daemon.LOG}")
    return server


serve = _Serve()
