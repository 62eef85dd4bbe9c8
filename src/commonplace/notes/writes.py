"""What we wrote into notes lately, and what became of it beside editors that save what they read before.

An editor that read a note, and saves it after we added a line, saves it without that line. Whether somebody
took the line out on purpose cannot be known, so nothing is put back: the next write or sync finds that it is
gone, keeps a copy, and says so once. It keeps nothing where the line was seen: a later line of ours still
stands, or a version that somebody saved before had it; nor where it was moved, or edited a little. It keeps a
copy and says nothing where one entry was taken out and nothing else was changed, or where a line that shares
most of its words stands in its place: an old buffer brings changes of its own, and loses whatever came after.

`.commonplace/writes/` holds a signed record for each note, and files that were replaced, for programs that
had them open and write into them later. `.commonplace/overwritten/` holds the copies: a file for each, whose
name says when, and of which note. They are listed, put back and deleted here as well.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from commonplace.base import atomic, paths, records, remedies, swap
from commonplace.base.errors import CommonplaceError, NoteNotFound, NoteUnreadable
from commonplace.base.locks import LOCK_WAIT_S, LockTimeout, locked
from commonplace.base.root import PRIVATE_FILE, Root, Unsafe, open_regular
from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    from commonplace.markdown.document import Document
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

FOLDER = f"{paths.DERIVED_FOLDER}/writes"
COPIES = f"{paths.DERIVED_FOLDER}/overwritten"
_KIND = "writes"  # what is signed
# Bounds are numbers and no ages: a clock that was set a day ahead would drop everything at once.
_MOST_RECORDS = 30  # notes that were written last
_LINES, _LINE_BYTES = 200, 32_000  # that are remembered of a note
_SUMS = 2_000  # lines of a note, beyond which nobody looks for edited ones
_LATE_S = 5.0  # how long what was replaced is kept where the system does not say who has it open
_MOST_KEPT, _MOST_COPIES = 200, 1_000
TAKEN_OUT = ".taken"  # at the end of the name of a copy that nobody is told of
_ALIKE = 0.8  # of two lines, one of which was edited to become the other
_PERHAPS = 0.6  # of two lines, one of which may have been edited to become the other
_BULLET = re.compile(r"\s*(?:[-*+]\s+)?(?:\d\d:\d\d\s+)?")


class Line(NamedTuple):
    """A line that we wrote: when (nanoseconds), and whether the note held these words already."""

    at: int
    text: str
    is_repeated: bool = False


@dataclass
class Record:
    """The last write into a note, and the lines of ours that nobody else has been seen to know."""

    note: str
    inode: int = 0  # of the file that was written
    old: tuple[int, int] = (0, 0)  # inode and time (nanoseconds) of the one that it replaced
    after: str = ""  # digest of what was written, empty for no file
    size: int = 0
    lines: list[Line] = field(default_factory=list)
    sums: str = ""  # a checksum for each line of the note, 8 digits
    kept: dict[str, str] = field(default_factory=dict)  # files that were replaced, digests of what was read
    pending: str = ""  # the one of them that is about to be replaced

    @property
    def counted_sums(self) -> Counter[str]:
        """How often the note has each checksum."""
        return Counter(self.sums[at : at + 8] for at in range(0, len(self.sums), 8))


class Writes:
    """The record of one note; made and used under the lock of notes. What `atomic.Guard` asks for."""

    def __init__(self, workspace: paths.Workspace, note: str, record: Record | None = None) -> None:
        """Take the record of a note, named relative to the workspace; read it where it is not given."""
        self.workspace, self.note = workspace, note
        self.key = key_of(note)
        self.record = record or _load_record(workspace, f"{FOLDER}/{self.key}.json") or Record(note)
        self._next = self.record
        self._hidden: list[Line] = []

    @property
    def expects_file(self) -> bool:
        """Whether the note was there when we wrote it last."""
        return bool(self.record.after)

    def wrote(self, data: bytes) -> bool:
        """Tell whether these are the bytes that we wrote last."""
        return _digest(data) == self.record.after

    def prepare(
        self, before: bytes | None, status: os.stat_result | None, after: bytes | None, inode: int
    ) -> None:
        """Look for what is gone of our lines, and note those of the next write. Raises NoteUnreadable."""
        now, written = time.time_ns(), after or b""
        old, new = _different(before or b"", written)
        taken_out, added = _more(old, new), _more(new, old)
        lines = [line for line in self._examined(before, status) if line.text not in taken_out]
        lines += [line for line in self._hidden if _holds(before, line.text)]
        lines += [Line(now, text, _holds(before, text)) for text in added]
        kept = dict(self.record.kept)
        pending = f"{self.key}-{now:x}.kept"
        if before is not None:
            kept[pending] = _digest(before)
        self._next = Record(
            self.note, inode, (status.st_ino, status.st_mtime_ns) if status else (0, 0), _digest(after),
            len(written), _newest(lines), _sums(written), kept, pending,
        )  # fmt: skip
        self._save(self._next)

    def hid(self, theirs: bytes, ours: bytes) -> None:
        """Watch over lines of others as over ours, for who read ours in the moment in which it hid theirs."""
        now = time.time_ns()
        hidden = [Line(now, text) for text in _more(theirs, ours)]
        self._hidden += hidden
        self.record.lines += hidden

    def keep(self, folder: int | None, name: str, base: bytes) -> None:
        """Take over what was replaced, until the next write or sync has looked at it again."""
        kept = self._next.pending
        if self._next.kept.get(kept) != _digest(base):  # a file of ours that was put back again
            kept = f"{self.key}-{time.time_ns():x}.kept"
            self._next.kept[kept] = self.record.kept[kept] = _digest(base)
            self._save(self._next)
        self._take(folder, name, kept)

    def recover(self, folder: int | None, name: str) -> None:
        """Take over what a writer left who was killed amid an exchange, unless he wrote it himself."""
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino != self.record.inode:
            self._take(folder, name, self.record.pending)

    def _take(self, folder: int | None, name: str, kept: str) -> None:
        # What lies on another disk cannot be kept, and is deleted by whoever offers it.
        with suppress(OSError), self.workspace.files.parent(f"{FOLDER}/{kept}", make=True) as (to, new):
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=to)

    def update(self) -> None:
        """Compare the record with the note as it is, for a sync. Raises NoteUnreadable."""
        try:
            with self.workspace.files.open(self.note, links=True) as file:
                data, status = file.read(), os.fstat(file.fileno())
                if _is_open(file) or not data:
                    return  # somebody writes it now: next time
        except OSError:
            return  # it is moved away, or not ours to read any more
        lines = self._examined(data, status)
        if lines is not self.record.lines:
            self.record = Record(
                self.note, 0, (0, 0), _digest(data), len(data), lines, _sums(data), self.record.kept
            )
            self._save(self.record)

    def _examined(self, data: bytes | None, status: os.stat_result | None) -> list[Line]:
        """Copy what a note lacks of ours; return the lines that an editor may still not know of."""
        record = self.record
        self._sweep(data or b"")
        if data is None or _digest(data) == record.after:
            return record.lines
        if status and (status.st_ino, status.st_mtime_ns) == tuple(record.old):
            return _without_last(record.lines)  # killed before it was exchanged
        gone = _gone(record, data)
        told, quiet = _judged(record, data, gone)
        self._copy(told)
        self._copy(quiet, is_quiet=True)
        record.lines = [line for line in record.lines if line not in gone]
        # Who only appended need not have read anything.
        appended = len(data) > record.size and _digest(data[: record.size]) == record.after
        return list(record.lines) if appended else []

    def _sweep(self, data: bytes) -> None:
        """Look at the files that were replaced; delete those that nobody can write into any more."""
        kept, files = self.record.kept, self.workspace.files
        for name, digest in list(kept.items()):
            try:
                with files.open(f"{FOLDER}/{name}") as file:
                    is_open = _is_open(file)
                    if is_open is None:
                        is_open = time.time() - os.fstat(file.fileno()).st_ctime < _LATE_S
                    if is_open and len(kept) < _MOST_KEPT:
                        continue
                    late = file.read()
            except OSError:  # it was never replaced, or is no file
                late = b""
            if late and _digest(late) != digest:
                self._copy(list(_more(late, data)), is_late=True)
            with suppress(OSError):
                files.unlink(f"{FOLDER}/{name}")
            del kept[name]

    def _copy(self, texts: Sequence[str], *, is_late: bool = False, is_quiet: bool = False) -> None:
        """Write lines down for the owner; whoever asks next is told, unless it `is_quiet`."""
        if not texts:
            return
        copy = _create_copy(self.workspace, f"{self.key}{TAKEN_OUT if is_quiet else ''}", texts)
        if not is_quiet:
            notice = {
                "note": self.note, "copy": copy, "lines": len(texts), "late": is_late, "first": texts[0],
            }  # fmt: skip
            _write(self.workspace, f"{copy.removesuffix('.md')}.json", notice)

    def _save(self, record: Record) -> None:
        _write(self.workspace, f"{FOLDER}/{self.key}.json", vars(record))


def keep(workspace: paths.Workspace, note: str, texts: Sequence[str]) -> Copy:
    """Write down lines that left a note, of which somebody is told. Raises NoteUnreadable, LockTimeout."""
    with locked(paths.lock_file(workspace, "notes")):
        path = _create_copy(workspace, key_of(note), texts)
    return Copy(Path(path).stem, note, tuple(texts), False)


def written_since(workspace: paths.Workspace, note: str, at: int) -> list[str]:
    """Return the lines that were written into a note since a time (ns), as far as its record knows."""
    return [line.text for line in Writes(workspace, note).record.lines if line.at >= at]


def _create_copy(workspace: paths.Workspace, ending: str, texts: Sequence[str]) -> str:
    """Write lines down for the owner, delete the oldest copies where there are too many; return the path."""
    copy = f"{COPIES}/{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}-{ending}.md"
    data = "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogateescape")
    with records.translated(copy):
        workspace.files.create(copy, data)
    copies = [name for name in workspace.files.names(COPIES) if name.endswith(".md")]
    for name in copies[:-_MOST_COPIES]:
        workspace.files.unlink(f"{COPIES}/{name}", missing_ok=True)
    return copy


def key_of(note: str) -> str:
    """Return what the names of all files about a note begin or end with."""
    return hashlib.sha256(note.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the copies and records that hold any of it, or are about a note that goes.

    To `change` it is cut out of copies as out of notes, and the records are removed.
    """
    from commonplace.types.changes import Erased

    workspace, door = site.workspace, site.workspace.files
    erased: list[Erased] = []
    with locked(paths.lock_file(workspace, "notes")) if change else nullcontext():
        for path in [f"{where}/{name}" for where in (FOLDER, COPIES) for name in listed(workspace, where)]:
            # A preview takes no lock, and a writer drops what it kept.
            with records.translated(path), suppress(FileNotFoundError):
                data = door.read(path)
                rest = _without(path, data, targets)
                if rest != data:
                    erased.append(Erased("copies", path))
                    if change:
                        door.exchange(path, rest) if rest else door.unlink(path)
    return erased


