"""One open index file; every method is one question or one change."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from commonplace.base.errors import IndexUnavailable
from commonplace.index import rules
from commonplace.index.base import (
    ALL,
    DOCID,
    Candidate,
    Entry,
    Key,
    Known,
    NoteRow,
    Scope,
    Source,
    Statistics,
    Traits,
)
from commonplace.index.sqlite import conditions, schema
from commonplace.index.sqlite.file import IndexFile
from commonplace.index.sqlite.vectors import SqliteVectors
from commonplace.notes.scan import FileState

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.index.sqlite.rows import Last

# What the index notes of its vectors, which outlive a rebuild: whose they are (fingerprint, scripts served),
# which model's are being made beside them, which contexts are embedded with the passages.
KEPT_META = ("model", "scripts", "staging", "contexts")
_NOTE_COLUMNS = ", ".join(NoteRow._fields)
# By either side: a scope may know the notes that it covers, or the passages.
_JOIN_NOTES = "JOIN notes n ON n.id = s.note_id AND s.id BETWEEN n.first_passage AND n.last_passage"
_JOIN_MATCHED = "JOIN passages s ON s.id = m.id JOIN notes n ON n.id = s.note_id"


class SqliteIndex(IndexFile):
    """The index in one file, see `index.base.Index`; one statement runs at a time."""

    def __init__(self, path: str, identity: Mapping[str, str], *, readonly: bool = False) -> None:
        """Open or create the index at `path` (`:memory:` for one that lives as long as this object).

        An index of another identity (schema, tokenizer, chunking) is kept and still answers: `rebuild_reason`
        says why it must be rebuilt. `unfit` says why one must not answer: it holds other tables, or was
        redacted by other rules. Raises IndexUnavailable.
        """
        super().__init__(path, readonly=readonly)
        self.identity: Mapping[str, str] = {"schema": schema.VERSION, **identity}
        self.rebuild_reason: str | None = None
        self.unfit = ""
        self.vectors = SqliteVectors(self)
        self._manifest: tuple[int, dict[Key, Known]] | None = None
        self._counted: tuple[int, int, int, dict[str, int]] = (-1, 0, 0, {})
        try:
            with schema.translated(path):
                self._check_identity()
        except BaseException:
            self.connection.close()
            raise

    def _check_identity(self) -> None:
        if not schema.exists(self.connection):
            self._create()
            return
        meta = schema.read_meta(self.connection)
        changed = [key for key, value in self.identity.items() if meta.get(key) != value]
        if rules.RULES in changed:
            at = changed.index(rules.RULES)
            changed[at : at + 1] = rules.changed(meta.get(rules.RULES, ""), self.identity[rules.RULES])
        if changed:
            self.rebuild_reason = f"{', '.join(changed)} changed"
        if rules.REDACTION in changed:
            self.unfit = self.rebuild_reason or ""

    def _create(self) -> None:
        """Make the tables in an empty file; one that holds something else is left alone."""
        if not schema.is_empty(self.connection):
            self.unfit = schema.FOREIGN
            return
        if self.readonly:
            raise IndexUnavailable(self.path, schema.UNWRITABLE)
        with schema.transaction(self.connection):
            if not schema.exists(self.connection):  # another process was faster
                schema.create(self.connection, self.identity)

    @contextmanager
    def transaction(self, *, write: bool = True, anew: bool = False) -> Iterator[None]:
        """Make several changes, or ask several questions of one state; see `index.base.Index`."""
        with schema.translated(self.path):
            if write:
                with schema.transaction(self.connection):
                    if anew:
                        self._recreate()
                    yield
                return
            own = not self.connection.in_transaction
            if own:
                self.connection.execute("BEGIN")
            try:
                yield
            finally:
                if own:
                    schema.rollback(self.connection)

    def _recreate(self) -> None:
        """Drop everything but the vectors, and take on the current identity."""
        self._manifest = None
        self.execute("CREATE TEMP TABLE IF NOT EXISTS kept(key BLOB PRIMARY KEY, vector BLOB)")
        about_vectors = {key: self.meta[key] for key in KEPT_META if key in self.meta}
        tables = {row[0] for row in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if "vectors" in tables:
            self.execute("INSERT OR IGNORE INTO kept SELECT key, vector FROM vectors")
        schema.create(self.connection, self.identity)
        self.execute("INSERT INTO vectors(key, vector) SELECT key, vector FROM kept ORDER BY key")
        self.execute("DROP TABLE kept")
        self.meta.update(about_vectors)
        self.rebuild_reason = None

    def take(self, rows: Iterable[tuple[str, Any, Any]]) -> None:
        """Take on rows of another file's `meta`, `vectors` and `words`. Raises IndexUnavailable."""
        values = {"meta": "value", "vectors": "vector", "words": "signs"}
        with self.transaction():
            for table, key, value in rows:
                columns = f"key, {values[table]}"
                self.execute(f"INSERT OR REPLACE INTO {table}({columns}) VALUES(?, ?)", (key, value))

    # --- changes ------------------------------------------------------------------------------------

    def write(self, batches: Iterable[Sequence[Entry]]) -> int:
        """Add or replace files, each batch's full text in a second thread while the next one is read and cut.

        Only that half leaves Python's lock for long; moving the rest over as well made both threads slower.
        """
        from concurrent.futures import Future, ThreadPoolExecutor  # most searches write nothing

        last = int(self.rows("SELECT coalesce(max(id), 0) FROM passages")[0][0])
        own = not self.connection.in_transaction  # otherwise who began the transaction ends it
        with self._carried() as manifest, ThreadPoolExecutor(1, "commonplace-index") as writer:
            writing: Future[None] | None = None
            try:
                for batch in batches:
                    if writing is not None:
                        writing.result()
                    last = min(last, self._stage(batch, own))
                    for state, content in ((entry.state, entry.hash) for entry in batch):
                        manifest[state.key] = Known(state.mtime_ns, state.size, content)
                    writing = writer.submit(self._publish, own)
            finally:
                if writing is not None:
                    writing.result()
                with self.lock:  # Ctrl-C may come between the two halves
                    if own and self.connection.in_transaction:
                        schema.rollback(self.connection)
        return last

    def _stage(self, entries: Sequence[Entry], own: bool) -> int:
        """Write all but the full text, nearly all of it Python; return the last passage id that stays."""
        from commonplace.index.sqlite import rows  # most searches write nothing

        with self.touching(), schema.translated(self.path):
            if own:
                schema.begin(self.connection)
            try:
                last = rows.last(self.connection)
                stays = last.last_passage if last else sys.maxsize
                others = []
                for entry in entries:
                    if last and entry.state.key == last.key:
                        stays = self._go_on(last, entry)
                    else:
                        others.append(entry)
                # Above those of what is replaced: what is new is told by its ids.
                largest = "SELECT coalesce((SELECT max(id) FROM {}), 0) + 1"
                ids = [
                    self.connection.execute(largest.format(table)).get
                    for table in ("notes", "sections", "passages")
                ]
                self._delete([entry.state.key for entry in others])
                rows.insert(self.connection, rows.compose(others, *ids))
            except BaseException:
                if own:
                    schema.rollback(self.connection)
                raise
        return stays

    def _go_on(self, last: Last, entry: Entry) -> int:
        """Write the file whose rows are the last from its first difference on; return what `_stage` does.

        An entry at the end of a long note costs no more than one at the end of a short one.
        """
        from commonplace.index.sqlite import rows

        sections, passages = kept = rows.common(self.connection, last, entry)
        first = last.first_passage + passages
        self._clear(last.first_section + sections, last.last_section, first, last.last_passage)
        self.connection.execute("DELETE FROM notes WHERE id = ?", (last.note,))
        moved = enumerate(entry.sections[:sections], last.first_section)
        self.connection.executemany(
            "UPDATE sections SET start_line = ?1, end_line = ?2"
            " WHERE id = ?3 AND (start_line, end_line) <> (?1, ?2)",
            [(cut.start_line, cut.end_line, section) for section, cut in moved],
        )
        ids = (last.note, last.first_section, last.first_passage)
        rows.insert(self.connection, rows.compose([entry], *ids, kept))
        return first - 1

    def _publish(self, own: bool) -> None:
        """Index the text of what was staged and commit, nearly all of it SQLite's."""
        from commonplace.index.sqlite import rows

        with self.touching(), schema.translated(self.path):
            try:
                rows.publish(self.connection)
                if own:
                    self.connection.execute("COMMIT")
            except BaseException:
                if own:
                    schema.rollback(self.connection)
                raise

    def update(self, touched: Iterable[FileState] = (), gone: Iterable[Key] = ()) -> None:
        """Record the time and size of unchanged files, and remove others, in one transaction."""
        touched, gone = list(touched), list(gone)
        rows = [(state.mtime_ns, state.size, *state.key) for state in touched]
        sql = "UPDATE notes SET mtime_ns = ?, size = ? WHERE collection = ? AND path = ?"
        with self._carried() as manifest:
            with self.touching(), schema.translated(self.path), schema.transaction(self.connection):
                self.connection.executemany(sql, rows)
                self._delete(gone)
            for state in touched:
                if (known := manifest.get(state.key)) is not None:
                    manifest[state.key] = known._replace(mtime_ns=state.mtime_ns, size=state.size)
            for key in gone:
                manifest.pop(key, None)

    def _delete(self, keys: Iterable[Key]) -> None:
        ranges = "first_section, last_section, first_passage, last_passage"
        wanted = "SELECT value ->> 0, value ->> 1 FROM json_each(?)"
        sql = f"SELECT id, {ranges} FROM notes WHERE (collection, path) IN ({wanted})"
        for note, *rows in self.rows(sql, (json.dumps(list(keys)),)):
            self._clear(*rows)
            self.connection.execute("DELETE FROM notes WHERE id = ?", (note,))

    def _clear(self, first_section: int, last_section: int, *passages: int) -> None:
        """Delete sections, and the passages from the first to the last of two ids."""
        run, many = self.connection.execute, self.connection.executemany
        run("DELETE FROM meta WHERE key = 'scan'")
        self.touched += range(passages[0], passages[1] + 1)
        # By equality of rowid: FTS5 looks up each one, and scans the table for a range.
        rows = [(rowid,) for rowid in range(passages[0], passages[1] + 1)]
        many("DELETE FROM passages_fts WHERE rowid = ?", rows)
        among = "FROM passages WHERE id BETWEEN ? AND ?"
        struck = self.rows(f"SELECT id {among} AND {schema.STRUCK}", passages)
        many("DELETE FROM struck_fts WHERE rowid = ?", struck)
        vectors = self.rows(f"SELECT vector_id {among} AND vector_id > 0", passages)
        self.orphans.update(row[0] for row in vectors)
        run(f"DELETE {among}", passages)
        run("DELETE FROM sections WHERE id BETWEEN ? AND ?", (first_section, last_section))

    # --- what is known ------------------------------------------------------------------------------

    @property
    def tokens(self) -> int:
        """About how many tokens reading all indexed files takes; remembered until a change."""
        return self._count()[2]

    def manifest(self) -> dict[Key, Known]:
        """Every indexed file with its time, size and hash; remembered until a change."""
        version = self.others_version
        if self._manifest is None or self._manifest[0] != version:
            rows = self.rows("SELECT collection, path, mtime_ns, size, hash FROM notes")
            self._manifest = (version, {(c, p): Known(m, s, h) for c, p, m, s, h in rows})
        return self._manifest[1]

    @contextmanager
    def _carried(self) -> Iterator[dict[Key, Known]]:
        """Take on in the manifest, if it is known, what changes of it; forget it where that is not committed.

        Changes of other connections show in its version.
        """
        own = not self.connection.in_transaction
        known, self._manifest = self._manifest, None
        manifest = dict(known[1]) if known is not None else {}
        yield manifest
        if known is not None and own:
            self._manifest = known[0], manifest

    def statistics(self) -> Statistics:
        """Count what there is; the write-ahead log belongs to the size."""
        tables = ("notes", "sections", "passages", "vectors", "passages WHERE vector_id IS NULL")
        counts = [self.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables]
        counts += self.rows("SELECT coalesce(max(id), 0) FROM passages")[0]
        collections = self.rows(
            "SELECT collection, count(*), coalesce(sum(last_passage - first_passage + 1), 0)"
            " FROM notes GROUP BY collection"
        )
        files = (self.path, f"{self.path}-wal")
        stored = sum(os.path.getsize(name) for name in files if os.path.exists(name))
        by_name = {name: (notes, passages) for name, notes, passages in collections}
        return Statistics._make((*counts, stored, by_name))

    @property
    def faults(self) -> Mapping[str, int]:
        """Count what contradicts the rest of it or has a type that nobody wrote; see `index.base.Index`."""
        from commonplace.index.sqlite import consistency  # most searches meet none

        return consistency.disagreements(self)

    def notes(
        self, *, keys: Iterable[Key] | None = None, docids: Iterable[str] | None = None
    ) -> list[NoteRow]:
        """Files in the order of collection and path: all, some, or those whose hash begins with a docid."""
        sql = f"SELECT {_NOTE_COLUMNS} FROM notes"
        if keys is None and docids is None:
            found = self.rows(f"{sql} ORDER BY collection, path")
        elif keys is not None:
            sql += " WHERE collection = ? AND path = ?"
            found = [row for key in set(keys) for row in self.rows(sql, key)]
        else:  # one by one, each by its own lookup in an index
            sql += " WHERE hash >= ? AND hash < ?"
            found = [row for docid in set(docids or ()) for row in self.rows(sql, (docid, f"{docid}g"))]
        notes = {row[0]: NoteRow(*row) for row in found}.values()
        return sorted(notes, key=lambda note: (note.collection, note.path))

    def passages(self, ids: Iterable[int]) -> list[Candidate]:
        """Where passages stand and what they say, in no particular order; unknown ids are left out."""
        rows = self.rows(
            "SELECT p.id, p.note_id, p.section_id, p.start_line, p.end_line, p.text, s.turns, p.annotations,"
            " p.until, p.shown, p.speakers, p.wide, p.script"
            " FROM json_each(?) AS wanted JOIN passages p ON p.id = wanted.value"
            " JOIN sections s ON s.id = p.section_id",
            (json.dumps(list(ids)),),
        )
        new = tuple.__new__  # `_make` takes twice as long, for hundreds of rows a question
        return [new(Candidate, (*row[:9], new(Traits, row[10:]), row[9])) for row in rows]

    def sources(self, ids: Iterable[int]) -> dict[int, Source]:
        """The notes and sections around passages, by passage id."""
        rows = self.rows(
            "SELECT p.id, n.collection, n.path, n.title, coalesce(p.day, n.date), n.kind, n.hash, n.mtime_ns,"
            " s.headings FROM json_each(?) AS wanted JOIN passages p ON p.id = wanted.value"
            " JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id",
            (json.dumps(list(ids)),),
        )
        with schema.translated(self.path):
            return {
                passage: Source._make((*note, digest[:DOCID], tuple(json.loads(headings)), mtime_ns))
                for passage, *note, digest, mtime_ns, headings in rows
            }

    # --- questions ----------------------------------------------------------------------------------

    def select(
        self, scope: Scope, limit: int | None = None, *, struck: bool = False, newest: bool = False
    ) -> list[int]:
        """The passages of a scope by id; see `index.base.Index`."""
        where = self.where(scope)
        join = _JOIN_NOTES if newest or "n." in where.sql else ""
        stands = "TRUE" if struck else "s.until IS NULL"
        order = "+s.id" if scope.conditions else "s.id"  # or the order would be kept by reading all in it
        if newest:
            day = f"coalesce({conditions.DAY}, date(n.mtime_ns / 1000000000, 'unixepoch'))"
            order = f"{day} DESC, n.mtime_ns DESC, s.id"
        rows = self.rows(
            f"SELECT s.id FROM passages s {join} WHERE {stands} {where.after('AND')}"
            f" ORDER BY {order} LIMIT ?",
            (*where.bindings, -1 if limit is None else limit),
        )
        return [row[0] for row in rows]

    def match(
        self, expression: str, limit: int, *scopes: Scope, header: float = 1.0
    ) -> list[tuple[int, float]]:
        """The best passages that stand for an expression, by FTS5's own BM25; see `index.base.Index`.

        However many scopes there are, each passage is scored once.
        """
        each = [self.where(scope) for scope in scopes or (ALL,)]
        parts = [
            f"SELECT * FROM (SELECT m.id, m.score FROM matched m {_JOIN_MATCHED if where.sql else ''}"
            f" {where.after('WHERE')} ORDER BY m.score DESC, m.id LIMIT ?)"
            for where in each
        ]
        bindings = [bound for where in each for bound in (*where.bindings, limit)]
        score = f"-bm25(passages_fts, 1.0, {header})"
        return self.rows(
            f"WITH matched(id, score) AS {'MATERIALIZED' if len(each) > 1 else ''}"
            f" (SELECT rowid, {score} FROM passages_fts WHERE passages_fts MATCH ?)"
            f" {' UNION '.join(parts)} ORDER BY 2 DESC, 1",
            (expression, *bindings),
        )

    def frequencies(self, expressions: Sequence[str], *, struck: bool = False) -> tuple[list[int], int]:
        """How many passages match each expression, and how many there are; remembered until a change."""
        _, total, _, known = self._count()
        for expression in expressions:
            if expression not in known:
                known[expression] = self._frequency("passages_fts", expression)
        counts = [known[expression] for expression in expressions]
        if (most := max(counts, default=0)) > total:
            if self.faults:  # rows are left over
                raise IndexUnavailable(self.path, schema.BROKEN)
            total = most  # another process has just written
        if not struck or not (gone := len(self.struck())):
            return counts, total
        further = (self._frequency("struck_fts", expression) for expression in expressions)
        return [one + other for one, other in zip(counts, further, strict=True)], total + gone

    def _frequency(self, table: str, expression: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (expression,))[0][0])

    def _count(self) -> tuple[int, int, int, dict[str, int]]:
        """Of one version: how many passages stand, the tokens of all files, frequencies by expression."""
        version = self.version
        if self._counted[0] != version:
            sums = (
                "SELECT coalesce(sum(last_passage - first_passage + 1), 0), coalesce(sum(quarters), 0)"
                " FROM notes"
            )
            passages, quarters = self.rows(sums)[0]
            self._counted = (version, passages - len(self.struck()), -(-quarters // 4), {})
        return self._counted
