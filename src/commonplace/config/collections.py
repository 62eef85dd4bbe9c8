"""Collections, contexts and update commands: the named tables of a settings file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from commonplace.base import filetypes, paths, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.config import keys
from commonplace.config.files import table
from commonplace.config.settings import (
    AUTO,
    DEFAULT_GLOBS,
    TRANSCRIPTS,
    WORKSPACE_COLLECTION,
    Collection,
    Key,
    Settings,
)

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_CONTEXT_MAX_CHARACTERS = 2000
BY_DEFAULT = "include_by_default"
FORMAT = "format"
WEIGHT, WEIGHTS = "weight", ("own", "reference")
_KEYS = {
    "glob": Key(DEFAULT_GLOBS, "Globs of its files.", kind="texts"),
    "ignore": Key((), "Globs of files to leave out.", kind="texts"),
    BY_DEFAULT: Key(True, "Whether searches that name no collection include it.", kind="boolean"),
    FORMAT: Key("", "Format of transcripts.", choices=("", AUTO, *TRANSCRIPTS)),
    WEIGHT: Key("", "Weight beside the owner's own notes.", choices=WEIGHTS),
}


def contexts_for(contexts: Mapping[str, str], path: str, collection: str) -> tuple[str, ...]:
    """Return the descriptions, by prefix, that apply to a note, general first."""
    found = [
        (len(prefix), text)
        for prefix, text in contexts.items()
        if not prefix or prefix in (collection, path) or path.startswith(f"{prefix}/")
    ]
    return tuple(text for _, text in sorted(found, key=lambda pair: pair[0]))


def by_default(settings: Settings) -> tuple[str, ...]:
    """Return the collections of a search without `-c`; empty for all of them."""
    names = (name for name, found in settings.collections.items() if found.by_default)
    is_all = all(found.by_default for found in settings.collections.values())
    return () if is_all else (WORKSPACE_COLLECTION, *names)


def reference(settings: Settings) -> frozenset[str]:
    """Return the collections that rank below the owner's own notes."""
    return frozenset(name for name, found in settings.collections.items() if found.weight == "reference")


def collections_in(
    content: Mapping[str, Any], root: Path, path: Path, *, outside: bool
) -> dict[str, Collection]:
    """Return the collections of a table by name; `outside`: of the user's file. Raises ConfigError."""
    tables = table("collections", content.get("collections", {}), path)
    return {name: _collection(name, value, root, path, outside) for name, value in tables.items()}


def _collection(name: str, value: object, root: Path, path: Path, outside: bool) -> Collection:
    key, where = paths.shown(f"collections.{name}"), f"in {paths.shown(path)}"
    content = {"path": None, BY_DEFAULT: True, **table(key, value, path)}
    check_name(name)
    for item in content:
        if item not in (known := ("path", *_KEYS)):
            raise ConfigError(paths.shown(f"{key}.{item}"), f"unknown key {where}{keys.near(item, known)}")
    full = _folder(f"{key}.path", content.pop("path"), root, where, outside)
    # Folders in a workspace and chats with an agent are the owner's own; others mostly serve as reference.
    is_own = content.get(FORMAT) or paths.is_within(full, os.path.normpath(root))
    content.setdefault(WEIGHT, "own" if is_own else "reference")
    options = {item: option(item, one, f"{key}.{item}", where) for item, one in content.items()}
    by_default = options.pop(BY_DEFAULT)
    return Collection(name, full, outside=outside, by_default=by_default, **options)


def option(name: str, value: object, key: str = "", where: str = "") -> Any:  # noqa: ANN401 - by its key
    """Return the value of a key of a collection. Raises ConfigError."""
    return keys.checked(_KEYS[name]._replace(name=key or name), value, where)


def _folder(key: str, folder: object, root: Path, where: str, outside: bool) -> str:
    """Return the absolute folder of a collection: absolute if `outside`, else in the workspace."""
    if not isinstance(folder, str) or not folder or "\0" in folder:
        raise keys.not_allowed(key, folder, where, "a folder")
    full = os.path.normpath(os.path.join(root, os.path.expanduser(folder) if outside else folder))
    if outside and not os.path.isabs(os.path.expanduser(folder)):
        raise ConfigError(key, f"{keys.quoted(folder)} {where} must be absolute")
    if not outside and not paths.is_within(os.path.realpath(full), os.path.realpath(root)):
        wrong = f"{keys.quoted(folder)} {where} leaves the workspace; {remedies.say('collection.add')}"
        raise ConfigError(key, wrong)
    return full


