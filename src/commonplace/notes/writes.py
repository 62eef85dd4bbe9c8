"""The last versions of each note that we wrote, whole, so that no line leaves a note unnoticed.

An editor that read a note before our write and saves it afterwards saves it without our lines; so does a
checkout or a sync tool. A version that lacks our lines, or has lines again that we took out, is reported
once, and our version is kept in the state. Only `restore` puts lines back.

In the state, `writes/` holds for each note a record and a ring of compressed versions (`.z`). `overwritten/`
holds our version of an overwritten note as Markdown, the base of a merge (`.base`), and a record with the
note's name; `changes.overwritten` lists and restores them.
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
from typing import TYPE_CHECKING, Any

from commonplace.base import paths, records, remedies
from commonplace.base.digests import blake2b, sha256
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.locks import LOCK_WAIT_S, LockTimeout, locked
from commonplace.base.tuples import NamedTuple
from commonplace.storage import files

if TYPE_CHECKING:
    from commonplace.markdown.document import Document

FOLDER = "writes"
COPIES = "overwritten"
# Limits are counts, not ages: a clock that jumps a day ahead would drop everything at once.
_MOST_RECORDS = 30  # notes, the last written
_NEWEST = 4  # versions that are all kept; of the older ones fewer and fewer, some 20 in all
_MOST_BYTES = 1 << 26  # of the versions of a note
_MOST_REMOVED = 1_000  # hashes of lines that we took out of a note
_MOST_COPIES = 200
_MOVED_S = 0.1  # for which an editor moves a file away that it writes anew
_MOMENT_S = 1.0  # age of an empty file that an editor is filling


class Version(NamedTuple):
    """A version of a note: its ordinal, the digest and the size of its bytes."""

    number: int
    digest: str
    size: int


@dataclass
class Record:
    """The record of a note that we wrote; the last of `versions` stands, unless the note is gone."""

    note: str
    status: tuple[int, ...] = ()  # `marks` of the current file
    old: tuple[int, ...] = ()  # `marks` of the file that ours replaced
    after: str = ""  # digest of the current bytes, empty for no file
    versions: list[Version] = field(default_factory=list)
    others: str = ""  # digest of the file with the lines of other writers
    removed: list[str] = field(default_factory=list)  # hashes of lines that we took out


class Writes:
    """The record of one note as a `files.Guard`; make and use it under the lock of notes."""

    def __init__(self, workspace: paths.Workspace, note: str, record: Record | None = None) -> None:
        """Take the record of a note (relative to the workspace), or read it."""
        self.workspace, self.note = workspace, note
        self.key = key_of(note)
        self.record = record or _load_record(workspace, f"{FOLDER}/{self.key}.json") or Record(note)
        self._next = self.record

    @property
    def expects_file(self) -> bool:
        """Tell whether our last write left a file."""
        return bool(self.record.after)

    @property
    def files(self) -> set[str]:
        """The names of the record's files, its own included."""
        versions = {self._name(version.number) for version in self.record.versions}
        return {f"{self.key}.json", self._name("others"), *versions}

    def wrote(self, data: bytes) -> bool:
        """Tell whether these bytes are our last write."""
        return digest(data) == self.record.after

    def is_shorter(self, data: bytes) -> bool:
        """Tell whether these bytes are fewer than those of our last write."""
        versions = self.record.versions
        return bool(self.record.after and versions) and len(data) < versions[-1].size

    def prepare(
        self,
        before: bytes | None,
        old: os.stat_result | None,
        after: bytes | None,
        new: os.stat_result | None,
    ) -> None:
        """Report what another program overwrote, and keep the next version. Raises NoteUnreadable."""
        self._examine(before, old)
        removed = self._removed(_plain(before or b""), _plain(after or b""))
        record = dataclasses.replace(self.record, removed=removed, status=marks(new), old=marks(old))
        if removed != self.record.removed:
            record = self._with_others(record, self.others() & said(after or b""))
        self._next = record  # this attempt may fail
        self._push(record, after)

    def replaced(self) -> None:
        """Confirm the replacement that was prepared last."""
        self.record = self._next

    def update(self, known: bytes | None = None) -> None:
        """Compare the record with the note. Raises NoteUnreadable.

        `known`: the note as it was opened in an editor; its lines were taken out on purpose.
        """
        try:
            with self.workspace.files.open(self.note, links=True) as file:
                status: os.stat_result | None = os.fstat(file.fileno())
                assert status is not None
                if marks(status) == tuple(self.record.status):
                    return
                is_empty = not status.st_size and 0 <= time.time() - status.st_mtime < _MOMENT_S
                if is_empty or files.is_open_for_writing(file.fileno()):
                    return  # another program is writing it: next time
                data: bytes | None = file.read()
        except (FileNotFoundError, NotADirectoryError):
            if known is None and (not self.expects_file or self._is_moving()):
                return
            data, status = None if known is None else b"", None
        except OSError:  # not ours to read any more
            if known is None:
                return
            data, status = b"", None
        if self._examine(data, status, known or b""):
            self._save(self.record)

    def edit(self, change_of: Callable[[bytes], bytes | None], *, change: bool) -> int:
        """Count the versions that an edit changes; with `change`, replace them. Raises NoteUnreadable."""
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
        if change and count:
            record.versions = versions
            self.record = self._with_others(record, self.others() & said(self.standing() or b""))
            self._save(self.record)
        return count

    # --- versions -----------------------------------------------------------------------------------

    def _examine(self, data: bytes | None, status: os.stat_result | None, known: bytes = b"") -> bool:
        """Report lost and returned lines of a note; return whether it is another version."""
        record = self.record
        if digest(data) == record.after:
            return False
        record = dataclasses.replace(record, status=marks(status), versions=list(record.versions))
        stood = self.standing()
        if data is None:
            self._say_vanished(stood or b"")
        elif status and record.versions and marks(status) == tuple(record.old):
            record.versions.pop()  # its writer was killed before the rename
        elif record.after and stood is not None:
            now, was, others = said(data), said(stood), self.others()
            lost = _lacking(stood, data, others + said(known))
            back = [text for text in now - was if self.hash(text) in record.removed]
            if lost or back:
                is_rewritten = lost.total() < (was - now - others).total()
                base = known or (stood if is_rewritten else self._nearest(now))
                moved = Counter(_lines(base)) - Counter(_lines(stood))  # lines that others put there again
                taken = {text: moved[text] for text in moved if self.hash(text) not in record.removed}
                self._copy(_without(base, lost + Counter(taken)), stood, lost, [*map(self.hash, back)])
            record = self._with_others(record, _lacking(data, _without(stood, others)))
        elif data != stood:  # a version that vanished and came back is ours as it was
            record = self._with_others(record, said(data))
        self.record = record
        self._push(record, data)
        return True

    def _say_vanished(self, stood: bytes) -> None:
        """Keep a copy of a note that another program deleted, unless other notes have its lines."""
        from commonplace.notes import scan

        found = [path for path in scan.walked(str(self.workspace.root)) if path.endswith(".md")]
        lost = said(stood)
        for path, data in self.workspace.files.each(found):
            lost &= _lacking(stood, data) if data and lost and path != self.note else lost
        if any(not line.startswith("#") for line in lost - self.others()):
            self._copy(_without(stood, lost), stood, lost, is_gone=True)

    def _is_moving(self) -> bool:
        """Tell whether a missing file comes back at once: some editors move it away to save it."""
        notes = self.workspace.files
        with suppress(OSError):
            if 0 <= time.time() - notes.stat(os.path.dirname(self.note)).st_mtime < _MOVED_S:
                time.sleep(_MOVED_S)
        return notes.is_file(self.note)

    def standing(self) -> bytes | None:
        """Return the last version; None if it is damaged or missing."""
        versions = self.record.versions
        return self._version(versions[-1]) if versions else None

    def known(self) -> set[str]:
        """Return the lines of all versions; forgotten lines are not among them."""
        return {text for version in self.record.versions for text in texts(self._version(version) or b"")}

    def _version(self, version: Version) -> bytes | None:
        with suppress(zlib.error):
            packed = self._load(self._name(version.number))
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
        """Make these bytes the current version of a record, and save it."""
        was, record.after = list(record.versions), digest(data)
        if data is not None and (not was or was[-1].digest != record.after):
            number = was[-1].number + 1 if was else 0
            self._write(self._name(number), zlib.compress(data, 1))
            record.versions = _thinned([*was, Version(number, record.after, len(data))])
        self._save(record)
        for version in {*was}.difference(record.versions):
            with suppress(OSError):
                self.workspace.kept.unlink(f"{FOLDER}/{self._name(version.number)}")

    def others(self) -> Counter[str]:
        """Return the lines of other writers, which they may take out."""
        data = self._load(self._name("others"))
        with suppress(zlib.error):
            return Counter(texts(zlib.decompress(data))) if digest(data) == self.record.others else Counter()
        return Counter()

    def _with_others(self, record: Record, lines: Counter[str]) -> Record:
        """Return a record with these lines of other writers, which are written to the disk."""
        packed = zlib.compress("".join(f"{line}\n" for line in lines.elements()).encode(*_ENCODING), 1)
        if digest(packed) == record.others:
            return record
        self._write(self._name("others"), packed)
        return dataclasses.replace(record, others=digest(packed))

    def _nearest(self, now: Counter[str]) -> bytes:
        """Return the version that differs from these lines in the fewest lines; the oldest of several."""

        def distance(version: bytes) -> int:
            lines = said(version)
            return (now - lines).total() + (lines - now).total()

        versions = map(self._version, self.record.versions[:-1])
        return min(filter(None, versions), key=distance, default=b"")

    def _removed(self, before: bytes, after: bytes) -> list[str]:
        """Return the hashes of the lines that we took out, with those of this write."""
        old, new = set(before.split(b"\n")), set(after.split(b"\n"))
        added = {self.hash(line.decode(*_ENCODING)) for line in new - old}
        gone = (self.hash(line.decode(*_ENCODING)) for line in old - new if line.strip())
        hashes = dict.fromkeys([*self.record.removed, *gone])
        return [one for one in hashes if one not in added][-_MOST_REMOVED:]

    def hash(self, text: str) -> str:
        """Return the hash by which a line that was taken out is recognised."""
        return blake2b(text.strip().encode(*_ENCODING), digest_size=6).hexdigest()

    def _copy(
        self,
        base: bytes,
        ours: bytes,
        lost: Counter[str],
        back: Sequence[str] = (),
        *,
        is_gone: bool = False,
    ) -> None:
        """Keep our overwritten version and the base of a merge; `notices` reports it."""
        second, rest = divmod(time.time_ns(), 10**9)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(second))
        name = f"{COPIES}/{stamp}-{rest // 1000:06}-{self.key}"
        first = next((n for n, text in enumerate(_lines(ours)) if lost[text]), 0)
        about = {"note": self.note, "lost": lost.total(), "first": first, "back": back, "gone": is_gone}
        with records.translated(name):
            for ending, data in (("md", ours), ("base", base), ("json", records.encode(about))):
                self.workspace.kept.create(f"{name}.{ending}", data)
        for old in copy_names(self.workspace)[:-_MOST_COPIES]:
            discard(self.workspace, old)

    def _save(self, record: Record) -> None:
        self._write(f"{self.key}.json", records.encode(vars(record)))

    def _write(self, name: str, data: bytes) -> None:
        try:
            self.workspace.kept.exchange(f"{FOLDER}/{name}", data, durable=False, alone=True)
        except OSError as error:
            owner = f"; {remedies.say('doctor.owner')}" if isinstance(error, PermissionError) else ""
            shown = paths.shown(self.workspace.state / FOLDER / name)
            raise NoteUnreadable(shown, paths.reason(error) + owner) from error


