"""Edit settings files: one change under a lock, written as a whole or not at all; comments stay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import locks, paths, records
from commonplace.base.errors import ConfigError, NoteUnreadable, UnknownCollection
from commonplace.base.messages import message
from commonplace.config import access, collections, files, keys
from commonplace.config.collections import BY_DEFAULT, FORMAT, WEIGHT, check_name, normal_prefix, option
from commonplace.config.loading import check, load
from commonplace.config.settings import DEFAULT_GLOBS, WORKSPACE_COLLECTION, Collection

if TYPE_CHECKING:
    Table = dict[str, Any]
    Steps = tuple[str, ...]  # the keys from a file to an entry in a table of tables
    Entry = tuple[Steps, object]  # and its value; None: remove


def location(workspace: Path | None) -> Path:
    """Return the settings file of a workspace, or the user's own for None."""
    return files.user_file() if workspace is None else files.workspace_file(workspace)


def edit(workspace: Path | None, change: Callable[[Table], Iterable[Entry]]) -> None:
    """Set or remove entries of one settings file; `change` chooses them by its content, under the lock.

    Raises ConfigError if the file could not be loaded afterwards, or if its form does not allow the change.
    """
    import tomlkit

    file = location(workspace)

    def compose(data: bytes) -> bytes:
        after: Table = dict(deepcopy(files.parse(data, file)))
        document = tomlkit.parse(data.decode("utf-8-sig"))
        for steps, value in list(change(after)):
            put(after, steps, value)
            put(document, steps, value)
        mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""  # as some editors write it; kept
        try:
            changed = f"{mark}{tomlkit.dumps(document)}".encode()
        except UnicodeEncodeError as error:  # a name on Linux may be any bytes, TOML is UTF-8
            raise ConfigError("settings", "a path that is not UTF-8 cannot be noted; rename it") from error
        holds = False
        with suppress(ConfigError):  # a table between dotted keys would swallow those below it
            holds = files.parse(changed, file) == after
        if not holds:
            way = "is written in a way that cannot be changed from here (dotted keys?); edit it by hand"
            raise ConfigError("settings", f"{paths.shown(file)} {way}")
        check(changed, file, workspace)
        return changed

    _replace(workspace, compose)


def rewrite(before: bytes, after: bytes, *, workspace: Path | None = None) -> Path:
    """Replace the user's file, or that of a workspace, by its owner's text; return the file.

    Raises ConfigError for a text that could not be loaded, or if the file does not hold `before` any more.
    """
    file = location(workspace)

    def compose(data: bytes) -> bytes:
        if data != before:
            raise ConfigError("settings", f"{paths.shown(file)} was changed meanwhile; edit it again")
        check(after, file, workspace)
        return after

    _replace(workspace, compose)
    return file


def _replace(workspace: Path | None, compose: Callable[[bytes], bytes]) -> None:
    """Replace a settings file by the result of `compose`, under its lock. Raises NoteUnreadable."""
    lock = paths.user_config_dir() / "config.lock"
    if workspace is not None:
        place = paths.Workspace(workspace)
        lock = paths.lock_file(place, "settings")
        files.make_folder(place)
    with locks.locked(lock):
        records.rewrite(location(workspace), compose, within=workspace)


def put(table: Table, steps: Steps, value: object) -> None:
    """Set an entry of a table of tables, or with None remove it and the tables that it leaves empty."""
    first, *rest = steps
    if rest and not isinstance(inner := table.get(first, {}), dict):
        raise ConfigError(first, f"{keys.quoted(inner)} must be a table")
    if value is None and not rest:
        table.pop(first, None)
    elif value is not None and not (rest and first in table):
        for step in reversed(rest):
            value = {step: value}
        table[first] = value
    elif value is not None or table.get(first):
        put(table[first], tuple(rest), value)
        if not table[first]:
            del table[first]


def set_values(values: Mapping[str, object], *, workspace: Path | None = None, agent: str = "") -> Path:
    """Set several keys at once in the user's file, or in that of `workspace`; None removes a key.

    With `agent` that agent's tables change. Text is read as from the environment. Returns the file. Raises
    ConfigError for a value that is not allowed there, or if the file could not be loaded afterwards.
    """
    home = ("agents", files.agent_name(agent)) if agent else ()
    if agent and workspace is not None:
        raise ConfigError("agents", "may stand in your own config.toml only")
    entries = [
        ((*home, *name.split(".", 1)), _checked(name, value, workspace)) for name, value in values.items()
    ]
    if os.path.lexists(location(workspace)) or any(value is not None for _, value in entries):
        edit(workspace, lambda _: entries)
    return location(workspace)


