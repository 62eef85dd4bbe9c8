"""Reading the settings of a workspace, layer over layer: defaults, files, agent, environment, flags."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import AccessDenied, CommonplaceError, ConfigError
from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config import access, gone, keys
from commonplace.config.access import Access
from commonplace.config.settings import (
    AUTO,
    DEFAULT_GLOBS,
    GROUPS,
    KEYS,
    TRANSCRIPTS,
    WORKSPACE_COLLECTION,
    Collection,
    Settings,
)

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Literal

AGENT_VARIABLE = "COMMONPLACE_AGENT"
_AGENT = lazy(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_NAMED = ("collections", "contexts", "workspaces", "agents")  # tables that hold no keys of the table of keys
_WORKSPACE_TABLES = ("collections", "contexts", "updates", access.NAME)
_LARGEST = 256 << 10  # bytes of a settings file
_DEEPEST = 64  # parts of a dotted key: the library takes a time that grows with their square
_PART = rb"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DEEP = lazy(rb"(?<![\w-])(?:" + _PART + rb"){%d}" % _DEEPEST)
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


def stamp(root: Path, environ: Mapping[str, str] | None = None) -> tuple[object, ...]:
    """Return what changes when a settings file of a workspace does: identity, size and time of each."""
    found: list[object] = []
    for path in (user_file(environ), paths.Workspace(root).settings):
        try:
            status = os.stat(path)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    agent: str | None = None,
) -> Settings:
    """Read and validate the settings of a workspace; `overrides` are flags by dotted key, None is unset.

    `agent` names one whose tables win over the rest of the files; otherwise COMMONPLACE_AGENT does. Raises
    ConfigError, and AccessDenied for an agent that may not read this workspace.
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
    name = agent_name(environ.get(AGENT_VARIABLE, "") if agent is None else agent)
    user, path = users(environ, name), paths.Workspace(root).settings
    workspace = File(path, False, read(path))
    with discreet(user, name):
        allowed, agents, own = access_of(user, name, environ), _agents(user), _own(user, root)
    allowed.check(root)
    groups: dict[str, dict[str, object]] = {group: {} for group in GROUPS}
    origins: dict[str, str] = {}
    warnings: list[str] = []
    for layer in _layers(user, workspace, agents, name, environ, overrides or {}):
        for key, value in layer.values.items():
            group, _, field = key.partition(".")
            groups[group][field] = value
        origins |= layer.origins
        warnings += layer.warnings
    collections = collections_in(own, root, user.path, outside=True)
    foreign, left = restricted(
        collections_in(workspace.content, root, path, outside=False), os.fspath(root), paths.shown(path)
    )
    collections = with_updates(collections | foreign, updates_in(own, user.path))
    if allowed.is_limited:
        folders = [os.fspath(root), *(one.place for one in collections.values())]
        with discreet(user, name):
            others = _anybodys(user, environ)
        access.check_apart(allowed, root, folders, others, access.listed(environ))
    contexts = contexts_in(user.content, user.path) | contexts_in(own, user.path)
    contexts |= contexts_in(workspace.content, path)
    tables: dict[str, Any] = {group: make(**groups[group]) for group, make in GROUPS.items()}
    settings = Settings(**tables, collections=collections, contexts=contexts, warnings=(*warnings, *left))
    return Loaded(settings, origins)


def users(environ: Mapping[str, str] | None = None, agent: str = "") -> File:
    """Read the user's settings file. Raises ConfigError.

    What keeps it from being read is shown to no agent: nobody knows yet which one it limits.
    """
    path = user_file(environ)
    try:
        return File(path, True, read(path))
    except ConfigError:
        if not agent:
            raise
        raise _hidden(path) from None


def _hidden(path: Path) -> ConfigError:
    return ConfigError("settings", f"{paths.shown(path)} has a mistake, which is shown to its owner alone")


