"""Collections and contexts as the settings files hold them: checked, with paths made absolute."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace import paths
from commonplace.config import keys
from commonplace.config.settings import DEFAULT_GLOBS, WORKSPACE_COLLECTION, Collection, Settings
from commonplace.config.table import TRANSCRIPTS
from commonplace.errors import ConfigError

_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_CONTEXT_MAX_CHARACTERS = 2000
BY_DEFAULT = "include_by_default"
FORMAT = "format"
_COLLECTION_KEYS = ("path", "glob", "ignore", BY_DEFAULT, FORMAT)


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
    folder = content.get("path")
    if not isinstance(folder, str) or not folder or "\0" in folder:
        raise ConfigError(f"{key}.path", f"{keys.quoted(folder)} {where} is not allowed; it must be a folder")
    full = os.path.normpath(os.path.join(root, os.path.expanduser(folder) if outside else folder))
    if outside and not os.path.isabs(os.path.expanduser(folder)):
        raise ConfigError(f"{key}.path", f"{keys.quoted(folder)} {where} must be absolute")
    if not outside and not paths.is_within(os.path.realpath(full), os.path.realpath(root)):
        remedy = "add it with `commonplace collection add`, which notes it in your own config.toml"
        raise ConfigError(f"{key}.path", f"{keys.quoted(folder)} {where} leaves the workspace; {remedy}")
    glob = keys.globs(f"{key}.glob", content.get("glob", DEFAULT_GLOBS), where)
    ignore = keys.globs(f"{key}.ignore", content.get("ignore", ()), where)
    by_default = content.get(BY_DEFAULT, True)
    if not isinstance(by_default, bool):
        told = f"{keys.quoted(by_default)} {where} is not allowed; it must be true or false"
        raise ConfigError(f"{key}.{BY_DEFAULT}", told)
    kind = check_format(content.get(FORMAT, ""), f"{key}.{FORMAT}", where)
    return Collection(name, full, glob, ignore, outside, by_default, format=kind)


def check_format(value: object, key: str = FORMAT, where: str = "") -> str:
    """Return a format of transcripts, or the empty one of notes. Raises ConfigError."""
    if value != "" and value not in TRANSCRIPTS:
        told = f"it must be one of {', '.join(TRANSCRIPTS)}"
        raise ConfigError(key, f"{keys.quoted(value)} {where}".rstrip() + f" is not allowed; {told}")
    return str(value)


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
        raise ConfigError("collection", f"{name!r} is the workspace itself; choose another name")
    if not re.fullmatch(_NAME, name):
        allowed = "a-z, 0-9, - and _, at most 64 characters, a letter or digit first"
        raise ConfigError("collection", f"{keys.quoted(name)} is no name for one; allowed are {allowed}")


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
