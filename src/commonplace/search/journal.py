"""The record of use: questions, hits, receipts of prompts, what was opened; a small write after an answer.

One SQLite file in the state of the workspace. Questions are in it without secrets and private parts; no
text of a note is. A question must not wait for it nor fail with it: a row that cannot be written at once is
left out.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import closing, contextmanager, suppress
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
    from commonplace.types import Erased, Excerpt, Hit, Recall, SearchResult
    from commonplace.types.store import Site, Targets

    Kind = Literal["search", "recall"]

LONGEST = 1000  # characters of a question that are kept
MOST_HITS = 100  # of a question; people open fewer
_BUSY_S = 0.05  # what a question may wait for other writers, which take a millisecond
_REST_S = 1.0  # how long a file that could not be written is left alone: others answer in less than that wait
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
CREATE INDEX IF NOT EXISTS openings_by_time ON openings(at);
CREATE TABLE IF NOT EXISTS receipts(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
    question TEXT NOT NULL, tokens INTEGER NOT NULL, prefix TEXT NOT NULL,
    used INTEGER NOT NULL DEFAULT 0, passages TEXT NOT NULL)
"""
_USED = """
SELECT start_line, end_line, count(*) FROM (
    SELECT start_line, end_line FROM openings WHERE path = ?1 UNION ALL
    SELECT start_line, end_line FROM hits WHERE path = ?1 AND rank <= 3)
GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 500
"""
_OLD = """
DELETE FROM hits WHERE question IN (SELECT id FROM questions WHERE at < :before);
DELETE FROM questions WHERE at < :before;
DELETE FROM openings WHERE at < :before;
DELETE FROM receipts WHERE at < :before
"""

_asking = threading.local()