def _thinned(versions: Sequence[Version]) -> list[Version]:
    """Return the newest versions, of older ones fewer and fewer, always the first, within `_MOST_BYTES`."""
    last, room, left = versions[-1].number, _MOST_BYTES, list[Version]()
    for version in reversed(versions):
        step = version.number & -version.number  # the largest power of two in its number
        room -= version.size
        if (not step or last - version.number < _NEWEST * step) and (room >= 0 or len(left) < 2):
            left.append(version)
    return left[::-1]


def key_of(note: str) -> str:
    """Return the part that the names of all files about a note share."""
    return sha256(note.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def replace(
    workspace: paths.Workspace,
    path: Path,
    compose: Callable[[Document], Document],
    *,
    timeout_s: float = LOCK_WAIT_S,
) -> None:
    """Read a note of a workspace, compose its next version and write it whole, under the lock of notes.

    A missing note reads as empty; its encoding, line ends and mode stay. Raises AccessDenied, NoteUnreadable,
    LockTimeout, Busy.
    """
    from commonplace.markdown.document import Document  # which `undo` and `check` do not need

    workspace.check_writable()
    files.replace(
        path,
        lambda data: compose(Document.read(data, str(path)).checked()).data,
        lock=paths.lock_file(workspace, "notes"), timeout_s=timeout_s, within=workspace.root,
        guard=lambda: guard(workspace, path),
    )  # fmt: skip


def guard(workspace: paths.Workspace, path: Path | str) -> Writes:
    """Return the record of a note of a workspace."""
    return Writes(workspace, os.path.relpath(os.path.join(workspace.root, path), workspace.root))


def listed(workspace: paths.Workspace, folder: str) -> list[str]:
    """Return the names of the files in a folder of the state; none if it is missing."""
    try:
        return workspace.kept.names(folder)
    except OSError:
        return []


def recorded(workspace: paths.Workspace) -> list[Writes]:
    """Return the undamaged records of notes, the last written first."""
    found = list[tuple[int, Writes]]()
    for name in listed(workspace, FOLDER):
        record = _load_record(workspace, f"{FOLDER}/{name}") if name.endswith(".json") else None
        if record and name == f"{key_of(record.note)}.json":
            at = 0
            with suppress(OSError):  # removed meanwhile, as the whole folder may be
                at = workspace.kept.stat(f"{FOLDER}/{name}").st_mtime_ns
            found.append((at, Writes(workspace, record.note, record)))
    return [writes for _, writes in sorted(found, key=lambda pair: -pair[0])]


def check(workspace: paths.Workspace, known: Mapping[str, bytes] | None = None) -> list[str]:
    """Look for notes that other programs overwrote since the last write or sync; report each once.

    `known`: notes as they were opened in an editor, whose lines were taken out on purpose. Raises
    NoteUnreadable.
    """
    if listed(workspace, FOLDER):
        with suppress(LockTimeout), locked(paths.lock_file(workspace, "notes"), timeout_s=0.5):
            ours: set[str] = set()
            for place, writes in enumerate(recorded(workspace)):
                writes.update((known or {}).get(writes.note))
                if place < _MOST_RECORDS:
                    ours |= writes.files
            for name in set(listed(workspace, FOLDER)) - ours:
                with suppress(OSError):
                    workspace.kept.remove(f"{FOLDER}/{name}")
    return notices(workspace)


def warnings(workspace: paths.Workspace) -> list[str]:
    """Return the sentences of `check`, or the reason why it failed, without raising."""
    try:
        return check(workspace)
    except CommonplaceError as error:
        return [f"overwritten notes could not be looked for: {error}"]


def notices(workspace: paths.Workspace) -> list[str]:
    """Return a sentence for each overwritten version that was not reported yet."""
    sentences = []
    for name in listed(workspace, COPIES):
        if name.endswith(".json"):
            stem = f"{COPIES}/{name.removesuffix('.json')}"
            with suppress(OSError):  # another process has just reported it
                about = read_about(workspace, f"{stem}.json")
                if about is None:
                    workspace.kept.unlink(f"{stem}.json")
                else:
                    workspace.kept.rename(f"{stem}.json", f"{stem}.told")
                    sentences.append(_sentence(workspace, stem, about))
    return sentences


def _sentence(workspace: paths.Workspace, stem: str, about: Mapping[str, Any]) -> str:
    note, lost, back = paths.shown(str(about["note"])), int(about["lost"]), len(about["back"])
    first = "".join(_lines(workspace.kept.read(f"{stem}.md"))[int(about["first"]) :][:1])
    lines = f"{lost:,} lines" if lost != 1 else "a line"
    again = f"{back:,} lines again that were" if back != 1 else "a line again that was"
    if about.get("gone"):
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
    """Return the names of the overwritten versions, oldest first."""
    names = listed(workspace, COPIES)
    return [name.removesuffix(".md") for name in names if name.endswith(".md")]


def read_about(workspace: paths.Workspace, path: str) -> dict[str, Any] | None:
    """Read the record of a copy; None if it is missing or damaged."""
    try:
        return records.read(workspace.kept, workspace.state / path)
    except (OSError, ValueError):
        return None


def discard(workspace: paths.Workspace, name: str) -> None:
    """Delete an overwritten version, reported or not. Raises AccessDenied, NoteUnreadable."""
    workspace.check_writable()
    for ending in ("json", "told", "base", "md"):
        with records.translated(path := f"{COPIES}/{name}.{ending}"):
            workspace.kept.unlink(path, missing_ok=True)


# --- lines ---------------------------------------------------------------------------------------------

_ENCODING = ("utf-8", "surrogateescape")
_MARK = re.compile(r"^(?:[-*+]|[0-9]+[.)])\s+")  # of a list
_NO_LINES = Counter[str]()
_LEAD = "-*+#>0123456789: "  # bullet and time


def texts(data: bytes) -> list[str]:
    """Return the lines of a note that are not blank, stripped."""
    return list(filter(None, _lines(data)))


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in _plain(data).decode(*_ENCODING).split("\n")]


