"""The context of a command: the workspace in use, and the terminal it writes to."""

from __future__ import annotations

import os
import sys

from commonplace.base.errors import AccessDenied, CommonplaceError, ConfigError, WorkspaceNotFound
from commonplace.base.tuples import NamedTuple
from commonplace.cli.failures import warn

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import IO, Any

    import click

    from commonplace.base.paths import Workspace
    from commonplace.cli.flags import State
    from commonplace.config import Reach, Settings
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client
    from commonplace.render.hits import Locate
    from commonplace.render.screen import Look
    from commonplace.types import Hit, Provenance

NARROWEST = 40  # cells; below this, wrapping hides more than it shows
SERVER_WAIT_S = 60.0  # for a warm server that has taken a question
AGENT_VARIABLE = "COMMONPLACE_AGENT"  # as `config` has it, whose import a warm search saves


class Caller(NamedTuple):
    """The caller, and the memory in use: a workspace, whether it was named, and further workspaces.

    With `alone` it is that workspace only, whatever else the agent reads.
    """

    root: str
    agent: str
    is_named: bool = False
    beside: tuple[str, ...] = ()
    everything: bool = False
    alone: bool = False

    @property
    def noted(self) -> dict[str, Any]:
        """Return all fields, as a server records them; `caller_of_note` reads them."""
        return {"root": self.root, "agent": self.agent, **self.asked}

    @property
    def asked(self) -> dict[str, Any]:
        """Return the fields for a server, apart from workspace and agent."""
        fields = {"named": self.is_named, "beside": list(self.beside)}
        fields |= {"everything": self.everything, "alone": self.alone}
        return {name: value for name, value in fields.items() if value}

    def reach(self) -> Reach:
        """Return the workspaces to search and to write. Raises as `config.reach` does."""
        from pathlib import Path

        from commonplace import config

        folders = [self.root, *self.beside] if self.is_named else []
        started = Path(self.root)
        return config.reach(
            folders, self.agent, started=started, everything=self.everything, alone=self.alone
        )


def caller_of(root: str, agent: str, request: Mapping[str, Any]) -> Caller:
    """Return the caller that a request to a server names. Raises ConfigError for a malformed one."""
    beside = request.get("beside", [])
    if not isinstance(beside, list) or not all(isinstance(one, str) for one in beside):
        raise ConfigError("workspace", "beside others a list of folders must stand")
    is_named, everything, alone = (request.get(name) is True for name in ("named", "everything", "alone"))
    return Caller(root, agent, is_named, tuple(beside), everything, alone)


def caller_of_note(noted: Mapping[str, Any]) -> Caller:
    """Return the caller that started a server, by its record. Raises ConfigError."""
    root, agent = noted.get("root"), noted.get("agent")
    if not isinstance(root, str) or not os.path.isabs(root) or not isinstance(agent, str):
        raise ConfigError("serve", "the record of a server is malformed; start it again")
    return caller_of(root, agent, noted)


def caller(folders: Sequence[str] = (), agent: str | None = None, *, everything: bool = False) -> Caller:
    """Return the caller by the options of a command. Raises WorkspaceNotFound, ConfigError, AccessDenied."""
    from commonplace.base import paths

    name = os.environ.get(AGENT_VARIABLE, "") if agent is None else agent
    is_named = bool(folders or os.environ.get(paths.WORKSPACE_VARIABLE))
    if folders[1:]:  # here, as a server goes on without one that goes missing later
        from commonplace import config

        config.reach(folders, name)
    beside = tuple(os.path.abspath(one) if os.path.isdir(one) else one for one in folders[1:])
    try:
        root = paths.resolve_workspace(folders[0] if folders else None, os.environ)
    except WorkspaceNotFound:  # the name of one, or that of an agent
        from commonplace import config

        root = config.reach(folders[:1], name, everything=everything).home
    return Caller(os.fspath(root), name, is_named, beside, everything)