def _without(path: str, data: bytes, targets: Targets) -> bytes:
    """What is left of a copy; nothing of one of a forgotten note, nor of our own records of changed ones."""
    gone = [*targets.notes, *(known.path for known in targets.known if not path.endswith(".md"))]
    if any(key_of(note) in path for note in gone):
        return b""
    if path.endswith((".json", ".new")):
        return b"" if targets.matches(data.decode("utf-8", "replace"), escaped=True) else data
    rest = targets.edit(path, data)
    return rest if rest and (rest == data or path.endswith(".md")) else b""


def replace(
    workspace: paths.Workspace,
    path: Path,
    compose: Callable[[Document], Document],
    *,
    timeout_s: float = LOCK_WAIT_S,
) -> None:
    """Read a note of a workspace, compose its next version and write it as a whole, under the lock.

    Its encoding, line ends and mode stay, it does not leave the workspace, and what editors overwrite of it
    is found. A missing note reads as empty. Raises AccessDenied, NoteUnreadable, LockTimeout.
    """
    from commonplace.markdown.document import Document  # who undoes or checks needs none

    workspace.check_writable()

    def compose_bytes(data: bytes) -> bytes:
        return compose(Document.read(data, str(path)).checked()).data

    atomic.replace(
        path, compose_bytes, lock=paths.lock_file(workspace, "notes"), timeout_s=timeout_s,
        within=workspace.root, guard=lambda: guard(workspace, path),
    )  # fmt: skip


