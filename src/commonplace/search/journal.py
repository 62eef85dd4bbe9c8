"""The record of use: questions, their hits, and what was opened; one small write after an answer is made.

One SQLite file in the state of the workspace. Questions are in it without secrets and private parts; no
text of a note is. A question must not wait for it nor fail with it: what cannot be written at once is left
out, and counted in a file beside it, a byte for each, which works where a database does not.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.base import fork, paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Literal

    import apsw

    from commonplace.base.database import Database
    from commonplace.base.paths import Workspace
    from commonplace.config.settings import Usage as Settings
    from commonplace.types import Excerpt, Hit, Recall, SearchResult
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

    Kind = Literal["search", "recall"]

LONGEST = 1000  # characters of a question that are kept
MOST_HITS = 100  # of a question; nobody opens more
# Read before it is cut, so that no half of a secret is left that nothing recognises any more.
_READ = 4 * LONGEST
_BUSY_S = 0.05  # what a question may wait for other writers, which take a millisecond
_REST_S = 1.0  # how long a store that failed is left alone: a warm memory answers in less than it may wait
_OLD_AT_ONCE = 50  # questions and openings that one write deletes at most: a question waits for it
_ALL = -1
_KEEP_S = 90 * 86_400
TABLES = """
PRAGMA secure_delete=ON;
CREATE TABLE IF NOT EXISTS questions(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, question TEXT NOT NULL,
    hits INTEGER NOT NULL, tokens INTEGER NOT NULL, all_tokens INTEGER NOT NULL, level INTEGER NOT NULL,
    ms REAL NOT NULL);
