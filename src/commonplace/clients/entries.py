"""Our entries in a client's settings, recognised by the command that they hold.

An entry is ours if it starts this program, wherever that lies, with exactly a workspace and an agent:
`commonplace -w FOLDER --agent NAME mcp`, or `… hook`. So an upgrade replaces only our entries.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.clients import strict
from commonplace.clients.table import Hook, Target

SERVE, HOOK = "mcp", "hook"
_MODULE = ["-P", "-m", "commonplace"]


class Door(NamedTuple):
    """How a client reaches a workspace: the command that it starts, up to the word that says for what."""

    name: str
    command: tuple[str, ...]

    def argv(self, verb: str) -> list[str]:
        """Return the command for `mcp` or `hook`."""
        return [*self.command, verb]


class Taken(ValueError):
    """The name of the entry to be written belongs to a foreign entry."""


def door(program: Sequence[str], workspace: Path, agent: str, name: str) -> Door:
    """Make the entry that leads to a workspace. Raises ConfigError for a path that clients would alter."""
    command = (*program, "-w", os.path.abspath(workspace), "--agent", agent)
    for word in command:
        if "$" in word or not word.replace(" ", "").isprintable():
            message = "holds what clients read as a variable, or what cannot be seen; name another folder"
            raise ConfigError(
                "workspace" if word in command[len(program) :] else "program",
                f"{paths.shown(word)} {message}",
            )
    return Door(name, command)


def is_ours(argv: Sequence[object], verb: str) -> bool:
    """Tell whether a command is one that was written from here."""
    words = [word for word in argv if isinstance(word, str)]
    if len(words) != len(argv) or not words:
        return False
    arguments = words[1:]
    if Path(words[0]).stem != "commonplace":
        if arguments[: len(_MODULE)] != _MODULE:
            return False
        arguments = arguments[len(_MODULE) :]
    return len(arguments) == 5 and (arguments[0], arguments[2], arguments[4]) == ("-w", "--agent", verb)


# --- servers -------------------------------------------------------------------------------------------


def server(target: Target, door: Door) -> dict[str, object]:
    """Return the entry of a server as a client takes it."""
    argv = door.argv(SERVE)
    command = {"command": argv} if target.one_list else {"command": argv[0], "args": argv[1:]}
    fields = dict(target.fields or {})
    kind = {"type": fields.pop("type")} if "type" in fields else {}
    return {**kind, **command, **fields}


def started(entry: object) -> list[object]:
    """Return the command that a server's entry starts; empty if it has no command."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args", [])
    first = command if isinstance(command, list) else [command]
    return [*first, *(arguments if isinstance(arguments, list) else [])]


def servers_in(target: Target, value: object) -> dict[str, Any]:
    """Return the servers that settings hold, by name."""
    for key in target.keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def ours_in(target: Target, value: object) -> dict[str, list[str]]:
    """Return the commands of our servers that settings hold, by name."""
    commands = {name: started(entry) for name, entry in servers_in(target, value).items()}
    return {name: [str(word) for word in argv] for name, argv in commands.items() if is_ours(argv, SERVE)}


def refuse_taken(target: Target, value: object, name: str) -> None:
    """Raise Taken where somebody else's server has a name."""
    entry = servers_in(target, value).get(name)
    if entry is not None and not is_ours(started(entry), SERVE):
        raise Taken(f"another server is called {name!r} there; choose another name with --name")


def add_server(text: str, target: Target, door: Door) -> str:
    """Enter a server into a JSON text, in the place of the former one. Raises Broken, Taken."""
    try:
        whole = strict.value(text)
    except strict.Broken as error:
        entry = json.dumps(json.loads(pasted(target, door)), ensure_ascii=False)
        raise strict.Broken(f"{error}: {entry}") from error
    refuse_taken(target, whole, door.name)
    servers = strict.table(whole, target.keys)
    for name in ours_in(target, whole):
        if name != door.name:
            del servers[name]
    servers[door.name] = {**(servers.get(door.name) or {}), **server(target, door)}
    return strict.written(text, whole)