def updates_in(content: Mapping[str, Any], path: Path) -> dict[str, tuple[str, ...]]:
    """Return the update commands of folders, by the real path of each. Raises ConfigError.

    Commands belong to the folder, not to the name of a collection: a workspace's file, which may give a name
    to another folder, chooses neither the command nor its place. A link in its place has no command.
    """
    found: dict[str, tuple[str, ...]] = {}
    for folder, command in table("updates", content.get("updates", {}), path).items():
        key, where = paths.shown(f'updates."{folder}"'), f"in {paths.shown(path)}"
        if not os.path.isabs(os.path.expanduser(folder)) or "\0" in folder:
            raise ConfigError(key, f"{keys.quoted(folder)} {where} must be an absolute folder")
        arguments = isinstance(command, list) and command and command[0]
        if not arguments or not all(isinstance(part, str) and "\0" not in part for part in command):
            raise keys.not_allowed(key, command, where, "a list of texts: a program and its arguments")
        found[os.path.normpath(os.path.expanduser(folder))] = tuple(command)
    return found


def check_name(name: str) -> None:
    """Raise ConfigError unless `name` may name a collection."""
    if name == WORKSPACE_COLLECTION:
        own = message("collection.own", "{name!r} is the workspace itself; choose another name", name=name)
        raise ConfigError("collection", own)
    if not re.fullmatch(_NAME, name):
        allowed = "a-z, 0-9, - and _, at most 64 characters, a letter or digit first"
        rule = f"{{name}} is no name for one; allowed are {allowed}"
        raise ConfigError("collection", message("collection.no_name", rule, name=keys.quoted(name)))


def collection_name(path: Path) -> str:
    """Return a name for a collection from its file or folder; empty if no letter remains."""
    name = path.stem if path.is_file() else os.path.basename(os.path.realpath(path))
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else " " for c in name.lower())
    return "-".join(plain.split()).strip("-_")[:64].strip("-_")


def contexts_in(content: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Return the descriptions of a table by prefix. Raises ConfigError."""
    found: dict[str, str] = {}
    for prefix, text in table("contexts", content.get("contexts", {}), path).items():
        if not isinstance(text, str) or not text.strip() or len(text) > _CONTEXT_MAX_CHARACTERS:
            rule = f"a text of at most {_CONTEXT_MAX_CHARACTERS} characters"
            key = paths.shown(f'contexts."{prefix}"')
            raise keys.not_allowed(key, text, f"in {paths.shown(path)}", rule)
        found[normal_prefix(prefix)] = text.strip()
    return found


def normal_prefix(text: str) -> str:
    """Return a path prefix in its normal form: no `./`, no slash at either end. Raises ConfigError."""
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ConfigError("context", f"{keys.quoted(text)} must not climb with '..'")
    return "/".join(parts)


# --- limits of a workspace's own file -------------------------------------------------------------------
#
# A folder may come from a stranger, and files named by its settings get into the index and into prompts:
# therefore only visible notes, text and code. Files with keys have other endings or lie hidden.

NOTES = ("md", "markdown")
TRANSCRIPT_FILES = ("jsonl", "json", "zip")
OF_COLLECTIONS = (*NOTES, "txt", "rst", "org", "adoc", *filetypes.SUFFIXES)
OF_KEYS = {"index.include": NOTES, "prompt.file_names": NOTES}


def is_hidden(path: str) -> bool:
    """Tell if a relative path or glob leads through a hidden folder, or to a hidden file."""
    return any(part.startswith(".") for part in path.replace("\\", "/").split("/") if part != ".")


def may_name(name: str, kinds: Iterable[str]) -> bool:
    """Tell if a path or glob covers only visible files with these endings."""
    return not is_hidden(name) and name.lower().endswith(tuple(f".{kind}" for kind in kinds))


def may_hold(collection: Collection, root: str) -> list[str]:
    """Return the globs that a workspace's own file may give a collection; empty for a hidden folder."""
    places = (collection.path, root), (os.path.realpath(collection.path), os.path.realpath(root))
    if any(is_hidden(os.path.relpath(folder, above)) for folder, above in places):
        return []
    kinds = (*OF_COLLECTIONS, *TRANSCRIPT_FILES) if collection.format else OF_COLLECTIONS
    return [glob for glob in collection.glob if may_name(glob, kinds)]


def restricted(
    collections: Mapping[str, Collection], root: str, file: str
) -> tuple[dict[str, Collection], list[str]]:
    """Return collections limited to what a workspace's own file may set, and a warning for each omission."""
    allowed, warnings = dict[str, Collection](), list[str]()
    for name, collection in collections.items():
        if globs := may_hold(collection, root):
            allowed[name] = collection._replace(glob=tuple(globs))
        if rest := [one for one in collection.glob if one not in globs]:
            move = remedies.say("collection.move", name)
            names = rest if globs else [collection.path]
            warnings.append(left_out(f"collections.{name}", names, file, move))
    return allowed, warnings


def left_out(key: str, names: Iterable[str], file: str, remedy: str) -> str:
    """Return the warning about names that a workspace's own file may not set, with the owner's remedy."""
    first, *rest = names
    more = f" and {len(rest)} more" if rest else ""
    return (
        f"{key}: {paths.shown(first)}{more} in {file} is left out: settings that come with a folder may name "
        f"only notes, text and code, nothing hidden; to allow it: {remedy}"
    )
