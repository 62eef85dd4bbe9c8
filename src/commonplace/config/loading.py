"""Load the settings of a workspace in layers, each stronger than the one before.

Defaults, the user's file, the workspace's file (harmless keys only), the user's tables about the agent,
environment, overrides. A key of a former version is ignored, with a warning that names its successor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config import access, collections, keys
from commonplace.config.collections import NOTES_ALONE, contexts_in, may_name
from commonplace.config.files import AGENT_VARIABLE, File, agent_name, parse, read, table, workspace_file
from commonplace.config.settings import GONE, GROUPS, KEYS, SAME, Settings, variable

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    Given = tuple[str, Any, str, str]  # a dotted key, its value, its place and its origin, for people

_OWN = ("workspaces", "agents")  # tables of the user's file alone
_NAMED = ("collections", "contexts", *_OWN)  # tables with names of the user's choice
_TABLES = {*GROUPS, *(name.partition(".")[0] for name in GONE)}


class Layer(NamedTuple):
    """Values by dotted key, the origin of each for people, and warnings."""

    origins: dict[str, str]
    values: dict[str, object]
    warnings: list[str]


class Loaded(NamedTuple):
    """Settings, and the origin of each value that is not a default."""

    settings: Settings
    origins: Mapping[str, str]


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    agent: str | None = None,
) -> Settings:
    """Read the settings of a workspace; `overrides` are flags by dotted key, None is unset.

    `agent` chooses the tables of an agent, by default COMMONPLACE_AGENT. Raises ConfigError, and AccessDenied
    for an agent that may not read this workspace.
    """
    return trace(root, environ, overrides, agent).settings


def trace(
    root: Path,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    agent: str | None = None,
) -> Loaded:
    """Read settings as `load` does, with the origin of each value."""
    environ = os.environ if environ is None else environ
    agent = agent_name(environ.get(AGENT_VARIABLE, "") if agent is None else agent)
    path, user = workspace_file(root), access.users(environ, agent)
    workspace = File(path, False, read(path))
    with access.discreet(agent):
        allowed, agents, own = access.access_of(user, agent, environ), _agents(user), _own(user, root)
    allowed.check(root)
    values: dict[str, Any] = {key.name: key.default for key in KEYS}
    origins, warnings, flag = dict[str, str](), list[str](), remedies.say("config.overrides")
    if path != (former := root / paths.FORMER_SETTINGS) and os.path.lexists(former):
        warnings.append(f"{paths.shown(former)} is not read: the settings are in {paths.shown(path)}")
    for layer in (
        _of_file(user, user.content),
        _of_file(workspace, workspace.content),
        agents.get(agent, Layer({}, {}, [])),
        _layer(_environment(environ)),
        _layer((name, one, flag, "flag") for name, one in (overrides or {}).items() if one is not None),
    ):
        values |= layer.values
        origins |= layer.origins
        warnings += layer.warnings
    updates = collections.updates_in(own, user.path)
    found = {
        name: one._replace(update=updates.get(os.path.realpath(one.path), ()))
        for name, one in collections.collections_in(own, root, user.path).items()
    }
    with access.discreet(agent):
        folders = [os.fspath(root), *(one.place for one in found.values())]
        access.check_apart(allowed, root, folders, user, environ)
    contexts = contexts_in(user.content, user.path) | contexts_in(own, user.path)
    values |= {name: values[other] for name, other in SAME.items()}
    tables: dict[str, Any] = {
        group: make(**{field: values[f"{group}.{field}"] for field in make._fields})  # type: ignore[attr-defined]
        for group, make in GROUPS.items()
    }
    return Loaded(Settings(**tables, collections=found, contexts=contexts, warnings=(*warnings,)), origins)


def check(data: bytes, path: Path, workspace: Path | None) -> None:
    """Raise ConfigError if these bytes could not be loaded as a workspace's file, or (None) the user's."""
    file = File(path, workspace is None, parse(data, path))
    _of_file(file, file.content)
    if workspace is not None:
        return
    contexts_in(file.content, path)
    for folder, content in access.workspaces_in(file):
        collections.collections_in(content, Path(os.path.expanduser(folder)), path)
        contexts_in(content, path)
        collections.updates_in(content, path)
    access.names_in(file)
    for agent in _agents(file):
        access.access_of(file, agent)


def origin(path: Path, agent: str = "") -> str:
    """Name a settings file, or an agent's tables in it, as the origin of a value."""
    return paths.shown(path) + (f" [agents.{agent}]" if agent else "")


