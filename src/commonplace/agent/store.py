"""Long-term memory and today's note as two texts, for a host that keeps its memory so."""

from __future__ import annotations

import hashlib
import threading
from datetime import date, datetime
from typing import TYPE_CHECKING

from commonplace.agent import files
from commonplace.agent.chunks import read
from commonplace.agent.context import day_of
from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, TextLost
from commonplace.memory import Memory
from commonplace.redaction import masks
from commonplace.types.changes import About, Provenance

if TYPE_CHECKING:
    from commonplace.types import Written


class MemoryStore:
    """The two texts of one memory; safe from any thread."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._read: bytes | None = None  # the hash of MEMORY.md as it was read or written last
        self._lock = threading.Lock()

    def read_today(self, now: datetime | date | None = None) -> str:
        """Read today's note as it may be shown; empty if it is missing. Raises as `Memory.get` does."""
        workspace = self.memory.workspace
        try:
            note = read(self.memory, workspace.daily(day_of(now)).relative_to(workspace.root).as_posix())
        except NoteNotFound:
            return ""
        return "".join(f"{line}\n" for line in note.lines)

    def append_today(self, text: str, *, heading: str | None = None, now: datetime | None = None) -> Written:
        """Append an entry to today's note, redacted. Raises as `Memory.remember` does."""
        by = Provenance("agent", self.memory._agent) if self.memory._agent else None
        return self.memory.remember(text, heading=heading, now=now, provenance=by)

    def read_long_term(self) -> str:
        """Read MEMORY.md to rewrite it: with its comments, with marks in place of hidden text.

        Empty if it is missing. Raises OutsideRoots, NoteUnreadable.
        """
        workspace = self.memory.workspace
        place = workspace.memory_file.relative_to(workspace.root).as_posix()
        text = files.shown(self.memory, place) or ""
        with self._lock:
            self._read = _hash(text)
        return text

    def write_long_term(self, text: str, *, agent: str = "", session: str = "") -> None:
        """Replace MEMORY.md: locked, atomic, redacted; text hidden from the reader stays.

        It is a generated change like others, which `log` shows and `undo` takes back. If the file changed
        since it was last read, every line of it must still be there. Raises TextLost before writing,
        ConfigError, OutsideRoots, NoteUnreadable.
        """
        workspace = self.memory.workspace
        path = workspace.memory_file
        place = path.relative_to(workspace.root).as_posix()
        about = About("write", f"rewrite {place}", "an agent replaced it", "agent", agent, session)

        def compose(before: str | None) -> str:
            with self._lock:
                just_read = self._read == _hash(before or "")
            if not just_read and not _keeps(before or "", text):
                wrong = "has lines that were not read and would be lost; read it again, then write"
                raise TextLost(paths.shown(path), wrong)
            return text

        try:
            written = files.edit(self.memory, place, compose, about)
        except masks.MarkLost as error:
            wrong = f"{error} would be lost; leave its mark where it stood, or edit the file itself"
            raise TextLost(paths.shown(path), wrong) from error
        with self._lock:
            self._read = _hash(written.text)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _keeps(before: str, after: str) -> bool:
    """Return whether a text has all non-blank lines of another, in their order."""
    rest = iter(after.split("\n"))
    return all(any(line == other for other in rest) for line in before.split("\n") if line.strip())