@contextmanager
def discreet(user: File, agent: str) -> Iterator[None]:
    """Keep mistakes in the user's file from an agent that is limited: they may be about what is another's.

    Those in its own table it is told. Raises ConfigError.
    """
    try:
        yield
    except ConfigError as error:
        agents = user.content.get("agents")
        content = agents.get(agent) if isinstance(agents, Mapping) else None
        is_limited = isinstance(content, Mapping) and any(key in content for key in access.KEYS)
        if not is_limited or error.key in [
            f"agents.{agent}",
            *(f"agents.{agent}.{key}" for key in access.KEYS),
        ]:
            raise
        raise _hidden(user.path) from None


def _own(user: File, root: Path) -> dict[str, Any]:
    """What the user's file says about a workspace, by real path."""
    own: dict[str, Any] = {}
    for folder, content in _workspaces(user):
        if os.path.realpath(os.path.expanduser(folder)) == os.path.realpath(root):
            own |= content
    return own


def _layers(
    user: File,
    workspace: File,
    agents: Mapping[str, Layer],
    agent: str,
    environ: Mapping[str, str],
    overrides: Mapping[str, object],
) -> Iterator[Layer]:
    """The layers, the weakest first: both files in general, then both about one agent; all is checked."""
    yield Layer({}, {key.name: key.default for key in KEYS})
    yield _scalars(user, user.content, "")
    yield _scalars(workspace, workspace.content, "")
    for tables in (agents, _agents(workspace)):
        if agent in tables:
            yield tables[agent]
    yield _environment(environ)
    yield _flags(overrides)


def _agents(file: File) -> dict[str, Layer]:
    """The tables `[agents.NAME.GROUP]` of a file, by agent."""
    found = {}
    for name, content in table("agents", file.content.get("agents", {}), file.path).items():
        place = f"agents.{agent_name(name)}"
        groups = dict(table(place, content, file.path))
        for key in access.KEYS:
            if groups.pop(key, None) is not None and not file.own:
                where = f"may stand in your own config.toml only, not in {paths.shown(file.path)}"
                raise ConfigError(f"{place}.{key}", where)
        found[name] = _scalars(file, groups, place)
    return found


def access_of(user: File, agent: str, environ: Mapping[str, str] | None = None) -> Access:
    """Return what the user's file allows an agent. Raises ConfigError.

    And AccessDenied for one without a table where others are limited: misspelt, it would be limited to
    nothing.
    """
    every = table("agents", user.content.get("agents", {}), user.path)
    if agent not in every:
        if agent:
            _check_named(agent, every)
        return Access(agent)
    content = table(f"agents.{agent}", every[agent], user.path)
    if not any(key in content for key in access.KEYS):
        return Access(agent)
    names = {name: root for root, name in names_in(user).items()}
    return access.access_in(content, agent, names, user.path, paths.home(environ))


def _check_named(agent: str, tables: Mapping[str, Any]) -> None:
    """Raise AccessDenied for an agent without a table, if one of these limits another agent."""
    limited = [name for name, one in tables.items() if isinstance(one, Mapping) and {*access.KEYS} & {*one}]
    if not limited:
        return
    from difflib import get_close_matches

    names = {name.casefold(): name for name in limited}
    close = get_close_matches(agent.casefold(), names, 1)
    hint = f"; did you mean {names[close[0]]!r}?" if close else ";"
    told = f"has no table in your config.toml, which limits other agents{hint}"
    raise AccessDenied(agent, f"{told} {remedies.say('agent.table', agent)}")


def _anybodys(user: File, environ: Mapping[str, str]) -> set[str]:
    """The workspaces of the user's file, and those that its agents read and write. Raises ConfigError."""
    agents = table("agents", user.content.get("agents", {}), user.path)
    every = [access_of(user, name, environ).readable for name in agents]
    roots = [*folders_in(user), *(root for readable in every for root in readable)]
    return {root for root in roots if root != access.HERE}