# --- layers ---------------------------------------------------------------------------------------------


def _own(user: File, root: Path) -> dict[str, Any]:
    """Return the tables about a workspace in the user's file, by real path."""
    real = os.path.realpath(root)
    tables = (content for folder, content in access.workspaces_in(user) if access.real_path(folder) == real)
    return {name: table for content in tables for name, table in content.items()}


def _agents(user: File) -> dict[str, Layer]:
    """Return the tables `[agents.NAME.GROUP]` of the user's file, by agent."""
    found = {}
    for name, content in table("agents", user.content.get("agents", {}), user.path).items():
        groups = table(f"agents.{agent_name(name)}", content, user.path)
        settings = {group: inner for group, inner in groups.items() if group not in access.KEYS}
        found[name] = _of_file(user, settings, name)
    return found


def _of_file(file: File, content: Mapping[str, Any], agent: str = "") -> Layer:
    """Validate the keys of all tables but the named ones, in a file or in the table of an agent."""
    return _layer(_settings_in(file, content, agent), file)


def _settings_in(file: File, content: Mapping[str, Any], agent: str) -> Iterator[Given]:
    shown, below = paths.shown(file.path), f"agents.{agent}." if agent else ""
    place = message("where.file", "in {file}", file=shown)
    for group, inner in content.items():
        if group in _NAMED and not agent:
            table(group, inner, file.path)
            if not file.own:
                yield group, inner, place, ""
            elif group == "collections":
                raise ConfigError(group, f'in {shown} it must be [workspaces."/path".collections.NAME]')
            continue
        if group not in _TABLES:
            near = keys.near(group, [*GROUPS, *(access.KEYS if agent else _NAMED)])
            unknown = message("table.unknown", "unknown table in {file}{hint}", file=shown, hint=near)
            raise ConfigError(paths.shown(below + group), unknown)
        for field, value in table(below + group, inner, file.path).items():
            yield f"{group}.{field}", value, place, origin(file.path, agent)


def _environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for name in (*GONE, *(key.name for key in KEYS if key.variable)):
        if value := environ.get(one := variable(name)):
            yield name, value, f"in {one}", one


def _layer(given: Iterable[Given], file: File | None = None) -> Layer:
    """Validate values of a file, the environment or flags."""
    layer, ignored = Layer({}, {}, []), list[str]()
    is_foreign = file is not None and not file.own
    for name, value, where, source in given:
        if name in GONE:
            # A cap of the owner's costs: ignored, it would no longer hold.
            if ".max_" in name and "_a_" in name and not is_foreign:
                raise ConfigError(name, f"{where} is gone: {GONE[name]}")
            layer.warnings.append(f"{name} {where} is gone: {GONE[name]}")
            continue
        if is_foreign and (name in _NAMED or not keys.find(name, where).harmless):
            ignored.append(name)
            continue
        key = keys.find(name, where)
        is_text = file is None and isinstance(value, str) and key.variable
        value = (keys.from_text if is_text else keys.checked)(key, value, where)
        if is_foreign and name in NOTES_ALONE and isinstance(value, tuple):
            ignored += [f"{paths.shown(one)} of {name}" for one in value if not may_name(one)]
            if not (value := tuple(filter(may_name, value))):  # an emptied list has no effect
                continue
        layer.values[name] = value
        layer.origins[name] = source
    if file is not None and ignored:
        first, more = ignored[0].rpartition(" ")[2], f" and {len(ignored) - 3} more" * (len(ignored) > 3)
        own = remedies.say("collection.add") if first in _NAMED else remedies.say("config.own", first)
        layer.warnings.append(
            f"{', '.join(ignored[:3])}{more} in {paths.shown(file.path)} left out: settings that come with a"
            f" folder may only tune search and name visible notes; to allow it: {own}"
        )
    return layer
