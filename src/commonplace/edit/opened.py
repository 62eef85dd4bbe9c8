"""A note edited by hand while this memory writes into it: what the editor saved over, and both put together.

Whatever an editor saves over is found and kept as after any other program (`storage.overwritten`). Here more
is known: what the note held when it was opened. A line of that which is gone was taken out by who edited it.
"""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import Self

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.markdown.document import Document
from commonplace.storage import diffs, journal, overwritten, writes
from commonplace.types.changes import Change


class Overwritten(NamedTuple):
    """A note as an editor left it, and with what it lacks put back; copies hold the lines that are gone.

    `saved` is None for a note that was deleted.
    """

    note: str
    saved: bytes | None
    merged: bytes
    copies: tuple[overwritten.Copy, ...]

    @property
    def diff(self) -> str:
        """The lines that are put back, as a unified diff."""
        return diffs.of_change(Change(self.note, self.saved, self.merged))


class Editing:
    """A note from before an editor opens it until what the editor saved over is put back.

    with Editing(workspace, path) as editing:
        editors.run(argv)
        found, said = editing.overwritten()
    """

    before: bytes  # the note as the editor opened it, without what was forgotten since
    after: bytes | None  # as the editor left it; None where no note is left
    trouble: NoteUnreadable | None = None  # the reason of a missing note

    def __init__(self, workspace: paths.Workspace, path: Path) -> None:
        """Take a note and the workspace that it is of."""
        self._workspace, self._path = workspace, path
        self._note = os.path.relpath(os.path.realpath(path), os.path.realpath(workspace.root))

    def __enter__(self) -> Self:
        self.before = self._content()
        self._removed = self._record.removed
        self._last = next((run.id for run in journal.newest_first(self._workspace)), "")
        self._known = {copy.name for copy in overwritten.copies(self._workspace)}
        return self

    def __exit__(self, *_: object) -> None:
        """End; what was overwritten stays in its copies."""

    @property
    def _record(self) -> writes.Writes:
        return writes.guard(self._workspace, self._note)

    def _content(self) -> bytes:
        """Read the note. Raises NoteUnreadable."""
        try:
            return paths.root_of(self._path).read(self._path)
        except OSError as error:
            raise NoteUnreadable(paths.shown(self._path), paths.reason(error)) from error

    def overwritten(self) -> tuple[Overwritten | None, list[str]]:
        """Return the overwritten lines (None: all are there) and further warnings, once the editor has ended.

        Lines that are gone lie in copies, whether they are put back or not. Raises NoteUnreadable.
        """
        try:
            self.after, self.trouble = self._content(), None
        except NoteUnreadable as error:
            self.after, self.trouble = None, error
        since = takewhile(lambda run: run.id > self._last, journal.newest_first(self._workspace))
        if any(run.about.kind == "forget" for run in since):
            document = Document.read(self.before, self._note)
            stays = writes.staying(document.bare, self._record.removed - self._removed)
            self.before = document.with_text("".join(document.lines[n] for n in stays)).data
        said = overwritten.check(self._workspace, {self._note: self.before})
        fresh = [copy for copy in overwritten.copies(self._workspace) if copy.name not in self._known]
        mine = tuple(copy for copy in fresh if copy.note == self._note)
        others = [one for one in said if not any(copy.name in one for copy in mine)]
        document = Document.read(self.after or b"", self._note).checked()
        merged = overwritten.merge(document, mine)
        if merged.data == document.data:
            return None, others
        if self.trouble and os.path.lexists(self._path):  # a link or a folder, which is never written into
            return None, said
        return Overwritten(self._note, self.after, merged.data, mine), others

    def put_back(self, found: Overwritten) -> int:
        """Write the note with what its editor saved over, delete the copies; return how many lines came back.

        Raises PreviewOutdated where the note is another by now, or some of it was forgotten, AccessDenied,
        NoteUnreadable, LockTimeout.
        """
        names = {copy.name for copy in found.copies}
        copies = [copy for copy in overwritten.copies(self._workspace) if copy.name in names]

        def check(old: Document, new: Document) -> bool:
            return (old.data, new.data) == (found.saved or b"", found.merged)

        return overwritten.put_back(self._workspace, found.note, copies, check)[0]
