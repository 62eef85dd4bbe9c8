"""Settings files changed: values, collections and contexts, under a lock, as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable, UnknownCollection
from commonplace.base.messages import message
from commonplace.config import access, keys, loading
from commonplace.config.loading import (
    BY_DEFAULT,
    FORMAT,
    WEIGHT,
    agent_name,
    check,
    check_format,
    check_name,
    check_weight,
    collection_name,
    contexts_in,
    load,
    normal_prefix,
    parse,
    user_file,
)
from commonplace.config.settings import DEFAULT_GLOBS, WORKSPACE_COLLECTION, Collection

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def location(workspace: Path | None, environ: Mapping[str, str] | None) -> Path:
    """Return the settings file of a workspace, or the user's own for None."""
    return user_file(environ) if workspace is None else paths.Workspace(workspace).settings


def edit(
    workspace: Path | None, environ: Mapping[str, str] | None, change: Callable[[TOMLDocument], None]
) -> None:
    """Change one settings file as a document.

    Raises ConfigError where it could not be loaded afterwards or is written in a way that cannot be changed.
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

    replace(workspace, environ, compose)


def replace(
    workspace: Path | None, environ: Mapping[str, str] | None, compose: Callable[[bytes], bytes]
) -> None:
    """Put what `compose` makes of a settings file into its place, under its lock. Raises NoteUnreadable."""
    from commonplace.base import atomic

    own_lock = paths.user_config_dir(environ) / "config.lock"
    lock = own_lock if workspace is None else paths.lock_file(paths.Workspace(workspace), "settings")
    atomic.replace(location(workspace, environ), compose, lock=lock)


def _says(text: str, document: TOMLDocument) -> bool:
    """Tell whether a text says what a document does: a table put between dotted keys swallows those below."""
    import tomlkit

    try:
        return _filled(tomlkit.parse(text).unwrap()) == _filled(document.unwrap())
    except ValueError:
        return False


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the empty ones in it, which may leave no trace in a text."""
    inner = {key: _filled(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    return {key: value for key, value in inner.items() if value != {}}


def nested(document: TOMLDocument, *steps: str) -> Any:  # noqa: ANN401 - tomlkit's own
    """Return a table of tables, made where it is missing."""
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


def drop(home: MutableMapping[str, Any], name: str, unwanted: Callable[[str], bool]) -> None:
    """Remove keys of a table, and the table itself once it is empty."""
    table = home.get(name, {})
    for key in [key for key in table if unwanted(key)]:
        del table[key]
    if name in home and not table:
        del home[name]


def discard(document: TOMLDocument, *steps: str) -> None:
    """Remove what the last step names, where it is there, and every table that is empty without it."""
    for depth in range(len(steps), 0, -1):
        table: Any = document
        for name in steps[: depth - 1]:
            if name not in table:
                return
            table = table[name]
        if steps[depth - 1] in table and (depth == len(steps) or not table[steps[depth - 1]]):
            del table[steps[depth - 1]]


# --- values of keys -----------------------------------------------------------------------------------


def set_values(
    values: Mapping[str, object],
    *,
    workspace: Path | None = None,
    agent: str = "",
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Set several keys at once in the user's file, or in that of `workspace`; None removes a key.

    With `agent` it is that agent's tables which change. A text is read as from the environment. Returns the
    file; it is changed as a whole or not at all. Raises ConfigError for what is not allowed there, or where
    the file could not be loaded afterwards.
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
                discard(document, *home, group, name)
            else:
                table = nested(document, *home, group)
                table[name] = list(value) if isinstance(value, tuple) else value

    edit(workspace, environ, change)
    return file


def rewrite(
    before: bytes, after: bytes, *, workspace: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """Replace the user's file, or that of a workspace, by a text of its owner's; return the file.

    Raises ConfigError for a text that could not be loaded, or if the file does not hold `before` any more.
    """
    file = location(workspace, environ)

    def compose(data: bytes) -> bytes:
        if data != before:
            raise ConfigError("settings", f"{paths.shown(file)} was changed meanwhile; edit it again")
        check(after, file, workspace)
        return after

    replace(workspace, environ, compose)
    return file


def _checked(name: str, value: object, workspace: Path | None) -> object:
    key = keys.find(name)
    if workspace is not None and not key.harmless:
        raise ConfigError(key.name, "may not stand in a workspace's file; set it in your own")
    if value is None:
        return None
    if isinstance(value, str) and key.variable:
        return keys.from_text(key, value)
    fit = keys.checked(key, value)
    if workspace is not None and key.name in loading.OF_KEYS and isinstance(fit, tuple):
        for one in fit:
            if not loading.may_name(one, loading.OF_KEYS[key.name]):
                told = "may not be named by a workspace's file: hidden, or no note; set it in your own"
                raise ConfigError(key.name, f"{keys.quoted(one)} {told}")
    return fit


def set_name(root: Path, name: str, *, environ: Mapping[str, str] | None = None) -> None:
    """Say in the user's file what a workspace is called.

    Raises ConfigError for what cannot be a name, or is that of another.
    """
    access.check_name(name, access.NAME, Path("the command"))
    _edit_home(root, True, environ, lambda home: home.update({access.NAME: name}))


# --- collections and contexts -------------------------------------------------------------------------


def add_collection(
    root: Path,
    name: str | None,
    path: str,
    *,
    glob: Sequence[str] = DEFAULT_GLOBS,
    ignore: Sequence[str] = (),
    format: str = "",
    weight: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Collection:
    """Add a folder or file as a collection: to the workspace's settings if they may name it, else the user's.

    It may where the folder lies inside, is not hidden, and holds notes, text and code (`config.foreign`).
    `path` is relative to the current folder; `format` is that of transcripts; `weight` is `own` where the
    folder is in the workspace or has a format, otherwise `reference`. Without a name it gets the folder's
    own. Raises ConfigError, NoteUnreadable.
    """
    known = load(root, environ).collections
    full, real = os.path.realpath(os.path.expanduser(path)), os.path.realpath(root)
    if not path.strip():
        raise ConfigError("collection", message("collection.which", "say which folder"))
    paths.check_open(Path(full))
    full, glob = _folder_of(full, path, glob)
    check_foreign(full, Path(real))
    name = _name_of(path, known) if name is None else name
    check_name(name)
    check_format(format)
    if weight is not None:
        check_weight(weight)
    _check_free(known, name)
    if not os.access(full, os.R_OK):
        raise NoteUnreadable(paths.shown(full), "; ".join(paths.barred(Path(full))))
    chosen = keys.globs("glob", list(glob), "as a flag")
    asked = Collection(name, full, chosen, format=format)
    outside = not paths.is_within(full, real) or len(loading.may_hold(asked, real)) < len(chosen)
    table: dict[str, object] = {"path": full if outside else Path(full).relative_to(real).as_posix()}
    if tuple(glob) != DEFAULT_GLOBS:
        table["glob"] = list(chosen)
    if ignore:
        table["ignore"] = list(keys.globs("ignore", list(ignore), "as a flag"))
    if format:
        table[FORMAT] = format
    if weight is not None:
        table[WEIGHT] = weight

    def change(home: Any) -> None:  # noqa: ANN401 - tomlkit's own
        _check_free(load(root, environ).collections, name)  # nobody may have taken it meanwhile
        home.update(table)

    _edit_home(root, outside, environ, change, "collections", name)
    return _known(root, name, environ)


def _folder_of(full: str, path: str, glob: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the folder of a collection and its globs; a file is the only one of its folder."""
    if os.path.isfile(full) and tuple(glob) == DEFAULT_GLOBS:
        return os.path.dirname(full), (os.path.basename(full),)
    if not os.path.isdir(full):
        raise ConfigError("collection", no_folder(path))
    return full, glob


def check_foreign(full: str, root: Path) -> None:
    """Refuse a folder of commonplace's own, by its real path, as a collection. Raises ConfigError."""
    own = [os.path.realpath(one) for one in paths.own_folders(None)]
    is_ours = any(paths.is_within(full, one) or os.path.dirname(one) == full for one in own)
    if is_ours or paths.is_within(full, os.path.join(root, paths.DERIVED_FOLDER)):
        told = "{folder} holds settings and caches of commonplace, which are no notes; name another folder"
        raise ConfigError("collection", message("collection.ours", told, folder=paths.shown(full)))


def _name_of(path: str, known: Mapping[str, Collection]) -> str:
    """The name of a folder, for a collection; `folder-2` where its own has no letter for one.

    Raises ConfigError.
    """
    taken = {WORKSPACE_COLLECTION, *known}
    if name := collection_name(Path(os.path.expanduser(path))):
        if name in taken:
            as_called = "{name!r}, as the folder is called, is taken; give it a name"
            raise ConfigError("collection", message("collection.as_called", as_called, name=name))
        return name
    numbered = (f"folder-{number}" for number in count(2))
    return next(one for one in chain(["folder"], numbered) if one not in taken)


def no_folder(path: str) -> str:
    """Say that no folder has this path."""
    return message("collection.no_folder", "{folder} is not a folder", folder=paths.shown(path))


def _check_free(known: Mapping[str, Collection], name: str) -> None:
    if name in known:
        told = "{name!r} is {folder} already; remove or rename that first"
        raise ConfigError(
            "collection", message("collection.taken", told, name=name, folder=paths.shown(known[name].path))
        )


def remove_collection(root: Path, name: str, *, environ: Mapping[str, str] | None = None) -> Collection:
    """Remove a collection and the contexts below it; no file of it is touched. Raises UnknownCollection."""
    found = _known(root, name, environ)
    if found.update:
        set_update(root, name, (), environ=environ)

    def change(home: Any) -> None:  # noqa: ANN401 - tomlkit's own
        drop(home, "collections", lambda key: key == name)
        drop(home, "contexts", lambda key: _is_below(key, name))

    _edit_home(root, found.outside, environ, change)
    return found


def rename_collection(
    root: Path, name: str, new: str, *, environ: Mapping[str, str] | None = None
) -> Collection:
    """Rename a collection, and the contexts below it with it. Raises UnknownCollection, ConfigError."""
    found = _known(root, name, environ)
    check_name(new)

    def change(home: Any) -> None:  # noqa: ANN401 - tomlkit's own
        _known(root, name, environ)
        if new in load(root, environ).collections:
            told = message("collection.new_taken", "{name!r} is taken; choose another name", name=new)
            raise ConfigError("collection", told)
        home["collections"][new] = home["collections"].pop(name)
        contexts = home.get("contexts", {})
        for key in [key for key in contexts if _is_below(key, name)]:
            contexts[new + normal_prefix(key)[len(name) :]] = contexts.pop(key)

    _edit_home(root, found.outside, environ, change)
    return _known(root, new, environ)


def set_by_default(
    root: Path, name: str, by_default: bool, *, environ: Mapping[str, str] | None = None
) -> Collection:
    """Say whether searches that name no collection look into this one. Raises UnknownCollection."""
    found = _known(root, name, environ)

    def change(collection: Any) -> None:  # noqa: ANN401 - tomlkit's own
        _known(root, name, environ)
        if by_default:
            collection.pop(BY_DEFAULT, None)
        else:
            collection[BY_DEFAULT] = False

    if found.by_default != by_default:
        _edit_home(root, found.outside, environ, change, "collections", name)
    return _known(root, name, environ)


def set_weight(root: Path, name: str, weight: str, *, environ: Mapping[str, str] | None = None) -> Collection:
    """Say whether a collection holds the owner's own notes. Raises UnknownCollection, ConfigError."""
    found = _known(root, name, environ)
    check_weight(weight)

    def change(collection: Any) -> None:  # noqa: ANN401 - tomlkit's own
        _known(root, name, environ)
        collection[WEIGHT] = weight

    if found.weight != weight:
        _edit_home(root, found.outside, environ, change, "collections", name)
    return _known(root, name, environ)


def set_update(
    root: Path, name: str, command: Sequence[str], *, environ: Mapping[str, str] | None = None
) -> Collection:
    """Note the command that brings a collection's folder up to date, or none; always in the user's file.

    Raises UnknownCollection, ConfigError.
    """
    real = os.path.realpath(_known(root, name, environ).path)

    def change(document: TOMLDocument) -> None:
        home = _home_of(document, root, True)
        updates = nested(document, *home, "updates")
        for key in [key for key in updates if os.path.normpath(os.path.expanduser(key)) == real]:
            del updates[key]
        if command:
            updates[real] = list(command)
        elif not updates:
            discard(document, *home, "updates")

    edit(None, environ, change)
    return _known(root, name, environ)


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
    _edit_home(root, outside, environ, lambda contexts: contexts.update({key: text.strip()}), "contexts")
    return key


def remove_context(root: Path, prefix: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Remove the description of a path prefix, wherever it stands. Raises ConfigError if there is none."""
    contexts = load(root, environ).contexts
    key = normal_prefix(prefix)
    if key not in contexts:
        known = ", ".join(repr(k) for k in contexts) or "none"
        raise ConfigError("context", f"{key!r} has no description; known: {known}")

    def change(document: TOMLDocument) -> None:
        drop(document, "contexts", lambda k: normal_prefix(k) == key)
        home = _real_key(document, root)
        if home:
            workspaces: Any = document["workspaces"]
            drop(workspaces[home], "contexts", lambda k: normal_prefix(k) == key)

    for owner in (root, None):
        if os.path.lexists(location(owner, environ)):
            edit(owner, environ, change)
    return key


def _known(root: Path, name: str, environ: Mapping[str, str] | None) -> Collection:
    collections = load(root, environ).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    return collections[name]


def _is_below(key: str, name: str) -> bool:
    return f"{normal_prefix(key)}/".startswith(f"{name}/")


def _edit_home(
    root: Path,
    outside: bool,
    environ: Mapping[str, str] | None,
    change: Callable[[Any], object],
    *steps: str,
) -> None:
    """Change a workspace's part of its own file or, `outside`, of the user's, at a table below it."""

    def within(document: TOMLDocument) -> None:
        change(nested(document, *_home_of(document, root, outside), *steps))

    edit(None if outside else root, environ, within)


def _real_key(document: Mapping[str, Any], root: Path) -> str | None:
    real = os.path.realpath(root)
    folders = document.get("workspaces", {})
    return next((f for f in folders if os.path.realpath(os.path.expanduser(f)) == real), None)


def _home_of(document: TOMLDocument, root: Path, outside: bool) -> tuple[str, ...]:
    """Return the tables that hold a workspace's part of a file."""
    if not outside:
        return ()
    return ("workspaces", _real_key(document, root) or os.path.realpath(root))
