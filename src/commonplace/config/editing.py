"""Changing the settings files: collections and contexts, by comment-keeping edits of the right file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace import paths
from commonplace.config import keys
from commonplace.config.collections import check_name, contexts_in, normal_prefix
from commonplace.config.loading import check, load, parse, user_file
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
    environ: Mapping[str, str] | None = None,
) -> Collection:
    """Add a folder as a collection: to the workspace's file if it lies inside, else to the user's.

    `path` is relative to the current folder. Raises ConfigError, NoteUnreadable.
    """
    check_name(name)
    known = load(root, environ).collections
    if name in known:
        raise ConfigError(
            "collection", f"{name!r} is {known[name].path} already; remove or rename that first"
        )
    full, real = os.path.realpath(os.path.expanduser(path)), os.path.realpath(root)
    if not os.path.isdir(full):
        raise ConfigError("collection", f"{paths.shown(path)} is not a folder")
    outside = not paths.is_within(full, real)
    table: dict[str, object] = {"path": full if outside else Path(full).relative_to(real).as_posix()}
    if tuple(glob) != DEFAULT_GLOBS:
        table["glob"] = list(keys.globs("glob", list(glob), "as a flag"))
    if ignore:
        table["ignore"] = list(keys.globs("ignore", list(ignore), "as a flag"))

    def change(document: TOMLDocument) -> None:
        _nested(document, _home_of(document, root, outside), "collections", name).update(table)

    _edit(root, outside, environ, change)
    return load(root, environ).collections[name]


def remove_collection(root: Path, name: str, *, environ: Mapping[str, str] | None = None) -> Collection:
    """Remove a collection and the contexts below it; no file of it is touched. Raises UnknownCollection."""
    found = _known(root, name, environ)

    def change(document: TOMLDocument) -> None:
        home = _nested(document, _home_of(document, root, found.outside))
        _drop(home, "collections", lambda key: key == name)
        _drop(home, "contexts", lambda key: _is_below(key, name))

    _edit(root, found.outside, environ, change)
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
        home = _nested(document, _home_of(document, root, found.outside))
        home["collections"][new] = home["collections"].pop(name)
        contexts = home.get("contexts", {})
        for key in [key for key in contexts if _is_below(key, name)]:
            contexts[new + normal_prefix(key)[len(name) :]] = contexts.pop(key)

    _edit(root, found.outside, environ, change)
    return load(root, environ).collections[new]


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
        _nested(document, _home_of(document, root, outside), "contexts")[key] = text.strip()

    _edit(root, outside, environ, change)
    return key


def remove_context(root: Path, prefix: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Remove the description of a path prefix, wherever it stands. Raises ConfigError if there is none."""
    contexts = load(root, environ).contexts
    key = normal_prefix(prefix)
    if key not in contexts:
        known = ", ".join(repr(k) for k in contexts) or "none"
        raise ConfigError("context", f"{key!r} has no description; known: {known}")

    def change(document: TOMLDocument) -> None:
        _drop(document, "contexts", lambda k: normal_prefix(k) == key)
        home = _real_key(document, root)
        if home:
            workspaces: Any = document["workspaces"]
            _drop(workspaces[home], "contexts", lambda k: normal_prefix(k) == key)

    for outside in (False, True):
        if os.path.lexists(_file(root, outside, environ)):
            _edit(root, outside, environ, change)
    return key


