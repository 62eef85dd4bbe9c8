"""The last versions of each note that we wrote, whole, so that nothing leaves a note unseen.

An editor that read a note before we wrote into it, and saves it afterwards, saves it without our lines; so do
a checkout and a sync tool. Whether that was meant cannot be known, so no intent is guessed: a version that
lacks lines of ours, or has lines again that we took out, is said once, and ours is kept beside it. Nothing is
put back without `restore`.

`writes/` of the state holds for each note a record, a ring of compressed versions (`.z`), and files that were
replaced (`.kept`), for programs that had them open and write into them later. `overwritten/` holds what was
overwritten: our version as plain Markdown, the one that a merge starts from (`.base`), and whose they are;
`changes.overwritten` lists and restores them.
"""

from __future__ import annotations

import codecs
import dataclasses
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from commonplace.base import atomic, paths, records, remedies, swap
from commonplace.base.digests import blake2b, sha256
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.locks import LOCK_WAIT_S, LockTimeout, locked
from commonplace.base.root import PRIVATE_FILE, Unsafe, open_regular
from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    from commonplace.markdown.document import Document

FOLDER = "writes"
COPIES = "overwritten"
# Bounds are numbers and no ages: a clock that was set a day ahead would drop everything at once.
_MOST_RECORDS = 30  # notes that were written last
_NEWEST = 4  # versions that are all kept; of the older ones fewer and fewer, some 20 in all
_MOST_BYTES = 1 << 26  # of the versions of a note
_MOST_REMOVED = 1_000  # lines that we took out of a note, as hashes
_LATE_S = 5.0  # how long what was replaced is kept where the system does not say who has it open
_MOVED_S = 0.1  # how long an editor has moved a file away that it writes anew
_MOMENT_S = 1.0  # an empty file this young is being written
_MOST_KEPT, _MOST_COPIES = 200, 200


class Version(NamedTuple):
    """A version of a note: its place in the order of all, digest and size of its bytes."""

    number: int
    digest: str
    size: int


@dataclass
class Record:
    """What is known of a note that we wrote; the last of `versions` stands, unless there is no file."""

    note: str
    status: tuple[int, ...] = ()  # of the file that stands: inode, size, time (ns)
    old: tuple[int, ...] = ()  # the same of the file that ours replaced
    after: str = ""  # digest of the bytes that stand, empty for no file
    versions: list[Version] = field(default_factory=list)
    others: str = ""  # digest of the lines that are not ours
    removed: list[str] = field(default_factory=list)  # hashes of lines that we took out
    kept: dict[str, str] = field(default_factory=dict)  # files that were replaced, digests of what was read
    pending: str = ""  # the one of them that is about to be replaced


