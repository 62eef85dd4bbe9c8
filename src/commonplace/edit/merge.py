"""A note edited by hand while this memory writes into it: what the editor saved over, and both put together.

Whatever an editor saves over is found and kept as after any other program (`notes.writes`). Here more is
known: what the note held when it was opened. A line of that which is gone was taken out by who edited it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.locks import is_held, locked
from commonplace.base.tuples import NamedTuple
from commonplace.changes import diffs, overwritten
from commonplace.markdown.document import Document
from commonplace.notes import writes
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
        """What is put back, as a unified diff."""
        return diffs.of_change(Change(self.note, self.saved, self.merged))


class Editing:
    """A note from before an editor opens it until what the editor saved over is put back.

    with Editing(workspace, path) as editing:
        editors.run(argv)
        found, said = editing.overwritten()
    """

    before: bytes  # the note as the editor opened it, without what was forgotten since
    after: bytes | None  # as the editor left it; None where no note is left
    trouble: NoteUnreadable | None = None  # why none is left
    added: int = 0  # lines that this memory wrote meanwhile

    def __init__(self, workspace: paths.Workspace, path: Path) -> None:
        """Take a note and the workspace that it is of."""
        self._workspace, self._path = workspace, path
        self._note = os.path.relpath(os.path.realpath(path), os.path.realpath(workspace.root))
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self.before = self._content()
        self._removed = set(self._record.record.removed)
        self._known = set(writes.copy_names(self._workspace))
        lock = paths.lock_file(self._workspace, f"editing-{writes.key_of(self._note)}")
        self.is_open_elsewhere = is_held(lock)  # whether another program of ours has it in an editor
        with suppress(CommonplaceError, OSError):  # who may not write there has nothing to follow
            if not self.is_open_elsewhere:
                self._held.enter_context(_alone(self._workspace, lock))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

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
        """Return what an editor that has ended saved over, None for nothing, and what else is to be said.

        Lines that are gone lie in copies, whether they are put back or not. Raises NoteUnreadable.
        """
        try:
            self.after, self.trouble = self._content(), None
        except NoteUnreadable as error:
            self.after, self.trouble = None, error
        self._look_back()
        said = writes.check(self._workspace, {self._note: self.before})
        fresh = [copy for copy in overwritten.copies(self._workspace) if copy.name not in self._known]
        mine = tuple(copy for copy in fresh if copy.note == self._note)
        others = [one for one in said if not any(copy.name in one for copy in mine)]
        document = Document.read(self.after or b"", self._note).checked()
        merged = overwritten.merge(self._workspace, document, mine)
        if merged.data == document.data:
            return None, others
        if self.trouble and os.path.lexists(self._path):  # a link or a folder, which nothing is written into
            return None, said
        return Overwritten(self._note, self.after, merged.data, mine), others

    def _look_back(self) -> None:
        """Count what was written since the note was opened; drop from `before` what was forgotten since."""
        record = self._record
        if gone := set(record.record.removed) - self._removed:
            document, known = Document.read(self.before, self._note), record.known()
            lines = [
                line for line in document.lines if line.strip() in known or record.hash(line) not in gone
            ]
            self.before = document.with_text("".join(lines)).data
        ours = writes.said(record.standing() or b"") - writes.said(self.before) - record.others()
        self.added = ours.total()

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


@contextmanager
def _alone(workspace: paths.Workspace, lock: Path) -> Iterator[None]:
    """Hold a lock, whose files go with it. Raises NoteUnreadable."""
    with locked(lock, timeout_s=0):
        yield
        for path in (lock, lock.with_suffix(".queue")):
            with suppress(OSError):
                workspace.kept.unlink(path, missing_ok=True)