def names_in(user: File) -> dict[str, str]:
    """Return the names that the user's file gives workspaces, by real path. Raises ConfigError."""
    found: dict[str, str] = {}
    for folder, content in _workspaces(user):
        if access.NAME in content:
            key = f'workspaces."{folder}".{access.NAME}'
            if not os.path.isabs(os.path.expanduser(folder)):
                raise ConfigError(
                    key, f"{keys.quoted(folder)} in {paths.shown(user.path)} must be a full path"
                )
            name = access.check_name(content[access.NAME], key, user.path)
            if name in found.values():
                raise ConfigError(key, f"{name!r} is the name of two workspaces; choose another")
            found[os.path.realpath(os.path.expanduser(folder))] = name
    return found


def folders_in(user: File) -> list[str]:
    """Return the workspaces that the user's file says something about, by real path. Raises ConfigError."""
    return [os.path.realpath(os.path.expanduser(folder)) for folder, _ in _workspaces(user)]


def agent_name(name: str) -> str:
    """Return the name of an agent, or the empty one. Raises ConfigError for what cannot be one."""
    if name and not _AGENT.fullmatch(name):
        allowed = "letters, digits, - _ and ., at most 64, a letter or digit first"
        raise ConfigError("agent", f"{keys.quoted(name)} is no name for one; allowed are {allowed}")
    return name


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
        told = message("toml.invalid", "not valid TOML: {what}", what=str(error).splitlines()[0])
        raise ConfigError(paths.shown(path), told) from error


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
    names_in(file)
    for name in table("agents", file.content.get("agents", {}), path):
        access_of(file, name)


def _scalars(file: File, content: Mapping[str, Any], place: str) -> Layer:
    """Validate the keys of every table but the named ones; `place` is the table they stand in."""
    values: dict[str, object] = {}
    warnings: list[str] = []
    for group, inner in content.items():
        if group in _NAMED and not place:
            _check_place(group, inner, file)
            continue
        if group not in GROUPS:
            near = keys.near(group, [*GROUPS, *(access.KEYS if place else _NAMED)])
            unknown = "unknown table in {file}{hint}"
            told = message("table.unknown", unknown, file=paths.shown(file.path), hint=near)
            raise ConfigError(paths.shown(_below(place, group)), told)
        for name, value in table(_below(place, group), inner, file.path).items():
            key = f"{group}.{name}"
            if key in gone.SETTINGS:
                warnings.append(f"{key} in {paths.shown(file.path)} is gone: {gone.SETTINGS[key]}")
                continue
            values[key] = _value(key, value, file)
            if not file.own and key in OF_KEYS:
                _restrict(key, values, warnings, file)
    return Layer(dict.fromkeys(values, _told(file.path, place)), values, tuple(warnings))


def _restrict(key: str, values: dict[str, object], warnings: list[str], file: File) -> None:
    """Take out of a value what a workspace's own file may not name; where nothing is left it sets nothing."""
    names = values.pop(key)
    assert isinstance(names, tuple)
    allowed = tuple(name for name in names if may_name(name, OF_KEYS[key]))
    if allowed or not names:
        values[key] = allowed
    if rest := [name for name in names if name not in allowed]:
        warnings.append(left_out(key, rest, paths.shown(file.path), remedies.say("config.own", key)))


def origin(path: Path, agent: str = "") -> str:
    """Name a settings file, and an agent's tables in it, as the origin of a value."""
    return _told(path, f"agents.{agent}" if agent else "")


