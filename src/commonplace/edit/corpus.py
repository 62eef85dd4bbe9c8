"""The workspace's own notes as they stand on disk, read once: which may be changed, and what they state."""

from __future__ import annotations

import os

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.changes.transaction import Read
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings
from commonplace.index.reading import content_hash
from commonplace.language import similarity
from commonplace.markdown import metadata
from commonplace.markdown.document import Document, decode
from commonplace.notes import scan
from commonplace.types.notes import Statement

_LARGEST = 4_000_000  # bytes of a note that is looked through; more is no note that somebody wrote


class Corpus:
    """The notes of a workspace, without collections and transcripts, which nothing generated ever changes."""

    def __init__(self, workspace: paths.Workspace, settings: Settings, read: Read) -> None:
        """Bind to what reads a file; the files are listed at once, and read when they are asked for."""
        own = scan.sources(os.fspath(workspace.root), settings)[0]._replace(name=WORKSPACE_COLLECTION)
        found = [s for s in scan.scan([own]) if s.path.lower().endswith(".md") and s.size]
        told = f"has more than {_LARGEST:,} bytes, so it was not looked through"
        self.unreadable = [f"{paths.shown(s.path)}: {told}" for s in found if s.size > _LARGEST]
        self._files = {s.path: s for s in found if s.size <= _LARGEST}
        self.paths = sorted(self._files, key=lambda path: (metadata.kind_of(path) != "long-term", path))
        self._read = read
        self._data: dict[str, bytes | None] = {}
        self._documents: dict[str, Document] = {}
        self._glances: dict[str, bytes] = {}
        self._folds: dict[str, str] = {}

    def data(self, path: str) -> bytes | None:
        """The bytes of a note; None for one that is not there, or cannot be read."""
        if path not in self._data:
            try:
                self._data[path] = self._read(path)
            except CommonplaceError as error:
                self._data[path] = None
                self.unreadable.append(str(error))
        return self._data[path]

    def glance(self, path: str) -> bytes:
        """The bytes of a note as they lie there, to see whether it is worth reading; none if it cannot be."""
        if path not in self._glances:
            try:
                with self._files[path].open() as file:
                    self._glances[path] = file.read(_LARGEST)
            except OSError as error:
                self._glances[path] = b""
                self.unreadable.append(f"{paths.shown(path)}: {paths.reason(error)}")
        return self._glances[path]

    def document(self, path: str) -> Document:
        """A note as it is written back, with what is private in it."""
        if path not in self._documents:
            self._documents[path] = Document.read(self.data(path) or b"", path)
        return self._documents[path]

    def statements(self, path: str) -> list[Statement]:
        """What a note states, as it may be shown."""
        return self.document(path).statements

    def like(self, words: str, least: float = 0.5) -> list[Statement]:
        """The statements of notes that hold at least this much of the words of a text; MEMORY.md first."""
        rated = similarity.weights(words)
        need = least * sum(rated.values())
        found: list[Statement] = []
        for path in self.paths:
            if path not in self._folds:
                data = self.glance(path)
                self._folds[path] = (
                    data.decode().lower() if data.isascii() else similarity.folded(decode(data))
                )
            text = self._folds[path]
            if sum([weight for word, weight in rated.items() if word in text]) >= need:
                found += self.statements(path)
        return found

    def curated(self) -> list[Statement]:
        """The statements of MEMORY.md."""
        long_term = (path for path in self.paths if metadata.kind_of(path) == "long-term")
        return [statement for path in long_term for statement in self.statements(path)]

    def hashed(self, start: str) -> list[str]:
        """The notes whose content hash begins so, as `#docid` names them."""
        return [path for path in self.paths if content_hash(self.glance(path)).startswith(start)]
