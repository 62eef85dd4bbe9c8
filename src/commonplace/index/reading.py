"""Changed files, read and cut: what a sync writes into the index."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import IO

from commonplace.base import filetypes
from commonplace.base.errors import NoteUnreadable
from commonplace.base.messages import Message, message
from commonplace.base.paths import refusal, shown
from commonplace.base.root import Read, Root, read_whole
from commonplace.chunking import passages
from commonplace.chunking.settings import ChunkSettings
from commonplace.index.base import Entry, Index, Key, Known
from commonplace.markdown import metadata, wiki
from commonplace.markdown.document import damage, decode, parse
from commonplace.notes.scan import FileState, transcript_name
from commonplace.redaction.redact import holds_secret, unclosed_line
from commonplace.types import FileFailure, Note
from commonplace.types.progress import Progress

BATCH_BYTES = 4 << 20  # text per transaction: FTS5 merges less the more it gets at once
BLOCK = 1 << 20  # bytes of a transcript in memory at once
# A file changed within this time of being read could change again under the same time stamp.
RACY_NS = 50_000_000
_MOST_TOLD, _MOST_KEPT = 5, 1_000  # notices of a kind that are shown, of all that are kept
NOTICES = "notices"  # where an index keeps them
UNREAD = "file.unread"
Notice = tuple[Key, int, Message]  # of a file as long as it has this size


class Reader:
    """Reads and cuts changed files, and counts what it found."""

    def __init__(self, manifest: Mapping[Key, Known], chunk: ChunkSettings) -> None:
        self.manifest = manifest
        self.chunk = chunk
        self.added: list[str] = []
        self.changed = 0
        self.touched: list[FileState] = []
        self.failed: list[FileFailure] = []
        self.unread: set[Key] = set()  # transcripts by collection and name that could not be read
        self.seen: set[Key] = set()  # files whose earlier notices no longer hold
        self.notices: list[Notice] = []
        self._may_name_secret = True

    def batches(self, states: Sequence[FileState], progress: Progress) -> Iterator[list[Entry]]:
        """Yield entries for files whose content changed, some megabytes at a time."""
        batch: list[Entry] = []
        size = 0
        self._may_name_secret = holds_secret("\n".join(state.path for state in states))
        for done, (state, read) in enumerate(_each_read(states)):
            progress("files", done, len(states))
            if entry := self._entry(state, read):
                batch.append(entry)
                size += entry.state.size
            if size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch
        progress("files", len(states), len(states))

    def _entry(self, state: FileState, read: Read | None) -> Entry | None:
        if state.format:
            return self._transcript(state)
        try:
            state.path.encode()
            data, status = read or _read(state)
            state = _as_read(state, status, len(data))
        except (UnicodeEncodeError, OSError) as error:
            self._fail(state, error)
            return None
        content = content_hash(data)
        if not self._is_new(state, content):
            return None
        is_code = filetypes.is_code(state.path)
        if damage(data) is not None:
            lost = "{path}: not in UTF-8, so words of it are shown as � and cannot be found; save it as UTF-8"
            self._notice(state, message("note.encoding", lost, path=shown(state.shown)))
        text = decode(data)
        note = parse(text, state.path)
        self._look_at_front_matter(note, state)
        if line := unclosed_line(text, any_case=not is_code):
            never = "{place}: <private> is never closed and hides all behind it; "
            never += "write </private>, or &lt;private> to name it"
            self._notice(state, message("note.open", never, place=f"{shown(state.shown)}:{line}"))
        cut = passages.split(note, self.chunk)
        if not is_code and (said := wiki.said(note)):
            note = replace(note, metadata={**said, **note.metadata})
        return Entry(state, content, note, *cut)

    def _transcript(self, state: FileState) -> Entry | None:
        """Read a transcript, never whole at once: first its hash, then, if that is new, its messages."""
        from commonplace.transcripts import formats

        try:
            state.path.encode()
            with state.open() as file:
                content, state = _hash(file, state)
                if not self._is_new(state, content):
                    return None
                file.seek(0)
                damage = formats.Damage()
                note = formats.note(file, state.path, state.format, state.size, damage)
        except (UnicodeEncodeError, OSError, NoteUnreadable) as error:  # what the index knows of it stays
            self.unread.add((state.collection, transcript_name(state.path)))
            self._fail(state, error)
            return None
        if damage.conversations or damage.lines:
            told = message("transcript.cut", "{path}: {damage}", path=shown(state.shown), damage=str(damage))
            self._notice(state, told)
        return Entry(state, content, note, *passages.split(note, self.chunk))

    def _notice(self, state: FileState, told: Message) -> None:
        self.seen.add(state.key)
        self.notices.append((state.key, state.size, told))

    def _fail(self, state: FileState, error: UnicodeEncodeError | OSError | NoteUnreadable) -> None:
        path, why = state.shown, error.reason if isinstance(error, NoteUnreadable) else ""
        if isinstance(error, UnicodeEncodeError):  # Linux allows any bytes; the index and its readers do not
            path, why = shown(path), message("file.name", "its name is not UTF-8: rename it")
        elif isinstance(error, OSError):
            why = refusal(error)
        self.failed.append(FileFailure(path, why))
        self._notice(state, message(UNREAD, "{path}: {reason}", path=path, reason=why))

    def _is_new(self, state: FileState, content: str) -> bool:
        """Count a file that was read; whether it says something else than before."""
        known = self.manifest.get(state.key)
        if known is not None and known.hash == content:
            self.touched.append(state)
            return False
        self.seen.add(state.key)
        if known is None:
            self.added.append(content)
            if self._may_name_secret and holds_secret(state.path):
                looks = "{path}: its name holds what looks like a secret, and every answer shows it; "
                looks += "rename it, and change the secret"
                self._notice(state, message("note.secret", looks, path=shown(state.shown)))
        else:
            self.changed += 1
        return True

    def _look_at_front_matter(self, note: Note, state: FileState) -> None:
        if not note.front_matter:
            return
        first, last = note.front_matter
        if not note.metadata and (why := metadata.excess(note.lines[first : last - 1])):
            text = "{path}: its front matter is {why}, so it is read as text; shorten it"
            self._notice(state, message("note.front", text, path=shown(state.shown), why=why))
        elif faulty := getattr(note.metadata, "faulty", ()):
            text = "{place}: no YAML, so this line is read as it stands; put its value in quotation marks"
            place = f"{shown(state.shown)}:{first + 1 + faulty[0]}"
            self._notice(state, message("note.front_line", text, place=place))


# --- notices: what stands of files until they change ------------------------------------------------------


def noted(index: Index) -> list[Notice]:
    """Return the notices that an index keeps."""
    rows = json.loads(index.meta.get(NOTICES) or "[]")
    return [((row[0], row[1]), row[-1], Message(*row[2:5])) for row in rows]


def keep(index: Index, reader: Reader, gone: Iterable[Key]) -> list[Notice]:
    """Keep the notices of files that were read now, in the place of earlier ones; return all that hold."""
    before, over = noted(index), reader.seen.union(gone)
    after = [*(one for one in before if one[0] not in over), *reader.notices][:_MOST_KEPT]
    if after != before:
        index.meta[NOTICES] = json.dumps([[*key, told, *told.data().values(), n] for key, n, told in after])
    return after


def lines(notices: Iterable[Notice]) -> list[str]:
    """Return notices as they are shown: the first of each kind, and how many more there are."""
    kinds: dict[str, list[str]] = {}
    for *_, told in notices:
        kinds.setdefault(told.code, []).append(told)
    for some in kinds.values():
        if more := len(some[_MOST_TOLD:]):
            some[_MOST_TOLD:] = [message("notices.more", "{n:,} more like this", n=more)]
    return [told for some in kinds.values() for told in some]


def note_of(data: bytes, path: str, form: str) -> Note:
    """Read a file's content as the note at `path`: a transcript of this format, or, without one, a note."""
    if not form:
        return parse(decode(data), path)
    from commonplace.transcripts import formats

    return formats.note(io.BytesIO(data), path, form)