def set_values(
    values: Mapping[str, object],
    *,
    workspace: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Set several keys at once in the user's file, or in that of `workspace`; None removes a key.

    A text is read as from the environment. Returns the file; it is changed as a whole or not at all. Raises
    ConfigError for what is not allowed there, or where the file could not be loaded afterwards.
    """
    found = {keys.find(name, "as a flag"): value for name, value in values.items()}
    for key in found:
        if workspace is not None and not key.harmless:
            raise ConfigError(key.name, "may not stand in a workspace's file; set it in your own")
    checked = {key: value if value is None else _read_value(key, value) for key, value in found.items()}

    def change(document: TOMLDocument) -> None:
        for key, value in checked.items():
            group, _, name = key.name.partition(".")
            if value is None:
                _drop(document, group, lambda known, name=name: known == name)  # type: ignore[misc]
            else:
                _nested(document, (), group)[name] = list(value) if isinstance(value, tuple) else value

    root = workspace or Path(os.sep)
    _edit(root, workspace is None, environ, change)
    return _file(root, workspace is None, environ)


def rewrite(
    before: bytes, after: bytes, *, workspace: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """Replace the user's file, or that of a workspace, by a text of its owner's; return the file.

    Raises ConfigError for a text that could not be loaded, or if the file does not hold `before` any more.
    """
    root = workspace or Path(os.sep)
    file = _file(root, workspace is None, environ)

    def compose(data: bytes) -> bytes:
        if data != before:
            raise ConfigError("settings", f"{paths.shown(file)} was changed meanwhile; edit it again")
        check(after, file, root, own=workspace is None)
        return after

    _replace(root, workspace is None, environ, compose)
    return file


def _read_value(key: keys.Key, value: object) -> object:
    if isinstance(value, str) and key.variable:
        return keys.from_text(key, value, "as a flag")
    return keys.checked(key, value, "as a flag")


def _known(root: Path, name: str, environ: Mapping[str, str] | None) -> Collection:
    collections = load(root, environ).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    return collections[name]


def _is_below(key: str, name: str) -> bool:
    return f"{normal_prefix(key)}/".startswith(f"{name}/")


def _file(root: Path, outside: bool, environ: Mapping[str, str] | None) -> Path:
    return user_file(environ) if outside else paths.Workspace(root).settings


def _edit(
    root: Path, outside: bool, environ: Mapping[str, str] | None, change: Callable[[TOMLDocument], None]
) -> None:
    """Change one settings file under its lock; comments and order stay."""
    import tomlkit

    file = _file(root, outside, environ)

    def compose(data: bytes) -> bytes:
        parse(data, file)
        document = tomlkit.parse(data.decode("utf-8-sig"))
        change(document)
        text = tomlkit.dumps(document)
        if not _says(text, document):
            way = "is written in a way that cannot be changed from here (dotted keys?); edit it by hand"
            raise ConfigError("settings", f"{paths.shown(file)} {way}")
        try:
            changed = text.encode()
        except UnicodeEncodeError as error:  # a name on Linux may be any bytes, TOML is UTF-8
            raise ConfigError("settings", "a path that is not UTF-8 cannot be noted; rename it") from error
        check(changed, file, root, own=outside)
        return changed

    _replace(root, outside, environ, compose)


def _replace(
    root: Path, outside: bool, environ: Mapping[str, str] | None, compose: Callable[[bytes], bytes]
) -> None:
    from commonplace import atomic

    own_lock = paths.user_config_dir(environ) / "config.lock"
    lock = own_lock if outside else paths.lock_file(paths.Workspace(root), "settings")
    atomic.replace(_file(root, outside, environ), compose, lock=lock)


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


def _real_key(document: Mapping[str, Any], root: Path) -> str | None:
    real = os.path.realpath(root)
    folders = document.get("workspaces", {})
    return next((f for f in folders if os.path.realpath(os.path.expanduser(f)) == real), None)


def _home_of(document: TOMLDocument, root: Path, outside: bool) -> tuple[str, ...]:
    """Return the tables that hold a workspace's part of a file."""
    if not outside:
        return ()
    return ("workspaces", _real_key(document, root) or os.path.realpath(root))


def _nested(document: TOMLDocument, home: tuple[str, ...], *names: str) -> Any:  # noqa: ANN401 - tomlkit's own
    """Return a table of tables, made where it is missing."""
    import tomlkit
    from tomlkit.items import InlineTable

    table: Any = document
    steps = (*home, *names)
    for depth, name in enumerate(steps):
        if name not in table:
            inline = isinstance(table, InlineTable)  # which can hold no other kind of table
            super_table = depth < len(steps) - 1
            table[name] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=super_table)
        table = table[name]
    return table


def _drop(home: MutableMapping[str, Any], name: str, unwanted: Callable[[str], bool]) -> None:
    """Remove keys of a table, and the table itself once it is empty."""
    table = home.get(name, {})
    for key in [key for key in table if unwanted(key)]:
        del table[key]
    if name in home and not table:
        del home[name]
