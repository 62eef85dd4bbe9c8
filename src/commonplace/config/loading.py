"""Reading the settings of a workspace, layer over layer: defaults, files, agent, environment, flags."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import paths
from commonplace.config import foreign, keys
from commonplace.config.collections import collections_in, contexts_in, table, updates_in, with_updates
from commonplace.config.settings import GROUPS, Settings
from commonplace.config.table import KEYS
from commonplace.errors import CommonplaceError, ConfigError

AGENT_VARIABLE = "COMMONPLACE_AGENT"
_AGENT = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_NAMED = ("collections", "contexts", "workspaces", "agents")  # tables that hold no keys of the table of keys
_WORKSPACE_TABLES = ("collections", "contexts", "updates")
_LARGEST = 256 << 10  # bytes of a settings file
_DEEPEST = 64  # parts of a dotted key: the library takes a time that grows with their square
_PART = rb"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DEEP = re.compile(rb"(?<![\w-])(?:" + _PART + rb"){%d}" % _DEEPEST)
_ATTEMPTS = 20  # a file may be replaced while it is being opened, which is refused


class File(NamedTuple):
    """A settings file as read; `own` is true for the user's."""

    path: Path
    own: bool
    content: Mapping[str, Any]


class Layer(NamedTuple):
    """Values by dotted key and what set them, for people: a file, a variable, a flag.

    `warnings` say what of a workspace's own file was left out.
    """

    origins: Mapping[str, str]
    values: Mapping[str, object]
    warnings: tuple[str, ...] = ()


class Loaded(NamedTuple):
    """Settings, and where the value of each key came from."""

    settings: Settings
    origins: Mapping[str, str]


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the user's settings lie, whether they exist or not."""
    return paths.user_config_dir(environ) / "config.toml"


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    agent: str | None = None,
) -> Settings:
    """Read and validate the settings of a workspace; `overrides` are flags by dotted key, None is unset.

    `agent` names one whose tables win over the rest of the files; otherwise COMMONPLACE_AGENT does. Raises
    ConfigError.
    """
    return trace(root, environ, overrides, agent).settings


def trace(
    root: Path,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    agent: str | None = None,
) -> Loaded:
    """Read settings as `load` does, and note what set each key."""
    environ = os.environ if environ is None else environ
    user, workspace = _files(root, environ)
    name = agent_name(environ.get(AGENT_VARIABLE, "") if agent is None else agent)
    layers = [
        Layer({}, {key.name: key.default for key in KEYS}),
        *_layers(user, workspace, name),
        _environment(environ),
        _flags(overrides or {}),
    ]
    values = {name: value for layer in layers for name, value in layer.values.items()}
    origins = {name: told for layer in layers for name, told in layer.origins.items()}
    groups = {
        group: make(**{n.partition(".")[2]: v for n, v in values.items() if n.startswith(f"{group}.")})
        for group, make in GROUPS.items()
    }
    own = _of_workspace(user, root)
    collections = collections_in(own, root, user.path, outside=True)
    foreign_collections, warnings = foreign.restricted(
        collections_in(workspace.content, root, workspace.path, outside=False),
        os.fspath(root), paths.shown(workspace.path),
    )  # fmt: skip
    collections |= foreign_collections
    warnings = [*(told for layer in layers for told in layer.warnings), *warnings]
    collections = with_updates(collections, updates_in(own, user.path))
    contexts = {
        prefix: text
        for content, where in ((user.content, user), (own, user), (workspace.content, workspace))
        for prefix, text in contexts_in(content, where.path).items()
    }
    return Loaded(
        Settings(**groups, collections=collections, contexts=contexts, warnings=tuple(warnings)), origins
    )


def _layers(user: File, workspace: File, agent: str) -> list[Layer]:
    """What the files say: both in general, then both about one agent. All of both is checked."""
    general = [_scalars(file, file.content, "") for file in (user, workspace)]
    agents = [_agents(file) for file in (user, workspace)]
    return general + [layers[agent] for layers in agents if agent in layers]


def _agents(file: File) -> dict[str, Layer]:
    """The tables `[agents.NAME.GROUP]` of a file, by agent."""
    found = {}
    for name, content in table("agents", file.content.get("agents", {}), file.path).items():
        place = f"agents.{agent_name(name)}"
        found[name] = _scalars(file, table(place, content, file.path), place)
    return found


def agent_name(name: str) -> str:
    """Return the name of an agent, or the empty one. Raises ConfigError for what cannot be one."""
    if name and not _AGENT.fullmatch(name):
        allowed = "letters, digits, - _ and ., at most 64, a letter or digit first"
        raise ConfigError("agent", f"{keys.quoted(name)} is no name for one; allowed are {allowed}")
    return name


def _files(root: Path, environ: Mapping[str, str]) -> tuple[File, File]:
    user, workspace = user_file(environ), paths.Workspace(root).settings
    return File(user, True, read(user)), File(workspace, False, read(workspace))


def read(path: Path) -> Mapping[str, Any]:
    """Parse a TOML file; a missing one is empty. Raises ConfigError."""
    data = content(path)
    return parse(data, path) if data else {}


def content(path: Path) -> bytes:
    """Return the bytes of a settings file; a missing one has none. Raises ConfigError."""
    if not os.path.lexists(path):
        return b""
    trouble: CommonplaceError | None = None
    for _ in range(_ATTEMPTS):
        try:
            return paths.read_contained(path, [Path(os.path.realpath(path)).parent])
        except CommonplaceError as error:
            trouble = error
    raise ConfigError("settings", str(trouble)) from trouble


