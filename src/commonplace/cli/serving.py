"""`mcp`, `serve`: the doors that other programs use."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.paths import Workspace
from commonplace.cli import browser, failures, session, shortcut
from commonplace.cli.flags import State
from commonplace.cli.options import Group, Option, check_excluding, command, completed, option, serving

if TYPE_CHECKING:
    from commonplace.config.credentials import Secret
    from commonplace.servers.daemon import Running
    from commonplace.servers.running import Address
    from commonplace.types import Finding


@command("mcp", several=True)
def mcp(ctx: click.Context, structured: bool) -> None:
    """Serve one client over standard input and output, until the input ends: the Model Context Protocol.

    Clients start this themselves; docs/agents.md shows what they want to be told.
    """
    state = ctx.ensure_object(State)
    ctx.exit(shortcut.connect(state.workspace, state.agent, structured, state.everything))


mcp.params[:0] = serving()


@command("hook")
@option(
    "--deadline",
    type=click.IntRange(1, 999_999),
    metavar="MS",
    help="Milliseconds after which it gives up; 300 to 3000 if not said, by how busy the machine is.",
)
def hook(ctx: click.Context, deadline: int | None) -> None:
    """Take an event of a coding client's session from standard input, as its hooks give it.

    Claude Code and Codex start this themselves; `commonplace install` enters it. It never fails, and prints
    what goes into the conversation.
    """
    from commonplace.cli import hook as events

    state = ctx.ensure_object(State)
    folder = state.workspace[0] if state.workspace else None  # must not fail, whatever is given
    ctx.exit(events.run(folder, state.agent, deadline=deadline))


@command("stop", several=True)
def stop(ctx: click.Context) -> None:
    """End the servers of this workspace, once they have answered what they are answering."""
    from commonplace.servers import daemon

    ended = daemon.stop(_home(ctx))
    if ended is not None:
        session.write(f"ended the server at {ended.url} (process {ended.pid})")
    answers = _local_servers(ctx, "retire")
    retired = [found["pid"] for found in answers if ended is None or found["pid"] != ended.pid]
    for pid in retired:
        session.write(f"ended the server that programs started (process {pid})")
    if ended is None and not retired:
        _, home = _elsewhere(ctx) or (None, "")
        beside = f" by itself, but beside {home}; `commonplace -w {home} serve stop` ends that"
        failures.warn("this workspace is not served" + (beside if home else ""))
        ctx.exit(failures.NOTHING_FOUND)


@command("status", several=True)
@option("--show-token", is_flag=True, help="Print the headers: yours, and that of clients.")
@option("--client-token", is_flag=True, help="Print nothing but the token of clients, for /mcp alone.")
def status(ctx: click.Context, show_token: bool, client_token: bool) -> None:
    """Show whether this workspace is served, where, whether the server answers, and where its token is.

    What is listed is what the server was started with, also by way of another workspace.
    """
    from commonplace.servers import daemon

    running, beside = daemon.find(_home(ctx)), ""
    if running is None and (elsewhere := _elsewhere(ctx)):
        running, home = elsewhere
        beside = f" · beside {home}"
    local = [found for found in _local_servers(ctx, "status") if found["idles"]]
    if running is not None and client_token:
        from commonplace.servers import access

        agent = session.asking_agent(ctx)
        limited = agent in config.limited(agent=agent)
        session.write(_token(running, f"/agents/{agent}" if limited else access.CLIENTS))
        return
    if running is not None:
        well = "answers" if daemon.is_well(running) else "does not answer"
        session.write(f"{running.url}/mcp · process {running.pid} · since {running.since} · {well}{beside}")
    for found in local:
        session.write(f"started by a program · process {found['pid']} · since {found['up_s'] // 60} min")
    if running is not None:
        _tell_token(ctx, running, show_token)
    elif not local:
        failures.warn("this workspace is not served")
        ctx.exit(failures.NOTHING_FOUND)


def _elsewhere(ctx: click.Context) -> tuple[Running, str] | None:
    """Return the server of another workspace that serves this one too, and that workspace's path.

    None for an agent with memories of its own.
    """
    from commonplace.servers import daemon

    agent = session.asking_agent(ctx)
    if agent in config.limited(agent=agent):
        return None
    root = os.path.realpath(_home(ctx).root)
    for running in daemon.others(_home(ctx)):
        with suppress(CommonplaceError):
            reach = session.caller_of_note(running.asked or {}).reach()
            if root in map(os.path.realpath, (reach.home, *reach.others.values())):
                return running, paths.shown(reach.home)
    return None


def _local_servers(ctx: click.Context, name: str) -> list[dict[str, Any]]:
    """Return the answers of the servers of this workspace that listen on a Unix socket.

    Warn of a server of an older version, which is never asked anything and ends by itself.
    """
    from commonplace.servers import local

    answers = []
    for path in local.addresses(session.asking(ctx).root):
        connection = local.reach(path, 2.0)
        if connection is None:
            continue
        peer = local.peer_of(connection)
        try:
            answers.append(local.ask(connection, name, "", {"by_hand": True}, 5.0))
        except local.NoAnswer:
            which = f"process {peer[0]}" if peer else paths.shown(path)
            failures.warn(f"{which} does not answer: a server of another version? `kill` ends it")
    return answers


def _home(ctx: click.Context) -> Workspace:
    """The workspace that a server stands for: the first of those it serves."""
    return Workspace(session.asking(ctx).reach().home)


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
        shell_complete=completed("files"),
    ),
    Option(["--no-token"], is_flag=True, help="Ask for no token: every user of this machine gets in."),
    Option(["--new-token"], is_flag=True, help="Make another token; the former one is refused."),
    Option(["--show-token"], is_flag=True, help="Print the headers: yours, and that of clients."),
    Option(["--open", "opens"], is_flag=True, help="Open the page of this memory in your browser."),
    Option(["--daemon"], is_flag=True, help="Go on in the background, until `commonplace serve stop`."),
    Option(
        ["--local"], is_flag=True,
        help="Serve your own programs alone, over a Unix socket, and end when idle.",
    ),
)  # fmt: skip


_EXCLUDING = [
    ("--new-token", "--token-file"),
    *(("--no-token", one) for one in ("--token-file", "--new-token", "--show-token")),
    *(
        ("--local", one)
        for one in (
            "--host", "--port", "--token-file", "--no-token", "--new-token", "--show-token", "--open",
            "--daemon", "--structured",
        )
    ),
]  # fmt: skip


class _Serve(Group):
    """`serve` without a subcommand serves; `stop` and `status` are its subcommands."""

    def __init__(self) -> None:
        super().__init__("serve", commands=[stop, status], help=_serve.__doc__ or "", several=True)
        self.params[:0] = (*_OPTIONS, *serving())
        self.callback = click.pass_context(_serve)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises click.UsageError for options that exclude each other."""
        typed = list(args)
        rest = super().parse_args(ctx, args)
        check_excluding(ctx, self, typed, _EXCLUDING)
        return rest