def _told(path: Path, place: str) -> str:
    return paths.shown(path) + (f" [{place}]" if place else "")


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _value(name: str, value: object, file: File) -> object:
    place = message("where.file", "in {file}", file=paths.shown(file.path))
    key = keys.find(name, place)
    if not (key.harmless or file.own):
        harmful = "{file} comes with the folder and may not set it; set it in your own config.toml"
        raise ConfigError(key.name, message("key.harmful", harmful, file=paths.shown(file.path)))
    return keys.checked(key, value, place)


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
    where = remedies.say("config.overrides")
    given = {keys.find(name, where): value for name, value in overrides.items() if value is not None}
    values = {
        key.name: keys.from_text(key, value, where)
        if isinstance(value, str) and key.variable
        else keys.checked(key, value, where)
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


# --- collections and contexts -------------------------------------------------------------------------

_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_CONTEXT_MAX_CHARACTERS = 2000
BY_DEFAULT = "include_by_default"
FORMAT = "format"
WEIGHT, WEIGHTS = "weight", ("own", "reference")
_COLLECTION_KEYS = ("path", "glob", "ignore", BY_DEFAULT, FORMAT, WEIGHT)


def contexts_for(settings: Settings, path: str, collection: str) -> tuple[str, ...]:
    """Return the descriptions that apply to a note, general first: global, collection, path prefixes."""
    return applying(settings.contexts, path, collection)


def applying(contexts: Mapping[str, str], path: str, collection: str) -> tuple[str, ...]:
    """Return what of these descriptions by prefix applies to a note, general first."""
    found = [
        (len(prefix), text)
        for prefix, text in contexts.items()
        if not prefix or prefix in (collection, path) or path.startswith(f"{prefix}/")
    ]
    return tuple(text for _, text in sorted(found, key=lambda pair: pair[0]))


def by_default(settings: Settings) -> tuple[str, ...]:
    """Return the collections that a search looks into which names none; nothing where it is all of them."""
    excluded = {name for name, found in settings.collections.items() if not found.by_default}
    names = (WORKSPACE_COLLECTION, *settings.collections)
    return tuple(name for name in names if name not in excluded) if excluded else ()


def reference(settings: Settings) -> frozenset[str]:
    """Return the collections that the owner's own notes go before."""
    return frozenset(name for name, found in settings.collections.items() if found.weight == "reference")


def collections_in(
    content: Mapping[str, Any], root: Path, path: Path, *, outside: bool
) -> dict[str, Collection]:
    """Return the validated collections of a table by name; `outside` says that it is the user's.

    Raises ConfigError.
    """
    tables = table("collections", content.get("collections", {}), path)
    return {name: _collection(name, value, root, path, outside) for name, value in tables.items()}


def _collection(name: str, value: object, root: Path, path: Path, outside: bool) -> Collection:
    key, where = paths.shown(f"collections.{name}"), f"in {paths.shown(path)}"
    content = table(key, value, path)
    check_name(name)
    for item in content:
        if item not in _COLLECTION_KEYS:
            raise ConfigError(
                paths.shown(f"{key}.{item}"), f"unknown key {where}{keys.near(item, _COLLECTION_KEYS)}"
            )
    full = _folder(f"{key}.path", content.get("path"), root, where, outside)
    glob = keys.globs(f"{key}.glob", content.get("glob", DEFAULT_GLOBS), where)
    ignore = keys.globs(f"{key}.ignore", content.get("ignore", ()), where)
    by_default = content.get(BY_DEFAULT, True)
    if not isinstance(by_default, bool):
        told = f"{keys.quoted(by_default)} {where} is not allowed; it must be true or false"
        raise ConfigError(f"{key}.{BY_DEFAULT}", told)
    kind = check_format(content.get(FORMAT, ""), f"{key}.{FORMAT}", where)
    # What somebody keeps in his memory or said to an agent is his; the rest is mostly to look things up.
    usual = "own" if kind or paths.is_within(full, os.path.normpath(root)) else "reference"
    weight = check_weight(content.get(WEIGHT, usual), f"{key}.{WEIGHT}", where)
    return Collection(name, full, glob, ignore, outside, by_default, format=kind, weight=weight)


def _folder(key: str, folder: object, root: Path, where: str, outside: bool) -> str:
    """The absolute folder of a collection: an absolute one where `outside`, else one in the workspace."""
    if not isinstance(folder, str) or not folder or "\0" in folder:
        raise ConfigError(key, f"{keys.quoted(folder)} {where} is not allowed; it must be a folder")
    full = os.path.normpath(os.path.join(root, os.path.expanduser(folder) if outside else folder))
    if outside and not os.path.isabs(os.path.expanduser(folder)):
        raise ConfigError(key, f"{keys.quoted(folder)} {where} must be absolute")
    if not outside and not paths.is_within(os.path.realpath(full), os.path.realpath(root)):
        wrong = f"{keys.quoted(folder)} {where} leaves the workspace; {remedies.say('collection.add')}"
        raise ConfigError(key, wrong)
    return full


def check_format(value: object, key: str = FORMAT, where: str = "") -> str:
    """Return a format of transcripts, or the empty one of notes. Raises ConfigError."""
    if value not in ("", AUTO, *TRANSCRIPTS):
        told = f"it must be one of {', '.join((AUTO, *TRANSCRIPTS))}"
        raise ConfigError(key, f"{keys.quoted(value)} {where}".rstrip() + f" is not allowed; {told}")
    return str(value)


def check_weight(value: object, key: str = WEIGHT, where: str = "") -> Literal["own", "reference"]:
    """Return the weight of a collection. Raises ConfigError."""
    if value not in WEIGHTS:
        told = f"it must be one of {', '.join(WEIGHTS)}"
        raise ConfigError(key, f"{keys.quoted(value)} {where}".rstrip() + f" is not allowed; {told}")
    return value  # type: ignore[return-value]  # one of the two


def updates_in(content: Mapping[str, Any], path: Path) -> dict[str, tuple[str, ...]]:
    """Return the commands that bring folders up to date, by the folder's real path.

    They stand under the folder and not under the name of a collection: a workspace's file, which may lead a
    name elsewhere, decides neither what is run nor where. A link that takes the folder's place is another
    folder. Raises ConfigError.
    """
    found: dict[str, tuple[str, ...]] = {}
    for folder, command in table("updates", content.get("updates", {}), path).items():
        key, where = paths.shown(f'updates."{folder}"'), f"in {paths.shown(path)}"
        if not os.path.isabs(os.path.expanduser(folder)) or "\0" in folder:
            raise ConfigError(key, f"{keys.quoted(folder)} {where} must be an absolute folder")
        arguments = isinstance(command, list) and command and command[0]
        if not arguments or not all(isinstance(part, str) and "\0" not in part for part in command):
            told = "it must be a list of texts: a program and its arguments"
            raise ConfigError(key, f"{keys.quoted(command)} {where} is not allowed; {told}")
        found[os.path.normpath(os.path.expanduser(folder))] = tuple(command)
    return found


def with_updates(
    collections: Mapping[str, Collection], updates: Mapping[str, tuple[str, ...]]
) -> dict[str, Collection]:
    """Return collections with the commands of their folders."""
    if not updates:
        return dict(collections)
    real = {name: os.path.realpath(found.path) for name, found in collections.items()}
    return {name: one._replace(update=updates.get(real[name], ())) for name, one in collections.items()}


def check_name(name: str) -> None:
    """Raise ConfigError unless `name` may name a collection."""
    if name == WORKSPACE_COLLECTION:
        own = message("collection.own", "{name!r} is the workspace itself; choose another name", name=name)
        raise ConfigError("collection", own)
    if not re.fullmatch(_NAME, name):
        allowed = "a-z, 0-9, - and _, at most 64 characters, a letter or digit first"
        told = f"{{name}} is no name for one; allowed are {allowed}"
        raise ConfigError("collection", message("collection.no_name", told, name=keys.quoted(name)))


def collection_name(path: Path) -> str:
    """Return a name for a collection from that of a file or folder; empty where it has no letter for one."""
    name = path.stem if path.is_file() else os.path.basename(os.path.realpath(path))
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else " " for c in name.lower())
    return "-".join(plain.split()).strip("-_")[:64].strip("-_")