class Writes:
    """The record of one note; made and used under the lock of notes. What `atomic.Guard` asks for."""

    def __init__(self, workspace: paths.Workspace, note: str, record: Record | None = None) -> None:
        """Take the record of a note, named relative to the workspace; read it where it is not given."""
        self.workspace, self.note = workspace, note
        self.key = key_of(note)
        self.record = record or _load_record(workspace, f"{FOLDER}/{self.key}.json") or Record(note)
        self._next = self.record

    @property
    def expects_file(self) -> bool:
        """Whether the note was there when we wrote it last."""
        return bool(self.record.after)

    @property
    def files(self) -> set[str]:
        """The names of the files that the record is about, its own included."""
        versions = {self._name(version.number) for version in self.record.versions}
        return {f"{self.key}.json", self._name("others"), *self.record.kept, *versions}

    def wrote(self, data: bytes) -> bool:
        """Tell whether these are the bytes that we wrote last."""
        return digest(data) == self.record.after

    def is_shorter(self, data: bytes) -> bool:
        """Tell whether a file lacks bytes that it had, as one that is being written anew does."""
        versions = self.record.versions
        return bool(self.record.after and versions) and len(data) < versions[-1].size

    def prepare(
        self,
        before: bytes | None,
        old: os.stat_result | None,
        after: bytes | None,
        new: os.stat_result | None,
    ) -> None:
        """Look for what is gone, and keep the next version. Raises NoteUnreadable."""
        self._sweep(before or b"")
        self._examine(before, old)
        record = self._next = dataclasses.replace(self.record, kept=dict(self.record.kept))
        record.pending = f"{self.key}-{time.time_ns():x}.kept"
        if before is not None:
            record.kept[record.pending] = digest(before)
        record.removed = self._removed(_plain(before or b""), _plain(after or b""))
        if record.removed != self.record.removed:
            record = self._next = self._with_others(record, self.others() & said(after or b""))
        record.status, record.old = marks(new), marks(old)
        self._push(record, after)

    def keep(self, folder: int | None, name: str, base: bytes) -> None:
        """Take over what was replaced, until the next write or sync has looked at it again."""
        kept = self._next.pending
        if self._next.kept.get(kept) != digest(base):  # a file of ours that was put back again
            kept = f"{self.key}-{time.time_ns():x}.kept"
            self._next.kept[kept] = self.record.kept[kept] = digest(base)
            self._save(self._next)
        self._take(folder, name, kept)

    def recover(self, folder: int | None, name: str) -> None:
        """Take over what a writer left who was killed amid an exchange, unless he wrote it himself."""
        inode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino
        if (inode,) != tuple(self.record.status[:1]):
            self._take(folder, name, self.record.pending)

    def _take(self, folder: int | None, name: str, kept: str) -> None:
        # What lies on another disk cannot be kept, and is deleted by whoever offers it.
        with suppress(OSError), self.workspace.kept.parent(f"{FOLDER}/{kept}", make=True) as (to, new):
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=to)

    def update(self, known: bytes | None = None) -> None:
        """Compare the record with the note as it is. Raises NoteUnreadable.

        Of a note that was opened in an editor, `known` is what it held: whatever it lacks of that is meant.
        """
        try:
            with self.workspace.files.open(self.note, links=True) as file:
                status: os.stat_result | None = os.fstat(file.fileno())
                if marks(status) == tuple(self.record.status) and not self.record.kept:
                    return
                if _is_written(file):
                    return  # next time
                data: bytes | None = file.read()
        except (FileNotFoundError, NotADirectoryError):
            self.drop_unmade()
            if known is None and (not self.expects_file or self._is_moving()):
                return
            data, status = None if known is None else b"", None
        except OSError:
            if known is None:
                return  # not ours to read any more
            data, status = b"", None
        kept = dict(self.record.kept)
        self._sweep(data or b"")
        if self._examine(data, status, known or b"") or kept != self.record.kept:
            self._save(self.record)

    def edit(self, change_of: Callable[[bytes], bytes | None], *, change: bool) -> int:
        """Count the versions that an edit changes; put them in place to `change`. Raises NoteUnreadable."""
        record, count, versions = self.record, 0, list[Version]()
        for version in record.versions:
            data = self._version(version)
            rest = (change_of(data) or b"") if data is not None else b""
            if rest != data:
                count += 1
                if change:
                    self._write(self._name(version.number), zlib.compress(rest, 1))
                if record.after == version.digest:
                    record.after = digest(rest)
                version = Version(version.number, digest(rest), len(rest))
            versions.append(version)
        for name in list(record.kept):
            data = self._load(name)
            if change_of(data) != data:
                count += 1
                if change:
                    self._unlink(name)
                    del record.kept[name]
        if change and count:
            record.versions = versions
            self.record = self._with_others(record, self.others() & said(self.standing() or b""))
            self._save(self.record)
        return count

    # --- versions -----------------------------------------------------------------------------------

    def _examine(self, data: bytes | None, status: os.stat_result | None, known: bytes = b"") -> bool:
        """Say what a note lacks of ours and what it has again; tell whether it is another version."""
        record = self.record
        if digest(data) == record.after:
            return False
        record = dataclasses.replace(record, status=marks(status), versions=list(record.versions))
        stood = self.standing()
        if data is None:
            self._say_vanished(stood or b"")
        elif status and record.versions and marks(status) == tuple(record.old):
            record.versions.pop()  # it was killed before it was exchanged
        elif record.after and stood is not None:
            now, was, others = said(data), said(stood), self.others()
            lost = _lacking(stood, data, others + said(known))
            back = [text for text in now - was if self.hash(text) in record.removed]
            if lost or back:
                is_rewritten = bool(lost.total() < (was - now - others).total())
                base = known or (stood if is_rewritten else self._nearest(now))
                moved = Counter(_lines(base)) - Counter(
                    _lines(stood)
                )  # by others: who has it again put it there
                taken = {text: moved[text] for text in moved if self.hash(text) not in record.removed}
                base = _without(base, lost + Counter(taken))
                self._copy(base, stood, lost, tuple(map(self.hash, back)), added=now - was)
            record = self._with_others(record, _lacking(data, _without(stood, others)))
        elif data != stood:  # a version that vanished and came back is ours as it was
            record = self._with_others(record, said(data))
        self.record = record
        self._push(record, data)
        return True

    def _say_vanished(self, stood: bytes) -> None:
        """Keep a copy of a note that another program deleted, unless its lines stand in other notes."""
        from commonplace.notes import scan

        found = [path for path in scan.walked(str(self.workspace.root)) if path.endswith(".md")]
        lost = said(stood)
        for path, data in self.workspace.files.each(found):
            lost &= _lacking(stood, data) if data and lost and path != self.note else lost
        if any(not line.startswith("#") for line in lost - self.others()):
            self._copy(_without(stood, lost), stood, lost, is_gone=True)

    def drop_unmade(self) -> None:
        """Drop a version whose writer was killed before its new file got the name of the note."""
        files, folder = self.workspace.files, os.path.dirname(self.note)
        if self.expects_file and not files.is_file(self.note):
            with suppress(OSError):
                made = (f"{folder}/{name}".lstrip("/") for name in files.names(folder) if name[-4:] == ".tmp")
                if any(files.stat(path).st_ino == self.record.status[0] for path in made):
                    self.record.after = ""

    def _is_moving(self) -> bool:
        """Tell whether a file that is missing came back at once, as an editor moves it away to save it."""
        files = self.workspace.files
        with suppress(OSError):
            if 0 <= time.time() - files.stat(os.path.dirname(self.note)).st_mtime < _MOVED_S:
                time.sleep(_MOVED_S)
        return files.is_file(self.note)

    def standing(self) -> bytes | None:
        """Return the last version; None where it is damaged or there is none."""
        versions = self.record.versions
        return self._version(versions[-1]) if versions else None

    def known(self) -> set[str]:
        """Return all lines of all versions; what was forgotten is in none."""
        return {text for version in self.record.versions for text in texts(self._version(version) or b"")}

    def _version(self, version: Version) -> bytes | None:
        packed = self._load(self._name(version.number))
        with suppress(zlib.error):
            data = zlib.decompressobj().decompress(packed, version.size + 1)
            return data if digest(data) == version.digest else None
        return None

    def _load(self, name: str) -> bytes:
        with suppress(OSError):
            return self.workspace.kept.read(f"{FOLDER}/{name}")
        return b""

    def _name(self, which: int | str) -> str:
        return f"{self.key}-{which}.z"

    def _push(self, record: Record, data: bytes | None) -> None:
        """Make some bytes the version of a record that stands, and save it."""
        was, record.after = list(record.versions), digest(data)
        if data is not None and (not was or was[-1].digest != record.after):
            number = was[-1].number + 1 if was else 0
            self._write(self._name(number), zlib.compress(data, 1))
            record.versions = _thinned([*was, Version(number, record.after, len(data))])
        self._save(record)
        for version in {*was}.difference(record.versions):
            self._unlink(self._name(version.number))

    def others(self) -> Counter[str]:
        """Return the lines that are not ours, which whoever takes them out knows."""
        data = self._load(self._name("others"))
        with suppress(zlib.error):
            data = zlib.decompress(data) if digest(data) == self.record.others else b""
            return Counter(texts(data))
        return Counter()

    def _with_others(self, record: Record, lines: Counter[str]) -> Record:
        """Keep the lines that are not ours."""
        packed = zlib.compress("".join(f"{line}\n" for line in lines.elements()).encode(*_ENCODING), 1)
        if digest(packed) == record.others:
            return record
        self._write(self._name("others"), packed)
        return dataclasses.replace(record, others=digest(packed))

    def _nearest(self, now: Counter[str]) -> bytes:
        """The version that another program is likeliest to have read, by the lines that it wrote."""

        def apart(version: bytes) -> int:
            lines = said(version)
            return (now - lines).total() + (lines - now).total()

        versions = map(self._version, self.record.versions[:-1])
        return min(filter(None, versions), key=apart, default=b"")  # of several the oldest

    def _removed(self, before: bytes, after: bytes) -> list[str]:
        """The hashes of lines that we took out, with those that go from one version to the next."""
        old, new = _different(before, after)
        added = set(map(self.hash, said(new) - said(old)))
        gone = (self.hash(text) for text in said(old) - said(new))
        known = dict.fromkeys([*self.record.removed, *gone])
        return [one for one in known if one not in added][-_MOST_REMOVED:]

    def hash(self, text: str) -> str:
        """Return a hash, by which a line that was taken out is known again."""
        return blake2b(text.strip().encode(*_ENCODING), digest_size=6).hexdigest()

    def _sweep(self, data: bytes) -> None:
        """Look at the files that were replaced; delete those that nobody can write into any more."""
        kept, files = self.record.kept, self.workspace.kept
        for name, read in list(kept.items()):
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
            if late and digest(late) != read:
                of_read = (one for one in self.record.versions if one.digest == read)
                base = next(filter(None, map(self._version, of_read)), b"")
                if lost := said(late) - said(data) - said(base):
                    self._copy(base, late, lost, is_late=True)
            self._unlink(name)
            del kept[name]

    def _copy(
        self,
        base: bytes,
        ours: bytes,
        lost: Counter[str],
        back: Sequence[str] = (),
        *,
        added: Iterable[str] = (),
        is_late: bool = False,
        is_gone: bool = False,
    ) -> None:
        """Keep a version that was overwritten and the one that a merge starts from; who asks next is told."""
        second, rest = divmod(time.time_ns(), 10**9)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(second))
        name = f"{COPIES}/{stamp}-{rest // 1000:06}-{self.key}"
        files = self.workspace.kept
        first = _first_gone(_lines(ours), lost, added)
        about = {"note": self.note, "lost": lost.total(), "first": first, "back": back}
        about |= {"late": is_late, "gone": is_gone}
        with records.translated(name):
            files.create(f"{name}.md", ours)
            files.create(f"{name}.base", base)
            files.create(f"{name}.json", records.encode(about))
        for old in copy_names(self.workspace)[:-_MOST_COPIES]:
            discard(self.workspace, old)

    # --- files ----------------------------------------------------------------------------------------

    def _unlink(self, name: str) -> None:
        with suppress(OSError):
            self.workspace.kept.unlink(f"{FOLDER}/{name}")

    def _save(self, record: Record) -> None:
        self._write(f"{self.key}.json", records.encode(vars(record)))

    def _write(self, name: str, data: bytes) -> None:
        # Two files that change places: to truncate one, or to rename over one, makes some systems wait for
        # the disk. What a killed writer leaves is overwritten by the next one.
        path, flags = f"{FOLDER}/{name}", os.O_WRONLY | os.O_CREAT
        try:
            with self.workspace.kept.parent(path, make=True) as (folder, name):
                beside = f"{os.path.splitext(name)[0]}.new"
                try:
                    descriptor = open_regular(folder, beside, flags, PRIVATE_FILE, beside)
                except (
                    PermissionError,
                    Unsafe,
                ):  # another's, in a folder that may be ours: not to be waited for
                    os.unlink(beside, dir_fd=folder)
                    descriptor = open_regular(folder, beside, flags, PRIVATE_FILE, beside)
                with open(descriptor, "wb") as file:
                    file.write(data)
                    file.truncate()
                if not swap.exchange(folder, beside, name, missing_ok=True):
                    os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            owner = f"; {remedies.say('doctor.owner')}" if isinstance(error, PermissionError) else ""
            raise NoteUnreadable(
                paths.shown(self.workspace.root / path), paths.reason(error) + owner
            ) from error


