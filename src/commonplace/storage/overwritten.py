"""Our versions of notes that other programs overwrote: reported once, listed, and merged back."""

from __future__ import annotations

import json
import os
import zlib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError, PreviewOutdated
from commonplace.base.tuples import NamedTuple
from commonplace.markdown.document import Document
from commonplace.storage import diffs, state, writes


class Copy(NamedTuple):
    """Our version of a note that another program overwrote.

    lost: keys of entries missing from the saved note; lost_ours: those of them that we wrote.
    restored: keys of entries that we had removed and the save brought back. is_gone: it deleted the note.
    is_late: the other way round, a version of the other program that we overwrote.
    """

    name: str
    note: str
    content: bytes
    lost: Collection[bytes]
    lost_ours: Collection[bytes] = ()
    restored: Collection[bytes] = ()
    is_gone: bool = False
    is_late: bool = False

    def lines(self, now: bytes = b"") -> list[str]:
        """Return the lines of the lost entries that are not in `now`."""
        return self.lines_of(set(self.lost) - writes.entries(now).keys())

    def lines_of(self, keys: Collection[bytes]) -> list[str]:
        """Return the lines of some of our entries."""
        lines = writes.lines_of(self.content)
        return [lines[n] for n in sorted({*range(len(lines))}.difference(writes.staying(lines, keys)))]


def check(workspace: paths.Workspace, known: Mapping[str, bytes] | None = None) -> list[str]:
    """Look for overwritten notes as `writes.update` does; report each once. Raises NoteUnreadable."""
    writes.update(workspace, known or {})
    return notices(workspace)


def warnings(workspace: paths.Workspace) -> list[str]:
    """Return the sentences of `check`, or the reason why it failed, without raising."""
    try:
        return check(workspace)
    except CommonplaceError as error:
        return [f"overwritten notes could not be looked for: {error}"]


def notices(workspace: paths.Workspace) -> list[str]:
    """Return a sentence for each overwritten version that was not reported yet."""
    if not state.rows(workspace, "SELECT 1 FROM overwritten WHERE NOT told LIMIT 1"):
        return []
    query = "UPDATE overwritten SET told = 1 WHERE NOT told RETURNING name, note, data, bytes"
    with state.writing(workspace, durable=False) as connection:
        found: Any = connection.execute(query).fetchall()
    return [_sentence(_read(*row)) for row in sorted(found)]


def _sentence(copy: Copy) -> str:
    note, ours, back = paths.shown(copy.note), copy.lines_of(copy.lost_ours), len(copy.restored)
    lost, first = len(ours), next(iter(ours), "")
    lines = f"{lost:,} lines" if lost != 1 else "a line"
    again = f"{back:,} lines again that were" if back != 1 else "a line again that was"
    if copy.is_late:
        saved = f"another program saved {note} while it was written here"
        happened = f"{saved}, and the note lacks {lines} of that ({paths.shown(first)})"
    elif copy.is_gone:
        happened = f"{note} is gone, and {lines} of this memory with it ({paths.shown(first)})"
    else:
        parts = [f"without {lines} of this memory ({paths.shown(first)})"] if lost else []
        parts += [f"with {again} corrected or forgotten"] if back else []
        happened = f"another program saved {note} {' and '.join(parts)}"
    kept, whose = ("its", "theirs") if copy.is_late else ("our", "ours")
    restore = remedies.say("restore", copy.name, "it" if (lost, back) == (1, 0) else whose)
    return f"{happened}; {kept} version is kept; if that was not meant, {restore}"


def copies(workspace: paths.Workspace) -> list[Copy]:
    """Return the overwritten versions, oldest first. Raises NoteUnreadable."""
    return [
        _read(*row)
        for row in state.rows(workspace, "SELECT name, note, data, bytes FROM overwritten ORDER BY name")
    ]


def _read(name: str, note: bytes, data: str, packed: bytes) -> Copy:
    about, content = json.loads(data), b""
    with suppress(zlib.error):
        content = zlib.decompress(packed)
    lost, ours, back = (frozenset(map(bytes.fromhex, about[side])) for side in ("lost", "told", "back"))
    return Copy(name, os.fsdecode(note), content, lost, ours, back, about["gone"], about.get("late", False))


def save(workspace: paths.Workspace, copy: Copy) -> None:
    """Store a changed copy; delete it if it would change no line."""
    if not (copy.lines() or copy.restored):
        discard(workspace, copy.name)
        return
    with state.writing(workspace) as connection:
        values = zlib.compress(copy.content, 1), copy.name
        connection.execute("UPDATE overwritten SET bytes = ? WHERE name = ?", values)


def discard(workspace: paths.Workspace, name: str) -> None:
    """Delete an overwritten version, reported or not. Raises AccessDenied, NoteUnreadable."""
    workspace.check_writable()
    with state.writing(workspace) as connection:
        connection.execute("DELETE FROM overwritten WHERE name = ?", (name,))


def read(workspace: paths.Workspace, copy: Copy) -> bytes:
    """Return the current bytes of a copy's note; b"" if it cannot be read."""
    with suppress(OSError):
        return workspace.files.read(copy.note, links=True)
    return b""


def put_back(
    workspace: paths.Workspace,
    note: str,
    found: Iterable[Copy],
    check: Callable[[Document, Document], bool] = lambda old, new: True,
) -> tuple[int, int]:
    """Merge several copies into their note and delete them; return the numbers of lines added and removed.

    Raises PreviewOutdated, without a write, if `check(old, new)` is false for the merged note.
    """
    found, counts = list(found), (0, 0)

    def compose(document: Document) -> Document:
        nonlocal counts
        merged = merge(document, found)
        if not check(document, merged):
            raise PreviewOutdated([note])
        old, new = (Counter(writes.texts(one.data)) for one in (document, merged))
        counts = (new - old).total(), (old - new).total()
        return merged

    writes.replace(workspace, workspace.root / note, compose)
    for copy in found:
        discard(workspace, copy.name)
    return counts


def merge(document: Document, found: Iterable[Copy]) -> Document:
    """Return a note with the lost lines of copies where they stood, without the entries of `restored`."""
    for copy in found:
        stays = [document.lines[n] for n in writes.staying(document.bare, copy.restored)]
        end = next((end for n in range(1, len(document.lines) + 1) if (end := document.end(n))), "\n")
        ours = Document.read(copy.content, copy.note).bare
        kept = writes.staying(ours, set(copy.lost) - writes.entries(document.data).keys())
        base = [ours[n].rstrip() for n in kept]
        places = diffs.places(base, [line.rstrip() for line in stays])
        for number in sorted({*range(len(ours))}.difference(kept), reverse=True):
            place = places[bisect(kept, number)]
            if place == len(stays) and stays and not stays[-1].endswith(("\n", "\r")):
                stays[-1] += end
            stays.insert(place, ours[number] + end)
        document = document.with_text("".join(stays))
    return document
