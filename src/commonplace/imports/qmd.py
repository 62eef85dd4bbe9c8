"""QMD: `index.yml`, whose collections, patterns and contexts become those of this workspace.

global_context: text
collections:
  NAME:
    path: /folder
    pattern: "**/*.md"            # braces are taken apart
    ignore: ["drafts/**"]
    includeByDefault: false
    update: git pull               # not taken over: it would be run
    context: {"": text, "/sub": text}
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import open_named, read_named
from commonplace.imports import files
from commonplace.notes import scan
from commonplace.types import Description, FileFailure, Folder, Part

KIND = "qmd"
_NAMES = ("index.yml", "index.yaml")
_LARGEST = 1 << 20  # bytes
_SYSTEM = frozenset("bin boot dev etc lib lib64 proc run sbin sys usr var Library System".split())
_FORMS = {"pattern": str | None, "ignore": str | list | None, "context": Mapping | None}  # of a collection


def recognises(path: Path) -> bool:
    """Return True if a path is such a file, or a folder that holds one."""
    place = _place(path)
    if place is None or place.suffix not in (".yml", ".yaml"):
        return False
    with open_named(place) as file:
        return re.search(rb"(?m)^collections[ \t]*:", file.read(_LARGEST)) is not None


def _place(path: Path) -> Path | None:
    folders = (path, path / ".qmd") if path.is_dir() else ()
    places = [folder / name for folder in folders for name in _NAMES] or [path]
    return next(filter(files.is_file, places), None)


def read(path: Path) -> Iterator[Part]:
    """Yield collections and contexts. Raises NoteUnreadable for what is no such file."""
    place = _place(path)
    if place is None:
        raise NoteUnreadable(paths.shown(path), "is no index.yml of QMD, and holds none")
    settings = _parsed(place)
    collections = settings.get("collections")
    if not isinstance(collections, Mapping):
        raise NoteUnreadable(paths.shown(place), "names no collections")
    if text := _text(settings, "global_context"):
        yield Description("", "", text)
    for name, collection in collections.items():
        if isinstance(collection, Mapping) and _text(collection, "path"):
            yield from _collection(str(name), collection, place)
        else:
            yield FileFailure(f"{paths.shown(place)}: {name}", "is no collection: it has no path")


def _collection(name: str, collection: Mapping[object, object], place: Path) -> Iterator[Part]:
    folder = os.path.join(place.parent, os.path.expanduser(_text(collection, "path")))
    if _is_unexpected(folder):
        add = f"commonplace collection add {shlex.quote(folder)} --name {shlex.quote(name)}"
        why = f"{folder} is hidden, all of a home folder or the system's; if it is to be searched: {add}"
        yield FileFailure(f"{paths.shown(place)}: {name}", why)
        return
    globs = tuple(scan.unbraced(_text(collection, "pattern") or "**/*.md"))
    ignore = collection.get("ignore")
    ignored = [ignore] if isinstance(ignore, str) else ignore if isinstance(ignore, list) else []
    left_out = [glob for one in ignored if isinstance(one, str) for glob in scan.unbraced(one)]
    by_default = collection.get("includeByDefault") is not False
    yield Folder(name, folder, globs, tuple(left_out), by_default=by_default)
    contexts = collection.get("context")
    for prefix, text in (contexts if isinstance(contexts, Mapping) else {}).items():
        if not isinstance(text, str):
            yield FileFailure(f"{paths.shown(place)}: {name}", f"its context of {str(prefix)!r} is no text")
        elif text.strip():
            yield Description(name, str(prefix).strip("/"), text.strip())
    for key, form in _FORMS.items():
        if not isinstance(collection.get(key), form):
            yield FileFailure(f"{paths.shown(place)}: {name}", f"its {key} is of no known form")
    if update := _text(collection, "update"):
        yield f"{name}: its command `{update}` is not taken over; `commonplace collection update-cmd` sets it"


def _is_unexpected(folder: str) -> bool:
    """Return True if a folder, with links followed, is hidden, a system folder, or holds the home folder."""
    real = Path(os.path.realpath(folder))
    is_system = len(real.parts) < 2 or real.parts[1] in _SYSTEM
    return is_system or Path.home().is_relative_to(real) or any(part[0] == "." for part in real.parts[1:])


def _parsed(path: Path) -> Mapping[object, object]:
    import yaml

    try:
        data = read_named(path, _LARGEST).decode("utf-8-sig", "replace")
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    try:
        # PyYAML's own loader: libyaml's ends the process on what is nested 40,000 times.
        value = yaml.load(data, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, LookupError) as error:
        raise NoteUnreadable(paths.shown(path), "is no YAML that can be read") from error
    return value if isinstance(value, Mapping) else {}


def _text(value: Mapping[object, object], key: str) -> str:
    found = value.get(key)
    return found.strip() if isinstance(found, str) else ""