def _thinned(versions: Sequence[Version]) -> list[Version]:
    """The newest versions, of older ones fewer and fewer, always the first, as far as there is room."""
    last, room, left = versions[-1].number, _MOST_BYTES, list[Version]()
    for version in reversed(versions):
        step = version.number & -version.number  # the largest power of two in its number
        room -= version.size
        if (not step or last - version.number < _NEWEST * step) and (room >= 0 or len(left) < 2):
            left.append(version)
    return left[::-1]


def key_of(note: str) -> str:
    """Return what the names of all files about a note begin or end with."""
    return sha256(note.encode("utf-8", "surrogateescape")).hexdigest()[:16]


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
    writes = Writes(workspace, os.path.relpath(os.path.join(workspace.root, path), workspace.root))
    writes.drop_unmade()
    return writes


def listed(workspace: paths.Workspace, folder: str) -> list[str]:
    """Return the names of the files of ours in a folder; none where no folder of ours can be."""
    try:
        return workspace.kept.names(folder)
    except OSError:
        return []


def recorded(workspace: paths.Workspace) -> list[Writes]:
    """Return the records of notes that are ours and whole, the one that was written last first."""
    found, files = list[tuple[int, Writes]](), workspace.kept
    for name in listed(workspace, FOLDER):
        record = _load_record(workspace, f"{FOLDER}/{name}") if name.endswith(".json") else None
        if record and name == f"{key_of(record.note)}.json":
            at = 0
            with suppress(OSError):  # removed meanwhile, as the whole folder may be
                at = files.stat(f"{FOLDER}/{name}").st_mtime_ns
            found.append((at, Writes(workspace, record.note, record)))
    return [writes for _, writes in sorted(found, key=lambda pair: -pair[0])]