@contextmanager
def asked_by(agent: str) -> Iterator[None]:
    """Record questions of this thread as an agent's until the block ends, unless the memory names one."""
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
        self.path = folder / workspace.usage.name if folder else workspace.usage
        self.records = settings.record
        self._workspace, self._agent = workspace, agent
        self._lock = fork.renewed(threading.Lock())
        self._database: Database | None = None
        self._rests_until = 0.0

    @property
    def asker(self) -> str:
        """The agent that asks in this thread; empty for the owner."""
        return self._agent or getattr(_asking, "agent", "")

    def asked(self, kind: Kind, answer: SearchResult | Recall, own: Sequence[Hit], started: float) -> None:
        """Record an answer that was worked on since `started` (of `time.perf_counter`). Never raises.

        Of its hits only those in notes of this workspace, `own`, are named; the others are counted with them.
        """
        ms = (time.perf_counter() - started) * 1000

        def write(connection: apsw.Connection) -> None:
            row = (time.time(), kind, self.asker, question(answer.query), len(answer.hits), answer.tokens)
            connection.execute(
                "INSERT INTO questions(at, kind, agent, question, hits, tokens, all_tokens, level, ms)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, answer.all_tokens, answer.level, ms),
            )
            connection.executemany(
                f"INSERT INTO hits VALUES({connection.last_insert_rowid()}, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (rank, h.collection, h.path, h.start_line, h.end_line, h.docid, h.score)
                    for rank, h in enumerate(own[:MOST_HITS], 1)
                ),
            )

        self.write(write)

    def opened(self, excerpts: Sequence[Excerpt]) -> None:
        """Record that lines of notes were read, where questions have been. Never raises."""
        if not (excerpts and self.records and _is_there(self.path)):
            return
        sql = "INSERT INTO openings(at, agent, path, start_line, end_line, docid) VALUES(?, ?, ?, ?, ?, ?)"
        rows = [(time.time(), self.asker, e.path, e.start_line, e.end_line, e.docid) for e in excerpts]
        self.write(lambda connection: connection.executemany(sql, rows))

    def clear(self) -> int:
        """Delete the whole record, a damaged one too; return how many questions were in it.

        Raises NoteUnreadable for one that is in use all the time.
        """
        from commonplace.base.database import DAMAGED, shrink

        late_file = _late(self.path)
        with suppress(OSError):
            paths.root_of(late_file).unlink(late_file)
        if not _is_there(self.path):
            return 0
        with patient(self.path) as database:
            try:
                with database.transaction() as connection:
                    count = connection.execute("SELECT count(*) FROM questions").get
                    connection.execute(_OLD, {"before": float("inf")})
                with database.reading() as connection:
                    shrink(connection)
            except NoteUnreadable as error:
                if error.reason != DAMAGED:
                    raise
                self.close()
                database.remove()
                return 0
        return int(count)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._database is not None:
                with suppress(CommonplaceError):
                    self._database.close()

    def write(self, write: Callable[[apsw.Connection], object]) -> None:
        """Write if that is wanted and can be done at once; a mere reader leaves no record. Never raises."""
        if not self.records or self._workspace.reader is not None or time.monotonic() < self._rests_until:
            return
        try:
            with self._open().transaction() as connection:
                write(connection)
                drop_old(connection)
        except (CommonplaceError, OSError, ValueError):  # ValueError: a name that is no text
            self._rests_until = time.monotonic() + _REST_S

    def _open(self) -> Database:
        from commonplace.base.database import Database

        with self._lock:
            if self._database is None:
                if self.path == self._workspace.usage:
                    paths.prepare_state(self._workspace)
                self._database = Database(self.path, TABLES, busy_s=_BUSY_S, hurried=True)
            return self._database


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Count the questions that hold any of it and the rows about notes that go; delete them to `change`."""
    from commonplace.base.database import compact
    from commonplace.transcripts import session
    from commonplace.types.changes import Erased

    if not _is_there(site.usage):
        return []
    own = {*targets.notes, *(f"{session.FOLDER}/{session.stem_of(one)}.jsonl" for one in targets.sessions)}
    rows: list[tuple[str, Any]] = []  # a statement's end, and its value
    with patient(site.usage) as database:
        with database.reading() as connection:
            for id_, *texts in connection.execute("SELECT id, question, agent FROM questions"):
                if any(map(targets.matches, texts)):
                    rows.append(("questions WHERE id = ?", id_))
            rows += [("receipts WHERE id = ?", id_) for id_ in _receipts_of(connection, targets, own)]
            for table in ("hits", "openings"):
                for (path,) in connection.execute(f"SELECT DISTINCT path FROM {table}"):
                    if path in own or targets.matches(path):
                        rows.append((f"{table} WHERE path = ?", path))
            count = sum(connection.execute(f"SELECT count(*) FROM {end}", (of,)).get for end, of in rows)
        if change:
            with database.transaction() as connection:
                for end, of in rows:
                    connection.execute(f"DELETE FROM {end}", (of,))
                connection.execute("DELETE FROM hits WHERE question NOT IN (SELECT id FROM questions)")
            with database.reading() as connection:
                compact(connection, database.path)
    return [Erased("usage", site.shown(site.usage), count=count)] if count else []


def _receipts_of(connection: apsw.Connection, targets: Targets, notes: Set[str]) -> Iterator[Any]:
    """Yield the ids of receipts of sessions or notes that go, or that hold any of a target."""
    for id_, *texts, data in connection.execute(
        "SELECT id, session, question, agent, passages FROM receipts"
    ):
        places = {one["path"] for one in json.loads(str(data))}
        if (
            texts[0] in targets.session_names
            or places & notes
            or any(map(targets.matches, [*texts, *places]))
        ):
            yield id_


def count_late(workspace: Workspace) -> None:
    """Count an answer that a hook had not printed by its deadline: a byte in a file. Never raises."""
    tally = _late(workspace.usage)
    with suppress(CommonplaceError, OSError):
        paths.prepare_state(workspace)
        descriptor = paths.root_of(tally).descriptor(tally, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, b".")
        finally:
            os.close(descriptor)


def late(path: Path) -> tuple[int, float]:
    """Return how many answers of hooks came too late since a record was cleared, and when the last did."""
    try:
        found = paths.root_of(_late(path)).stat(_late(path))
    except OSError:
        return 0, 0.0
    return found.st_size, found.st_mtime


def _is_there(path: Path) -> bool:
    return paths.root_of(path).is_file(path)


def _late(path: Path) -> Path:
    return path.with_suffix(".late")


def question(text: str) -> str:
    """Return what is kept of a question: no secret, no private part, and of a long one its beginning."""
    from commonplace.redaction import redact

    # Redacted before it is cut: half of a secret would not be recognised.
    begun = text[: 4 * LONGEST].encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return redact.redact(redact.strip_private(begun))[0].strip()[:LONGEST]


def lines_used(path: Path, note: str) -> Sequence[Any]:
    """Return which lines of a note were opened or among the first three hits, and how often, most first.

    `path` is that of the record. Raises NoteUnreadable.
    """
    if not path.exists():
        return []
    with patient(path) as database, database.reading() as connection:
        return connection.execute(_USED, (note,)).fetchall()


def patient(path: Path) -> closing[Database]:
    """Open a record for somebody who can wait for those that write to it."""
    from commonplace.base.database import Database

    return closing(Database(path, TABLES))


def drop_old(connection: apsw.Connection) -> None:
    """Delete what is too old to be kept."""
    connection.execute(_OLD, {"before": time.time() - _KEEP_S})
