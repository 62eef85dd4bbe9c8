"""Hits by their numbers: the last search or timeline of a person at a terminal in a workspace, for `get 2`.

Kept in the user's cache, a small file a workspace and agent: a reference on each line, which is the start of
a note's hash and lines of it, so that no word of a note lies there and a note that changed is not found.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.digests import sha256
from commonplace.base.errors import NO_NOTE, CommonplaceError, NoteNotFound

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.cli.session import Caller
    from commonplace.memory import Memory
    from commonplace.types import Excerpt, Hit, Moment

MOST = 100  # hits that have a number
_DIGITS = 3
KEPT_S = 86_400.0  # after which a search is not the last one that anybody remembers
_LARGEST = 32_000  # bytes
_AGAIN = "search again, at a terminal"


def references(hits: Sequence[Hit], home: str) -> list[str]:
    """Return what `get` takes for each of the first hits, and for no line more.

    Those of the workspace `home` need no name before them.
    """
    named = (("" if hit.workspace in ("", home) else f"{hit.workspace}:", hit) for hit in hits[:MOST])
    return [f"{name}#{hit.docid}:{hit.start_line}-{hit.end_line}" for name, hit in named]


def of_moments(moments: Sequence[Moment], names: Collection[str]) -> list[str]:
    """Return the same for the first passages of a timeline, of these workspaces beside the home."""
    of = ((one.path.partition(":"), one) for one in moments[:MOST])
    named = ((f"{name}:" if colon and name in names else "", one) for (name, colon, _), one in of)
    return [f"{name}#{one.docid}:{one.start_line}-{one.end_line}" for name, one in named]


def keep(asking: Caller, named: Sequence[str]) -> None:
    """Note the hits of a search; where that cannot be done there are no numbers, and nothing else is lost."""
    from contextlib import suppress

    from commonplace.base import records

    path = _file(asking)
    root = paths.root_of(path)
    with suppress(OSError, CommonplaceError):
        root.exchange(path, "\n".join(named).encode(), durable=False)
    records.drop_old(root, path.parent, KEPT_S)


def is_number(text: str) -> bool:
    """Whether a reference is the number of a hit: of one, two or three digits, said at a terminal."""
    is_digits = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    return is_digits and sys.stdout.isatty()


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
        hits = "1 hit" if len(named) == 1 else f"{len(named)} hits"
        raise NoteNotFound(
            text, reason=f"the last search or timeline had {hits}; a note of this name is ./{text}"
        )
    return named[int(text) - 1]


def read(asking: Caller, memory: Memory, text: str) -> Excerpt:
    """Read a reference, or the hit of that number. Raises as `Memory.get` does, and as `find`."""
    from commonplace import memory as memories

    reference = find(asking, text)
    try:
        return memory.get(reference)
    except NoteNotFound as error:
        if reference == text:
            if text.isdecimal() and len(text) <= _DIGITS:
                told = f"{NO_NOTE}; hits have numbers at a terminal alone"
                raise NoteNotFound(text, error.suggestions, told) from error
            raise
        name = reference.partition("#")[0].rstrip(":")
        told = f"the note of that hit has changed since the search, or is gone; {_AGAIN}"
        if name and name not in memories.names(memory):
            told = f"that hit is of the workspace {name!r}; name it again with -w, as in the search"
        raise NoteNotFound(text, error.suggestions, told) from error


def _file(asking: Caller) -> Path:
    name = f"{os.path.realpath(asking.root)}\0{asking.agent}".encode("utf-8", "surrogateescape")
    return paths.user_cache_dir() / "picks" / sha256(name).hexdigest()[:20]
