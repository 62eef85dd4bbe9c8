"""Versions of notes that another program overwrote: listed, and merged back into their notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from commonplace.base import paths, records
from commonplace.base.errors import NoteNotFound, PreviewOutdated
from commonplace.base.tuples import NamedTuple
from commonplace.markdown.document import Document
from commonplace.notes import writes
from commonplace.storage import diffs


class Copy(NamedTuple):
    """A version of a note that we wrote and another program overwrote, and the common base of both.

    `note` is the path of the note, empty if unknown. `back` are hashes of lines that we had removed and the
    other program restored.
    """

    name: str
    note: str
    ours: bytes
    base: bytes
    back: frozenset[str] = frozenset()

    def lines(self, now: bytes = b"") -> list[str]:
        """Return our lines that are neither in the base nor in `now`."""
        known = writes.said(self.base) + writes.said(now)
        return [text for text in writes.texts(self.ours) if not known[text]]


def copies(workspace: paths.Workspace) -> list[Copy]:
    """Return the overwritten versions, oldest first. Raises NoteUnreadable."""
    return [_read(workspace, name) for name in writes.copy_names(workspace)]


def _read(workspace: paths.Workspace, name: str) -> Copy:
    stem = f"{writes.COPIES}/{name}"
    about = writes.read_about(workspace, f"{stem}.told") or writes.read_about(workspace, f"{stem}.json") or {}
    with records.translated(stem):
        ours = workspace.kept.read(f"{stem}.md")
        is_whole = workspace.kept.is_file(f"{stem}.base")
        base = workspace.kept.read(f"{stem}.base") if is_whole else b""
    return Copy(name, str(about.get("note", "")), ours, base, frozenset(map(str, about.get("back", ()))))


def read(workspace: paths.Workspace, copy: Copy) -> bytes:
    """Return the current bytes of a copy's note; b"" if the note is unknown or cannot be read."""
    with suppress(OSError):
        return workspace.files.read(copy.note, links=True) if copy.note else b""
    return b""


def save(workspace: paths.Workspace, copy: Copy) -> None:
    """Write a copy, or delete it if it has no line to restore or remove; the caller holds the notes lock."""
    if not (copy.lines() or copy.back):
        writes.discard(workspace, copy.name)
        return
    for ending, data in (("md", copy.ours), ("base", copy.base)):
        with records.translated(path := f"{writes.COPIES}/{copy.name}.{ending}"):
            workspace.kept.exchange(path, data, alone=True)


def restore(workspace: paths.Workspace, copy: Copy) -> tuple[int, int]:
    """Merge a copy into its note and delete it; return the numbers of lines added and removed.

    Raises NoteNotFound if the note of the copy is unknown, NoteUnreadable, LockTimeout.
    """
    if not copy.note:
        name = paths.shown(workspace.state / writes.COPIES / f"{copy.name}.md")
        raise NoteNotFound(name, reason="its note is not known; copy what you miss by hand")
    return put_back(workspace, copy.note, [copy])


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
        merged = merge(workspace, document, found)
        if not check(document, merged):
            raise PreviewOutdated([note])
        old, new = writes.said(document.data), writes.said(merged.data)
        counts = (new - old).total(), (old - new).total()
        return merged

    writes.replace(workspace, workspace.root / note, compose)
    for copy in found:
        writes.discard(workspace, copy.name)
    return counts


def merge(workspace: paths.Workspace, document: Document, found: Iterable[Copy]) -> Document:
    """Return a note merged with the lines of copies, and without the lines of their `back`."""
    for copy in found:
        record = writes.guard(workspace, copy.note)
        stays = [
            n for n, line in enumerate(document.bare) if not copy.back or record.hash(line) not in copy.back
        ]
        theirs = [document.bare[n].rstrip() for n in stays]
        base, ours = (Document.read(side, copy.note) for side in (copy.base, copy.ours))
        rows = diffs.merge(_rows(base), _rows(ours), theirs)
        end = next((end for n in range(1, len(document.lines) + 1) if (end := document.end(n))), "\n")
        texts = [ours.bare[at] + end if is_ours else document.lines[stays[at]] for is_ours, at in rows]
        whole = [text if text.endswith(("\n", "\r")) else text + end for text in texts[:-1]]
        document = document.with_text("".join([*whole, *texts[-1:]]))
    return document


def _rows(document: Document) -> list[str]:
    return [line.rstrip() for line in document.bare]