def remove_server(text: str, target: Target) -> str:
    """Take our servers out of a JSON text, and objects that are empty without them. Raises Broken."""
    whole = strict.value(text)
    if ours := ours_in(target, whole):
        for name in ours:
            del servers_in(target, whole)[name]
        strict.drop_empty(whole, target.keys)
    return strict.written(text, whole)


# --- hooks ---------------------------------------------------------------------------------------------

HOOKS = "hooks"


def group(hook: Hook, door: Door) -> dict[str, object]:
    """Return what is called at an event."""
    command = {"type": "command", "command": shlex.join(door.argv(HOOK)), "timeout": hook.timeout_s}
    return {**({"matcher": hook.matcher} if hook.matcher else {}), HOOKS: [command]}


def add_hooks(text: str, target: Target, door: Door) -> str:
    """Enter the hooks into a JSON text, in the place of the former ones. Raises Broken."""
    whole = strict.value(text)
    for hook in target.events:
        entry, groups = group(hook, door), _groups(whole, hook.event)
        if [groups[outer] for outer, _ in _called(groups)] != [entry]:
            strict.table(whole, (HOOKS,))[hook.event] = [*_stripped(groups), entry]
    _drop_hooks(whole, [hook.event for hook in target.events])  # of former versions
    return strict.written(text, whole)


def remove_hooks(text: str) -> str:
    """Take our hooks out of a JSON text. Raises Broken."""
    whole = strict.value(text)
    _drop_hooks(whole)
    return strict.written(text, whole)


def _drop_hooks(whole: Any, but: Sequence[str] = ()) -> None:  # noqa: ANN401 - whatever JSON holds
    """Take our hooks out of settings, but for those of some events."""
    for event in _events(whole):
        groups = _groups(whole, event)
        if event not in but and _called(groups):
            whole[HOOKS][event] = _stripped(groups)
            strict.drop_empty(whole, (HOOKS, event))


def hooked(text: str) -> dict[str, list[str]]:
    """Return the events at which we are called, with the command."""
    whole, commands = strict.value(text), {}
    for event in _events(whole):
        groups = _groups(whole, event)
        for outer, inner in _called(groups):
            commands[event] = shlex.split(groups[outer][HOOKS][inner]["command"])
    return commands


def _events(whole: Any) -> list[str]:  # noqa: ANN401 - whatever JSON holds
    """Return the events that have hooks. Raises Broken if the settings or their hooks are not an object."""
    events = whole.get(HOOKS) if isinstance(whole, dict) else None
    if not (isinstance(whole, dict) and isinstance(events, dict | None)):
        raise strict.Broken("the whole, or hooks, is no object")
    return list(events or ())


def _groups(whole: Any, event: str) -> list[Any]:  # noqa: ANN401 - whatever JSON holds
    """Return the groups of hooks of an event. Raises Broken if they are not a list."""
    _events(whole)
    groups = (whole.get(HOOKS) or {}).get(event)
    if not isinstance(groups, list | None):
        raise strict.Broken(f"{HOOKS}.{event} is no array")
    return groups or []


def _called(groups: Sequence[object]) -> list[tuple[int, int]]:
    """Where we are called: the place of the group, and the one in it."""
    return [
        (outer, inner)
        for outer, entry in enumerate(groups)
        if isinstance(entry, dict) and isinstance(entry.get(HOOKS), list)
        for inner, hook in enumerate(entry[HOOKS])
        if isinstance(hook, dict) and is_ours(_words(hook.get("command")), HOOK)
    ]


def _words(command: object) -> list[str]:
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def _stripped(groups: Sequence[Any]) -> list[Any]:
    """Return groups without our hooks, and without groups that held only those."""
    ours = _called(groups)
    kept = []
    for outer, entry in enumerate(groups):
        places = {inner for where, inner in ours if where == outer}
        left = [hook for inner, hook in enumerate(entry[HOOKS]) if inner not in places] if places else []
        if left or not places:
            kept.append({**entry, HOOKS: left} if places else entry)
    return kept


def pasted(target: Target, door: Door) -> str:
    """Return the entry of a server as its user would paste it into a file."""
    text: dict[str, object] = {door.name: server(target, door)}
    for key in reversed(target.keys):
        text = {key: text}
    return json.dumps(text, indent=2, ensure_ascii=False)