def _serve(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    token_file: str | None,
    no_token: bool,
    new_token: bool,
    show_token: bool,
    opens: bool,
    daemon: bool,
    local: bool,
    structured: bool,
) -> None:
    """Serve many clients over HTTP, from one process that keeps models in memory, until Ctrl-C.

    The Model Context Protocol stands at /mcp, the memory as JSON below /api, its page at /, the state
    of health at /health. Only this machine is listened to unless told otherwise, and clients must send a
    token; docs/agents.md says how, and what is checked.
    """
    if ctx.invoked_subcommand is not None:
        return
    if local:
        _serve_locally(ctx)
        return
    asking = session.asking(ctx)
    served = shortcut.served_of(asking.root)
    service = served.services.of(asking.agent, {**asking.asked, "structured": structured})
    from commonplace.servers import running
    from commonplace.servers.daemon import DETACHED_VARIABLE, log_of

    address = _address(ctx, host, port, token_file, anew=new_token, open=no_token)
    if daemon:
        server = _in_background(ctx, address, structured=structured)
        _tell_token(ctx, server, show_token)
        if opens:
            browser.show_page(server, _secret(server))
        return

    def tell(server: Running) -> None:
        if detached:
            running.leave_terminal(log_of(home))
        else:
            session.note(f"serving at {server.url}/mcp (process {server.pid}); Ctrl-C ends it")
            _tell_token(ctx, server, show_token)
        if opens:
            browser.show_page_soon(server, _secret(server))

    detached, home = bool(os.environ.pop(DETACHED_VARIABLE, "")), _home(ctx)
    running.serve(
        served,
        service,
        address,
        home,
        detached=detached,
        tell=tell,
        apart=shortcut.apart_of(asking),
        asked=asking.noted,
        examine=partial(_examined, asking.root, asking.agent),
    )


