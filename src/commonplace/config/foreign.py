"""What the settings that come with a folder may name: notes, text and code, nothing hidden, no other kind.

A folder may be somebody else's, and what its settings name gets into the index and into prompts. A file of
keys has no ending of a note or a program, or lies hidden; the owner's own settings may name any file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from commonplace import paths
from commonplace.config.settings import Collection

NOTES = ("md", "markdown")
# The keys of `notes.languages.SUFFIXES`, which this may not import; a test compares them.
CODE = ("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "rs")
TEXT = ("txt", "rst", "org", "adoc")
TRANSCRIPTS = ("jsonl", "json", "zip")
OF_COLLECTIONS = (*NOTES, *TEXT, *CODE)
OF_KEYS = {"index.include": NOTES, "prompt.file_names": NOTES}


def is_hidden(path: str) -> bool:
    """Whether a relative path or glob leads through a hidden folder, or to a hidden file."""
    return any(part.startswith(".") for part in path.replace("\\", "/").split("/") if part != ".")


def may_name(name: str, kinds: Iterable[str]) -> bool:
    """Whether a path or glob covers files of these kinds alone, by its ending, and nothing hidden."""
    return not is_hidden(name) and name.lower().endswith(tuple(f".{kind}" for kind in kinds))


def may_hold(collection: Collection, root: str) -> list[str]:
    """Return those globs that a workspace's own file may give a collection; none for a hidden folder."""
    places = (collection.path, root), (os.path.realpath(collection.path), os.path.realpath(root))
    if any(is_hidden(os.path.relpath(folder, above)) for folder, above in places):
        return []
    kinds = (*OF_COLLECTIONS, *TRANSCRIPTS) if collection.format else OF_COLLECTIONS
    return [glob for glob in collection.glob if may_name(glob, kinds)]


def restricted(
    collections: Mapping[str, Collection], root: str, file: str
) -> tuple[dict[str, Collection], list[str]]:
    """Return collections as a workspace's own file may set them, and what was left out, one line for each."""
    allowed, warnings = dict[str, Collection](), list[str]()
    for name, collection in collections.items():
        globs = may_hold(collection, root)
        if globs:
            allowed[name] = collection._replace(glob=tuple(globs))
        if len(globs) < len(collection.glob):
            names = [collection.path] if not globs else [one for one in collection.glob if one not in globs]
            remedy = f"take it out of there, then: commonplace collection add {name} PATH --glob GLOB"
            warnings.append(left_out(f"collections.{name}", names, file, remedy))
    return allowed, warnings


def left_out(key: str, names: Iterable[str], file: str, remedy: str) -> str:
    """Say what a workspace's own file may not name, and how its owner allows it."""
    first, *rest = names
    more = f" and {len(rest)} more" if rest else ""
    return (
        f"{key}: {paths.shown(first)}{more} in {file} is left out: settings that come with a folder may name "
        f"only notes, text and code, nothing hidden; to allow it: {remedy}"
    )
