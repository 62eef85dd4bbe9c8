"""Changed files, read and cut: what a sync writes into the index."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from commonplace.chunking import passages
from commonplace.chunking.settings import ChunkSettings
from commonplace.errors import MissingExtra
from commonplace.index.progress import Progress
from commonplace.index.rows import Entry
from commonplace.index.sqlite import Key, Known
from commonplace.notes import languages
from commonplace.notes.parse import decode, parse
from commonplace.notes.scan import FileState
from commonplace.paths import shown
from commonplace.types import FileFailure

BATCH_BYTES = 4 << 20  # text per transaction: FTS5 merges less the more it gets at once
# A file changed within this time of being read could change again under the same time stamp.
RACY_NS = 50_000_000
_AGAIN = "install 'commonplace[code]' anew and delete the index"


class Reader:
    """Reads and cuts changed files, and counts what it found."""

    def __init__(self, manifest: Mapping[Key, Known], chunk: ChunkSettings) -> None:
        self.manifest = manifest
        self.chunk = chunk
        self.added: list[str] = []
        self.changed = 0
        self.touched: list[FileState] = []
        self.failed: list[FileFailure] = []
        self.plain = 0  # code files whose syntax cannot be read here
        self.broken: list[str] = []  # what keeps installed grammars from being used

    def batches(self, states: Sequence[FileState], progress: Progress) -> Iterator[list[Entry]]:
        """Yield entries for files whose content changed, some megabytes at a time."""
        batch: list[Entry] = []
        size = 0
        for done, state in enumerate(states):
            progress("files", done, len(states))
            entry = self._entry(state)
            if entry is None:
                continue
            batch.append(entry)
            size += entry.state.size
            if size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch
        progress("files", len(states), len(states))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the owner should know of how the files were cut."""
        told = [f"code is cut by lines: {trouble}; {_AGAIN}" for trouble in dict.fromkeys(self.broken)]
        if self.plain:
            files = "1 code file was" if self.plain == 1 else f"{self.plain} code files were"
            told.append(f"{files} cut by lines: {MissingExtra('cutting along the syntax', 'code')}")
        return tuple(told)

    def _entry(self, state: FileState) -> Entry | None:
        try:
            state.path.encode()
            data, state = _read(state)
        except UnicodeEncodeError:  # Linux allows any bytes; the index and its readers do not
            self.failed.append(FileFailure(shown(state.path), "its name is not UTF-8: rename it"))
            return None
        except OSError as error:
            self.failed.append(FileFailure(state.path, error.strerror or str(error)))
            return None
        content = content_hash(data)
        known = self.manifest.get(state.key)
        if known is not None and known.hash == content:
            self.touched.append(state)
            return None
        if known is None:
            self.added.append(content)
        else:
            self.changed += 1
        self._look_at_grammar(state.path)
        note = parse(decode(data), state.path)
        return Entry(state, content, note, *passages.split(note, self.chunk))

    def _look_at_grammar(self, path: str) -> None:
        grammar = languages.of(path)
        if grammar is None:
            return
        if not languages.installed(grammar):
            self.plain += 1
            return
        from commonplace.chunking import outline

        if trouble := outline.trouble(grammar):
            self.broken.append(trouble)


def content_hash(data: bytes) -> str:
    """Identity of a file's content, 32 hex digits; the first few name the note."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _read(state: FileState) -> tuple[bytes, FileState]:
    """Read a file, with size and time as they stood when it was read.

    The time is recorded as unknown if the file could still change under the same time stamp.
    """
    with open(state.absolute, "rb") as file:
        status = os.fstat(file.fileno())
        data = file.read()
    racy = status.st_mtime_ns > time.time_ns() - RACY_NS
    return data, state._replace(mtime_ns=0 if racy else status.st_mtime_ns, size=len(data))
