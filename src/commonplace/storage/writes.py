"""Keep the last known version of each note, ours or another program's, and who wrote its entries.

An editor that read a note before our write and saves it afterwards saves it without our lines; so does a
checkout or a sync tool. A version that lacks our lines, or has lines again that we took out, is reported
once, and our version is kept (`storage.overwritten`). Lines come back only by `restore`, or after a yes in
`edit`.

Rows of `state.sqlite`: `note` has a version, `entry` the key of an entry (a heading, list item or paragraph),
its writer and whether we wrote it, `overwritten` our version of a note that another program overwrote.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.database import Connection
from commonplace.base.digests import blake2b, sha256
from commonplace.base.locks import LOCK_WAIT_S, LockTimeout, locked
from commonplace.storage import files, state

if TYPE_CHECKING:
    from commonplace.markdown.document import Document

# Limits are counts, not ages: a clock that jumps a day ahead would drop everything at once.
_MOST_NOTES = 30  # notes with a version, the last written
_MOST_COPIES = 200
_MOVED_S = 0.1  # for which an editor moves a file away that it writes anew
_MOMENT_S = 1.0  # age of an empty file that an editor is filling
_ENCODING = ("utf-8", "surrogateescape")
_MARK = re.compile(r"^(?:[-*+]|[0-9]+[.)])\s+")  # of a list
_COMMENT = re.compile(r"<!--[^<>]*-->")
_OWNER = re.compile(r"<!-- by: owner[^<>]*-->")
_BY = re.compile(r"<!-- by: ([a-z]+)(?:; agent: ([^;>]*))?")
_DROP_NOTES = "DELETE FROM note WHERE path NOT IN (SELECT path FROM note ORDER BY at DESC LIMIT ?)"
_REMOVED, _OURS, _OTHERS = 0, 1, 2  # `ours` of an entry: removed by us, written by us, by another program
_ADD_OTHERS = f"INSERT OR IGNORE INTO entry VALUES (?, ?, {_OTHERS}, '', '', ?)"
_KEEP = "INSERT OR IGNORE INTO overwritten(name, note, data, bytes) VALUES (?, ?, ?, ?)"
_DROP_COPIES = "DELETE FROM overwritten WHERE rowid <= (SELECT max(rowid) FROM overwritten) - ?"


class Writes:
    """The last known version of one note.

    Hold the lock of notes for `prepare`, `replaced`, `update`, `put` and `forget`.
    """

    def __init__(self, workspace: paths.Workspace, note: str, by: str = "", agent: str = "") -> None:
        """Read the record of a note; `by` and `agent` sign new entries without a writer."""
        self.workspace, self.note, self.writer = workspace, note, (by, agent)
        self._id = os.fsencode(note)  # a name may be no UTF-8
        self.version = b""  # the last, even if the note is gone
        self.after = ""  # digest of the last version, empty for no file
        self._old: list[int] = []  # `marks` of the file that our write replaced
        self._number = 0  # of the version; entries know which was the first to have them
        for data, packed in state.rows(workspace, "SELECT data, bytes FROM note WHERE path = ?", (self._id,)):
            with suppress(zlib.error):
                self.version = zlib.decompress(packed)
                row = json.loads(data)
                self.after, self._old, self._number = row["after"], row["old"], row["number"]
        self._next = self.version, self.after, self._old, self._number

    def is_last_version(self, data: bytes) -> bool:
        """Tell whether these bytes are the last known version."""
        return short_digest(data) == self.after

    def prepare(
        self, before: bytes | None, old: files.Status, after: bytes | None, new: files.Status
    ) -> None:
        """Store our version if another program overwrote it, then prepare the next one.

        Raises NoteUnreadable.
        """
        found = self._examined(before, old)
        was, now = entries(before or b""), entries(after or b"")
        added = {one: _writer(now[one]) or self.writer for one in now.keys() - was.keys()}
        rows = [(one, self._id, _REMOVED, "", "", self._number + 1) for one in was.keys() - now.keys()]
        rows += [(one, self._id, _OURS, *writer, self._number + 1) for one, writer in added.items()]
        with state.writing(self.workspace, durable=False) as connection:
            for statement, values in found:
                connection.execute(statement, values)
            connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._next = self._save(connection, after, new, marks(old))  # this attempt may fail

    def replaced(self, read: bytes = b"", late: bytes = b"") -> None:
        """Confirm the replacement that was prepared last.

        If a program wrote `late` into the replaced file, which was `read`, its version is kept and reported.
        """
        self.version, self.after, self._old, self._number = self._next
        if late == read:
            return
        if new := entries(late).keys() - entries(read).keys() - entries(self.version).keys():
            about = {"lost": _hexed(new), "told": _hexed(new), "back": [], "gone": False, "late": True}
            with state.writing(self.workspace) as connection:
                for statement, values in self._copy(about, late):
                    connection.execute(statement, values)

    def update(self, known: bytes | None = None) -> None:
        """Compare the version with the note. Raises NoteUnreadable.

        `known`: the note as it was opened in an editor; its lines were taken out on purpose.
        """
        try:
            with self.workspace.files.open(self.note, links=True) as file:
                status: files.Status = os.fstat(file.fileno())
                assert status is not None
                if not status.st_size and 0 <= time.time() - status.st_mtime < _MOMENT_S:
                    return  # another program is writing it: next time
                data: bytes | None = file.read()
        except (FileNotFoundError, NotADirectoryError):
            if known is None and (not self.after or self._comes_back()):
                return
            data, status = None if known is None else b"", None
        except OSError:  # not ours to read any more
            if known is None:
                return
            data, status = b"", None
        found = self._examined(data, status, known or b"")
        with state.writing(self.workspace, durable=False) as connection:
            for statement, values in found:
                connection.execute(statement, values)
            self._save(connection, data, status, [])

    def put(self, version: bytes) -> None:
        """Replace the stored version by one without forgotten entries."""
        self.version = version
        with state.writing(self.workspace) as connection:
            self._save(connection, version if self.after else None, None, [])

    def forget(self) -> None:
        """Delete all that is kept of the note."""
        with state.writing(self.workspace) as connection:
            connection.execute("DELETE FROM note WHERE path = ?", (self._id,))
            connection.execute("DELETE FROM entry WHERE note = ?", (self._id,))

    @property
    def removed(self) -> set[bytes]:
        """The keys of the entries that we took out of the note."""
        query = "SELECT key FROM entry WHERE note = ? AND ours = ?"
        return {one for (one,) in state.rows(self.workspace, query, (self._id, _REMOVED))}

    def _examined(
        self, data: bytes | None, status: os.stat_result | None, known: bytes = b""
    ) -> list[tuple[str, tuple[object, ...]]]:
        """Return SQL that records foreign entries, and our version if entries were lost or restored.

        It is composed before the transaction: a note that is gone is looked for in all others.
        """
        if short_digest(data) == self.after or not self.after or (status and marks(status) == self._old):
            return []  # the last: a writer was killed before the rename
        was, now, lines = entries(self.version), dict[bytes, str](), set[str]()
        for there in self._others() if data is None else [data]:  # note by note, since there may be many
            now |= entries(there) if data is not None else {one: "" for one in entries(there) if one in was}
            lines.update(set(lines_of(there)).intersection(lines_of(self.version)))
        query = "SELECT key, ours, number FROM entry WHERE note = ?"
        rows = {one: (ours, number) for one, ours, number in state.rows(self.workspace, query, (self._id,))}
        missing = {
            one: rows.get(one, (_OTHERS, 0))
            for one in was.keys() - now.keys() - entries(known).keys()
            if not lines.issuperset(was[one].split("\n"))  # taken apart
        }
        new = [] if data is None else list(now.keys() - was.keys())
        lost_ours = [one for one, (ours, _) in missing.items() if ours == _OURS]
        restored = [one for one in new if rows.get(one, (_OTHERS, 0))[0] == _REMOVED]
        found: list[tuple[str, tuple[object, ...]]] = [
            (_ADD_OTHERS, (one, self._id, self._number + 1)) for one in new
        ]
        if restored or any(not was[one].startswith("#") for one in lost_ours):
            seen = [rows.get(one, (_OTHERS, 0))[1] for one in was if one in now]  # by the other program
            read = -1 if data is None else max(seen, default=0)
            lost = [one for one, (ours, number) in missing.items() if ours == _OURS or number > read]
            keys = {"lost": _hexed(lost), "told": _hexed(lost_ours), "back": _hexed(restored)}
            found += self._copy({**keys, "gone": data is None}, self.version)
        return found

    def _copy(self, about: Mapping[str, object], data: bytes) -> list[tuple[str, tuple[object, ...]]]:
        """Return the statements that keep a version of the note that is no longer in its file."""
        second, rest = divmod(time.time_ns(), 10**9)
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(second))}-{rest // 1000:06}"
        kept = (_KEEP, (name, self._id, json.dumps(about), zlib.compress(data, 1)))
        return [kept, (_DROP_COPIES, (_MOST_COPIES,))]

    def _comes_back(self) -> bool:
        """Wait for a missing file, which some editors move away to save it; tell whether it is there."""
        time.sleep(_MOVED_S)
        return self.workspace.files.is_file(self.note)

    def _save(
        self, connection: Connection, data: bytes | None, status: os.stat_result | None, old: list[int]
    ) -> tuple[bytes, str, list[int], int]:
        """Make these bytes the version of the note; None keeps the last, of a note that is gone."""
        version = self.version if data is None else data
        number = self._number + 1
        row = {"after": short_digest(data), "now": marks(status), "old": old, "number": number}
        values = self._id, time.time(), json.dumps(row), zlib.compress(version, 1)
        connection.execute("INSERT OR REPLACE INTO note(path, at, data, bytes) VALUES (?, ?, ?, ?)", values)
        connection.execute(_DROP_NOTES, (_MOST_NOTES,))
        return version, short_digest(data), old, number

    def _others(self) -> Iterator[bytes]:
        """Yield the bytes of all other notes of the workspace."""
        for folder, names, found in os.walk(root := self.workspace.root):
            names[:] = [name for name in names if not name.startswith(".")]
            shown = [name for name in found if name.endswith(".md") and not name.startswith(".")]
            notes = [os.path.relpath(os.path.join(folder, name), root) for name in shown]
            yield from (data for path, data in self.workspace.files.each(notes) if data and path != self.note)


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


def guard(workspace: paths.Workspace, path: Path | str, by: str = "", agent: str = "") -> Writes:
    """Return the record of writes of a note; `by` and `agent` sign new entries without a writer."""
    return Writes(workspace, os.path.relpath(os.path.join(workspace.root, path), workspace.root), by, agent)


def update(workspace: paths.Workspace, known: Mapping[str, bytes]) -> None:
    """Check the last 30 notes written for overwrites; skip the check while the lock is busy (0.5 s).

    `known`: notes as they were opened in an editor, whose lines were taken out on purpose. Raises
    NoteUnreadable.
    """
    query = "SELECT path, data FROM note ORDER BY at DESC"
    notes = [(os.fsdecode(path), row) for path, row in state.rows(workspace, query)]
    changed = [note for note, row in notes if note in known or not _is_as_written(workspace, note, row)]
    if changed:
        with suppress(LockTimeout), locked(paths.lock_file(workspace, "notes"), timeout_s=0.5):
            for note in changed:
                Writes(workspace, note).update(known.get(note))


def _is_as_written(workspace: paths.Workspace, note: str, row: str) -> bool:
    with suppress(OSError):
        return bool(marks(os.stat(workspace.root / note)) == json.loads(row)["now"])
    return not json.loads(row)["now"]


def attributed(workspace: paths.Workspace, data: bytes) -> bytes:
    """Add the writer's comment to entries of agents and tools that name no writer, or the owner."""
    query = "SELECT writer, agent FROM entry WHERE key = ? AND writer NOT IN ('', 'owner')"
    lines = _decoded(data).split("\n")
    for entry, first, last in list(blocks(lines)):
        if (_writer("\n".join(lines[first:last])) or ("owner", ""))[0] == "owner":
            for by, agent in state.rows(workspace, query, (entry,))[:1]:
                comment = f" <!-- by: {by}{f'; agent: {agent}' if agent else ''} -->"
                lines[first] = _OWNER.sub("", lines[first]).rstrip() + comment
    return "\n".join(lines).encode(*_ENCODING)


