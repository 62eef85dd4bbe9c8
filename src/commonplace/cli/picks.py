"""Hits and notes by their numbers, as a person at a terminal saw them last in a workspace, for `get 2`.

Kept in the user's cache, a small file a workspace and agent: a reference on each line, which is the start of
a note's hash and lines of it, so that no word of a note lies there and a note that changed is not found.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.digests import sha256
from commonplace.base.errors import NO_NOTE, CommonplaceError, NoteNotFound

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.cli.session import Caller
    from commonplace.memory import Memory
    from commonplace.types import Excerpt, Hit, Moment, NoteInfo

_DIGITS = 3
MOST = 10**_DIGITS - 1  # rows that have a number
KEPT_S = 86_400.0  # after which a search is not the last one that anybody remembers
_LARGEST = 128_000  # bytes
_AGAIN = "search or list again, at a terminal"


def references(hits: Sequence[Hit], home: str) -> list[str]:
    """Return what `get` takes for each of the first hits, and for no line more.

    Those of the workspace `home` need no name before them.
    """
    named = (("" if hit.workspace in ("", home) else f"{hit.workspace}:", hit) for hit in hits[:MOST])
    return [f"{name}#{hit.docid}:{hit.start_line}-{hit.end_line}" for name, hit in named]


def of_moments(moments: Sequence[Moment], names: Collection[str]) -> list[str]:
    """Return the same for the first passages of a timeline, of these workspaces and the home."""
    return [
        f"{_workspace(one.path, names)}#{one.docid}:{one.start_line}-{one.end_line}" for one in moments[:MOST]
    ]


def of_notes(notes: Sequence[NoteInfo], names: Collection[str]) -> list[str]:
    """Return the same for the first notes of a list; empty for one whose text another has as well."""
    named = [one.path if one.number else f"{_workspace(one.path, names)}#{one.docid}" for one in notes]
    count = Counter(named)
    return [name if count[name] == 1 else "" for name in named[:MOST]]


def _workspace(path: str, names: Collection[str]) -> str:
    """Return the prefix of a reference for a path in one of these workspaces; empty for the home."""
    name, colon, _ = path.partition(":")
    return f"{name}:" if colon and name in names else ""


def keep(asking: Caller, named: Sequence[str]) -> None:
    """Record the numbered references; if writing fails, numbers are unavailable and the command goes on."""
    from contextlib import suppress

    from commonplace.base import records

    path = _file(asking)
    root = paths.root_of(path)
    with suppress(OSError, CommonplaceError):
        root.exchange(path, "\n".join(named).encode(), durable=False)
    records.drop_old(root, path.parent, KEPT_S)


def is_number(text: str) -> bool:
    """Tell whether a reference is the number of a hit: one to three digits, given at a terminal."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS and sys.stdout.isatty()


def find(asking: Caller, text: str) -> str:
    """Return the reference that the number of a hit stands for; any other text is what it is.

    Raises NoteNotFound where there is no such hit.
    """
    if not is_number(text):
        return text
    path = _file(asking)
    try:
        root = paths.root_of(path)
        named = root.read(path, limit=_LARGEST).decode("utf-8", "replace").splitlines()
        when = "was more than a day ago" if root.stat(path).st_mtime < time.time() - KEPT_S else ""
    except OSError:
        named, when = [], "is not known"
    if when:
        raise NoteNotFound(text, reason=f"the last search of this workspace {when}; {_AGAIN}")
    if not 1 <= int(text) <= len(named):
        last = f"the last search, timeline or list had {len(named)} numbers"
        raise NoteNotFound(text, reason=f"{last}; a note of this name is ./{text}")
    if not named[int(text) - 1]:
        raise NoteNotFound(text, reason="other notes have the text of that one; name it by its path")
    return named[int(text) - 1]


def read(asking: Caller, memory: Memory, text: str) -> Excerpt:
    """Read a reference, or the hit of that number. Raises as `Memory.get` does, and as `find`."""
    reference = find(asking, text)
    try:
        return memory.get(reference)
    except NoteNotFound as error:
        if reference == text:
            if text.isdecimal() and len(text) <= _DIGITS:
                told = f"{NO_NOTE}; hits and notes have numbers at a terminal alone"
                raise NoteNotFound(text, error.suggestions, told) from error
            raise
        name = reference.partition("#")[0].rstrip(":")
        told = f"the note of that number has changed since, or is gone; {_AGAIN}"
        if name and name not in memory.others:
            told = f"that number is of the workspace {name!r}; name it again with -w, as before"
        raise NoteNotFound(text, error.suggestions, told) from error


def _file(asking: Caller) -> Path:
    name = f"{os.path.realpath(asking.root)}\0{asking.agent}".encode("utf-8", "surrogateescape")
    return paths.user_cache_dir() / "picks" / sha256(name).hexdigest()[:20]
