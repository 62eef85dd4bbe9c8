"""The index in one SQLite file: its connection, one statement at a time, its full text by FTS5."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from commonplace.base import fork
from commonplace.base.errors import IndexUnavailable
from commonplace.index import rules
from commonplace.index.base import Days
from commonplace.index.sql import Meta, Query, SqlIndex
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.vectors import SqliteVectors

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.index.rows import Rows
    from commonplace.index.sql import Bindings


class SqliteQuery(Query):
    """Scopes as conditions that SQLite's planner finds indexes for."""

    has: Mapping[str, str] = {
        **Query.has,
        "trigger": schema.WITH_TRIGGER.replace("annotations", "s.annotations"),
        "by": schema.WITH_WRITER.replace("annotations", "s.annotations"),
    }

    def days(self, days: Days) -> str:
        """Return the condition for the passages of some days; those of a year or two are listed by notes."""
        if not days.first or int(days.last[:4] or 9999) - int(days.first[:4]) > 1:
            return super().days(days)
        notes = "notes n CROSS JOIN passages s ON s.id BETWEEN n.first_passage AND n.last_passage"
        return (
            f"s.id IN (SELECT s.id FROM {notes} AND +s.note_id = n.id"
            f" WHERE {self.between('n.date', days)} AND s.day IS NULL UNION ALL"
            f" SELECT s.id FROM passages s WHERE s.{schema.WITH_DAY} AND {self.between('s.day', days)})"
        )

    def matching(self, expression: str) -> str:
        """Return the condition for the passages that match an expression, struck ones included."""
        tables, asked = ("passages_fts", "struck_fts"), self.bind(expression)
        each = (f"SELECT rowid FROM {table} WHERE {table} MATCH {asked}" for table in tables)
        return f"s.id IN ({' UNION ALL '.join(each)})"


_DISAGREEMENTS = {
    # Of rows that outlived their note another one may have the id; its ranges leave them out.
    "passages belong to no note": "SELECT count(*) FROM passages p WHERE NOT EXISTS (SELECT 1 FROM notes n"
    " WHERE n.id = p.note_id AND p.id BETWEEN n.first_passage AND n.last_passage)",
    "notes lack passages": "SELECT count(*) FROM notes n WHERE last_passage - first_passage + 1 <> (SELECT"
    " count(*) FROM passages p WHERE p.id BETWEEN n.first_passage AND n.last_passage AND p.note_id = n.id)",
    "passages are missing from the full text": "SELECT count(*) FROM passages WHERE id NOT IN"
    " (SELECT id FROM passages_fts_docsize UNION ALL SELECT id FROM struck_fts_docsize)",
    "passages have a vector that is missing": "SELECT count(*) FROM passages WHERE vector_id > 0"
    " AND vector_id NOT IN (SELECT id FROM vectors)",
}