def check(workspace: paths.Workspace, known: Mapping[str, bytes] | None = None) -> list[str]:
    """Look for what other programs have overwritten since the last write or sync; say it, once.

    `known` are notes as their editors opened them: what stood there was taken out by who edited it. Where
    somebody writes now it is left to him. Raises NoteUnreadable.
    """
    if listed(workspace, FOLDER):
        with suppress(LockTimeout), locked(paths.lock_file(workspace, "notes"), timeout_s=0.5):
            ours: set[str] = set()
            for place, writes in enumerate(recorded(workspace)):
                writes.update((known or {}).get(writes.note))
                if writes.record.kept or place < _MOST_RECORDS:
                    ours |= writes.files
            for name in set(listed(workspace, FOLDER)) - ours:
                with suppress(OSError):
                    workspace.kept.remove(f"{FOLDER}/{name}")
    return notices(workspace)


def warnings(workspace: paths.Workspace) -> list[str]:
    """Return what `check` says, for whoever has other things to do; raises nothing."""
    try:
        return check(workspace)
    except CommonplaceError as error:
        return [f"what editors may have overwritten could not be looked for: {error}"]


def notices(workspace: paths.Workspace) -> list[str]:
    """Return a sentence for each version that was overwritten and that nobody was told of yet."""
    sentences = []
    for name in listed(workspace, COPIES):
        if name.endswith(".json"):
            stem = f"{COPIES}/{name.removesuffix('.json')}"
            try:
                about = read_about(workspace, f"{stem}.json")
                if about is None:
                    workspace.kept.unlink(f"{stem}.json")
                else:
                    workspace.kept.rename(f"{stem}.json", f"{stem}.told")
                    sentences.append(_sentence(workspace, stem, about))
            except OSError:  # another process has just said it
                continue
    return sentences