def guard(workspace: paths.Workspace, path: Path | str) -> Writes:
    """Return the record of a note of a workspace, for `atomic`."""
    return Writes(workspace, os.path.relpath(os.path.join(workspace.root, path), workspace.root))


def listed(workspace: paths.Workspace, folder: str) -> list[str]:
    """Return the names of the files of ours in a folder; none where no folder of ours can be."""
    try:
        return workspace.files.names(folder)
    except OSError:  # a link, a file, or nobody's to read: nothing that we wrote
        return []


def check(workspace: paths.Workspace) -> list[str]:
    """Look for what editors have overwritten since the last write or sync; return what is to be said, once.

    Where somebody writes now it is left to him. Raises NoteUnreadable.
    """
    files = workspace.files
    if listed(workspace, FOLDER):
        with suppress(LockTimeout), locked(paths.lock_file(workspace, "notes"), timeout_s=0.5):
            known: set[str] = set()
            names = [name for name in listed(workspace, FOLDER) if name.endswith(".json")]
            names.sort(key=lambda name: _written_ns(files, name), reverse=True)
            for place, name in enumerate(names):
                record = _load_record(workspace, f"{FOLDER}/{name}")
                if record is not None and name == f"{key_of(record.note)}.json":
                    writes = Writes(workspace, record.note, record)
                    writes.update()
                    if writes.record.kept or place < _MOST_RECORDS:
                        known |= {name, *writes.record.kept}
            for name in set(listed(workspace, FOLDER)) - known:
                with suppress(OSError):
                    files.remove(f"{FOLDER}/{name}")
    return notices(workspace)


