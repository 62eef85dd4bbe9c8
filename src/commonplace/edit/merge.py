"""A note edited by hand while this memory writes into it: what the editor saved over, and both put together.

While an editor is open the note is read now and then, so that what stood there before the editor saved is
known, and where. What came and went between two looks is known from the record of writes (decision 26).

The versions of the note lie in `.commonplace/editing/` until that is settled, where a forgetting reaches
them: what was forgotten meanwhile is not put back. This process keeps keyed hashes of their lines alone, by
which it knows what was forgotten and stands in the note again because the editor still had it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from itertools import islice, pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

from commonplace.base import paths, records, remedies, signature
from commonplace.base.errors import CommonplaceError, NoteUnreadable, PreviewOutdated
from commonplace.base.locks import LockTimeout, is_held, locked
from commonplace.base.tuples import NamedTuple
from commonplace.changes import diffs, forget, runs
from commonplace.markdown.document import Document
from commonplace.notes import writes
from commonplace.types.changes import Change, Erased
from commonplace.types.store import Site, Targets

FOLDER = f"{paths.DERIVED_FOLDER}/editing"
_KIND = "editing"  # what lines are hashed as
_LOOK_S = 0.1  # between two looks at the note
_RUNS = 100  # of the log of changes that are looked through
_VERSIONS, _BYTES = 200, 1 << 26  # of a note that are kept: some editors save every second


class Overwritten(NamedTuple):
    """A note as an editor left it, and with what it lacks put back; copies hold the lines that are gone.

    `saved` is None for a note that was deleted.
    """

    note: str
    saved: bytes | None
    merged: bytes
    copies: tuple[writes.Copy, ...]

    @property
    def diff(self) -> str:
        """What is put back, as a unified diff."""
        return diffs.of_change(Change(self.note, self.saved, self.merged))


class _Version(NamedTuple):
    """A note as a look found it: its file, what hashes of it and of its lines are, whether we wrote it.

    `said` are hashes of the lines without the blanks around them, empty for a line of blanks alone. `state`
    is the inode of the file and its time, `replaced` those of the one whose place it took, if we wrote it.
    """

    file: str
    size: int
    digest: str
    lines: tuple[str, ...]
    said: tuple[str, ...]
    state: tuple[int, int]
    replaced: tuple[int, int] | None


class Editing:
    """A note from before an editor opens it until what the editor saved over is put back.

    with Editing(workspace, path) as editing:
        editors.run(argv)
        found, said = editing.overwritten()
    """

    after: bytes | None  # as the editor left it; None where no note is left
    trouble: NoteUnreadable | None = None  # why none is left

    def __init__(self, workspace: paths.Workspace, path: Path) -> None:
        """Take a note and the workspace that it is of."""
        self._workspace, self._path = workspace, path
        self._note = os.path.relpath(os.path.realpath(path), os.path.realpath(workspace.root))
        self._id, self._key = os.urandom(4).hex(), os.urandom(16)
        self._first: _Version | None = None  # None where no version can be kept
        self._versions: deque[_Version] = deque()
        self._number = 0  # of versions so far
        self._ended = threading.Event()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self._plain, self._since = self._content(), time.time_ns()
        if not self._note.startswith(os.pardir):
            with suppress(CommonplaceError, OSError):  # who may not write there has nothing to follow
                self._held.enter_context(locked(_lock(self._workspace, self._id)))
                _tidy(self._workspace)
                with locked(self._notes_lock):
                    self._look()
                self._first, self._plain = self._versions[0], b""
        self._known = {copy.name for copy in writes.copies(self._workspace)}
        self._thread = threading.Thread(target=self._follow, name="commonplace-editing", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._held.close()
        if self._first:
            _tidy(self._workspace)

    def _stop(self) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def _notes_lock(self) -> Path:
        return paths.lock_file(self._workspace, "notes")

    @property
    def is_open_elsewhere(self) -> bool:
        """Whether another program of ours has the same note in an editor."""
        opened = map(_opened, writes.listed(self._workspace, FOLDER))
        return any(one != self._id and key == writes.key_of(self._note) for one, key in opened)

    @property
    def before(self) -> bytes:
        """The note as the editor opened it, without what was forgotten since."""
        return self._text(self._first) if self._first else self._plain

    @property
    def added(self) -> int:
        """How many lines this memory was seen to write meanwhile."""
        return sum(diffs.counted(before, after)[0] for before, after in self._written())

    def _content(self) -> bytes:
        """Read the note. Raises NoteUnreadable."""
        try:
            return paths.root_of(self._path).read(self._path)
        except OSError as error:
            raise NoteUnreadable(paths.shown(self._path), paths.reason(error)) from error

    # --- versions -----------------------------------------------------------------------------------

    def _follow(self) -> None:
        last = None
        while self._first and not self._ended.wait(_LOOK_S):
            with suppress(NoteUnreadable, OSError):
                status = paths.root_of(self._path).stat(self._path)
                if last == (state := (status.st_ino, status.st_size, status.st_mtime_ns)):
                    continue
                # Read and kept under one lock: what is forgotten in between would be kept.
                with suppress(LockTimeout), locked(self._notes_lock, timeout_s=_LOOK_S):
                    self._look()
                    last = state

    def _look(self) -> None:
        """Keep the note as it is, if that is a new version of it."""
        with paths.root_of(self._path).open(self._path) as opened:
            data, status = opened.read(), os.fstat(opened.fileno())
        digest, state = runs.digest(data), (status.st_ino, status.st_mtime_ns)
        # An editor truncates a note before it writes.
        if self._versions and (not data or digest == self._versions[-1].digest):
            return
        guard = writes.guard(self._workspace, self._note)
        replaced = guard.record.old if self._versions and guard.wrote(data) else None
        file = f"{FOLDER}/{self._id}-{writes.key_of(self._note)}-{self._number}.md"
        self._number += 1
        self._workspace.files.create(file, data)
        document = Document.read(data, self._note)
        lines, said = map(self._hash, document.lines), map(self._said, document.bare)
        replaced = (replaced[0], replaced[1]) if replaced else None
        version = _Version(file, len(data), digest, tuple(lines), tuple(said), state, replaced)
        self._versions.append(version)
        while len(self._versions) > _VERSIONS or sum(one.size for one in self._versions) > _BYTES:
            if len(self._versions) <= 2:
                break
            dropped = self._versions.popleft()
            if dropped is not self._first:
                self._workspace.files.unlink(dropped.file, missing_ok=True)

    def _hash(self, line: str) -> str:
        return signature.sign(self._key, _KIND, line.encode("utf-8", "surrogatepass"))

    def _said(self, line: str) -> str:
        text = line.strip()
        return self._hash(text) if text else ""

    def _text(self, version: _Version) -> bytes:
        """A version without what was forgotten since."""
        with records.translated(version.file), suppress(FileNotFoundError):
            return self._workspace.files.read(version.file)
        return b""

    def _written(self) -> list[tuple[bytes, bytes]]:
        """The note before and after each time that this memory wrote it, as far as that was seen.

        Such a version stands in the record of writes or the log of changes; the others are the editor's.
        """
        recent = islice(runs.newest_first(self._workspace), _RUNS)
        files = [file for run in recent for file in run.files if file.path == self._note]
        logged = {file.after: file.before for file in reversed(files)}
        written: list[tuple[bytes, bytes]] = []
        was_ours = False
        for last, version in pairwise(self._versions):
            before, after = self._text(last), self._text(version)
            stood = {logged.get(version.digest), logged.get(runs.digest(after))} - {None}
            is_ours = bool(version.replaced or stood)
            # Where something else stood there between two looks, no more is known than what came.
            if version.replaced != last.state and stood.isdisjoint((last.digest, runs.digest(before))):
                before, was_ours = _common(before, after), False
            if is_ours:
                written.append((written.pop()[0] if was_ours else before, after))
            was_ours = is_ours
        return written

    # --- what is put back ---------------------------------------------------------------------------

    def overwritten(self) -> tuple[Overwritten | None, list[str]]:
        """Return what an editor that has ended saved over, None for nothing, and what else is to be said.

        Lines that are gone lie in copies, whether they are put back or not. Raises NoteUnreadable.
        """
        self._stop()
        try:
            self.after, self.trouble = self._content(), None
        except NoteUnreadable as error:
            self.after, self.trouble = None, error
        is_ours = os.access(self._workspace.derived, os.W_OK)
        said = writes.check(self._workspace) if is_ours else []
        fresh = [copy for copy in writes.copies(self._workspace) if copy.name not in self._known]
        mine = [copy for copy in fresh if copy.note == self._note]
        others = [one for one in said if not any(copy.name in one for copy in mine)]
        merged, saved = self._merged(mine), self.after or b""
        lost = _lines(merged) - _lines(saved)
        lost -= Counter(line.strip() for copy in mine for line in copy.lines)
        lines = merged.decode("utf-8", "surrogateescape").splitlines() if lost and is_ours else []
        if lines := [line for line in lines if lost[line.strip()] and not self._was_open(line)]:
            mine.append(writes.keep(self._workspace, self._note, list(dict.fromkeys(lines))))
        if merged == saved:
            return None, others
        if self.trouble and os.path.lexists(self._path):  # a link or a folder, which nothing is written into
            kept = (remedies.say("restore", copy.name, "it") for copy in mine)
            gone = f"{paths.shown(self._note)} lacks what was written into it meanwhile;"
            return None, [*others, *(f"{gone} {how}" for how in kept)]
        return Overwritten(self._note, self.after, merged, tuple(mine)), others

    def put_back(self, found: Overwritten) -> int:
        """Write the note with what its editor saved over, delete the copies; return how many lines came back.

        Raises PreviewOutdated where the note is another by now, or some of it was forgotten, AccessDenied,
        NoteUnreadable, LockTimeout.
        """
        names = {copy.name for copy in found.copies}

        def compose(document: Document) -> Document:
            copies = [copy for copy in writes.copies(self._workspace) if copy.name in names]
            if document.data != (found.saved or b"") or self._merged(copies) != found.merged:
                raise PreviewOutdated([found.note])
            return Document.read(found.merged, found.note)

        writes.replace(self._workspace, self._workspace.root / found.note, compose)
        for copy in found.copies:
            writes.discard(self._workspace, copy)
        return (_lines(found.merged) - _lines(found.saved or b"")).total()

    def _merged(self, copies: Iterable[writes.Copy]) -> bytes:
        """The note as the editor left it, with what it saved over and without what was forgotten."""
        document = Document.read(self.after or b"", self._note).checked()
        for before, after in self._written():
            if not _stands(before, after, document.data):
                document = _with(before, after, document)
        for version in self._versions:
            document = self._without_forgotten(version, document)
        gone = [line for copy in copies for line in copy.lines if not self._was_open(line)]
        if self.after is None:  # of which no check makes copies
            gone += writes.written_since(self._workspace, self._note, self._since)
        document = writes.completed(document, list(dict.fromkeys(gone)))
        return document.data if document.data == (self.after or b"") else self._not_moved(document)

    def _was_open(self, line: str) -> bool:
        """Whether a line stood there when the editor read the note: who edited it has taken it out."""
        said = self._first.said if self._first else map(self._said, _lines(self._plain))
        return self._said(line) in said

    def _without_forgotten(self, version: _Version, document: Document) -> Document:
        """A note without the lines that a version has no more: they were forgotten since it was kept."""
        text = self._text(version)
        if runs.digest(text) == version.digest:
            return document
        rest = Document.read(text, self._note)
        there = Counter(map(self._said, document.bare)) - Counter(map(self._said, rest.bare))
        if not (Counter(version.said) - Counter(map(self._said, rest.bare))) & there:
            return document
        lines = {self._hash(line): line for one in (rest, document) for line in one.lines}

        def hashed(hashes: Iterable[str]) -> bytes:
            return "".join(f"{one}\n" for one in hashes).encode()

        after, now = (hashed(map(self._hash, one.lines)) for one in (rest, document))
        with suppress(diffs.Overlap):
            merged = diffs.revert(after, hashed(version.lines), now).decode().split()
            return document.with_text("".join(lines[one] for one in merged))
        return _placed(version.said, rest, document, self._said, only_there=True)

    def _not_moved(self, document: Document) -> bytes:
        """A note without lines that were put back and stand where it was moved to.

        Of a note that is gone, without those that stand in any other note.
        """
        inodes = {version.state[0] for version in self._versions}
        elsewhere: set[str] = set()
        for path in writes.known_notes(self._workspace).values():
            with suppress(OSError):
                is_moved = path != self._note and self._workspace.files.stat(path).st_ino in inodes
                if self.after is None or is_moved:
                    elsewhere |= _lines(self._workspace.files.read(path)).keys()
        elsewhere -= _lines(self.after or b"").keys()
        rest = document.delete(
            [n for n, line in enumerate(document.bare, 1) if line.strip() in elsewhere]
        ).document
        titles = {line for heading in rest.headings for line in rest.bare[heading.line - 1 : heading.line]}
        is_empty = self.after is None and all(line in titles for line in rest.bare if line.strip())
        return b"" if is_empty else rest.data


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the versions of notes in editors that hold any of it; cut it out of them to `change`."""
    workspace, erased = site.workspace, []
    with locked(paths.lock_file(workspace, "notes")) if change else nullcontext():
        names = writes.listed(workspace, FOLDER)
        notes = writes.known_notes(workspace) if names else {}
        gone = set(map(writes.key_of, targets.notes))
        for name in names:
            path, key = f"{FOLDER}/{name}", _opened(name)[1]
            with records.translated(path), suppress(FileNotFoundError):  # the editor has ended
                data = workspace.files.read(path)
                rest = None if key in gone else forget.edited(workspace, notes.get(key, path), data, targets)
                if rest != data:
                    erased.append(Erased("copies", path))
                    if change:
                        workspace.files.exchange(path, rest) if rest else workspace.files.unlink(path)
    return erased


