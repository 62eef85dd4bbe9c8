"""A note edited by hand while this memory writes into it: what the editor saved over, and both put together.

While an editor is open the note is read now and then, so that what stood there before the editor saved is
known, and where. What came and went between two looks is known from the record of writes (decision 26).
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable, PreviewOutdated
from commonplace.base.tuples import NamedTuple
from commonplace.changes import diffs, runs
from commonplace.markdown.document import Document
from commonplace.notes import writes
from commonplace.types.changes import Change

_LOOK_S = 0.1  # between two looks at the note
_RUNS = 100  # of the log of changes that are looked through
_VERSIONS = 200  # of a note that are kept: some editors save every second
_Versions = tuple[bytes, bytes]  # of a note, before and after a write of this memory


class Overwritten(NamedTuple):
    """A note as an editor left it, and with what it lacks put back; copies hold the lines that are gone."""

    note: str
    saved: bytes
    merged: bytes
    copies: tuple[writes.Copy, ...]

    @property
    def diff(self) -> str:
        """What is put back, as a unified diff."""
        return diffs.of_change(Change(self.note, self.saved, self.merged))


class Editing:
    """A note from before an editor opens it until after it has ended.

    with Editing(workspace, path) as editing:
        editors.run(argv)
    found = editing.overwritten()
    """

    def __init__(self, workspace: paths.Workspace, path: Path) -> None:
        """Take a note and the workspace that it is of."""
        self._workspace, self._path = workspace, path
        self._note = os.path.relpath(os.path.realpath(path), os.path.realpath(workspace.root))
        # before, after, and whether that was the last write of this memory
        self._seen: deque[tuple[bytes, bytes, bool]] = deque(maxlen=_VERSIONS)
        self._written: list[_Versions] = []
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.before = self.after = self._content()
        self._known = {copy.name for copy in writes.copies(self._workspace)}
        self._thread = threading.Thread(target=self._follow, name="commonplace-editing", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._written = self._by_this_memory()
        self.after = self._content()

    def _content(self) -> bytes:
        """Read the note. Raises NoteUnreadable."""
        try:
            return paths.root_of(self._path).read(self._path)
        except OSError as error:
            raise NoteUnreadable(paths.shown(self._path), paths.reason(error)) from error

    def _follow(self) -> None:
        last, state = self.before, None
        while not self._ended.wait(_LOOK_S):
            with suppress(NoteUnreadable, OSError):
                if state == (state := self._state()):
                    continue
                data = self._content()
                if data in (last, b""):  # which an editor truncates before it writes
                    continue
                self._seen.append((last, data, writes.guard(self._workspace, self._note).wrote(data)))
                last = data

    def _by_this_memory(self) -> list[_Versions]:
        """Changes that stand in the record of writes or the log of changes; the others are the editor's."""
        recent = islice(runs.newest_first(self._workspace), _RUNS)
        logged = {file.after for run in recent for file in run.files if file.path == self._note}
        written: list[_Versions] = []
        for before, after, is_last in self._seen:
            if is_last or runs.digest(after) in logged:
                is_next = written and written[-1][1] == before
                written.append((written.pop()[0] if is_next else before, after))
        return written

    def _state(self) -> tuple[int, int, int]:
        status = paths.root_of(self._path).stat(self._path)
        return status.st_ino, status.st_size, status.st_mtime_ns

    @property
    def added(self) -> int:
        """How many lines this memory was seen to write meanwhile."""
        return sum(diffs.counted(before, after)[0] for before, after in self._written)

    def overwritten(self) -> tuple[Overwritten | None, list[str]]:
        """Return what the editor saved over, None for nothing, and what is to be said of other notes.

        Raises NoteUnreadable.
        """
        is_ours = os.access(self._workspace.derived, os.W_OK)
        said = writes.check(self._workspace) if is_ours else []
        fresh = [copy for copy in writes.copies(self._workspace) if copy.name not in self._known]
        mine = tuple(copy for copy in fresh if copy.note == self._note)
        others = [one for one in said if not any(copy.name in one for copy in mine)]
        document = Document.read(self.after, self._note)
        for versions in self._written:
            if not _stands(versions, document.data):
                document = _with(versions, document)
        # What stood there when the editor read the note was taken out by who edited it.
        gone = [line for copy in mine for line in copy.lines if line.strip() not in _texts(self.before)]
        document = writes.completed(document, gone)
        if document.data == self.after:
            return None, others
        return Overwritten(self._note, self.after, document.data, mine), others


def put_back(workspace: paths.Workspace, found: Overwritten) -> int:
    """Write a note with what its editor saved over, and delete the copies; return how many lines came back.

    Raises PreviewOutdated where the note is another by now, AccessDenied, NoteUnreadable, LockTimeout.
    """

    def compose(document: Document) -> Document:
        if document.data != found.saved:
            raise PreviewOutdated([found.note])
        return Document.read(found.merged, found.note)

    writes.replace(workspace, workspace.root / found.note, compose)
    for copy in found.copies:
        writes.discard(workspace, copy)
    return _more(found.merged, found.saved).total()


def _texts(data: bytes) -> Counter[str]:
    """The lines of a note that say something, without the blanks around them."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return Counter(text for line in lines if (text := line.strip()))


def _more(one: bytes, other: bytes) -> Counter[str]:
    """The lines that a text has more often than another."""
    return _texts(one) - _texts(other)


def _stands(versions: _Versions, now: bytes) -> bool:
    """Whether a note holds what a write put in, and nothing more of what it took out."""
    before, after = versions
    lost = _more(after, before) & _more(after, now)
    return not (lost or _more(before, after) & _more(now, after))


def _with(versions: _Versions, document: Document) -> Document:
    """A note with a write in it: at its place, or at the end of its section where that place was changed."""
    before, after = versions
    with suppress(diffs.Overlap):
        return Document.read(diffs.revert(after, before, document.data), document.path)
    source = Document.read(after, document.path)
    lost = _more(after, before) & _more(after, document.data)
    for number, line in enumerate(source.bare, 1):
        if lost[line.strip()]:
            above = [heading for heading in source.headings if heading.line <= number and heading.level > 1]
            document = document.insert(line, heading=above[-1].text if above else None).document
    return document