def open_memory(ctx: click.Context, overrides: Mapping[str, object] | None = None) -> Memory:
    """Open the one workspace that the options name; it is closed when the command ends."""
    return _opened(ctx, _reach(ctx), lambda _: overrides or {})


def open_memories(
    ctx: click.Context, change: Callable[[Settings], Mapping[str, object]] = lambda _: {}
) -> Memory:
    """Open the workspaces that the options name, for a question to all of them.

    `change` returns the settings that the command changes, by dotted key.
    """
    return _opened(ctx, asking(ctx).reach(), change)


def _opened(ctx: click.Context, reach: Reach, change: Callable[[Settings], Mapping[str, object]]) -> Memory:
    from commonplace import config
    from commonplace.memory import reaching
    from commonplace.storage import keyvalue

    name = asking_agent(ctx)
    settings = config.load(reach.home, agent=name)
    if overrides := change(settings):
        settings = config.load(reach.home, None, overrides, name)
    memory = reaching(reach, name, settings=settings)
    ctx.call_on_close(memory.close)
    hint_agent(agent(ctx))
    hint_moved(memory.workspace)
    is_owner = not name and ctx.info_name != "confirm" and sys.stderr.isatty()
    if is_owner and keyvalue.read(memory.workspace, "review"):
        from commonplace.actions.statements import notice

        note(f"{notice(memory)}: commonplace confirm --all")
    return memory


