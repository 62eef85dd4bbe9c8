"""Edit settings files: one change under a lock, written as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable, UnknownCollection
from commonplace.base.messages import message
from commonplace.config import access, collections, keys
from commonplace.config.collections import (
    BY_DEFAULT,
    FORMAT,
    WEIGHT,
    check_name,
    collection_name,
    contexts_in,
    normal_prefix,
    option,
)
from commonplace.config.files import agent_name, parse, user_file
from commonplace.config.loading import check, load
from commonplace.config.settings import DEFAULT_GLOBS, WORKSPACE_COLLECTION, Collection

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

    Change = Callable[[TOMLDocument], None]
    Environ = Mapping[str, str] | None


def location(workspace: Path | None, environ: Environ) -> Path:
    """Return the settings file of a workspace, or the user's own for None."""
    return user_file(environ) if workspace is None else paths.Workspace(workspace).settings


def edit(workspace: Path | None, environ: Environ, change: Change) -> None:
    """Change one settings file as a document.

    Raises ConfigError if it could not be loaded afterwards, or if its form does not allow the change.
    """
    import tomlkit

    file = location(workspace, environ)

    def compose(data: bytes) -> bytes:
        parse(data, file)
        mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""  # as some editors write it; kept
        document = tomlkit.parse(data.decode("utf-8-sig"))
        change(document)
        text = tomlkit.dumps(document)
        if not _says(text, document):
            way = "is written in a way that cannot be changed from here (dotted keys?); edit it by hand"
            raise ConfigError("settings", f"{paths.shown(file)} {way}")
        try:
            changed = f"{mark}{text}".encode()
        except UnicodeEncodeError as error:  # a name on Linux may be any bytes, TOML is UTF-8
            raise ConfigError("settings", "a path that is not UTF-8 cannot be noted; rename it") from error
        check(changed, file, workspace)
        return changed

    _replace(workspace, environ, compose)


def rewrite(before: bytes, after: bytes, *, workspace: Path | None = None, environ: Environ = None) -> Path:
    """Replace the user's file, or that of a workspace, by its owner's text; return the file.

    Raises ConfigError for a text that could not be loaded, or if the file does not hold `before` any more.
    """
    file = location(workspace, environ)

    def compose(data: bytes) -> bytes:
        if data != before:
            raise ConfigError("settings", f"{paths.shown(file)} was changed meanwhile; edit it again")
        check(after, file, workspace)
        return after

    _replace(workspace, environ, compose)
    return file


def _replace(workspace: Path | None, environ: Environ, compose: Callable[[bytes], bytes]) -> None:
    """Replace a settings file by what `compose` makes of it, under its lock. Raises NoteUnreadable."""
    from commonplace.base import atomic

    own_lock = paths.user_config_dir(environ) / "config.lock"
    lock = own_lock if workspace is None else paths.lock_file(paths.Workspace(workspace), "settings")
    atomic.replace(location(workspace, environ), compose, lock=lock)


def _says(text: str, document: TOMLDocument) -> bool:
    """Tell if a text has a document's values: a table between dotted keys would swallow those below."""
    import tomlkit

    try:
        return _filled(tomlkit.parse(text).unwrap()) == _filled(document.unwrap())
    except ValueError:
        return False


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without empty tables in it, which may leave no trace in a text."""
    inner = {key: _filled(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    return {key: value for key, value in inner.items() if value != {}}


def _nested(document: TOMLDocument, *steps: str) -> Any:  # noqa: ANN401 - tomlkit's own
    """Return a table of tables, made if it is missing."""
    import tomlkit
    from tomlkit.items import InlineTable

    table: Any = document
    for depth, name in enumerate(steps):
        if name not in table:
            inline = isinstance(table, InlineTable)  # which can hold no other kind of table
            super_table = depth < len(steps) - 1
            table[name] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=super_table)
        table = table[name]
    return table


def _discard(document: TOMLDocument, *steps: str) -> None:
    """Remove the item at the last step, if it is there, and every table left empty."""
    for depth in range(len(steps), 0, -1):
        table: Any = document
        for name in steps[: depth - 1]:
            if name not in table:
                return
            table = table[name]
        if steps[depth - 1] in table and (depth == len(steps) or not table[steps[depth - 1]]):
            del table[steps[depth - 1]]


def set_values(
    values: Mapping[str, object], *, workspace: Path | None = None, agent: str = "", environ: Environ = None
) -> Path:
    """Set several keys at once in the user's file, or in that of `workspace`; None removes a key.

    With `agent` that agent's tables change. Text is read as from the environment. Returns the file. Raises
    ConfigError for a value that is not allowed there, or if the file could not be loaded afterwards.
    """
    home = ("agents", agent_name(agent)) if agent else ()
    checked = {name: _checked(name, value, workspace) for name, value in values.items()}
    file = location(workspace, environ)
    if not os.path.lexists(file) and all(value is None for value in checked.values()):
        return file

    def change(document: TOMLDocument) -> None:
        for key, value in checked.items():
            group, _, name = key.partition(".")
            if value is None:
                _discard(document, *home, group, name)
            else:
                _nested(document, *home, group)[name] = list(value) if isinstance(value, tuple) else value

    edit(workspace, environ, change)
    return file


def _checked(name: str, value: object, workspace: Path | None) -> object:
    key = keys.find(name)
    if workspace is not None and not key.harmless:
        raise ConfigError(key.name, "may not stand in a workspace's file; set it in your own")
    if value is None:
        return None
    is_text = isinstance(value, str) and key.variable
    fit = keys.from_text(key, str(value)) if is_text else keys.checked(key, value)
    if workspace is not None and key.name in collections.OF_KEYS and isinstance(fit, tuple):
        for one in fit:
            if not collections.may_name(one, collections.OF_KEYS[key.name]):
                wrong = "may not be named by a workspace's file: hidden, or no note; set it in your own"
                raise ConfigError(key.name, f"{keys.quoted(one)} {wrong}")
    return fit


# --- a workspace's part of a file -----------------------------------------------------------------------


def _home(document: TOMLDocument, root: Path, outside: bool) -> tuple[str, ...]:
    """Return the steps to a workspace's part of its own file or, `outside`, of the user's."""
    if not outside:
        return ()
    real, folders = os.path.realpath(root), document.get("workspaces", {})
    return ("workspaces", next((one for one in folders if access.real_path(one) == real), real))


def set_name(root: Path, name: str, *, environ: Environ = None) -> None:
    """Name a workspace in the user's file. Raises ConfigError for a name that is taken or not allowed."""
    access.check_name(name, access.NAME, Path("the command"))
    edit(None, environ, lambda document: _nested(document, *_home(document, root, True)).update(name=name))