def _checked(name: str, value: object, workspace: Path | None) -> object:
    """Return a value as a settings file has it. Raises ConfigError if it is not allowed there."""
    key = keys.find(name)
    if workspace is not None and not key.harmless:
        raise ConfigError(key.name, "may not stand in a workspace's file; set it in your own")
    if value is None:
        return None
    is_text = isinstance(value, str) and key.variable
    fit = keys.from_text(key, str(value)) if is_text else keys.checked(key, value)
    if not isinstance(fit, tuple):
        return fit
    for one in fit if workspace is not None and name in collections.NOTES_ALONE else ():
        if not collections.may_name(one):
            wrong = "may not be named by a workspace's file: hidden, or no note; set it in your own"
            raise ConfigError(name, f"{keys.quoted(one)} {wrong}")
    return list(fit)


def _edit_own(root: Path, entries: Callable[[Table], Iterable[Entry]]) -> None:
    """Change what the user's file says of a workspace; `entries` have the steps from there."""
    real = os.path.realpath(root)

    def change(content: Table) -> Iterable[Entry]:
        folders = content.get("workspaces", {})
        named = next((one for one in folders if access.real_path(one) == real), real)
        return [(("workspaces", named, *steps), value) for steps, value in entries(folders.get(named, {}))]

    edit(None, change)


def set_name(root: Path, name: str) -> None:
    """Name a workspace in the user's file. Raises ConfigError for a name that is taken or not allowed."""
    access.check_name(name, access.NAME, Path("the command"))
    _edit_own(root, lambda _: [((access.NAME,), name)])


def move_own(old: Path, new: Path | None) -> None:
    """Let what the user's file says of a workspace be about another folder, or (None) remove it."""
    former = access.real_path(os.fspath(old))

    def change(content: Table) -> Iterable[Entry]:
        for named, own in content.get("workspaces", {}).items():
            if access.real_path(named) == former:
                yield ("workspaces", named), None
                if new is not None:
                    yield ("workspaces", os.path.realpath(new)), own

    if os.path.lexists(location(None)):
        edit(None, change)


def add_collection(
    root: Path,
    name: str | None,
    path: str,
    *,
    glob: Sequence[str] = DEFAULT_GLOBS,
    ignore: Sequence[str] = (),
    format: str = "",
    weight: str | None = None,
) -> Collection:
    """Add a folder or file as a collection of a workspace.

    `path` is relative to the current folder, `format` that of transcripts. Without a name it gets the
    folder's. Raises ConfigError, NoteUnreadable.
    """
    known = load(root).collections
    full, real = os.path.realpath(os.path.expanduser(path)), os.path.realpath(root)
    if not path.strip():
        raise ConfigError("collection", message("collection.which", "say which folder"))
    paths.check_open(Path(full))
    if os.path.isfile(full) and tuple(glob) == DEFAULT_GLOBS:  # a collection of one file
        full, glob = os.path.dirname(full), (os.path.basename(full),)
    elif not os.path.isdir(full):
        raise ConfigError("collection", no_folder(path))
    check_foreign(full, Path(real))
    name = _name_of(path, known) if name is None else name
    check_name(name)
    if not os.access(full, os.R_OK):
        raise NoteUnreadable(paths.shown(full), "; ".join(paths.barred(Path(full))))
    chosen = keys.globs("glob", list(glob), "as a flag")
    table = {
        "path": os.path.relpath(full, real) if paths.is_within(full, real) else full,
        "glob": list(chosen) if chosen != DEFAULT_GLOBS else None,
        "ignore": list(keys.globs("ignore", list(ignore), "as a flag")),
        FORMAT: option(FORMAT, format),
        WEIGHT: None if weight is None else option(WEIGHT, weight),
    }

    def entries(own: Table) -> Iterable[Entry]:
        _check_free(own, root, name)
        return [(("collections", name, key), value) for key, value in table.items() if value]

    _edit_own(root, entries)
    return _known(root, name)


def check_foreign(full: str, root: Path) -> None:
    """Raise ConfigError if a real path is one of commonplace's own folders."""
    own = [os.path.realpath(one) for one in paths.own_folders(None)]
    is_ours = any(paths.is_within(full, one) or os.path.dirname(one) == full for one in own)
    if is_ours or paths.is_within(full, os.path.join(root, paths.DERIVED_FOLDER)):
        ours = "{folder} holds settings and caches of commonplace, which are no notes; name another folder"
        raise ConfigError("collection", message("collection.ours", ours, folder=paths.shown(full)))


