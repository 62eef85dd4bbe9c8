"""Collections and contexts, added, changed and removed in the right settings file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace import paths
from commonplace.config import documents, foreign, keys
from commonplace.config.collections import (
    BY_DEFAULT,
    FORMAT,
    check_format,
    check_name,
    contexts_in,
    normal_prefix,
)
from commonplace.config.loading import load
from commonplace.config.settings import DEFAULT_GLOBS, Collection
from commonplace.errors import ConfigError, UnknownCollection

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def add_collection(
    root: Path,
    name: str,
    path: str,
    *,
    glob: Sequence[str] = DEFAULT_GLOBS,
    ignore: Sequence[str] = (),
    format: str = "",
    environ: Mapping[str, str] | None = None,
) -> Collection:
    """Add a folder as a collection: to the workspace's file if that may name it, else to the user's.

    It may where the folder lies inside, is not hidden, and holds notes, text and code (`config.foreign`).
    `path` is relative to the current folder; `format` is that of transcripts. Raises ConfigError,
    NoteUnreadable.
    """
    check_name(name)
    check_format(format)
    known = load(root, environ).collections
    if name in known:
        raise ConfigError(
            "collection", f"{name!r} is {known[name].path} already; remove or rename that first"
        )
    full, real = os.path.realpath(os.path.expanduser(path)), os.path.realpath(root)
    if not os.path.isdir(full):
        raise ConfigError("collection", f"{paths.shown(path)} is not a folder")
    chosen = keys.globs("glob", list(glob), "as a flag")
    asked = Collection(name, full, chosen, format=format)
    outside = not paths.is_within(full, real) or len(foreign.may_hold(asked, real)) < len(chosen)
    table: dict[str, object] = {"path": full if outside else Path(full).relative_to(real).as_posix()}
    if tuple(glob) != DEFAULT_GLOBS:
        table["glob"] = list(chosen)
    if ignore:
        table["ignore"] = list(keys.globs("ignore", list(ignore), "as a flag"))
    if format:
        table[FORMAT] = format

    def change(document: TOMLDocument) -> None:
        documents.nested(document, *_home_of(document, root, outside), "collections", name).update(table)

    documents.edit(_owner(root, outside), environ, change)
    return load(root, environ).collections[name]


def remove_collection(root: Path, name: str, *, environ: Mapping[str, str] | None = None) -> Collection:
    """Remove a collection and the contexts below it; no file of it is touched. Raises UnknownCollection."""
    found = _known(root, name, environ)
    if found.update:
        set_update(root, name, (), environ=environ)

    def change(document: TOMLDocument) -> None:
        home = documents.nested(document, *_home_of(document, root, found.outside))
        documents.drop(home, "collections", lambda key: key == name)
        documents.drop(home, "contexts", lambda key: _is_below(key, name))

    documents.edit(_owner(root, found.outside), environ, change)
    return found


def rename_collection(
    root: Path, name: str, new: str, *, environ: Mapping[str, str] | None = None
) -> Collection:
    """Rename a collection, and the contexts below it with it. Raises UnknownCollection, ConfigError."""
    found = _known(root, name, environ)
    check_name(new)
    if new in load(root, environ).collections:
        raise ConfigError("collection", f"{new!r} is taken; choose another name")

    def change(document: TOMLDocument) -> None:
        home = documents.nested(document, *_home_of(document, root, found.outside))
        home["collections"][new] = home["collections"].pop(name)
        contexts = home.get("contexts", {})
        for key in [key for key in contexts if _is_below(key, name)]:
            contexts[new + normal_prefix(key)[len(name) :]] = contexts.pop(key)

    documents.edit(_owner(root, found.outside), environ, change)
    return load(root, environ).collections[new]


def set_by_default(
    root: Path, name: str, by_default: bool, *, environ: Mapping[str, str] | None = None
) -> Collection:
    """Say whether searches that name no collection look into this one. Raises UnknownCollection."""
    found = _known(root, name, environ)

    def change(document: TOMLDocument) -> None:
        home = documents.nested(document, *_home_of(document, root, found.outside), "collections", name)
        if by_default:
            home.pop(BY_DEFAULT, None)
        else:
            home[BY_DEFAULT] = False

    if found.by_default != by_default:
        documents.edit(_owner(root, found.outside), environ, change)
    return load(root, environ).collections[name]


def set_update(
    root: Path, name: str, command: Sequence[str], *, environ: Mapping[str, str] | None = None
) -> Collection:
    """Note the command that brings a collection's folder up to date, or none; always in the user's file.

    Raises UnknownCollection, ConfigError.
    """
    real = os.path.realpath(_known(root, name, environ).path)

    def change(document: TOMLDocument) -> None:
        home = _home_of(document, root, True)
        updates = documents.nested(document, *home, "updates")
        for key in [key for key in updates if os.path.normpath(os.path.expanduser(key)) == real]:
            del updates[key]
        if command:
            updates[real] = list(command)
        elif not updates:
            documents.discard(document, *home, "updates")

    documents.edit(None, environ, change)
    return load(root, environ).collections[name]


def add_context(root: Path, prefix: str, text: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Describe a path prefix ("" is everything), replacing an earlier text; return its one spelling.

    Raises ConfigError where the prefix is neither in a collection nor in the workspace.
    """
    collections = load(root, environ).collections
    key = normal_prefix(prefix)
    head = key.partition("/")[0]
    contexts_in({"contexts": {key: text}}, Path("the command"))
    if key and head not in collections and not os.path.exists(root / key):
        raise ConfigError("context", f"{key!r} is neither a collection nor a path of the workspace")
    outside = head in collections and collections[head].outside

    def change(document: TOMLDocument) -> None:
        documents.nested(document, *_home_of(document, root, outside), "contexts")[key] = text.strip()

    documents.edit(_owner(root, outside), environ, change)
    return key


def remove_context(root: Path, prefix: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Remove the description of a path prefix, wherever it stands. Raises ConfigError if there is none."""
    contexts = load(root, environ).contexts
    key = normal_prefix(prefix)
    if key not in contexts:
        known = ", ".join(repr(k) for k in contexts) or "none"
        raise ConfigError("context", f"{key!r} has no description; known: {known}")

    def change(document: TOMLDocument) -> None:
        documents.drop(document, "contexts", lambda k: normal_prefix(k) == key)
        home = _real_key(document, root)
        if home:
            workspaces: Any = document["workspaces"]
            documents.drop(workspaces[home], "contexts", lambda k: normal_prefix(k) == key)

    for outside in (False, True):
        if os.path.lexists(documents.location(_owner(root, outside), environ)):
            documents.edit(_owner(root, outside), environ, change)
    return key


def _known(root: Path, name: str, environ: Mapping[str, str] | None) -> Collection:
    collections = load(root, environ).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    return collections[name]


def _is_below(key: str, name: str) -> bool:
    return f"{normal_prefix(key)}/".startswith(f"{name}/")


def _owner(root: Path, outside: bool) -> Path | None:
    """Say whose file it is, as documents take it: the workspace's, or None for the user's."""
    return None if outside else root


def _real_key(document: Mapping[str, Any], root: Path) -> str | None:
    real = os.path.realpath(root)
    folders = document.get("workspaces", {})
    return next((f for f in folders if os.path.realpath(os.path.expanduser(f)) == real), None)


def _home_of(document: TOMLDocument, root: Path, outside: bool) -> tuple[str, ...]:
    """Return the tables that hold a workspace's part of a file."""
    if not outside:
        return ()
    return ("workspaces", _real_key(document, root) or os.path.realpath(root))