def add_collection(
    root: Path,
    name: str | None,
    path: str,
    *,
    glob: Sequence[str] = DEFAULT_GLOBS,
    ignore: Sequence[str] = (),
    format: str = "",
    weight: str | None = None,
    environ: Environ = None,
) -> Collection:
    """Add a folder or file as a collection: to the workspace's file if that may name it, else the user's.

    `path` is relative to the current folder, `format` that of transcripts. Without a name it gets the
    folder's. Raises ConfigError, NoteUnreadable.
    """
    known = load(root, environ).collections
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
    _check_free(known, name)
    if not os.access(full, os.R_OK):
        raise NoteUnreadable(paths.shown(full), "; ".join(paths.barred(Path(full))))
    chosen = keys.globs("glob", list(glob), "as a flag")
    asked = Collection(name, full, chosen, format=option(FORMAT, format))
    outside = not paths.is_within(full, real) or len(collections.may_hold(asked, real)) < len(chosen)
    table = {
        "path": full if outside else Path(full).relative_to(real).as_posix(),
        "glob": list(chosen) if chosen != DEFAULT_GLOBS else None,
        "ignore": list(keys.globs("ignore", list(ignore), "as a flag")),
        FORMAT: format,
        WEIGHT: None if weight is None else option(WEIGHT, weight),
    }

    def change(document: TOMLDocument) -> None:
        _check_free(load(root, environ).collections, name)  # another process may have taken it
        home = _nested(document, *_home(document, root, outside), "collections", name)
        home.update({key: value for key, value in table.items() if value})

    edit(None if outside else root, environ, change)
    return _known(root, name, environ)


def check_foreign(full: str, root: Path) -> None:
    """Raise ConfigError if a real path is one of commonplace's own folders."""
    own = [os.path.realpath(one) for one in paths.own_folders(None)]
    is_ours = any(paths.is_within(full, one) or os.path.dirname(one) == full for one in own)
    if is_ours or paths.is_within(full, os.path.join(root, paths.DERIVED_FOLDER)):
        ours = "{folder} holds settings and caches of commonplace, which are no notes; name another folder"
        raise ConfigError("collection", message("collection.ours", ours, folder=paths.shown(full)))


def _name_of(path: str, known: Mapping[str, Collection]) -> str:
    """Return a name for a collection by its folder, or `folder-2` without letters. Raises ConfigError."""
    taken = {WORKSPACE_COLLECTION, *known}
    if name := collection_name(Path(os.path.expanduser(path))):
        if name in taken:
            as_called = "{name!r}, as the folder is called, is taken; give it a name"
            raise ConfigError("collection", message("collection.as_called", as_called, name=name))
        return name
    numbered = (f"folder-{number}" if number > 1 else "folder" for number in count(1))
    return next(one for one in numbered if one not in taken)


def no_folder(path: str) -> str:
    """Return the message for a path without a folder."""
    return message("collection.no_folder", "{folder} is not a folder", folder=paths.shown(path))


def _check_free(known: Mapping[str, Collection], name: str) -> None:
    if name in known:
        taken = "{name!r} is {folder} already; remove or rename that first"
        folder = paths.shown(known[name].path)
        raise ConfigError("collection", message("collection.taken", taken, name=name, folder=folder))