def _plain(data: bytes) -> bytes:
    """Return a text as UTF-8 without a byte order mark, from whichever Unicode encoding."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return data.decode("utf-16", "replace").encode(*_ENCODING)
    return data.removeprefix(codecs.BOM_UTF8)


def said(data: bytes) -> Counter[str]:
    """Count each line of a note that is not blank, stripped."""
    return Counter(texts(data))


def _without(version: bytes, lost: Counter[str]) -> bytes:
    """Return a version without some lines: a merge from that base puts them in if either side has them."""
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


def is_edited(line: str, added: Iterable[str]) -> bool:
    """Tell whether one of the added lines is like a line that is gone; of 50, by 50 characters."""
    from difflib import get_close_matches

    others = [text[:50].lstrip(_LEAD) for text in islice(added, 50)]
    return bool(get_close_matches(line[:50].lstrip(_LEAD), others, 1))


def digest(data: bytes | None) -> str:
    """Return the digest of some bytes; empty for no file."""
    return "" if data is None else sha256(data).hexdigest()[:32]


def marks(status: os.stat_result | None) -> tuple[int, ...]:
    """Return the inode, size and time (ns) of a file; empty for no file."""
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status else ()


def _load_record(workspace: paths.Workspace, path: str) -> Record | None:
    value = read_about(workspace, path)
    try:
        record = Record(**value) if value and isinstance(value.get("note"), str) else None
        if record:
            record.versions = [Version(*version) for version in record.versions]
    except TypeError:  # of another version
        return None
    return record