def hint_agent(name: str | None) -> None:
    """Warn that no settings are about the agent that the command line names: it may be misspelt."""
    from commonplace import config

    if not name or name in config.agents(name):
        return
    from difflib import get_close_matches

    from commonplace.clients.table import TARGETS

    known = [*config.agents(name), *(target.name for target in TARGETS)]
    if name not in known:
        close = get_close_matches(name, known, 1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        warn(f"no settings are about the agent {name!r}, so those for all apply{meant}")


def _state(ctx: click.Context) -> State:
    from commonplace.cli.flags import State

    return ctx.ensure_object(State)


def asking(ctx: click.Context, *, everything: bool = False) -> Caller:
    """Return the caller and the workspaces, by the options before or after the command, or `everything`."""
    state = _state(ctx)
    return caller(state.workspace, state.agent, everything=everything or state.everything)


def workspace(ctx: click.Context) -> str | None:
    """Return the folder that the options name. Raises click.UsageError for several."""
    state = _state(ctx)
    if state.everything or len(state.workspace) > 1:
        import click

        told = f"`{ctx.info_name}` works on one workspace; questions alone are put to several"
        raise click.UsageError(told, ctx)
    return state.workspace[0] if state.workspace else None


def agent(ctx: click.Context) -> str | None:
    """Return the agent that the options before or after the command name."""
    return _state(ctx).agent


def asking_agent(ctx: click.Context) -> str:
    """Return the calling agent, by the options or the environment; empty without one."""
    named = agent(ctx)
    return os.environ.get(AGENT_VARIABLE, "") if named is None else named


def provenance(ctx: click.Context, of_session: str = "") -> Provenance | None:
    """Return the writer: the agent that the options or the environment name; None for the owner."""
    from commonplace.types import Provenance as Writer

    named = asking_agent(ctx)
    return Writer("agent", named, of_session) if named or of_session else None


def _reach(ctx: click.Context) -> Reach:
    """The one workspace that a command works on. Raises as `config.reach` does."""
    from commonplace import config

    folder = workspace(ctx)
    return config.reach([] if folder is None else [folder], agent(ctx), alone=True)


def workspace_root(ctx: click.Context) -> str:
    """Find the folder of the workspace without opening it."""
    return os.fspath(_reach(ctx).home)


def writable_root(ctx: click.Context) -> str:
    """Find the folder of a workspace whose settings are to be changed. Raises AccessDenied."""
    check_owner(ctx)
    found = workspace_of(ctx)
    found.check_writable()
    return os.fspath(found.root)


def check_owner(ctx: click.Context) -> None:
    """Raise AccessDenied for an agent that a table limits."""
    from commonplace import config

    name = asking_agent(ctx)
    if name and name in config.limited(agent=name):
        message = "changes no settings and names no workspaces: its table limits it; leave out --agent"
        raise AccessDenied(name, message)


def hint_moved(workspace: Workspace) -> None:
    """Say at a terminal that a folder without a state may have been moved."""
    if workspace.state.is_dir() or not sys.stderr.isatty():
        return
    import shlex

    from commonplace.base import paths

    for old, _ in paths.known_states():
        if old.name == workspace.root.name and not old.exists():
            command = shlex.join(["commonplace", "workspaces", "move", str(old), str(workspace.root)])
            note(f"this looks like {paths.shown(old)}, which is gone; to keep its history: {command}")
            return


def workspace_of(ctx: click.Context) -> Workspace:
    """Return the paths of the workspace, without opening it."""
    from commonplace.base.paths import Workspace
    from commonplace.config import files

    reach = _reach(ctx)
    workspace = Workspace(reach.home, reader=reach.reader)
    if files.is_old(workspace):
        from commonplace.storage import taking_over

        taking_over.take(workspace)
    hint_moved(workspace)
    return workspace


def settings_of(ctx: click.Context) -> Settings:
    """Load the settings in force, with or without a workspace."""
    from commonplace import config

    return config.load(root_for_settings(ctx), agent=agent(ctx))


def language_model(memory: Memory) -> Client | None:
    """Open the language model of the settings."""
    from commonplace.providers.opening import open_llm

    return open_llm(memory.workspace, memory.settings)


def root_for_settings(ctx: click.Context) -> Path:
    """Return the workspace, or the default one: settings can be read without one."""
    from pathlib import Path

    from commonplace.base.paths import default_workspace

    try:
        return Path(workspace_root(ctx))
    except WorkspaceNotFound:
        if workspace(ctx) is not None:
            raise
        return default_workspace()


class Screen(NamedTuple):
    """Properties of a stream: whether colours and links are wanted without a setting, and its width."""

    color: bool
    links: bool
    width: int | None


def screen_of(stream: IO[str]) -> Screen:
    """Return the properties of a stream, by NO_COLOR, FORCE_COLOR, TERM, and its being a terminal."""
    terminal = is_terminal(stream) and os.environ.get("TERM") != "dumb"
    color = terminal
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        color = False
    elif os.environ.get("FORCE_COLOR"):  # https://force-color.org
        color = True
    width = None
    if is_terminal(stream):
        from shutil import get_terminal_size

        width = max(NARROWEST, get_terminal_size().columns)  # COLUMNS, or what the terminal says
    return Screen(color, terminal, width)


def look(settings: Settings | None = None, stream: IO[str] | None = None) -> Look:
    """Decide how to write to a stream: as the settings say, and else as it is."""
    return look_at(screen_of(sys.stdout if stream is None else stream), settings)


def look_at(screen: Screen, settings: Settings | None = None) -> Look:
    """Decide how to write to a screen, which may be that of another program."""
    from commonplace.config.settings import Output
    from commonplace.render.screen import Look

    output = settings.output if settings else Output()
    return Look(screen.color, screen.links and bool(output.editor_uri), screen.width, output.editor_uri)


def is_terminal(stream: IO[str]) -> bool:
    """Tell whether a stream is a terminal; one that is closed is not."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def can_ask(*, yes: bool = False) -> bool:
    """Tell whether a person is at a terminal to confirm, and has not given `--yes`."""
    return not yes and sys.stdin is not None and is_terminal(sys.stdin)


def confirm(question: str) -> None:
    """Ask whether to go on. Raises click.Abort for a no."""
    import click

    click.confirm(question, abort=True, err=True)


def locator(memory: Memory) -> Locate:
    """Return a function that returns the path of a hit's file."""
    from functools import cache

    from commonplace.memory import beside, sources

    @cache
    def places(workspace: str) -> tuple[str, dict[str, str]]:
        held = beside(memory, workspace)
        return os.fspath(held.workspace.root), {source.name: source.root for source in sources(held)}

    def locate(hit: Hit) -> str:
        folder, roots = places(hit.workspace)
        root = roots.get(hit.collection, folder)
        path = hit.path.removeprefix(f"{hit.workspace}:") if hit.workspace else hit.path
        if root != folder:
            path = path.removeprefix(f"{hit.collection}/")
        return os.path.abspath(os.path.join(root, path))

    return locate


class Printed(NamedTuple):
    """The output of a command: warnings, the result, notes on it; and its exit code.

    `picks` are references to the hits that a person may name by their numbers.
    """

    warnings: Sequence[str]
    text: str
    notes: Sequence[str]
    code: int
    picks: Sequence[str] = ()


def show(printed: Printed) -> int:
    """Print the output of a command, composed here or by a server; return the exit code."""
    for message in printed.warnings:
        warn(message)
    write(printed.text)
    for text in printed.notes:
        note(text)
    return printed.code


def ask_server(door: str, asking: Caller, request: Mapping[str, Any]) -> Printed | None:
    """Have the warm server of a workspace compose the output of a command; None without a server.

    Raises CommonplaceError for an error that it reports.
    """
    from commonplace.servers import local

    sent = {**asking.asked, **request}
    try:
        answer = local.call(asking.root, door, asking.agent, sent, SERVER_WAIT_S)
    except local.NoAnswer:
        return None
    if "error" in answer:
        raise CommonplaceError(answer["error"])
    return Printed(*answer["printed"]) if "printed" in answer else None


def shown(text: str, stream: IO[str]) -> str:
    """Return a text for a stream; for a terminal, without control sequences but colours and links."""
    if not is_terminal(stream):
        return text
    from commonplace.render import screen

    return screen.guarded(text)


def write(text: str) -> None:
    """Print a result; an empty one prints no line."""
    if text:
        sys.stdout.write(shown(text, sys.stdout) + "\n")
        sys.stdout.flush()  # before the notes on standard error


def recalled(text: str, screen: Screen, settings: Settings) -> str:
    """Frame text of notes for its reader: an agent must not take it for instructions.

    A terminal, which alone has a width, shows it unframed. Elsewhere a line precedes it and another follows.
    """
    frame = settings.output.frame
    if not text or frame == "never" or (frame == "auto" and screen.width is not None):
        return text
    from commonplace.redaction.recalled import marked

    return marked(text)


def write_recalled(text: str, settings: Settings) -> None:
    """Print text of notes, framed."""
    write(recalled(text, screen_of(sys.stdout), settings))


def write_diff(diff: str, settings: Settings) -> None:
    """Print a diff of notes, framed."""
    from commonplace.render import reports

    write_recalled(reports.diff_text(diff.rstrip("\n"), look(settings)), settings)


def answer(form: str, value: object, text: Callable[[], str], settings: Settings | None = None) -> None:
    """Print a value as JSON, or its text in another form; framed as text of notes if `settings` are given."""
    from commonplace.render import to_json

    if form == "json":
        write(to_json(value))
    else:
        write(text()) if settings is None else write_recalled(text(), settings)


def note(text: str, settings: Settings | None = None) -> None:
    """Print a note on a result to standard error; with `settings`, as text from notes."""
    text = text if settings is None else recalled(text, screen_of(sys.stderr), settings)
    sys.stderr.write(shown(text, sys.stderr) + "\n")


def words_to_write(words: tuple[str, ...]) -> str:
    """Join the words of an argument that is to be written. Raises ConfigError unless they are UTF-8."""
    if any("\udc80" <= character <= "\udcff" for word in words for character in word):
        raise ConfigError("text", "is not UTF-8, so nothing was written; give it as UTF-8")
    return text_argument(words)


def text_argument(words: tuple[str, ...]) -> str:
    """Join the words of an argument; `-` alone stands for standard input."""
    text = " ".join(words)
    if text == "-":
        if sys.stdin is None:
            raise ConfigError("-", "standard input is closed")
        text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