def _sentence(workspace: paths.Workspace, stem: str, about: Mapping[str, Any]) -> str:
    note, lost, back = paths.shown(str(about["note"])), int(about["lost"]), len(about["back"])
    first = "".join(_lines(workspace.kept.read(f"{stem}.md"))[int(about["first"]) :][:1])
    lines = f"{lost:,} lines" if lost != 1 else "a line"
    again = f"{back:,} lines again that were" if back != 1 else "a line again that was"
    if about["late"]:
        what = f"{note} lacks {lines} that another program saved while it was replaced ({paths.shown(first)})"
    elif about.get("gone"):
        what = f"{note} is gone, and {lines} of this memory with it ({paths.shown(first)})"
    else:
        parts = [f"without {lines} of this memory ({paths.shown(first)})"] if lost else []
        parts += [f"with {again} corrected or forgotten"] if back else []
        what = f"another program saved {note} {' and '.join(parts)}"
    restore = remedies.say("restore", Path(stem).name, "it" if (lost, back) == (1, 0) else "ours")
    kept = paths.shown(workspace.state / f"{stem}.md")
    return f"{what}; if that was not meant, {restore}; our version is {kept}"


# --- copies -----------------------------------------------------------------------------------------------


def copy_names(workspace: paths.Workspace) -> list[str]:
    """Return the names of what was overwritten, oldest first."""
    names = listed(workspace, COPIES)
    return [name.removesuffix(".md") for name in names if name.endswith(".md")]


def read_about(workspace: paths.Workspace, path: str) -> dict[str, Any] | None:
    """Read which note a copy is of; None for what is missing, damaged or not ours."""
    try:
        return records.read(workspace.kept, workspace.state / path)
    except (OSError, ValueError):
        return None


def discard(workspace: paths.Workspace, name: str) -> None:
    """Delete what was overwritten, told or not. Raises AccessDenied, NoteUnreadable."""
    workspace.check_writable()
    for ending in ("json", "told", "base", "md"):
        path = f"{COPIES}/{name}.{ending}"
        with records.translated(path):
            workspace.kept.unlink(path, missing_ok=True)