def _written_ns(files: Root, name: str) -> int:
    try:
        return files.stat(f"{FOLDER}/{name}").st_mtime_ns
    except OSError:  # removed meanwhile, as the whole folder may be
        return 0


def warnings(workspace: paths.Workspace) -> list[str]:
    """Return what `check` says, for whoever has other things to do; raises nothing.

    Who may not write here cannot tell what he found, and leaves it to who may.
    """
    if not os.access(workspace.derived, os.W_OK):
        return []
    try:
        return check(workspace)
    except CommonplaceError as error:
        return [f"what editors may have overwritten could not be looked for: {error}"]


def notices(workspace: paths.Workspace) -> list[str]:
    """Return what nobody was told yet of lines that were overwritten: a sentence for each copy."""
    sentences = []
    for name in listed(workspace, COPIES):
        if not name.endswith(".json"):
            continue
        notice = _read(workspace, f"{COPIES}/{name}")
        try:
            workspace.files.unlink(f"{COPIES}/{name}")
        except OSError:  # another process has just said it
            continue
        if notice is None:
            continue
        note, copy = paths.shown(str(notice["note"])), paths.shown(str(notice["copy"]))
        first = paths.shown(str(notice["first"]).strip())
        lines, them = (f"{notice['lines']} lines", "them") if notice["lines"] != 1 else ("a line", "it")
        if notice["late"]:
            what = f"{note} lacks {lines} that another program saved while it was replaced ({first});"
        else:
            what = f"another program saved {note} without {lines} of this memory ({first});"
            what += f" if nobody took {them} out on purpose,"
        restore = remedies.say("restore", Path(copy).stem, them)
        sentences.append(f"{what} {restore}; the copy is {copy}")
    return sentences


# --- copies -----------------------------------------------------------------------------------------------


class Copy(NamedTuple):
    """Lines that left a note; `note` is empty where nothing says any more which one it was."""

    name: str
    note: str
    lines: tuple[str, ...]
    is_taken_out: bool  # by somebody who changed nothing else: nobody was told