def _lock(workspace: paths.Workspace, opened: str) -> Path:
    return paths.lock_file(workspace, f"editing-{opened}")


def _opened(name: str) -> tuple[str, str]:
    """By whom a version is kept, and the key of its note, as its name says."""
    one, _, rest = name.partition("-")
    return one, rest.partition("-")[0]


def _tidy(workspace: paths.Workspace) -> None:
    """Remove the versions of those who have ended, or were killed."""
    names = writes.listed(workspace, FOLDER)
    ended = {one for one, _ in map(_opened, names) if not is_held(_lock(workspace, one))}
    for name in names:
        if _opened(name)[0] in ended:
            with suppress(OSError):
                workspace.files.unlink(f"{FOLDER}/{name}", missing_ok=True)
    for lock in (_lock(workspace, one) for one in ended):
        for path in (lock, lock.with_suffix(".queue")):
            with suppress(OSError):
                workspace.files.unlink(path, missing_ok=True)


# --- lines ---------------------------------------------------------------------------------------------


def _lines(data: bytes) -> Counter[str]:
    """The lines of a note that say something, without the blanks around them."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return Counter(text for line in lines if (text := line.strip()))


def _common(before: bytes, after: bytes) -> bytes:
    """The lines of the second of two texts that the first has as well."""
    there, lines = _lines(before), []
    for line in diffs.split(after):
        text = line.decode("utf-8", "surrogateescape").strip()
        if not text or there[text]:
            there[text] -= 1
            lines.append(line)
    return b"".join(lines)


def _stands(before: bytes, after: bytes, now: bytes) -> bool:
    """Whether a note holds what a write put in, and nothing more of what it took out."""
    old, new, current = map(_lines, (before, after, now))
    return not ((new - old) & (new - current) or (old - new) & (current - new))


def _with(before: bytes, after: bytes, document: Document) -> Document:
    """A note with a write in it: at its place, or at the end of its section where that place was changed."""
    with suppress(diffs.Overlap):
        return Document.read(diffs.revert(after, before, document.data), document.path)
    old, new = (Document.read(data, document.path) for data in (before, after))
    return _placed([line.strip() for line in old.bare], new, document, str.strip)


def _placed(
    before: Sequence[str],
    after: Document,
    document: Document,
    key: Callable[[str], str],
    *,
    only_there: bool = False,
) -> Document:
    """A note with a change in it: new lines in the place of the old ones, or at the end of their section.

    Lines are compared by their keys, empty for a line of blanks. `only_there` leaves out what has no place.
    """
    new, now = list(map(key, after.bare)), list(map(key, document.bare))
    old_count, new_count, now_count = map(Counter, (before, new, now))
    lost = (new_count - old_count) & (new_count - now_count)
    taken = (old_count - new_count) & (now_count - new_count)
    del lost[""], taken[""]
    changed: dict[int, str] = {}
    gone: set[int] = set()
    placeless: list[int] = []
    for first, last, new_first, new_last in diffs.hunks(before, new):
        places = []
        for at in range(first, last):
            if taken[before[at]]:
                taken[before[at]] -= 1
                same = [place for place, one in enumerate(now) if one == before[at] and place not in gone]
                beside = (place for place in same if at and place and now[place - 1] == before[at - 1])
                places.append(next(beside, same[0]))
                gone.add(places[-1])
        fresh = []
        for at in range(new_first, new_last):
            if lost[new[at]]:
                lost[new[at]] -= 1
                fresh.append(at)
        if places and fresh:
            end = document.end(places[0] + 1)
            changed[places[0]] = (end or "\n").join(after.bare[at] for at in fresh) + end
        else:
            placeless += fresh
    rows = [changed.get(at, "" if at in gone else line) for at, line in enumerate(document.lines)]
    document = document.with_text("".join(rows))
    for at in () if only_there else placeless:
        above = [heading for heading in after.headings if heading.line <= at + 1 and heading.level > 1]
        document = document.insert(after.bare[at], heading=above[-1].text if above else None).document
    return document