# --- lines ---------------------------------------------------------------------------------------------

_ENCODING = ("utf-8", "surrogateescape")
_COMPARED = 50  # lines, and characters of a line, by which an edited line is told from a lost one
_MARK = re.compile(r"^(?:[-*+]|[0-9]+[.)])\s+")  # of a list
_NO_LINES = Counter[str]()
_LEAD = "-*+#>0123456789: "  # bullet and time


def texts(data: bytes) -> list[str]:
    """Return the lines of a note that say something, without the blanks around them."""
    return list(filter(None, _lines(data)))


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in _plain(data).decode(*_ENCODING).split("\n")]


def _plain(data: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark, whichever Unicode encoding it is in."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return data.decode("utf-16", "replace").encode(*_ENCODING)
    return data.removeprefix(codecs.BOM_UTF8)


def said(data: bytes) -> Counter[str]:
    """Return how often a note has each of its lines."""
    return Counter(texts(data))


def _without(version: bytes, lost: Counter[str]) -> bytes:
    """A version without some lines: a merge that starts from it puts those in that either side has."""
    left, rest = Counter(lost), list[bytes]()
    for line in _plain(version).splitlines(keepends=True):
        text = line.decode(*_ENCODING).strip()
        if left[text] > 0:
            left[text] -= 1
        else:
            rest.append(line)
    return b"".join(rest)


def _lacking(before: bytes, after: bytes, apart: Counter[str] = _NO_LINES) -> Counter[str]:
    """Return the lines that a version lacks, but for entries with other list marks or wrapped anew."""
    lost = said(before) - said(after) - apart
    if lost:
        entries = _entries(before)
        gone = Counter(words for words, _ in entries) - Counter(words for words, _ in _entries(after))
        lines = Counter[str]()
        for words, own in entries:
            if gone[words] > 0:
                gone[words] -= 1
                lines.update(own)
        lost &= lines
    return lost


def _entries(data: bytes) -> list[tuple[str, list[str]]]:
    """Return the words of each heading, list item and paragraph, with its lines."""
    found, is_open = list[list[str]](), False
    for line in _lines(data):
        is_heading = line.startswith("#")
        if is_open and line and not is_heading and not _MARK.match(line):
            found[-1].append(line)
        elif line:
            found.append([line])
        is_open = bool(line) and not is_heading
    return [(" ".join(" ".join([_MARK.sub("", own[0]), *own[1:]]).split()), own) for own in found]


def _first_gone(lines: Sequence[str], lost: Counter[str], added: Iterable[str]) -> int:
    """Return the first line that is lost and was not edited: nothing like it was added; else the first."""
    gone = [n for n, text in enumerate(lines) if lost[text]]
    others = list(islice(added, _COMPARED))
    for n in gone[:_COMPARED] if others else ():
        if not is_edited(lines[n], others):
            return n
    return gone[0] if gone else 0


def is_edited(line: str, added: Iterable[str]) -> bool:
    """Tell whether one of the lines that were added is like a line that is gone."""
    from difflib import get_close_matches

    others = [text[:_COMPARED].lstrip(_LEAD) for text in islice(added, _COMPARED)]
    return bool(get_close_matches(line[:_COMPARED].lstrip(_LEAD), others, 1))


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


def digest(data: bytes | None) -> str:
    """Return the digest that a record knows some bytes by; empty for no file."""
    return "" if data is None else sha256(data).hexdigest()[:32]


def marks(status: os.stat_result | None) -> tuple[int, ...]:
    """Return what changes whenever a file is written; nothing for no file."""
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status else ()


def _is_written(file: BinaryIO) -> bool:
    """Tell whether somebody writes a file now, as far as the system says."""
    status = os.fstat(file.fileno())
    return bool(_is_open(file)) or (not status.st_size and 0 <= time.time() - status.st_mtime < _MOMENT_S)


def _is_open(file: BinaryIO) -> bool | None:
    """Tell whether somebody has a file open for writing; None where the system does not say."""
    alone = swap.lease(file.fileno())
    return None if alone is None else not alone


def _load_record(workspace: paths.Workspace, path: str) -> Record | None:
    value = read_about(workspace, path)
    try:
        record = Record(**value) if value and isinstance(value.get("note"), str) else None
        if record:
            record.versions = [Version(*version) for version in record.versions]
    except TypeError:  # of another version
        return None
    return record
