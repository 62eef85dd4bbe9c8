"""How far each session is summed up, written down so that a crash neither loses a summary nor makes two.

A session has a mark in the state, made before its first message counts and moved on only after its summary
is in the note. A program that works on a session holds its lock, and keeps it while the session is open:
the kernel frees it when the program dies, so a mark whose lock is free belongs to no living program.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.locks import LockTimeout
from commonplace.storage import keyvalue, state
from commonplace.transcripts import session as transcript

if TYPE_CHECKING:
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

KIND = "session"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a session is summed up.

    `done` turns need no summary any more. `writing` is how many will not once the summary under way stands
    in the note. `size` is that of the transcript, in bytes, when it was last looked at. `held` says that a
    program has it open, or had when it died; `over`, that it was closed. `source` is the transcript of a host
    that keeps its own, empty for ours. `note` holds its summary: `entry` is the digest of its lines as they
    were written, `next` of those that are about to be.
    """

    session: str
    agent: str = ""
    done: int = 0
    writing: int = 0
    size: int = -1
    held: bool = False
    over: bool = False
    source: str = ""
    note: str = ""
    entry: str = ""
    next: str = ""


class InUse(LockTimeout):
    """Another process has the session open."""


class Pending:
    """The marks of a workspace, and the sessions that this program has open; any thread may use it."""

    def __init__(self, workspace: paths.Workspace) -> None:
        """Bind to a workspace; files are made only when a session is opened."""
        self._workspace = workspace
        self._lock = paths.lock_file(workspace, "pending")
        self._guard = threading.Lock()
        self._locks: dict[str, ExitStack] = {}
        self._working: dict[str, threading.Lock] = {}
        self._users: Counter[str] = Counter()  # of each lock: the open session, and who works on it
        self._open: set[str] = set()

    def is_open(self, session: str) -> bool:
        """Return True if this program has the session open."""
        return session in self._open

    def open(self, session: str, agent: str = "") -> bool:
        """Take a session as one that is alive here, with a mark; false if another program has it open.

        Raises NoteUnreadable, ConfigError for what cannot be an id.
        """
        with self._guard:
            if session in self._open:
                return True
            try:
                self._hold(session)
            except InUse:
                return False
            self._open.add(session)
        try:
            self.update(session, lambda mark: replace(mark, agent=agent or mark.agent, held=True, over=False))
        except CommonplaceError:
            self._let_go(session)
            raise
        return True

    def close(self, session: str) -> None:
        """Let go of a session that is over; what is not summed up of it is anybody's now."""
        if not self.is_open(session):
            return
        try:
            self.update(session, lambda mark: replace(mark, held=False, over=True))
        finally:
            self._let_go(session)

    @contextmanager
    def claim(self, session: str) -> Iterator[None]:
        """Work on a session alone, whether it is open here or nowhere. Raises InUse if elsewhere."""
        with self._guard:
            self._hold(session)
            working = self._working.setdefault(session, threading.Lock())
        try:
            with working:
                yield
        finally:
            with self._guard:
                self._release(session)

    def read(self, session: str) -> Mark | None:
        """Return the mark of a session, None if it is missing. Raises NoteUnreadable."""
        value = keyvalue.read(self._workspace, KIND, _name(session))
        return _mark(value) if value else None

    def update(self, session: str, change: Callable[[Mark], Mark]) -> None:
        """Change the mark of a session, or a new one if it is missing. Raises NoteUnreadable."""
        transcript.path_of(self._workspace, session)  # no id, no mark

        def changed(value: dict[str, Any] | None) -> Mapping[str, Any]:
            return asdict(change(_mark(value) if value else Mark(session)))

        keyvalue.update(self._workspace, KIND, _name(session), changed)

    def marks(self) -> list[Mark]:
        """Return the marks of all sessions, in the order of their last change. Raises NoteUnreadable."""
        return [_mark(value) for _, value in keyvalue.each(self._workspace, KIND)]

    def _lock_of(self, session: str) -> Path:
        return paths.lock_file(self._workspace, f"session-{_name(session)}")

    def _let_go(self, session: str) -> None:
        with self._guard:
            self._open.discard(session)
            self._release(session)

    def _hold(self, session: str) -> None:
        """Take the lock of a session, unless this program has it. Raises InUse if another has."""
        if session not in self._locks:
            held = ExitStack()
            paths.prepare_state(self._workspace)
            # Lock files are taken and deleted under one lock: a file that is about to go is never locked.
            with locks.locked(self._lock):
                try:
                    held.enter_context(locks.locked(self._lock_of(session), timeout_s=0))
                except LockTimeout as error:
                    told = "another process has it open, and sums it up when it rests"
                    raise InUse(f"session {paths.shown(session)}", told) from error
            self._locks[session] = held
        self._users[session] += 1

    def _release(self, session: str) -> None:
        """Give the lock back where nothing here needs it any more, and delete its file."""
        self._users[session] -= 1
        if self._users[session]:
            return
        del self._users[session]
        self._working.pop(session, None)
        lock = self._lock_of(session)
        with self._locks.pop(session), suppress(LockTimeout), locks.locked(self._lock):
            for ending in (".lock", ".queue"):
                with suppress(OSError):
                    self._workspace.kept.unlink(lock.with_suffix(ending))


def _mark(value: Mapping[str, Any]) -> Mark:
    return Mark(**{name: value[name] for name in Mark.__slots__ if name in value})


def _name(session: str) -> str:
    return keyvalue.of_session(session)


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the marks of forgotten sessions; remove them to `change`."""
    from commonplace.types.changes import Erased

    workspace, gone = site.workspace, set(targets.sessions)
    names = [name for name, value in keyvalue.each(workspace, KIND) if value["session"] in gone]
    if change:
        keyvalue.remove(workspace, KIND, names, erase=True)
    return [Erased("marks", site.shown(state.path(workspace))) for _ in names]
