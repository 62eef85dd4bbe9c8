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
from commonplace.cli.options import Option, command, option
from commonplace.errors import ConfigError

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
@option("--show-token", is_flag=True, help="Print the header that clients must send.")
@click.pass_context
def status(ctx: click.Context, show_token: bool) -> None:
    """Show whether this workspace is served, where, whether the server answers, and where its token is."""
    from commonplace.servers import daemon

    found = daemon.find(_folder(ctx))
    if found is None:
        failures.warn("this workspace is not served")
        ctx.exit(failures.NOTHING_FOUND)
    well = "answers" if daemon.is_well(found) else "does not answer"
    session.write(f"{found.url}/mcp · process {found.pid} · since {found.since} · {well}")
    _tell_token(found, show_token)


def _workspace(ctx: click.Context) -> paths.Workspace:
    return paths.Workspace(Path(session.workspace_root(ctx)))


def _folder(ctx: click.Context) -> Path:
    return paths.server_folder(_workspace(ctx))


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
            help="A file with the token that clients must send; otherwise one is made and kept for you.",
        ),
        Option(["--no-token"], is_flag=True, help="Ask for no token: every user of this machine gets in."),
        Option(["--new-token"], is_flag=True, help="Make another token; the former one is refused."),
        Option(["--show-token"], is_flag=True, help="Print the header that clients must send."),
        Option(["--daemon"], is_flag=True, help="Go on in the background, until `commonplace serve stop`."),
    ]


class _Serve(Group):
    """`serve` alone serves; `stop` and `status` stand below it."""

    def __init__(self) -> None:
        super().__init__("serve", commands=[stop, status], help=_serve.__doc__ or "")
        self.params[:0] = _options()
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
    to unless told otherwise, and clients must send a token; docs/mcp.md says how, and what else is checked.
    """
    if ctx.invoked_subcommand is not None:
        return
    if no_token and (token_file or new_token or show_token):
        raise click.UsageError("--no-token goes with no other option about tokens", ctx)
    if new_token and token_file:
        raise click.UsageError("--new-token makes one of our own; --token-file names yours", ctx)
    service = connecting.service(session.workspace(ctx), session.agent(ctx))
    address = _address(ctx, host, port, token_file)._replace(anew=new_token)
    if no_token:
        address = address._replace(open=True)
    if daemon:
        found = _in_background(ctx, address)
        _tell_token(found, show_token)
        return
    from commonplace.servers import running

    def tell(found: Running) -> None:
        if detached:
            running.leave_terminal(folder)
        else:
            session.note(f"serving at {found.url}/mcp (process {found.pid}); Ctrl-C ends it")
            _tell_token(found, show_token)

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
        os.fspath(paths.server_token(_workspace(ctx))) if settings.require_token else "",
    )


def _tell_token(found: Running, show: bool) -> None:
    """Say what clients must send and where they find it; the token itself only where it is asked for."""
    if not found.token:
        failures.warn("no token is asked for: every user of this machine can read and change this memory")
    elif show:
        session.write(f"Authorization: Bearer {_token(found.token)}")
    else:
        place = found.token if found.token.startswith("$") else f"the file {paths.shown(found.token)}"
        session.write(f"clients send the header `Authorization: Bearer TOKEN`; TOKEN is in {place}")


def _token(place: str) -> str:
    from commonplace.servers import access

    found = access.token("" if place.startswith("$") else place)
    if not found:
        raise ConfigError("serve", f"the server has its token from {place}, which is not set here")
    return found.reveal()


def _in_background(ctx: click.Context, address: Address) -> Running:
    from commonplace.servers import daemon

    folder = _folder(ctx)
    daemon.check_alone(folder, new_token=address.anew)
    agent = session.agent(ctx)
    arguments = ["-w", session.workspace_root(ctx), *(["--agent", agent] if agent else []), "serve"]
    arguments += ["--host", address.host, "--port", str(address.port)]
    arguments += ["--token-file", address.token_file] if address.token_file and not address.open else []
    arguments += [*(["--no-token"] if address.open else []), *(["--new-token"] if address.anew else [])]
    found = daemon.detach(folder, arguments)
    session.write(f"serving at {found.url}/mcp (process {found.pid}); the record is {folder / daemon.LOG}")
    return found


serve = _Serve()
