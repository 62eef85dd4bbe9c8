"""Collections, contexts and update commands: the named tables of a settings file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.base.root import is_hidden
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


def collections_in(content: Mapping[str, Any], root: Path, path: Path) -> dict[str, Collection]:
    """Return the collections of a workspace's table by name. Raises ConfigError."""
    found = table("collections", content.get("collections", {}), path).items()
    return {name: _collection(name, value, root, path) for name, value in found}


def _collection(name: str, value: object, root: Path, path: Path) -> Collection:
    key, where = paths.shown(f"collections.{name}"), f"in {paths.shown(path)}"
    content = {"path": None, BY_DEFAULT: True, **table(key, value, path)}
    check_name(name)
    for item in content:
        if item not in (known := ("path", *_KEYS)):
            raise ConfigError(paths.shown(f"{key}.{item}"), f"unknown key {where}{keys.near(item, known)}")
    folder = content.pop("path")
    if not isinstance(folder, str) or not folder or "\0" in folder:
        raise keys.not_allowed(f"{key}.path", folder, where, "a folder")
    full = os.path.normpath(os.path.join(root, os.path.expanduser(folder)))
    # Folders in a workspace and chats with an agent are the owner's own; others mostly serve as reference.
    is_own = content.get(FORMAT) or paths.is_within(full, os.path.normpath(root))
    content.setdefault(WEIGHT, "own" if is_own else "reference")
    options = {item: option(item, one, f"{key}.{item}", where) for item, one in content.items()}
    by_default = options.pop(BY_DEFAULT)
    return Collection(name, full, by_default=by_default, **options)


def option(name: str, value: object, key: str = "", where: str = "") -> Any:  # noqa: ANN401 - by its key
    """Return the value of a key of a collection. Raises ConfigError."""
    return keys.checked(_KEYS[name]._replace(name=key or name), value, where)


def updates_in(content: Mapping[str, Any], path: Path) -> dict[str, tuple[str, ...]]:
    """Return the update commands of folders, by the real path of each. Raises ConfigError.

    Commands belong to the folder, not to the name of a collection. A link in its place has no command.
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


# A folder may come from a stranger, and files named by its settings get into the index and into prompts:
# therefore only visible notes.
NOTES_ALONE = ("index.include", "prompt.file_names")


def may_name(name: str) -> bool:
    """Tell if a path or glob covers only visible notes."""
    return not is_hidden(name) and name.lower().endswith((".md", ".markdown"))
