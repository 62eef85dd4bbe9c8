"""`search` and `mcp` with plain options, without click: importing it takes a quarter of a search's time.

Whatever is not understood here to the letter (help, mistakes, rarer spellings) is left to click.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from commonplace import config
from commonplace.base import remedies
from commonplace.base.errors import ConfigError
from commonplace.cli import failures, session
from commonplace.cli.flags import EXCLUDING, FLAGS, SERVING, SHARED
from commonplace.cli.remedies import WORDS
from commonplace.config import files

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.cli.flags import Flag
    from commonplace.cli.session import Caller
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service
    from commonplace.servers.programs import Services
    from commonplace.servers.running import Served


# Every spelling of an option, with what it stands for where it takes no value: --expand/--no-expand are two.
_SPELLINGS = [(name.partition("/"), flag) for flag in (*SHARED, *SERVING, *FLAGS) for name in flag.names]
_OPTIONS = {on: (flag, flag.value) for (on, _, _), flag in _SPELLINGS}
_OPTIONS |= {off: (flag, False) for (_, _, off), flag in _SPELLINGS if off}
_APART = [[_OPTIONS[name][0].field for name in pair] for pair in EXCLUDING]


def run(arguments: Sequence[str]) -> int | None:
    """Run a plain search or serve a client, and return the exit code; None for anything else."""
    options = parse(arguments, "mcp") if "mcp" in arguments else None
    serving = options is not None and not options["words"]
    if not serving:
        options = parse(arguments, "search")
        if options is None or not options["words"]:
            return None
    assert options is not None
    debug, words = bool(options.pop("debug", False)), options.pop("words")
    if folder := options.pop("state_dir", ""):
        files.move_state(folder)
    try:
        with remedies.spoken(WORDS):
            if serving:
                return connect(**options)
            from commonplace.cli import searching

            return searching.search(words, **options)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place: every error is one line
        return failures.end(error, debug=debug)


def parse(arguments: Sequence[str], command: str) -> dict[str, Any] | None:
    """Read the arguments of a command: its `words`, and fields by name; None for what is left to click.

    Shared options alone may stand before the command; with `mcp` those of serving as well.
    """
    options: dict[str, Any] = {}
    rest, words = list(arguments), []
    while rest and rest[0] != command:
        if not _take(rest, options, SHARED):
            return None
    if not rest:
        return None
    del rest[0]
    before, options = options, {}
    while rest and rest[0] != "--":
        if rest[0] == "-" or not rest[0].startswith("-"):
            words.append(rest.pop(0))
        elif not _take(rest, options, (*SHARED, *(SERVING if command == "mcp" else FLAGS))):
            return None
    if any({*fields} <= options.keys() for fields in _APART):
        return None
    return {**before, **options, "words": (*words, *rest[1:])}


def _take(rest: list[str], options: dict[str, Any], known: Sequence[Flag]) -> bool:
    """Take a known option and its value off the arguments, and note it; False if it is not understood."""
    name, equals, text = rest.pop(0).partition("=")
    flag, value = _OPTIONS.get(name, (None, None))
    if flag is None or flag not in known:
        return False
    if flag.read is None:
        is_other = options.setdefault(flag.field, value) != value
        options[flag.field] = value
        return not (equals or is_other)
    if equals and not name.startswith("--"):
        return False
    try:
        value = flag.convert(text if equals else rest.pop(0))
    except (IndexError, ValueError):
        return False
    options[flag.field] = (*options.get(flag.field, ()), value) if flag.many else value
    return True


def connect(
    workspace: Sequence[str] = (),
    agent: str | None = None,
    structured: bool = False,
    everything: bool = False,
) -> int:
    """Serve the client at the other end of standard input; return the exit code.

    Through the warm server of the workspace if one runs or can be started; otherwise from this process.
    """
    from functools import partial

    from commonplace.servers import local, relay

    asking = session.caller(workspace, agent, everything=everything)
    start = config.load(asking.reach().home, agent=asking.agent).server.start != "never"
    asked = {**asking.asked, "structured": structured}
    connect = local.connect_or_launch if start else local.connect
    code = relay.serve(partial(connect, asking.root), asking.agent, asked)
    if code is None:
        from commonplace.servers import running

        with running.private(served_of(asking.root)) as connection:
            code = relay.serve(connection, asking.agent, asked)
    assert code is not None
    return code


def service_of(asking: Caller, *, structured: bool = False) -> Service:
    """Make the service for a caller, by the settings as they stand whenever their files change.

    The memory is opened when it is first needed. With `structured` tools answer with JSON and text.
    Raises WorkspaceNotFound, ConfigError and AccessDenied at once: clients show errors at the start best.
    """
    from commonplace.servers.methods import Service

    def open_memory() -> Memory:
        from commonplace.memory import reaching

        reach = asking.reach()
        roots[:] = [reach.home, *reach.others.values()]
        return reaching(reach, asking.agent)

    reach = asking.reach()
    roots = [reach.home, *reach.others.values()]
    config.load(reach.home, agent=asking.agent)

    def stamp() -> object:
        return [config.stamp(root) for root in roots]

    return Service(open_memory, asking.agent, failures.warn, stamp, structured=structured)


def services_of(root: str) -> Services:
    """Make what serves all who come by way of a workspace."""
    from commonplace.servers.programs import Services

    def make(agent: str, asked: Mapping[str, Any]) -> Service:
        return service_of(session.caller_of(root, agent, asked), structured=asked.get("structured") is True)

    return Services(make)


def served_of(root: str) -> Served:
    """Make what a server of a workspace serves."""
    from commonplace.cli.doors import DOORS
    from commonplace.servers.running import Served

    return Served(root, services_of(root), DOORS)


def agents_of(asking: Caller) -> list[str]:
    """Return the agents served separately, besides the caller; a limited caller gets only itself.

    Raises ConfigError.
    """
    limited = config.limited(agent=asking.agent)
    return [asking.agent] if asking.agent in limited else limited


def apart_of(asking: Caller) -> Callable[[str, str], Service]:
    """Make a function that returns the service of one agent, or of one workspace in reach, by kind and name.

    Only an agent with memories of its own in the user's settings gets one: others would have access to all.
    """
    from functools import cache

    of = cache(services_of)  # by the workspace

    def apart(kind: str, name: str) -> Service:
        if kind == "agents" and name in agents_of(asking):
            return of(asking.root).of(name, {})
        reach = asking.reach()
        roots = {reach.name: reach.home, **reach.others}
        if kind != "workspaces" or name not in roots:
            raise ConfigError(kind, f"{name!r} is not served")
        return of(os.fspath(roots[name])).of(asking.agent, {"named": True, "alone": True})

    return apart