def _name_of(path: str, known: Mapping[str, Collection]) -> str:
    """Return a name by a folder, `folder-2` for one without Latin letters. Raises ConfigError."""
    taken = {WORKSPACE_COLLECTION, *known}
    name = collections.collection_name(Path(os.path.expanduser(path)))
    if name in taken:
        as_called = "{name!r}, as the folder is called, is taken; give it a name"
        raise ConfigError("collection", message("collection.as_called", as_called, name=name))
    numbered = ("folder", *(f"folder-{number}" for number in range(2, len(taken) + 2)))
    return name or next(one for one in numbered if one not in taken)


def no_folder(path: str) -> str:
    """Return the message for a path without a folder."""
    return message("collection.no_folder", "{folder} is not a folder", folder=paths.shown(path))


def _check_free(own: Table, root: Path, name: str) -> None:
    if name in own.get("collections", {}):
        taken, folder = "{name!r} is {folder} already; remove or rename that first", _known(root, name).path
        taken = message("collection.taken", taken, name=name, folder=paths.shown(folder))
        raise ConfigError("collection", taken)


def _known(root: Path, name: str) -> Collection:
    known = load(root).collections
    if name not in known:
        raise UnknownCollection(name, sorted(known))
    return known[name]


def _contexts_below(own: Table, name: str) -> list[str]:
    """Return the contexts of a collection and of its paths, as written."""
    return [key for key in own.get("contexts", {}) if f"{normal_prefix(key)}/".startswith(f"{name}/")]


def remove_collection(root: Path, name: str) -> Collection:
    """Remove a collection and its contexts; its files stay untouched. Raises UnknownCollection."""
    found = _known(root, name)

    def entries(own: Table) -> Iterable[Entry]:
        yield ("collections", name), None
        for key in _contexts_below(own, name):
            yield ("contexts", key), None
        yield from _update_entries(own, found, ())

    _edit_own(root, entries)
    return found


def rename_collection(root: Path, name: str, new: str) -> Collection:
    """Rename a collection and its contexts. Raises UnknownCollection, ConfigError."""

    def entries(own: Table) -> Iterable[Entry]:
        _check_free(own, root, new)
        yield ("collections", new), own["collections"][name]
        yield ("collections", name), None
        for key in _contexts_below(own, name):
            yield ("contexts", new + normal_prefix(key)[len(name) :]), own["contexts"][key]
            yield ("contexts", key), None

    check_name(new)
    _known(root, name)
    _edit_own(root, entries)
    return _known(root, new)


def set_collection(
    root: Path, name: str, *, by_default: bool | None = None, weight: str | None = None
) -> Collection:
    """Set whether searches that name no collection include this one, or its weight; None keeps either.

    Raises UnknownCollection, ConfigError.
    """
    found = _known(root, name)
    entries: list[Entry] = []
    if by_default not in (None, found.by_default):
        entries.append((("collections", name, BY_DEFAULT), None if by_default else False))
    if weight not in (None, found.weight):
        entries.append((("collections", name, WEIGHT), option(WEIGHT, weight)))
    if entries:
        _edit_own(root, lambda _: entries)
    return _known(root, name)


def set_update(root: Path, name: str, command: Sequence[str]) -> Collection:
    """Set or remove the update command of a collection. Raises UnknownCollection, ConfigError."""
    found = _known(root, name)
    _edit_own(root, lambda own: _update_entries(own, found, command))
    return _known(root, name)


def _update_entries(own: Table, found: Collection, command: Sequence[str]) -> Iterator[Entry]:
    real = os.path.realpath(found.path)
    for key in own.get("updates", {}):
        if os.path.normpath(os.path.expanduser(key)) == real:
            yield ("updates", key), None
    if command:
        yield ("updates", real), list(command)


def add_context(root: Path, prefix: str, text: str) -> str:
    """Describe a path prefix ("" is everything), replacing an earlier text; return its normal form.

    Raises ConfigError for a prefix neither in a collection nor in the workspace.
    """
    known, key = load(root).collections, normal_prefix(prefix)
    collections.contexts_in({"contexts": {key: text}}, Path("the command"))
    if key and key.partition("/")[0] not in known and not os.path.exists(root / key):
        raise ConfigError("context", f"{key!r} is neither a collection nor a path of the workspace")
    _edit_own(root, lambda _: [(("contexts", key), text.strip())])
    return key


def remove_context(root: Path, prefix: str) -> str:
    """Remove the description of a path prefix. Raises ConfigError if it is missing."""
    key = normal_prefix(prefix)

    def entries(own: Table) -> Iterable[Entry]:
        written = [one for one in own.get("contexts", {}) if normal_prefix(one) == key]
        if not written:
            known = ", ".join(repr(one) for one in load(root).contexts) or "none"
            raise ConfigError("context", f"{key!r} has no description here; known: {known}")
        return [(("contexts", one), None) for one in written]

    _edit_own(root, entries)
    return key