class SqliteIndex(SqlIndex):
    """The index in one file, see `index.base.Index`; safe to share between threads."""

    # By either side: a scope may know the notes that it covers, or the passages.
    note_of_passage = "JOIN notes n ON n.id = s.note_id AND s.id BETWEEN n.first_passage AND n.last_passage"

    def __init__(self, path: str, identity: Mapping[str, str], *, readonly: bool = False) -> None:
        """Open or create the index at `path` (`:memory:` for one that lives as long as this object).

        An index of another identity (tokenizer, chunking, rules) still answers: `rebuild_reason` says why it
        is to be rebuilt. `unfit` says why it must not answer: it has other tables, or was redacted by other
        rules. Raises IndexUnavailable.
        """
        self.path, self.readonly, self.unfit = path, readonly, ""
        self.identity: Mapping[str, str] = {"schema": schema.VERSION, **identity}
        self.rebuild_reason: str | None = None
        self.connection = schema.connect(path, readonly=readonly)
        self.lock = fork.renewed(threading.RLock())
        self.meta, self.vectors = Meta(self), SqliteVectors(self)
        self._unnoted = 0  # changes that do not count for `version`: those of the meta table
        try:
            with self.translated():
                self._check_identity()
        except BaseException:
            self.connection.close()
            raise

    def _check_identity(self) -> None:
        if not schema.exists(self.connection):
            if not schema.is_empty(self.connection):  # with other tables
                raise IndexUnavailable(self.path, schema.FOREIGN)
            if self.readonly:
                raise IndexUnavailable(self.path, schema.UNWRITABLE)
            with schema.transaction(self.connection):
                if not schema.exists(self.connection):  # another process was faster
                    schema.create(self.connection, self.identity)
            return
        changed = rules.differences(schema.read_meta(self.connection), self.identity)
        if changed:
            self.rebuild_reason = f"{', '.join(changed)} changed"
        if not {"schema", rules.REDACTION}.isdisjoint(changed):
            self.unfit = self.rebuild_reason or ""
        elif not schema.is_whole(self.connection):
            raise IndexUnavailable(self.path, schema.BROKEN)

    def close(self) -> None:
        """Close the file; a second call has no effect."""
        self.connection.close()

    @property
    def version(self) -> int:
        """A number that changes whenever another connection changed the file, or this one more than meta."""
        others = int(self.rows("PRAGMA data_version")[0][0])
        return others * 1_000_003 + self.connection.total_changes() - self._unnoted

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Any]:
        """Run a statement; return all its rows. Raises IndexUnavailable."""
        with self.lock, schema.translated(self.path):
            return self.connection.execute(sql, bindings).fetchall()

    def change(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of bindings, in a transaction. Raises IndexUnavailable."""
        with self.transaction():
            self.connection.executemany(sql, rows)

    def note(self, sql: str, bindings: Bindings) -> None:
        """Run a statement that changes the notes of the index about itself and nothing else."""
        with self.lock:
            before = self.connection.total_changes()
            self.rows(sql, bindings)
            self._unnoted += self.connection.total_changes() - before

    @contextmanager
    def transaction(self, *, write: bool = True, anew: bool = False) -> Iterator[None]:
        """Make several changes, or ask several questions of one state; see `index.base.Index`."""
        if write:
            with self.lock, self.translated():
                try:
                    with schema.transaction(self.connection):
                        if anew:
                            schema.create(self.connection, self.identity)
                            self.rebuild_reason = None
                        yield
                except BaseException:
                    self._unnoted -= 1  # what was read meanwhile no longer holds
                    raise
            return
        own = not self.connection.in_transaction
        if own:
            self.rows("BEGIN")
        try:
            yield
        finally:
            if own:
                schema.rollback(self.connection)

    def translated(self) -> AbstractContextManager[None]:
        """Turn errors of SQLite and about what is stored into IndexUnavailable."""
        return schema.translated(self.path)

    # --- changes ------------------------------------------------------------------------------------

    def insert(self, rows: Rows) -> None:
        """Insert the rows of files; in a transaction."""
        for table, values in rows.items():
            columns = "(rowid, body, header)" * table.endswith("_fts")
            if values:
                marks = ", ".join("?" * len(values[0]))
                self.connection.executemany(f"INSERT INTO {table}{columns} VALUES({marks})", values)

    def delete_texts(self, passages: Sequence[tuple[int, bool]]) -> None:
        """Delete passages from the full text; in a transaction.

        By equality of rowid: FTS5 looks up each one, and scans the table for a range.
        """
        for table, is_struck in (("passages_fts", False), ("struck_fts", True)):
            ids = [(passage,) for passage, struck in passages if struck == is_struck]
            self.change(f"DELETE FROM {table} WHERE rowid = ?", ids)

    # --- questions ----------------------------------------------------------------------------------

    def struck(self) -> frozenset[int]:
        """Return the ids of struck passages; remembered until a change."""
        sql = f"SELECT id FROM passages WHERE {schema.STRUCK}"
        return self.remembered("struck", lambda: frozenset(row[0] for row in self.rows(sql)))

    def query(self) -> SqliteQuery:
        """Return an empty query."""
        return SqliteQuery()

    def matched(self, query: Query, expression: str, header: float, *, many: bool) -> str:
        """Return the table of passages that stand and match, by FTS5's own BM25."""
        return (
            f"matched(id, score) AS {'MATERIALIZED' * many} (SELECT rowid, -bm25(passages_fts, 1.0, {header})"
            f" FROM passages_fts WHERE passages_fts MATCH {query.bind(expression)})"
        )

    def count(self, expressions: Sequence[str], *, struck: bool) -> list[int]:
        """Count the passages that match each expression: those that stand, or those that are struck."""
        table = "struck_fts" if struck else "passages_fts"
        each = f"(SELECT count(*) FROM {table} WHERE {table} MATCH ?)"
        with self.lock, schema.translated(self.path):
            found = self.connection.execute(f"SELECT {', '.join([each] * len(expressions))}", expressions)
            return list(next(found))

    def stored_bytes(self) -> int:
        """Return the size of the file and its log."""
        files = (self.path, f"{self.path}-wal")
        return sum(os.path.getsize(name) for name in files if os.path.exists(name))

    def disagreements(self) -> dict[str, int]:
        """Count the rows that contradict others, by kind; empty where all agree. Raises IndexUnavailable."""
        counts = {told: int(self.rows(sql)[0][0]) for told, sql in _DISAGREEMENTS.items()}
        return {told: count for told, count in counts.items() if count}