def contexts_in(content: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Return the validated contexts of a table by prefix. Raises ConfigError."""
    found: dict[str, str] = {}
    for prefix, text in table("contexts", content.get("contexts", {}), path).items():
        if not isinstance(text, str) or not text.strip() or len(text) > _CONTEXT_MAX_CHARACTERS:
            limit = f"it must be a text of at most {_CONTEXT_MAX_CHARACTERS} characters"
            raise ConfigError(
                paths.shown(f'contexts."{prefix}"'),
                f"{keys.quoted(text)} in {paths.shown(path)} is not allowed; {limit}",
            )
        found[normal_prefix(prefix)] = text.strip()
    return found


def normal_prefix(text: str) -> str:
    """Return a path prefix in its one spelling: no `./`, no slash at either end."""
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ConfigError("context", f"{keys.quoted(text)} must not climb with '..'")
    return "/".join(parts)


def table(name: str, value: object, path: Path) -> Mapping[str, Any]:
    """Return a value that is a table. Raises ConfigError."""
    if not isinstance(value, Mapping):
        raise ConfigError(name, f"{keys.quoted(value)} in {paths.shown(path)} must be a table")
    return value


# --- what comes with a folder ---------------------------------------------------------------------------
#
# A folder may be somebody else's, and what its settings name gets into the index and into prompts: notes,
# text and code, nothing hidden. A file of keys has no ending of a note or a program, or lies hidden.

NOTES = ("md", "markdown")
# The keys of `notes.languages.SUFFIXES`, which this may not import; a test compares them.
CODE = ("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "rs")
TEXT = ("txt", "rst", "org", "adoc")
TRANSCRIPT_FILES = ("jsonl", "json", "zip")
OF_COLLECTIONS = (*NOTES, *TEXT, *CODE)
OF_KEYS = {"index.include": NOTES, "prompt.file_names": NOTES}


def is_hidden(path: str) -> bool:
    """Whether a relative path or glob leads through a hidden folder, or to a hidden file."""
    return any(part.startswith(".") for part in path.replace("\\", "/").split("/") if part != ".")


def may_name(name: str, kinds: Iterable[str]) -> bool:
    """Whether a path or glob covers files of these kinds alone, by its ending, and nothing hidden."""
    return not is_hidden(name) and name.lower().endswith(tuple(f".{kind}" for kind in kinds))


def may_hold(collection: Collection, root: str) -> list[str]:
    """Return those globs that a workspace's own file may give a collection; none for a hidden folder."""
    places = (collection.path, root), (os.path.realpath(collection.path), os.path.realpath(root))
    if any(is_hidden(os.path.relpath(folder, above)) for folder, above in places):
        return []
    kinds = (*OF_COLLECTIONS, *TRANSCRIPT_FILES) if collection.format else OF_COLLECTIONS
    return [glob for glob in collection.glob if may_name(glob, kinds)]


def restricted(
    collections: Mapping[str, Collection], root: str, file: str
) -> tuple[dict[str, Collection], list[str]]:
    """Return collections as a workspace's own file may set them, and what was left out, one line for each."""
    allowed, warnings = dict[str, Collection](), list[str]()
    for name, collection in collections.items():
        globs = may_hold(collection, root)
        if globs:
            allowed[name] = collection._replace(glob=tuple(globs))
        if len(globs) < len(collection.glob):
            names = [collection.path] if not globs else [one for one in collection.glob if one not in globs]
            move = remedies.say("collection.move", name)
            warnings.append(left_out(f"collections.{name}", names, file, move))
    return allowed, warnings


def left_out(key: str, names: Iterable[str], file: str, remedy: str) -> str:
    """Say what a workspace's own file may not name, and how its owner allows it."""
    first, *rest = names
    more = f" and {len(rest)} more" if rest else ""
    return (
        f"{key}: {paths.shown(first)}{more} in {file} is left out: settings that come with a folder may name "
        f"only notes, text and code, nothing hidden; to allow it: {remedy}"
    )