def parse(data: bytes, path: Path) -> Mapping[str, Any]:
    """Parse what a settings file holds, or is to hold. Raises ConfigError, naming the file and the line."""
    import tomllib

    if len(data) > _LARGEST:
        raise ConfigError(paths.shown(path), f"has {len(data):,} bytes; settings have {_LARGEST:,} at most")
    if deep := _DEEP.search(data):
        line = data.count(b"\n", 0, deep.start()) + 1
        raise ConfigError(paths.shown(path), f"a key of more than {_DEEPEST} parts (at line {line})")
    try:
        return tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(paths.shown(path), f"not UTF-8 (at line {line})") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(paths.shown(path), f"not valid TOML: {str(error).splitlines()[0]}") from error


def check(data: bytes, path: Path, workspace: Path | None) -> None:
    """See that a file with this content could be loaded, a workspace's or (None) the user's.

    Raises ConfigError.
    """
    file = File(path, workspace is None, parse(data, path))
    _scalars(file, file.content, "")
    _agents(file)
    contexts_in(file.content, path)
    if workspace is not None:
        collections_in(file.content, workspace, path, outside=False)
        return
    for folder, content in _workspaces(file):
        collections_in(content, Path(os.path.expanduser(folder)), path, outside=True)
        contexts_in(content, path)
        updates_in(content, path)


def _scalars(file: File, content: Mapping[str, Any], place: str) -> Layer:
    """Validate the keys of every table but the named ones; `place` is the table they stand in."""
    values: dict[str, object] = {}
    warnings: list[str] = []
    for group, inner in content.items():
        if group in _NAMED and not place:
            _check_place(group, inner, file)
            continue
        if group not in GROUPS:
            near = keys.near(group, [*GROUPS, *(() if place else _NAMED)])
            raise ConfigError(
                paths.shown(_below(place, group)), f"unknown table in {paths.shown(file.path)}{near}"
            )
        for name, value in table(_below(place, group), inner, file.path).items():
            key = f"{group}.{name}"
            values[key] = _value(key, value, file)
            if not file.own and key in foreign.OF_KEYS:
                _restrict(key, values, warnings, file)
    return Layer(dict.fromkeys(values, _told(file.path, place)), values, tuple(warnings))


def _restrict(key: str, values: dict[str, object], warnings: list[str], file: File) -> None:
    """Take out of a value what a workspace's own file may not name; where nothing is left it sets nothing."""
    names = values.pop(key)
    assert isinstance(names, tuple)
    allowed = tuple(name for name in names if foreign.may_name(name, foreign.OF_KEYS[key]))
    if allowed or not names:
        values[key] = allowed
    if rest := [name for name in names if name not in allowed]:
        remedy = f"commonplace config set {key} …, which sets it in your own config.toml"
        warnings.append(foreign.left_out(key, rest, paths.shown(file.path), remedy))


def origin(path: Path, agent: str = "") -> str:
    """Name a settings file, and an agent's tables in it, as the origin of a value."""
    return _told(path, f"agents.{agent}" if agent else "")


def _told(path: Path, place: str) -> str:
    return paths.shown(path) + (f" [{place}]" if place else "")


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _value(name: str, value: object, file: File) -> object:
    key = keys.find(name, f"in {paths.shown(file.path)}")
    if not (key.harmless or file.own):
        where = "comes with the folder and may not set it; set it in your own config.toml"
        raise ConfigError(key.name, f"{paths.shown(file.path)} {where}")
    return keys.checked(key, value, f"in {paths.shown(file.path)}")


def _check_place(group: str, content: object, file: File) -> None:
    table(group, content, file.path)
    if group == "workspaces" and not file.own:
        raise ConfigError(group, f"may stand in your own config.toml only, not in {paths.shown(file.path)}")
    if group == "collections" and file.own:
        raise ConfigError(
            group, f'in {paths.shown(file.path)} it must be [workspaces."/path".collections.NAME]'
        )


def _environment(environ: Mapping[str, str]) -> Layer:
    found = {key: environ[key.variable] for key in KEYS if environ.get(key.variable)}
    values = {key.name: keys.from_text(key, text, f"in {key.variable}") for key, text in found.items()}
    return Layer({key.name: key.variable for key in found}, values)


def _flags(overrides: Mapping[str, object]) -> Layer:
    given = {keys.find(name, "as a flag"): value for name, value in overrides.items() if value is not None}
    values = {
        key.name: keys.from_text(key, value, "as a flag")
        if isinstance(value, str) and key.variable
        else keys.checked(key, value, "as a flag")
        for key, value in given.items()
    }
    return Layer(dict.fromkeys(values, "flag"), values)


def _workspaces(user: File) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the user's file says about each workspace, by the folder as it stands there."""
    for folder, content in table("workspaces", user.content.get("workspaces", {}), user.path).items():
        for name in table(f'workspaces."{folder}"', content, user.path):
            if name not in _WORKSPACE_TABLES:
                near = keys.near(name, _WORKSPACE_TABLES)
                raise ConfigError(
                    f'workspaces."{folder}".{name}', f"unknown table in {paths.shown(user.path)}{near}"
                )
        yield folder, content


def _of_workspace(user: File, root: Path) -> Mapping[str, Any]:
    """Return what the user's file says about this workspace, by real path."""
    real = os.path.realpath(root)
    found: dict[str, Any] = {}
    for folder, content in _workspaces(user):
        if os.path.realpath(os.path.expanduser(folder)) == real:
            found |= content
    return found
