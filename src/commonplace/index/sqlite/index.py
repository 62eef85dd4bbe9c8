"""The index in one SQLite file; every method is one question or one change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw

from commonplace.base.errors import IndexUnavailable
from commonplace.index import rules
from commonplace.index.base import (
    ALL,
    DOCID,
    Candidate,
    Entry,
    Index,
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
    from commonplace.index.sqlite.rows import Rows

_NOTE_COLUMNS = ", ".join(NoteRow._fields)
# By either side: a scope may know the notes that it covers, or the passages.
_JOIN_NOTES = "JOIN notes n ON n.id = s.note_id AND s.id BETWEEN n.first_passage AND n.last_passage"
_JOIN_MATCHED = "JOIN passages s ON s.id = m.id JOIN notes n ON n.id = s.note_id"


class SqliteIndex(IndexFile, Index):
    """The index in one file, see `index.base.Index`; one statement runs at a time."""

    def __init__(self, path: str, identity: Mapping[str, str], *, readonly: bool = False) -> None:
        """Open or create the index at `path` (`:memory:` for one that lives as long as this object).

        An index of another identity (tokenizer, chunking, rules) still answers: `rebuild_reason` says why it
        is to be rebuilt. `unfit` says why it must not answer: it has other tables, or was redacted by other
        rules. Raises IndexUnavailable.
        """
        super().__init__(path, readonly=readonly)
        self.identity: Mapping[str, str] = {"schema": schema.VERSION, **identity}
        self.rebuild_reason: str | None = None
        self.unfit = ""
        self.vectors: SqliteVectors = SqliteVectors(self)
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
        if not {"schema", rules.REDACTION}.isdisjoint(changed):
            self.unfit = self.rebuild_reason or ""
        elif not schema.is_whole(self.connection):
            raise IndexUnavailable(self.path, schema.BROKEN)

    def _create(self) -> None:
        """Create the tables in an empty file. Raises IndexUnavailable for a file with other tables."""
        if not schema.is_empty(self.connection):
            raise IndexUnavailable(self.path, schema.FOREIGN)
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
                        self._manifest = None
                        schema.create(self.connection, self.identity)
                        self.rebuild_reason = None
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

    # --- changes ------------------------------------------------------------------------------------

    def write(self, batches: Iterable[Sequence[Entry]]) -> int:
        """Add or replace files, each batch in one transaction; return the largest id of a passage before."""
        from commonplace.index.sqlite import rows  # most searches do not write

        last = int(self.rows("SELECT coalesce(max(id), 0) FROM passages")[0][0])
        for batch in batches:
            with self.changing():
                ids = rows.free(self.connection)  # above those of replaced rows, too
                self._delete([entry.state.key for entry in batch])
                self.insert(rows.compose(batch, *ids))
            self._note({one.state.key: Known(one.state.mtime_ns, one.state.size, one.hash) for one in batch})
        return last

    def insert(self, composed: Rows) -> None:
        """Insert the rows of files; within a change."""
        from commonplace.index.sqlite import rows

        rows.insert(self.connection, composed)

    def update(self, touched: Iterable[FileState] = (), gone: Iterable[Key] = ()) -> None:
        """Record the time and size of unchanged files, and remove others, in one transaction."""
        touched, gone = list(touched), list(gone)
        known = self.manifest()
        rows = [(state.mtime_ns, state.size, *state.key) for state in touched]
        with self.changing():
            self.change("UPDATE notes SET mtime_ns = ?, size = ? WHERE collection = ? AND path = ?", rows)
            self._delete(gone)
        changes = {
            state.key: known[state.key]._replace(mtime_ns=state.mtime_ns, size=state.size)
            for state in touched
            if state.key in known
        }
        self._note({**changes, **dict.fromkeys(gone)})

    def _note(self, changes: Mapping[Key, Known | None]) -> None:
        """Take changes on in the manifest; forget it amid a transaction, which may be rolled back."""
        known, self._manifest = self._manifest, None
        if known is None or self.connection.in_transaction:
            return
        manifest = {**known[1], **changes}
        self._manifest = known[0], {key: one for key, one in manifest.items() if one is not None}

    def _delete(self, keys: Sequence[Key]) -> None:
        """Delete files with their sections, passages, tokens; note the vectors that lose a passage."""
        ranges = "first_passage, last_passage, first_section, last_section"
        wanted = "SELECT value ->> 0, value ->> 1 FROM json_each(?)"
        sql = f"SELECT id, {ranges} FROM notes WHERE (collection, path) IN ({wanted})"
        for note, first, last, *sections in self.rows(sql, (json.dumps(keys),)):
            among = "FROM passages WHERE id BETWEEN ? AND ?"
            # By equality of rowid: FTS5 looks up each one, and scans the table for a range.
            each = [(passage,) for passage in range(first, last + 1)]
            self.change("DELETE FROM passages_fts WHERE rowid = ?", each)
            struck = self.rows(f"SELECT id {among} AND {schema.STRUCK}", (first, last))
            self.change("DELETE FROM struck_fts WHERE rowid = ?", struck)
            vectors = self.rows(f"SELECT vector_id {among} AND vector_id > 0", (first, last))
            if vectors:
                self.vectors.orphans.update(row[0] for row in vectors)
                self.log_change(f"SELECT id {among} AND vector_id > 0", (first, last))
            self.rows(f"DELETE {among}", (first, last))
            self.rows("DELETE FROM sections WHERE id BETWEEN ? AND ?", sections)
            self.rows("DELETE FROM notes WHERE id = ?", (note,))
        self.rows("DELETE FROM meta WHERE key = 'scan'")

    # --- what is known ------------------------------------------------------------------------------

    @property
    def tokens(self) -> int:
        """About how many tokens reading all indexed files takes; remembered until a change."""
        return self._count()[2]

    def manifest(self) -> dict[Key, Known]:
        """Return every indexed file with its time, size and hash; remembered until a change."""
        version = self.others_version
        if self._manifest is not None and self._manifest[0] == version:
            return self._manifest[1]
        rows = self.rows("SELECT collection, path, mtime_ns, size, hash FROM notes")
        manifest = {(collection, path): Known(*known) for collection, path, *known in rows}
        if self.connection.txn_state("main") != apsw.SQLITE_TXN_WRITE:  # else it may be rolled back
            self._manifest = (version, manifest)
        return manifest

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
        """Return passages with their sources, in no particular order; unknown ids are left out."""
        rows = self.rows(
            "SELECT p.id, p.note_id, p.section_id, p.start_line, p.end_line, p.text, s.turns, p.annotations,"
            " p.until, p.shown, p.speakers, p.wide, p.script, n.collection, n.path, n.title,"
            f" coalesce(p.day, n.date), n.kind, substr(n.hash, 1, {DOCID}), s.headings, n.mtime_ns"
            " FROM json_each(?) AS wanted JOIN passages p ON p.id = wanted.value"
            " JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id",
            (json.dumps(list(ids)),),
        )
        new, headings = tuple.__new__, schema.headings  # `_make` takes twice as long, for hundreds of rows
        with schema.translated(self.path):
            return [
                new(Candidate, (
                    *row[:9], new(Traits, row[10:13]), row[9],
                    new(Source, (*row[13:19], headings(row[19]), row[20])),
                ))
                for row in rows
            ]  # fmt: skip

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
                known[expression] = self.frequency("passages_fts", expression)
        counts = [known[expression] for expression in expressions]
        total = max(total, *counts, 0)  # another process may just have written
        if not struck or not (gone := len(self.struck())):
            return counts, total
        further = (self.frequency("struck_fts", expression) for expression in expressions)
        return [one + other for one, other in zip(counts, further, strict=True)], total + gone

    def frequency(self, table: str, expression: str) -> int:
        """Count the rows of a table of full text that match an expression."""
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