def content_hash(data: bytes) -> str:
    """Identity of a file's content, 32 hex digits; the first few name the note."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content_of(state: FileState) -> str:
    """Identity of what a file says now, a block at a time, empty where it cannot be read."""
    try:
        with state.open() as file:
            return _hash(file, state)[0]
    except OSError:
        return ""


def _each_read(states: Iterable[FileState]) -> Iterator[tuple[FileState, Read | None]]:
    """Yield files with their bytes, folder by folder; None for transcripts, links and what cannot be read."""
    for (root, form), some in groupby(states, key=lambda one: (one.absolute[: -len(one.path)], one.format)):
        files = list(some)
        reads = ((one, None) for one in files) if form else Root(root).each_read(one.path for one in files)
        yield from ((state, read) for state, (_, read) in zip(files, reads, strict=True))


def _read(state: FileState) -> Read:
    """Read a file that may be a link; return its bytes and its status before that. Raises OSError."""
    with state.open() as file:
        status = os.fstat(file.fileno())
        return read_whole(file, state.path), status


def _hash(file: IO[bytes], state: FileState) -> tuple[str, FileState]:
    """Identity of what is in an open file, as `content_hash` gives it, with size and time as it was read."""
    status, digest, size = os.fstat(file.fileno()), hashlib.blake2b(digest_size=16), 0
    while data := file.read(BLOCK):
        digest.update(data)
        size += len(data)
    return digest.hexdigest(), _as_read(state, status, size)


def _as_read(state: FileState, status: os.stat_result, size: int) -> FileState:
    """Note size and time of a file as it was read; time 0 if it could still change under the same stamp."""
    racy = status.st_mtime_ns > time.time_ns() - RACY_NS
    return state._replace(mtime_ns=0 if racy else status.st_mtime_ns, size=size)