CREATE INDEX IF NOT EXISTS questions_by_time ON questions(at);
CREATE TABLE IF NOT EXISTS hits(
    question INTEGER NOT NULL, rank INTEGER NOT NULL, collection TEXT NOT NULL, path TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, docid TEXT NOT NULL, score REAL NOT NULL,
    PRIMARY KEY(question, rank)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS openings(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, agent TEXT NOT NULL, path TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, docid TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS openings_by_time ON openings(at)
"""

_asking = threading.local()


@contextmanager
def asked_by(agent: str) -> Iterator[None]:
    """Record what this thread asks as an agent's, until the block ends, where a memory names none itself."""
    former, _asking.agent = getattr(_asking, "agent", ""), agent
    try:
        yield
    finally:
        _asking.agent = former


class Journal:
    """The record of one workspace; safe with many threads and processes."""

    def __init__(
        self, workspace: Workspace, settings: Settings, folder: Path | None = None, agent: str = ""
    ) -> None:
        """Name the workspace, or another folder for the file, and who asks; a write makes the file."""
        self._workspace, self._folder = workspace, folder
        self._settings, self._agent = settings, agent
        self._lock = fork.renewed(threading.Lock())
        self._database: Database | None = None
        self._rests_until = 0.0

    @property
    def records(self) -> bool:
        """Whether anything is to be recorded."""
        return self._settings.record

    @property
    def _may_write(self) -> bool:
        """Whether who asks is to be recorded: who only reads a workspace leaves nothing in it."""
        return self.records and self._workspace.reader is None

    @property
    def _asker(self) -> str:
        return self._agent or getattr(_asking, "agent", "")

    @property
    def path(self) -> Path:
        """Where the record lies, whether it exists or not."""
        return self._folder / self._workspace.usage.name if self._folder else self._workspace.usage

    def asked(self, kind: Kind, answer: SearchResult | Recall, own: Sequence[Hit], started: float) -> None:
        """Record an answer that was worked on since `started` (of `time.perf_counter`). Never raises.

        Of its hits only those in notes of this workspace, `own`, are named; the others are counted with them.
        """
        if not self._may_write:
            return
        ms = (time.perf_counter() - started) * 1000
        now = time.time()

        def write(connection: apsw.Connection) -> None:
            row = (now, kind, self._asker, question(answer.query), len(answer.hits), answer.tokens)
            connection.execute(
                "INSERT INTO questions(at, kind, agent, question, hits, tokens, all_tokens, level, ms)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, answer.all_tokens, answer.level, ms),
            )
            question_id = connection.last_insert_rowid()
            connection.executemany(
                "INSERT INTO hits VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (question_id, rank, h.collection, h.path, h.start_line, h.end_line, h.docid, h.score)
                    for rank, h in enumerate(own[:MOST_HITS], 1)
                ),
            )

        self._write(write)

    def opened(self, excerpts: Sequence[Excerpt]) -> None:
        """Record that lines of notes were read, where questions have been. Never raises."""
        if not (self._may_write and excerpts and _is_there(self.path)):
            return
        now = time.time()
        rows = [(now, self._asker, e.path, e.start_line, e.end_line, e.docid) for e in excerpts]
        self._write(
            lambda connection: connection.executemany(
                "INSERT INTO openings(at, agent, path, start_line, end_line, docid) VALUES(?, ?, ?, ?, ?, ?)",
                rows,
            )
        )

    def clear(self) -> int:
        """Delete the whole record, a damaged one too; return how many questions were in it.

        Raises NoteUnreadable for one that is in use all the time.
        """
        from commonplace.base.database import DAMAGED, shrink

        for tally in (self._tally, _late(self.path)):
            with suppress(OSError):
                paths.root_of(tally).unlink(tally)
        if not _is_there(self.path):
            return 0
        with patient(self.path) as database:
            try:
                with database.transaction() as connection:
                    count = sum(1 for _ in connection.execute("SELECT id FROM questions"))
                    for table in ("questions", "hits", "openings"):
                        connection.execute(f"DELETE FROM {table}")
                with database.reading() as connection:
                    shrink(connection)
            except NoteUnreadable as error:
                if error.reason != DAMAGED:
                    raise
                self.close()
                database.remove()
                return 0
        return count

    def drop_old(self) -> None:
        """Delete all that is too old to be kept. Raises NoteUnreadable."""
        before = time.time() - _KEEP_S
        with patient(self.path) as database, database.transaction() as connection:
            _drop_old(connection, before, _ALL)

    def missed(self) -> int:
        """Return how many questions and openings could not be recorded since the record was cleared."""
        return missed(self.path)

    def late(self) -> tuple[int, float]:
        """Return how many answers of hooks came too late, and when the last did."""
        return late(self.path)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._database is not None:
                with suppress(CommonplaceError):
                    self._database.close()

    @property
    def _tally(self) -> Path:
        return _tally(self.path)

    def _write(self, write: Callable[[apsw.Connection], object]) -> None:
        """Write if that can be done at once; otherwise count what is missed, and leave the store alone."""
        if time.monotonic() < self._rests_until:
            self._count_missed()
            return
        try:
            with self._opened().transaction() as connection:
                write(connection)
                _drop_old(connection, time.time() - _KEEP_S)
        except (CommonplaceError, OSError, ValueError):  # ValueError: a name that is no text
            self._rests_until = time.monotonic() + _REST_S
            self._count_missed()

    def _count_missed(self) -> None:
        _count(self._tally)

    def _opened(self) -> Database:
        from commonplace.base.database import Database

        with self._lock:
            if self._database is None:
                if self.path == self._workspace.usage:
                    paths.prepare_state(self._workspace)
                self._database = Database(self.path, TABLES, busy_s=_BUSY_S, hurried=True)
            return self._database


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Count the questions that hold any of it and the rows about notes that go; delete them to `change`."""
    from commonplace.types.changes import Erased

    if not _is_there(site.usage):
        return []
    with patient(site.usage) as database:
        count = _forget(database, targets, change=change)
    return [Erased("usage", site.shown(site.usage), count=count)] if count else []


def _forget(database: Database, targets: Targets, *, change: bool) -> int:
    """Count the rows of a record that go, and delete them where they are to `change`."""
    from commonplace.base.database import compact
    from commonplace.transcripts import session

    own = {*targets.notes, *(f"{session.FOLDER}/{session.stem_of(one)}.jsonl" for one in targets.sessions)}
    with database.reading() as connection:
        asked: list[Any] = list(connection.execute("SELECT id, question, agent FROM questions"))
        questions = [(row[0],) for row in asked if targets.matches(row[1]) or targets.matches(row[2])]
        paths_of: dict[str, list[Any]] = {}
        for table in ("hits", "openings"):
            rows: list[Any] = list(connection.execute(f"SELECT DISTINCT path FROM {table}"))
            paths_of[table] = [row for row in rows if row[0] in own or targets.matches(row[0])]
        count = len(questions) + sum(
            connection.execute(f"SELECT count(*) FROM {table} WHERE path = ?", row).get
            for table, rows in paths_of.items()
            for row in rows
        )
    if change:
        with database.transaction() as connection:
            connection.executemany("DELETE FROM hits WHERE question = ?", questions)
            connection.executemany("DELETE FROM questions WHERE id = ?", questions)
            for table, rows in paths_of.items():
                connection.executemany(f"DELETE FROM {table} WHERE path = ?", rows)
        with database.reading() as connection:
            compact(connection, database.path)
    return int(count)


def missed(path: Path) -> int:
    """Return how many questions and openings could not be recorded in a file since it was cleared."""
    tally = _tally(path)
    try:
        return paths.root_of(tally).stat(tally).st_size
    except OSError:
        return 0


def count_late(workspace: Workspace) -> None:
    """Count an answer that a hook had not printed by its deadline. Never raises."""
    with suppress(CommonplaceError):
        paths.prepare_state(workspace)
        _count(_late(workspace.usage))


def late(path: Path) -> tuple[int, float]:
    """Return how many answers of hooks came too late since a record was cleared, and when the last did."""
    try:
        found = paths.root_of(_late(path)).stat(_late(path))
    except OSError:
        return 0, 0.0
    return found.st_size, found.st_mtime


def _count(tally: Path) -> None:
    """Add a byte to a file that counts."""
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = paths.root_of(tally).descriptor(tally, flags)
        try:
            os.write(descriptor, b".")
        finally:
            os.close(descriptor)


def _is_there(path: Path) -> bool:
    return paths.root_of(path).is_file(path)


def _tally(path: Path) -> Path:
    return path.with_suffix(".missed")


def _late(path: Path) -> Path:
    return path.with_suffix(".late")


def question(text: str) -> str:
    """Return what is kept of a question: no secret, no private part, and of a long one its beginning."""
    from commonplace.redaction import redact

    begun = text[:_READ].encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return redact.redact(redact.strip_private(begun))[0].strip()[:LONGEST]


@contextmanager
def patient(path: Path) -> Iterator[Database]:
    """Open a record for somebody who can wait for those that write to it."""
    from commonplace.base.database import Database

    database = Database(path, TABLES)
    try:
        yield database
    finally:
        database.close()


def _drop_old(connection: apsw.Connection, before: float, most: int = _OLD_AT_ONCE) -> None:
    """Delete the oldest of what is too old to be kept."""
    old = f"SELECT id FROM {{}} WHERE at < ? ORDER BY at LIMIT {most}"
    for questions in connection.execute(old.format("questions"), (before,)).fetchall():
        connection.execute("DELETE FROM hits WHERE question = ?", questions)
        connection.execute("DELETE FROM questions WHERE id = ?", questions)
    connection.execute(f"DELETE FROM openings WHERE id IN ({old.format('openings')})", (before,))
