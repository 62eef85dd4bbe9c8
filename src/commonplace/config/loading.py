"""Load the settings of a workspace in layers, each stronger than the one before.

Defaults, the user's file, the workspace's file (harmless keys only), both files' tables about the agent,
environment, overrides. A key that moved is read as its successor; one that is gone is named in a warning.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config import access, keys
from commonplace.config.collections import (
    CODE,
    OF_COLLECTIONS,
    OF_KEYS,
    collections_in,
    contexts_in,
    left_out,
    may_name,
    normal_prefix,
    restricted,
    updates_in,
    with_updates,
)
from commonplace.config.files import AGENT_VARIABLE, File, agent_name, parse, read, table
from commonplace.config.gone import SETTINGS as GONE
from commonplace.config.settings import GROUPS, KEYS, MOVED, SAME, Settings, variable

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "CODE", "OF_COLLECTIONS", "Loaded", "check", "keys", "load", "may_name", "normal_prefix", "origin",
    "parse", "trace",
]  # fmt: skip

_NAMED = ("collections", "contexts", "workspaces", "agents")  # tables with names of the user's choice
_TABLES = {*GROUPS, *(name.partition(".")[0] for name in GONE)}


class Layer(NamedTuple):
    """Values by dotted key, the origin of each for people, and warnings."""

    origins: Mapping[str, str]
    values: Mapping[str, object]
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
    user, path = access.users(environ, agent), paths.Workspace(root).settings
    workspace = File(path, False, read(path))
    with access.discreet(user, agent):
        allowed, agents, own = access.access_of(user, agent, environ), _agents(user), _own(user, root)
    allowed.check(root)
    values: dict[str, object] = {key.name: key.default for key in KEYS}
    origins, warnings = dict[str, str](), list[str]()
    for layer in (
        _scalars(user, user.content, ""),
        _scalars(workspace, workspace.content, ""),
        *(tables[agent] for tables in (agents, _agents(workspace)) if agent in tables),
        _environment(environ),
        _flags(overrides or {}),
    ):
        values |= layer.values
        origins |= layer.origins
        warnings += layer.warnings
    foreign, omissions = restricted(
        collections_in(workspace.content, root, path, outside=False), os.fspath(root), paths.shown(path)
    )
    collections = with_updates(
        collections_in(own, root, user.path, outside=True) | foreign, updates_in(own, user.path)
    )
    with access.discreet(user, agent):
        folders = [os.fspath(root), *(one.place for one in collections.values())]
        access.check_apart(allowed, root, folders, user, environ)
    contexts = contexts_in(user.content, user.path) | contexts_in(own, user.path)
    contexts |= contexts_in(workspace.content, path)
    return Loaded(
        Settings(
            **_tables(values),
            collections=collections,
            contexts=contexts,
            warnings=(*warnings, *omissions),
        ),
        origins,
    )


def _tables(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of values by dotted key, with the fields that follow another setting."""
    groups: dict[str, dict[str, object]] = {group: {} for group in GROUPS}
    for name, value in (
        *values.items(),
        *((name, one.factor * values[one.name]) for name, one in SAME.items()),
    ):
        group, _, field = name.partition(".")
        groups[group][field] = value
    return {group: make(**groups[group]) for group, make in GROUPS.items()}


def check(data: bytes, path: Path, workspace: Path | None) -> None:
    """Raise ConfigError if these bytes could not be loaded as a workspace's file, or (None) the user's."""
    file = File(path, workspace is None, parse(data, path))
    _scalars(file, file.content, "")
    agents = _agents(file)
    contexts_in(file.content, path)
    if workspace is not None:
        collections_in(file.content, workspace, path, outside=False)
        return
    for folder, content in access.workspaces_in(file):
        collections_in(content, Path(os.path.expanduser(folder)), path, outside=True)
        contexts_in(content, path)
        updates_in(content, path)
    access.names_in(file)
    for agent in agents:
        access.access_of(file, agent)


def origin(path: Path, agent: str = "") -> str:
    """Name a settings file, or an agent's tables in it, as the origin of a value."""
    return paths.shown(path) + (f" [agents.{agent}]" if agent else "")


# --- layers ---------------------------------------------------------------------------------------------


def _own(user: File, root: Path) -> dict[str, Any]:
    """Return the tables about a workspace in the user's file, by real path."""
    own: dict[str, Any] = {}
    for folder, content in access.workspaces_in(user):
        if access.real_path(folder) == os.path.realpath(root):
            own |= content
    return own