def _known(root: Path, name: str, environ: Environ) -> Collection:
    collections = load(root, environ).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    return collections[name]


def _contexts_below(table: Mapping[str, Any], name: str) -> list[str]:
    """Return the contexts of a collection and of its paths, as written."""
    return [key for key in table.get("contexts", {}) if f"{normal_prefix(key)}/".startswith(f"{name}/")]


def remove_collection(root: Path, name: str, *, environ: Environ = None) -> Collection:
    """Remove a collection and its contexts; its files stay untouched. Raises UnknownCollection."""
    found = _known(root, name, environ)
    if found.update:
        set_update(root, name, (), environ=environ)

    def change(document: TOMLDocument) -> None:
        home = _home(document, root, found.outside)
        contexts = _contexts_below(_nested(document, *home), name)
        for steps in (("collections", name), *(("contexts", key) for key in contexts)):
            _discard(document, *home, *steps)

    edit(None if found.outside else root, environ, change)
    return found


def rename_collection(root: Path, name: str, new: str, *, environ: Environ = None) -> Collection:
    """Rename a collection and its contexts. Raises UnknownCollection, ConfigError."""
    found = _known(root, name, environ)
    check_name(new)

    def change(document: TOMLDocument) -> None:
        _known(root, name, environ)
        if new in load(root, environ).collections:
            taken = message("collection.new_taken", "{name!r} is taken; choose another name", name=new)
            raise ConfigError("collection", taken)
        home = _nested(document, *_home(document, root, found.outside))
        home["collections"][new] = home["collections"].pop(name)
        for key in _contexts_below(home, name):
            home["contexts"][new + normal_prefix(key)[len(name) :]] = home["contexts"].pop(key)

    edit(None if found.outside else root, environ, change)
    return _known(root, new, environ)


def set_collection(
    root: Path,
    name: str,
    *,
    by_default: bool | None = None,
    weight: str | None = None,
    environ: Environ = None,
) -> Collection:
    """Set whether searches that name no collection include this one, or its weight; None keeps either.

    Raises UnknownCollection, ConfigError.
    """
    found = _known(root, name, environ)
    changes: dict[str, object] = {}
    if by_default is not None and found.by_default != by_default:
        changes[BY_DEFAULT] = by_default
    if weight is not None and option(WEIGHT, weight) != found.weight:
        changes[WEIGHT] = weight

    def change(document: TOMLDocument) -> None:
        _known(root, name, environ)
        table = _nested(document, *_home(document, root, found.outside), "collections", name)
        table.update(changes)
        if by_default:  # the default needs no line
            table.pop(BY_DEFAULT, None)

    if changes:
        edit(None if found.outside else root, environ, change)
    return _known(root, name, environ)


def set_update(root: Path, name: str, command: Sequence[str], *, environ: Environ = None) -> Collection:
    """Set the update command of a collection's folder, or remove it; always in the user's file.

    Raises UnknownCollection, ConfigError.
    """
    real = os.path.realpath(_known(root, name, environ).path)

    def change(document: TOMLDocument) -> None:
        home = (*_home(document, root, True), "updates")
        for key in [*_nested(document, *home)]:
            if os.path.normpath(os.path.expanduser(key)) == real:
                _discard(document, *home, key)
        if command:
            _nested(document, *home)[real] = list(command)

    edit(None, environ, change)
    return _known(root, name, environ)


def add_context(root: Path, prefix: str, text: str, *, environ: Environ = None) -> str:
    """Describe a path prefix ("" is everything), replacing an earlier text; return its normal form.

    Raises ConfigError for a prefix neither in a collection nor in the workspace.
    """
    known = load(root, environ).collections
    key = normal_prefix(prefix)
    head = key.partition("/")[0]
    contexts_in({"contexts": {key: text}}, Path("the command"))
    if key and head not in known and not os.path.exists(root / key):
        raise ConfigError("context", f"{key!r} is neither a collection nor a path of the workspace")
    outside = head in known and known[head].outside

    def change(document: TOMLDocument) -> None:
        _nested(document, *_home(document, root, outside), "contexts")[key] = text.strip()

    edit(None if outside else root, environ, change)
    return key


def remove_context(root: Path, prefix: str, *, environ: Environ = None) -> str:
    """Remove the description of a path prefix from both files. Raises ConfigError if it is missing."""
    contexts = load(root, environ).contexts
    key = normal_prefix(prefix)
    if key not in contexts:
        known = ", ".join(repr(k) for k in contexts) or "none"
        raise ConfigError("context", f"{key!r} has no description; known: {known}")

    def change(document: TOMLDocument) -> None:
        for home in ((), _home(document, root, True)):
            table: Any = document
            for step in home:
                table = table.get(step, {})
            for written in [one for one in table.get("contexts", {}) if normal_prefix(one) == key]:
                _discard(document, *home, "contexts", written)

    for owner in (root, None):
        if os.path.lexists(location(owner, environ)):
            edit(owner, environ, change)
    return key
