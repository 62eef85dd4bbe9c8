"""Reading the settings of a workspace: both files, the environment and flags, into one value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import paths
from commonplace.config import keys
from commonplace.errors import CommonplaceError, ConfigError

WORKSPACE_COLLECTION = "memory"  # the workspace's own notes; no other collection may have this name
DEFAULT_GLOBS = ("**/*.md",)
_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_CONTEXT_MAX_CHARACTERS = 2000
_COLLECTION_KEYS = ("path", "glob", "ignore")


class Search(NamedTuple):
    """Settings of search."""

    limit: int
    min_score: float | None


class Recall(NamedTuple):
    """Settings of recall; the budget is in tokens."""

    budget: int


class Index(NamedTuple):
    """Settings of the index; globs are relative to the workspace."""

    include: tuple[str, ...]
    ignore: tuple[str, ...]
    sync_on_search: bool


class Remember(NamedTuple):
    """Settings of remember."""

    times: bool
    redact: bool


class Embedding(NamedTuple):
    """Settings of embedding; deadlines in seconds, caps for a day or a run, None for no cap."""

    provider: str
    model: str
    dimensions: int | None
    base_url: str
    path: str
    key_file: str
    fallback: tuple[str, ...]
    deadline_s: float
    query_deadline_s: float
    cache_entries: int
    batch: bool
    max_tokens_a_day: int | None
    max_tokens_a_run: int | None
    max_dollars_a_day: float | None
    max_dollars_a_run: float | None


class Llm(NamedTuple):
    """Settings of language models; caps are for a day or a run, None for no cap."""

    provider: str
    model: str
    base_url: str
    path: str
    command: tuple[str, ...]
    context: int
    cache: bool
    max_tokens_a_day: int | None
    max_tokens_a_run: int | None
    max_dollars_a_day: float | None
    max_dollars_a_run: float | None


class Output(NamedTuple):
    """Settings of what the command line prints."""

    color: str
    links: bool
    editor_uri: str


class Watch(NamedTuple):
    """Settings of watch, in seconds."""

    debounce_s: float
    interval_s: float


class Collection(NamedTuple):
    """A further folder of Markdown; `path` is absolute."""

    name: str
    path: str
    glob: tuple[str, ...] = DEFAULT_GLOBS
    ignore: tuple[str, ...] = ()
    outside: bool = False


class Settings(NamedTuple):
    """Everything that may be set, validated. Named tuples all: a dataclass costs a start 0.8 ms."""

    search: Search
    recall: Recall
    index: Index  # type: ignore[assignment]  # hides a method of tuples that nobody misses
    remember: Remember
    embedding: Embedding
    llm: Llm
    output: Output
    watch: Watch
    collections: Mapping[str, Collection]
    contexts: Mapping[str, str]


_GROUPS: Mapping[str, Callable[..., Any]] = {
    "search": Search,
    "recall": Recall,
    "index": Index,
    "remember": Remember,
    "embedding": Embedding,
    "llm": Llm,
    "output": Output,
    "watch": Watch,
}


class _File(NamedTuple):
    """A settings file as read; `own` is true for the user's."""

    path: Path
    own: bool
    content: Mapping[str, Any]


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the user's settings lie, whether they exist or not."""
    return paths.user_config_dir(environ) / "config.toml"


