"""Hits and notes by their numbers, as a person at a terminal saw them last in a workspace, for `get 2`.

The numbers are kept in the user's cache, a small file a workspace and agent with a reference on each line:
the start of a note's hash and lines of it. No word of a note is in it, and a changed note is not found.
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
KEPT_S = 86_400.0  # after which numbers are forgotten
_LARGEST = 128_000  # bytes
_AGAIN = "search or list again, at a terminal"


def references(rows: Sequence[Hit | Moment | NoteInfo], others: Collection[str]) -> list[str]:
    """Return what `get` takes for each of the first rows; empty for a note whose text another has as well.

    `others` are the names of the workspaces beside the home, which stand before a reference.
    """
    named = []
    for row in rows[:MOST]:
        name, colon, _ = row.path.partition(":")
        prefix = f"{name}:" if colon and name in others else ""
        if first := getattr(row, "start_line", 0):
            named.append(f"{prefix}#{row.docid}:{first}-{getattr(row, 'end_line', first)}")
        else:
            named.append(row.path if getattr(row, "number", 0) else f"{prefix}#{row.docid}")
    count = Counter(named)
    return [name if count[name] == 1 or ":" in name.partition("#")[2] else "" for name in named]


def keep(asking: Caller, named: Sequence[str]) -> None:
    """Record the numbered references; if writing fails, numbers are unavailable and the command continues."""
    from contextlib import suppress

    from commonplace.base import records

    path = _file(asking)
    root = paths.root_of(path)
    with suppress(OSError, CommonplaceError):
        root.exchange(path, "\n".join(named).encode(), durable=False)
    records.drop_old(root, path.parent, KEPT_S)


def is_number(text: str) -> bool:
    """Tell whether a reference is a number: one to three digits, given at a terminal."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS and sys.stdout.isatty()


def find(asking: Caller, text: str) -> str:
    """Return the reference of a number that is given at a terminal; any other text is returned unchanged.

    Raises NoteNotFound for an unknown number.
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
    """Read a reference, or the row of that number. Raises as `Memory.get` and `find`."""
    reference = find(asking, text)
    try:
        return memory.get(reference)
    except NoteNotFound as error:
        name = reference.partition("#")[0].rstrip(":")
        if reference != text and name and name not in memory.others:
            told = f"that number is of the workspace {name!r}; name it again with -w, as before"
        elif reference != text:
            told = f"the note of that number has changed since, or is gone; {_AGAIN}"
        elif text.isdecimal() and len(text) <= _DIGITS:
            told = f"{NO_NOTE}; hits and notes have numbers at a terminal alone"
        else:
            raise
        raise NoteNotFound(text, error.suggestions, told) from error


def _file(asking: Caller) -> Path:
    name = f"{os.path.realpath(asking.root)}\0{asking.agent}".encode("utf-8", "surrogateescape")
    return paths.user_cache_dir() / "picks" / sha256(name).hexdigest()[:20]