def copies(workspace: paths.Workspace) -> list[Copy]:
    """Return the copies, oldest first. Raises NoteUnreadable."""
    names = [name.removesuffix(".md") for name in listed(workspace, COPIES) if name.endswith(".md")]
    notes = known_notes(workspace) if names else {}
    copies = []
    for name in names:
        path = f"{COPIES}/{name}.md"
        with records.translated(path):
            data = workspace.files.read(path)
        key = name.removesuffix(TAKEN_OUT).rpartition("-")[2]
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        texts = tuple(line for line in lines if line.strip())
        # A note that was deleted is named by the record of its writes as long as that is there.
        record = None if key in notes else _load_record(workspace, f"{FOLDER}/{key}.json")
        note = notes.get(key, record.note if record else "")
        copies.append(Copy(name, note, texts, name.endswith(TAKEN_OUT)))
    return copies


def restore(workspace: paths.Workspace, copy: Copy) -> int:
    """Put the lines of a copy back into their note, delete the copy, and return how many stood there no more.

    Raises NoteNotFound where it is not known whose lines they are, NoteUnreadable, LockTimeout.
    """
    if not copy.note:
        name = paths.shown(f"{COPIES}/{copy.name}.md")
        raise NoteNotFound(name, reason="its note is gone; copy what you miss by hand")
    number = 0

    def compose(document: Document) -> Document:
        nonlocal number
        number = len(_missing(document, copy.lines))
        return completed(document, copy.lines)

    replace(workspace, workspace.root / copy.note, compose)
    discard(workspace, copy)
    return number


def completed(document: Document, lines: Sequence[str]) -> Document:
    """Return a note with those of some lines put in that do not stand there."""
    missing = _missing(document, lines)
    return document.insert("\n".join(missing)).document if missing else document


def _missing(document: Document, lines: Sequence[str]) -> list[str]:
    standing = {line.strip() for line in document.text.splitlines()}
    return [line for line in lines if line.strip() not in standing]


def discard(workspace: paths.Workspace, copy: Copy) -> None:
    """Delete a copy, and what nobody was told of it yet. Raises AccessDenied, NoteUnreadable."""
    workspace.check_writable()
    for suffix in (".json", ".md"):
        path = f"{COPIES}/{copy.name}{suffix}"
        with records.translated(path):
            workspace.files.unlink(path, missing_ok=True)


def known_notes(workspace: paths.Workspace) -> dict[str, str]:
    """Return the notes that may have been written, by what names of copies end with."""
    notes = [workspace.memory_file.relative_to(workspace.root).as_posix()]
    waiting = [paths.MEMORY_FOLDER]
    while waiting:
        folder = waiting.pop()
        with suppress(OSError):
            for name in workspace.files.names(folder):
                path = os.path.join(folder, name)
                if name.endswith(".md"):
                    notes.append(path)
                elif workspace.files.is_folder(path):
                    waiting.append(path)
    return {key_of(note): note for note in notes}


# --- lines ---------------------------------------------------------------------------------------------


def _texts(data: bytes) -> list[str]:
    """The lines of a note that say something, without the blanks at their ends."""
    return [text for line in data.decode("utf-8", "surrogateescape").split("\n") if (text := line.rstrip())]


def _more(one: bytes, other: bytes) -> Counter[str]:
    """The lines that a text has more often than another."""
    return Counter(_texts(one)) - Counter(_texts(other))


def _holds(data: bytes | None, text: str) -> bool:
    """Tell whether the bytes of a note have a line that begins as a text does."""
    return b"\n" + _bytes(text) in b"\n" + (data or b"")