def load(
    root: Path, environ: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read and validate the settings of a workspace; `overrides` are flags by dotted key, None is unset.

    Raises ConfigError.
    """
    environ = os.environ if environ is None else environ
    user, workspace = _files(root, environ)
    values = {key.name: key.default for key in keys.KEYS}
    values |= _scalars(user) | _scalars(workspace) | _environment(environ) | _flags(overrides or {})
    groups = {
        group: make(**{n.partition(".")[2]: v for n, v in values.items() if n.startswith(f"{group}.")})
        for group, make in _GROUPS.items()
    }
    own = _of_workspace(user, root)
    collections = _collections(own, root, user.path, outside=True)
    collections |= _collections(workspace.content, root, workspace.path, outside=False)
    contexts = {
        prefix: text
        for table, where in ((user.content, user), (own, user), (workspace.content, workspace))
        for prefix, text in contexts_in(table, where.path).items()
    }
    return Settings(**groups, collections=collections, contexts=contexts)


def contexts_for(settings: Settings, path: str, collection: str) -> tuple[str, ...]:
    """Return the descriptions that apply to a note, general first: global, collection, path prefixes."""
    found = [
        (len(prefix), text)
        for prefix, text in settings.contexts.items()
        if not prefix or prefix in (collection, path) or path.startswith(f"{prefix}/")
    ]
    return tuple(text for _, text in sorted(found, key=lambda pair: pair[0]))


def _files(root: Path, environ: Mapping[str, str]) -> tuple[_File, _File]:
    user, workspace = user_file(environ), paths.Workspace(root).settings
    return _File(user, True, _read(user)), _File(workspace, False, _read(workspace))


def _read(path: Path) -> Mapping[str, Any]:
    """Parse a TOML file; a missing one is empty."""
    if not os.path.lexists(path):
        return {}
    try:
        data = paths.read_contained(path, [Path(os.path.realpath(path)).parent])
    except CommonplaceError as error:
        raise ConfigError("settings", str(error)) from error
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(paths.shown(path), f"not UTF-8 (at line {line})") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(paths.shown(path), f"not valid TOML: {str(error).splitlines()[0]}") from error


def _scalars(file: _File) -> dict[str, object]:
    """Validate the keys of every table but the named ones."""
    named = ("collections", "contexts", "workspaces")
    values: dict[str, object] = {}
    for group, table in file.content.items():
        if group in named:
            _check_place(group, table, file)
            continue
        if group not in _GROUPS:
            near = keys.near(group, [*_GROUPS, *named])
            raise ConfigError(paths.shown(group), f"unknown table in {paths.shown(file.path)}{near}")
        for name, value in _table(group, table, file.path).items():
            key = keys.find(f"{group}.{name}", f"in {paths.shown(file.path)}")
            if not (key.harmless or file.own):
                where = "comes with the folder and may not set it; set it in your own config.toml"
                raise ConfigError(key.name, f"{paths.shown(file.path)} {where}")
            values[key.name] = keys.checked(key, value, f"in {paths.shown(file.path)}")
    return values


def _check_place(group: str, table: object, file: _File) -> None:
    _table(group, table, file.path)
    if group == "workspaces" and not file.own:
        raise ConfigError(group, f"may stand in your own config.toml only, not in {paths.shown(file.path)}")
    if group == "collections" and file.own:
        raise ConfigError(
            group, f'in {paths.shown(file.path)} it must be [workspaces."/path".collections.NAME]'
        )


def _environment(environ: Mapping[str, str]) -> dict[str, object]:
    found = {key: environ[key.variable] for key in keys.KEYS if environ.get(key.variable)}
    return {key.name: keys.from_text(key, text, f"in {key.variable}") for key, text in found.items()}


def _flags(overrides: Mapping[str, object]) -> dict[str, object]:
    given = {keys.find(name, "as a flag"): value for name, value in overrides.items() if value is not None}
    return {
        key.name: keys.from_text(key, value, "as a flag")
        if isinstance(value, str) and key.variable
        else keys.checked(key, value, "as a flag")
        for key, value in given.items()
    }


def _table(name: str, value: object, path: Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(name, f"{keys.quoted(value)} in {paths.shown(path)} must be a table")
    return value


def _of_workspace(user: _File, root: Path) -> Mapping[str, Any]:
    """Return what the user's file says about this workspace, by real path."""
    real = os.path.realpath(root)
    found: dict[str, Any] = {}
    for folder, table in _table("workspaces", user.content.get("workspaces", {}), user.path).items():
        for name in _table(f'workspaces."{folder}"', table, user.path):
            if name not in ("collections", "contexts"):
                near = keys.near(name, ("collections", "contexts"))
                raise ConfigError(
                    f'workspaces."{folder}".{name}', f"unknown table in {paths.shown(user.path)}{near}"
                )
        if os.path.realpath(os.path.expanduser(folder)) == real:
            found |= table
    return found


def _collections(
    content: Mapping[str, Any], root: Path, path: Path, *, outside: bool
) -> dict[str, Collection]:
    tables = _table("collections", content.get("collections", {}), path)
    return {name: _collection(name, table, root, path, outside) for name, table in tables.items()}


def _collection(name: str, value: object, root: Path, path: Path, outside: bool) -> Collection:
    key, where = paths.shown(f"collections.{name}"), f"in {paths.shown(path)}"
    table = _table(key, value, path)
    check_name(name)
    for item in table:
        if item not in _COLLECTION_KEYS:
            raise ConfigError(
                paths.shown(f"{key}.{item}"), f"unknown key {where}{keys.near(item, _COLLECTION_KEYS)}"
            )
    folder = table.get("path")
    if not isinstance(folder, str) or not folder or "\0" in folder:
        raise ConfigError(f"{key}.path", f"{keys.quoted(folder)} {where} is not allowed; it must be a folder")
    full = os.path.normpath(os.path.join(root, os.path.expanduser(folder) if outside else folder))
    if outside and not os.path.isabs(os.path.expanduser(folder)):
        raise ConfigError(f"{key}.path", f"{keys.quoted(folder)} {where} must be absolute")
    if not outside and not paths.is_within(os.path.realpath(full), os.path.realpath(root)):
        remedy = "add it with `commonplace collection add`, which notes it in your own config.toml"
        raise ConfigError(f"{key}.path", f"{keys.quoted(folder)} {where} leaves the workspace; {remedy}")
    glob = keys.globs(f"{key}.glob", table.get("glob", DEFAULT_GLOBS), where)
    return Collection(name, full, glob, keys.globs(f"{key}.ignore", table.get("ignore", ()), where), outside)


def check_name(name: str) -> None:
    """Raise ConfigError unless `name` may name a collection."""
    if name == WORKSPACE_COLLECTION:
        raise ConfigError("collection", f"{name!r} is the workspace itself; choose another name")
    if not re.fullmatch(_NAME, name):
        allowed = "a-z, 0-9, - and _, at most 64 characters, a letter or digit first"
        raise ConfigError("collection", f"{keys.quoted(name)} is no name for one; allowed are {allowed}")


def contexts_in(content: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Return the validated contexts of a table by prefix. Raises ConfigError."""
    found: dict[str, str] = {}
    for prefix, text in _table("contexts", content.get("contexts", {}), path).items():
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