def _agents(file: File) -> dict[str, Layer]:
    """Return the tables `[agents.NAME.GROUP]` of a file, by agent."""
    found = {}
    for name, content in table("agents", file.content.get("agents", {}), file.path).items():
        place = f"agents.{agent_name(name)}"
        groups = dict(table(place, content, file.path))
        for key in access.KEYS:
            if groups.pop(key, None) is not None and not file.own:
                raise _own_only(f"{place}.{key}", file)
        found[name] = _scalars(file, groups, name)
    return found


def _own_only(key: str, file: File) -> ConfigError:
    return ConfigError(key, f"may stand in your own config.toml only, not in {paths.shown(file.path)}")


def _scalars(file: File, content: Mapping[str, Any], agent: str) -> Layer:
    """Validate the keys of all tables but the named ones, in a file or in the table of an agent."""
    shown, below = paths.shown(file.path), f"agents.{agent}." if agent else ""
    moved, values, warnings = dict[str, object](), dict[str, object](), list[str]()
    for group, inner in content.items():
        if group in _NAMED and not agent:
            _check_named(group, inner, file)
            continue
        if group not in _TABLES:
            near = keys.near(group, [*GROUPS, *(access.KEYS if agent else _NAMED)])
            unknown = message("table.unknown", "unknown table in {file}{hint}", file=shown, hint=near)
            raise ConfigError(paths.shown(below + group), unknown)
        fields = table(below + group, inner, file.path)
        for field in sorted(fields, reverse=True):  # `key_file` after `keyring`, which it replaces
            name, value = f"{group}.{field}", fields[field]
            key, value = successor(name, value, f"in {shown}", warnings)
            if key in GONE or value is None:
                continue
            target = values if key == name else moved
            target[key] = _value(key, value, file) or target.get(key, value)
            if not file.own and key in OF_KEYS:
                _restrict(key, target, warnings, file)
    values = moved | values
    return Layer(dict.fromkeys(values, origin(file.path, agent)), values, warnings)


def _check_named(group: str, content: object, file: File) -> None:
    table(group, content, file.path)
    if group == "workspaces" and not file.own:
        raise _own_only(group, file)
    if group == "collections" and file.own:
        place = '[workspaces."/path".collections.NAME]'
        raise ConfigError(group, f"in {paths.shown(file.path)} it must be {place}")


def successor(key: str, value: Any, where: str, warnings: list[str]) -> tuple[str, Any]:  # noqa: ANN401
    """Return the key and value in place of a former key, with a warning if it moved or is gone."""
    if key in GONE:
        warnings.append(f"{key} {where} is gone: {GONE[key]}")
    if key not in MOVED:
        return key, value
    warnings.append(f"{key} {where} moved: use {MOVED[key].name}")
    return MOVED[key].name, MOVED[key].read(value)


def _value(name: str, value: object, file: File) -> object:
    place = message("where.file", "in {file}", file=paths.shown(file.path))
    key = keys.find(name, place)
    if not (key.harmless or file.own):
        harmful = "{file} comes with the folder and may not set it; set it in your own config.toml"
        raise ConfigError(key.name, message("key.harmful", harmful, file=paths.shown(file.path)))
    return keys.checked(key, value, place)


def _restrict(key: str, values: dict[str, object], warnings: list[str], file: File) -> None:
    """Remove names that a workspace's own file may not set; an emptied list has no effect."""
    names = values.pop(key)
    assert isinstance(names, tuple)
    allowed = tuple(name for name in names if may_name(name, OF_KEYS[key]))
    if allowed or not names:
        values[key] = allowed
    if rest := [name for name in names if name not in allowed]:
        warnings.append(left_out(key, rest, paths.shown(file.path), remedies.say("config.own", key)))


def _environment(environ: Mapping[str, str]) -> Layer:
    names = (*MOVED, *GONE, *(key.name for key in KEYS if key.variable))
    return _given(
        (name, environ[one], f"in {one}", one) for name in names if environ.get(one := variable(name))
    )


def _flags(overrides: Mapping[str, object]) -> Layer:
    where = remedies.say("config.overrides")
    return _given((name, value, where, "flag") for name, value in overrides.items() if value is not None)


def _given(pairs: Iterable[tuple[str, object, str, str]]) -> Layer:
    """Validate values of the environment or of flags: key, value, place, origin."""
    layer = Layer(origins := {}, values := {}, [])
    for name, value, where, source in pairs:
        successive, value = successor(name, value, where, layer.warnings)
        if successive in GONE or value is None:
            continue
        key = keys.find(successive, where)
        is_text = isinstance(value, str) and key.variable
        values[key.name] = keys.from_text(key, value, where) if is_text else keys.checked(key, value, where)
        origins[key.name] = source
    return layer