def _examined(root: str, agent: str, online: bool) -> list[Finding]:
    """Return the findings of `doctor`."""
    from commonplace.cli import doctor

    return doctor.findings_of(root, agent, online)


@command("web", several=True)
@option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="On which port; otherwise server.port or, where that is taken, any that is free.",
)
@option("--no-browser", is_flag=True, help="Print the address, which lets one browser in, and open nothing.")
def web(ctx: click.Context, port: int | None, no_browser: bool) -> None:
    """Open the page of this memory in your browser; it is served in the background if it is not yet.

    The page is let in by a code that works once, and this browser for thirty days, so that a bookmark works.
    `commonplace serve stop` ends the server, `serve --new-token` what let browsers in.
    """
    from commonplace.servers import daemon

    session.check_owner(ctx)
    running = daemon.find(_home(ctx)) or _begun(ctx, port)
    _check_serves(ctx, running, port)
    browser.show_page(running, _secret(running), opens=not no_browser)


def _begun(ctx: click.Context, port: int | None) -> Running:
    """Start a server in the background, or return the one that another process has started meanwhile."""
    from commonplace.servers import daemon

    address = _address(ctx, None, port, None, anew=False, open=False)
    if port is None and daemon.is_taken(address.host, address.port):
        address = address._replace(port=0)  # a browser is led to any: two memories are served side by side
    try:
        return _in_background(ctx, address, structured=False)
    except ConfigError:
        other = daemon.awaited(_home(ctx))
        if other is None:
            raise
        return other


def _check_serves(ctx: click.Context, running: Running, port: int | None) -> None:
    """Raise ConfigError if a running server differs from the requested one."""
    reach = session.asking(ctx).reach()
    served = session.caller_of_note(running.asked).reach() if running.asked else reach
    roots = {os.path.realpath(root) for root in (served.home, *served.others.values())}
    lacking = [name for name, root in reach.others.items() if os.path.realpath(root) not in roots]
    if lacking or port not in (None, 0, running.port):
        what = f"does not serve {', '.join(lacking)}" if lacking else f"does not listen on {port}"
        remedy = f"end it with `commonplace -w {paths.shown(reach.home)} serve stop`, then run this again"
        raise ConfigError("web", f"the server that runs, at {running.url}, {what}; {remedy}")


def _serve_locally(ctx: click.Context) -> None:
    """Serve programs of this user until idle."""
    from commonplace.servers import running

    config.load(_home(ctx).root, agent=session.agent(ctx))
    served = shortcut.served_of(session.asking(ctx).root)
    os.chdir(os.sep)  # not the folder it is started in, which may go away
    if not running.serve_programs(served):
        failures.warn("this workspace is served already, or this machine has no Unix sockets")
        ctx.exit(failures.NOTHING_FOUND)


def _address(
    ctx: click.Context, host: str | None, port: int | None, token_file: str | None, *, anew: bool, open: bool
) -> Address:
    """Return the address to listen at and its token, from the options, else the settings."""
    from commonplace.servers.running import Address

    workspace, agent = _home(ctx), session.asking_agent(ctx)
    defaults = config.load(workspace.root, agent=session.agent(ctx)).server
    named = token_file or defaults.token_file
    return Address(
        defaults.host if host is None else host,
        defaults.port if port is None else port,
        os.path.abspath(os.path.expanduser(named)) if named else "",
        defaults.hosts,
        os.fspath(paths.server_token(workspace, agent=agent)) if defaults.require_token else "",
        anew=anew,
        open=open,
        part=f"/agents/{agent}" if agent else "",
    )


