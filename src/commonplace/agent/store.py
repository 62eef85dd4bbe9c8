"""Synchronous interface for a host's prompt builder: notes read and written, the context, a prefetch."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING

from commonplace.agent import files
from commonplace.agent.chunks import read
from commonplace.agent.context import Context, ContextBuilder, day_of
from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, TextLost
from commonplace.memory import Memory
from commonplace.redaction import masks
from commonplace.types.changes import About, Provenance

if TYPE_CHECKING:
    from commonplace.types import Recall, Written

DEADLINE_S = 2.0  # that a host waits for a block which was begun ahead
RUNNING = 4  # blocks begun ahead at a time in one process; a host that hangs must not pile up threads
_SLOTS = threading.BoundedSemaphore(RUNNING)


class MemoryStore:
    """The memory of a workspace as plain calls; safe from any thread."""

    def __init__(self, memory: Memory, builder: ContextBuilder | None = None) -> None:
        self.memory = memory
        self.builder = builder or ContextBuilder(memory)
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

    def memory_context(
        self,
        message: str = "",
        *,
        session: str = "",
        now: datetime | date | None = None,
        files: bool | None = None,
        budget: int | None = None,
    ) -> str:
        """Return the block for a prompt, as `ContextBuilder.build` makes it; never raises for bad files."""
        return self.builder.build(message, session=session, now=now, files=files, budget=budget).text

    def recall(self, message: str, *, budget: int | None = None, now: date | None = None) -> Recall:
        """Recall for a message alone, if anything clearly answers it. Raises as `Memory.recall` does."""
        return self.memory.recall(message, budget=budget, now=now, strict=True)

    def prefetch(self, message: str, **options: object) -> Prefetch:
        """Begin the block for a message; see `prefetch`."""
        return prefetch(self.builder, message, **options)


class Prefetch:
    """A block that is built in a thread while the host does something else."""

    def __init__(self, builder: ContextBuilder, message: str, options: Mapping[str, object]) -> None:
        """Begin at once, unless too many are under way; then there will be no block."""
        self.error = ""
        self.refused = False  # since too many were under way
        self._builder, self._message, self._options = builder, message, options
        self._context: Context | None = None
        self._done, self._lock = threading.Event(), threading.Lock()
        self._cancelled = self._given = False
        if not _SLOTS.acquire(blocking=False):
            self.error, self.refused = f"{RUNNING} blocks are being built already", True
            self._done.set()
            return
        try:
            threading.Thread(target=self._run, name="commonplace-prefetch", daemon=True).start()
        except RuntimeError as error:  # no more threads, or the interpreter is about to end
            _SLOTS.release()
            self.error = str(error)
            self._done.set()

    @property
    def done(self) -> bool:
        """Tell whether it has ended, with a block or without."""
        return self._done.is_set()

    def result(self, timeout_s: float = DEADLINE_S) -> Context | None:
        """Return the block, waiting at most `timeout_s`; None if it is late, failed or cancelled.

        A returned block counts as given to its session; a late one does not. Never raises.
        """
        if not self._done.wait(max(0.0, timeout_s)):
            return None
        with self._lock:
            if self._cancelled or self._context is None:
                return None
            if not self._given:
                self._given = True
                try:
                    self._builder.given(self._context)
                except Exception as error:  # noqa: BLE001 - a host's prompt does not fail with its memory
                    self.error = str(error)
            return self._context

    def cancel(self) -> None:
        """Want it no longer; the thread ends by itself and what it made is dropped."""
        with self._lock:
            self._cancelled = True

    def _run(self) -> None:
        try:
            self._context = self._builder.compose(self._message, **self._options)  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - a host's prompt does not fail with its memory
            self.error = str(error)
        finally:
            _SLOTS.release()
            self._done.set()


def prefetch(source: Memory | ContextBuilder, message: str, **options: object) -> Prefetch:
    """Begin the block for a message in a thread; `options` are those of `ContextBuilder.build`.

    With a memory each call has a builder of its own, which knows of no earlier one: keep a builder where
    sessions matter.
    """
    builder = source if isinstance(source, ContextBuilder) else ContextBuilder(source)
    return Prefetch(builder, message, options)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _keeps(before: str, after: str) -> bool:
    """Return whether a text has all non-blank lines of another, in their order."""
    rest = iter(after.split("\n"))
    return all(any(line == other for other in rest) for line in before.split("\n") if line.strip())