# --- entries -------------------------------------------------------------------------------------------


def blocks(lines: Sequence[str]) -> Iterator[tuple[bytes, int, int]]:
    """Yield the key of each entry, and its lines `first` to `last` (half-open, from 0).

    The key is a hash of its words, without list mark and comments, however they are wrapped.
    """
    start = -1
    for number, line in enumerate([*map(str.strip, lines), ""]):
        is_over = not line or line[0] == "#" or _MARK.match(line)
        if start >= 0 and (is_over or lines[start].lstrip()[0] == "#"):
            text = " ".join(_COMMENT.sub(" ", " ".join(lines[start:number])).split())
            if text := _MARK.sub("", text):
                yield blake2b(text.encode(*_ENCODING), digest_size=6).digest(), start, number
            start = -1
        if line and start < 0:
            start = number


def entries(data: bytes) -> dict[bytes, str]:
    """Return the text of each entry of a note by its key."""
    lines = lines_of(data)
    return {one: "\n".join(lines[first:last]) for one, first, last in blocks(lines)}


def staying(lines: Sequence[str], gone: Collection[bytes]) -> list[int]:
    """Return the indexes of the lines that are in none of the entries `gone`."""
    taken = {n for one, first, last in blocks(lines) if one in gone for n in range(first, last)}
    return [number for number in range(len(lines)) if number not in taken]


def _writer(entry: str) -> tuple[str, str] | None:
    """Return the writer and agent that a comment of an entry names."""
    return (found[1], (found[2] or "").strip()) if (found := _BY.search(entry)) else None


def texts(data: bytes) -> list[str]:
    """Return the lines of a note that are not blank, stripped."""
    return list(filter(None, lines_of(data)))


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a note, stripped."""
    return [line.strip() for line in _decoded(data).split("\n")]


def _decoded(data: bytes) -> str:
    """Return the text of a note, without a byte order mark, from whichever Unicode encoding."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode(*_ENCODING)


def _hexed(keys: Iterable[bytes]) -> list[str]:
    return [one.hex() for one in keys]


def short_digest(data: bytes | None) -> str:
    """Return half of the SHA-256 (hex) of some bytes; empty for no file."""
    return "" if data is None else sha256(data).hexdigest()[:32]


def marks(status: os.stat_result | None) -> list[int]:
    """Return the inode, size and time (ns) of a file; empty for no file."""
    return [status.st_ino, status.st_size, status.st_mtime_ns] if status else []