def _tell_token(ctx: click.Context, server: Running, show: bool) -> None:
    """Tell which token clients must send and where they find it; print tokens only with `show`."""
    place = server.token
    if not place:
        failures.warn("no token is asked for: every user of this machine can read and change this memory")
        return
    agent = session.asking_agent(ctx)
    if agent in config.limited(agent=agent):
        # Of a server that others use as well it is shown what is its own.
        if show:
            session.write(_apart(server, "agents", agent))
        return
    served = session.caller_of_note(server.asked) if server.asked else session.asking(ctx)
    reach = served.reach()
    named = [reach.name, *reach.others] if reach.others else []
    agents = shortcut.agents_of(served)
    apart = [*(("agents", name) for name in agents), *(("workspaces", name) for name in named)]
    if show:
        from commonplace.servers import access

        session.write(_header(server))
        session.write(f"{server.url}/mcp  {_header(server, access.CLIENTS)}")
        for kind, name in apart:
            session.write(_apart(server, kind, name))
        return
    shown = place if place.startswith("$") else f"the file {paths.shown(place)}"
    found = f"is made from that in {shown} (--show-token)" if server.part else f"is in {shown}"
    session.write(f"the token that opens everything {found}; keep it from agents")
    session.write(
        "clients send `Authorization: Bearer TOKEN`; TOKEN is what `serve status --client-token` prints"
    )
    if apart:
        each = ", ".join(_named(kind, name) for kind, name in apart)
        session.write(f"by themselves, each with a header and a token of its own (--show-token): {each}")


def _named(kind: str, name: str) -> str:
    """The header that asks a server for one agent or one workspace by itself."""
    return f"Commonplace-{kind.removesuffix('s').capitalize()}: {name}"


def _apart(server: Running, kind: str, name: str) -> str:
    return f"{server.url}/mcp  {_named(kind, name)}  {_header(server, f'/{kind}/{name}')}"


def _header(server: Running, place: str = "") -> str:
    """The header that lets in at a server, or at one place of it alone. Raises ConfigError."""
    return f"Authorization: Bearer {_token(server, place)}"


def _token(server: Running, place: str) -> str:
    """The token that lets in at a server, or at one place of it alone. Raises ConfigError."""
    from commonplace.servers import access

    token = _secret(server)
    return (access.part(token, place) if place else token).reveal()


def _secret(server: Running) -> Secret:
    """Return the token of a server from its source; NO_KEY without one. Raises ConfigError."""
    from commonplace.config.credentials import NO_KEY
    from commonplace.servers import access

    if not server.token:
        return NO_KEY
    token = access.token("" if server.token.startswith("$") else server.token)
    if not token:
        raise ConfigError("serve", f"the server has its token from {server.token}, which is not set here")
    return access.part(token, server.part) if server.part else token


def _in_background(ctx: click.Context, address: Address, *, structured: bool) -> Running:
    from commonplace.servers import daemon

    home = _home(ctx)
    daemon.check_alone(home, new_token=address.anew)
    asking, agent = session.asking(ctx), session.agent(ctx)
    arguments = [part for folder in (asking.root, *asking.beside) for part in ("-w", folder)]
    arguments += ["--all-workspaces"] if asking.everything else []
    arguments += [*(["--agent", agent] if agent else []), "serve"]
    arguments += ["--host", address.host, "--port", str(address.port)]
    arguments += ["--token-file", address.token_file] if address.token_file and not address.open else []
    arguments += [*(["--no-token"] if address.open else []), *(["--new-token"] if address.anew else [])]
    arguments += ["--structured"] if structured else []
    server = daemon.detach(home, arguments)
    session.write(f"serving at {server.url}/mcp (process {server.pid}); the record is {daemon.log_of(home)}")
    return server


serve = _Serve()