def _different(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Cut off the whole lines that two texts begin and end with."""
    one, other = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start, most = 0, min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return b"".join(one[start : len(one) - end]), b"".join(other[start : len(other) - end])


def _gone(record: Record, data: bytes) -> list[Line]:
    """The lines of ours that a version of a note lacks, where whoever saved it may not have known them."""
    texts = set(_texts(data))
    standing = (line.at for line in record.lines if line.text in texts and not line.is_repeated)
    seen = max(standing, default=0)
    moved = {text.strip() for text in texts}
    return [line for line in record.lines if line.at > seen and line.text.strip() not in moved]


def _without_last(lines: Sequence[Line]) -> list[Line]:
    """The lines of all writes but the last."""
    last = max((line.at for line in lines), default=0)
    return [line for line in lines if line.at != last]


def _judged(record: Record, data: bytes, gone: Sequence[Line]) -> tuple[list[str], list[str]]:
    """What to tell of lines that are gone, and what to keep without a word."""
    texts = [line.text for line in gone]
    if not gone or not record.sums:
        return texts, []
    known = record.counted_sums
    if _is_removal(known, data, gone):
        return [], texts
    fresh = [text for text in _texts(data) if _sum(_bytes(text)) not in known]
    told, quiet = list[str](), list[str]()
    for text in dict.fromkeys(texts):
        if (alike := _likeness(text, fresh)) < _ALIKE:
            (told if alike < _PERHAPS else quiet).append(text)
    return told, quiet


def _is_removal(known: Counter[str], data: bytes, gone: Sequence[Line]) -> bool:
    """Tell whether one entry is all that a version of a note lacks, and nothing in it is new."""
    if sum(not line.text.startswith((" ", "\t")) for line in gone) != 1:
        return False
    blank, now = _sum(b""), Counter(map(_sum, data.split(b"\n")))
    expected = known - Counter(_sum(_bytes(line.text)) for line in gone)
    del now[blank], expected[blank]
    return now == expected


def _likeness(text: str, others: Sequence[str]) -> float:
    """How much the words of a line resemble those of the nearest of others, 0 to 1."""
    import difflib

    words, most = _BULLET.sub("", text, count=1), 0.0
    start = text[: len(text) - len(words)]
    for other in others:
        theirs = _BULLET.sub("", other, count=1)
        most = max(most, difflib.SequenceMatcher(None, words, theirs).ratio())
        is_part = min(len(words), len(theirs)) > 3 and (words in theirs or theirs in words)
        if is_part or (":" in start and other.startswith(start)):  # written at the same minute
            most = max(most, _PERHAPS)
    return most


def _newest(lines: Sequence[Line]) -> list[Line]:
    """The newest lines, as many as are remembered."""
    sizes = accumulate(len(line.text) for line in reversed(lines[-_LINES:]))
    return list(lines[len(lines) - sum(size <= _LINE_BYTES for size in sizes) :])


def _sums(data: bytes) -> str:
    lines = data.split(b"\n")
    return "".join(map(_sum, lines)) if len(lines) <= _SUMS else ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _sum(line: bytes) -> str:
    return f"{zlib.crc32(line.rstrip()):08x}"


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()[:32]


def _is_open(file: BinaryIO) -> bool | None:
    """Tell whether somebody has a file open for writing; None where the system does not say."""
    alone = swap.lease(file.fileno())
    return None if alone is None else not alone


# --- signed files --------------------------------------------------------------------------------------


def _write(workspace: paths.Workspace, path: str, value: Mapping[str, Any]) -> None:
    # Two files that change places: to truncate one, or to rename over one, makes some systems wait for
    # the disk. What a killed writer leaves is overwritten by the next one.
    data, fresh = records.seal(_KIND, value), f"{path.removesuffix('.json')}.new"
    flags = os.O_WRONLY | os.O_CREAT
    try:
        with workspace.files.parent(path, make=True) as (folder, name):
            beside = os.path.join(os.path.dirname(name), os.path.basename(fresh))
            try:
                descriptor = open_regular(folder, beside, flags, PRIVATE_FILE, fresh)
            except (PermissionError, Unsafe):  # another's, in a folder that may be ours: not to be waited for
                os.unlink(beside, dir_fd=folder)
                descriptor = open_regular(folder, beside, flags, PRIVATE_FILE, fresh)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.truncate()
            if not swap.exchange(folder, beside, name, missing_ok=True):
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        owner = f"; {remedies.say('doctor.owner')}" if isinstance(error, PermissionError) else ""
        raise NoteUnreadable(paths.shown(workspace.root / path), paths.reason(error) + owner) from error


def _read(workspace: paths.Workspace, path: str) -> dict[str, Any] | None:
    """Read what `_write` wrote; None for what is missing, damaged or not ours."""
    try:
        return records.read(workspace.files, workspace.root / path, _KIND)
    except (OSError, ValueError, records.Foreign):
        return None


def _load_record(workspace: paths.Workspace, path: str) -> Record | None:
    try:
        value = _read(workspace, path)
        record = Record(**value) if value else None
        if record:
            record.lines = [Line(*line) for line in record.lines]
    except TypeError:  # of another version
        return None
    return record
