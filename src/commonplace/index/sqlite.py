"""The index in one SQLite file: what the notes say, as rows; every method is one question or one change."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.base import filetypes
from commonplace.base.errors import IndexUnavailable
from commonplace.index import rules, schema
from commonplace.notes.scan import FileState

if TYPE_CHECKING:
    from commonplace.index.rows import Entry
    from commonplace.index.scope import Scope

Key = tuple[str, str]  # collection, path
# What the index notes of its vectors, which outlive a rebuild: whose they are (fingerprint, scripts served),
# which model's are being made beside them, which contexts are embedded with the passages.
KEPT_META = ("model", "scripts", "staging", "contexts")
RULES = "rules"  # the part of the identity that names rule sets with their versions
CODE = "code"  # the part of the identity that matters only where code is indexed
DOCID = 6  # hex digits of the content hash that name a note; longer prefixes work as well


class Known(NamedTuple):
    """What the index remembers of a file; a tuple, since ten thousand are made to answer one question."""

    mtime_ns: int
    size: int
    hash: str


class Candidate(NamedTuple):
    """Where a passage stands and what it says; `annotations` is JSON, see `markdown.comments`.

    `until` is None for what stands; for what is struck the day until which it held, or empty.
    """

    id: int
    note_id: int
    section_id: int
    start_line: int
    end_line: int
    text: str
    turns: float
    annotations: str | None = None
    until: str | None = None


class Source(NamedTuple):
    """The note and section around a passage, as a hit shows them."""

    collection: str
    path: str
    title: str
    date: str | None
    kind: str
    docid: str
    headings: tuple[str, ...]


class NoteRow(NamedTuple):
    """A file as the index holds it; its passages have consecutive ids."""

    collection: str
    path: str
    title: str
    date: str | None
    hash: str
    size: int
    lines: int
    first_passage: int
    last_passage: int


class SqliteIndex:
    """One open index file; safe to share between threads (one statement at a time)."""

    def __init__(self, path: str, identity: Mapping[str, str], *, readonly: bool = False) -> None:
        """Open or create the index at `path` (`:memory:` for one that lives as long as this object).

        An index of another identity (schema, tokenizer, chunking) is kept and still answers: `rebuild_reason`
        says why it must be rebuilt. `unfit` says why one must not answer: it came from elsewhere, or was
        redacted by other rules. Raises IndexUnavailable.
        """
        self.path = path
        self.readonly = readonly
        self.identity = dict(identity)
        self.rebuild_reason: str | None = None
        self.unfit = ""
        self.connection = schema.connect(path, readonly=readonly)
        self._lock = threading.RLock()
        self._own = False  # whether `publish` is to end the transaction that `stage` began
        self._manifest: tuple[int, dict[Key, Known]] | None = None
        self._orphans: set[int] = set()
        self._counted: tuple[int, int, int, dict[str, int]] = (-1, 0, 0, {})
        self.triggers: tuple[int, Sequence[tuple[int, str]]] = (-1, ())  # of a version, see `annotated`
        self._struck: tuple[int, frozenset[int]] = (-1, frozenset())
        try:
            with schema.translated(path):
                self._check_identity()
        except BaseException:
            self.connection.close()
            raise

    def _check_identity(self) -> None:
        if not schema.exists(self.connection):
            if not schema.is_empty(self.connection):
                self.unfit = schema.FOREIGN
                return
            if self.readonly:
                raise IndexUnavailable(self.path, schema.UNWRITABLE)
            with schema.transaction(self.connection):
                if not schema.exists(self.connection):
                    schema.create(self.connection, self.identity)
            return
        meta = schema.read_meta(self.connection)
        if not schema.is_signed(meta):
            self.unfit = schema.OTHER_KEY if schema.has_signature(meta) else schema.FOREIGN
            return
        changed = [key for key, value in self.identity.items() if meta.get(key) != value]
        if CODE in changed and not self._holds_code():
            changed.remove(CODE)  # `affirm` takes it on
        if RULES in changed:
            at = changed.index(RULES)
            changed[at : at + 1] = rules.changed(meta.get(RULES, ""), self.identity[RULES])
        if changed:
            self.rebuild_reason = f"{', '.join(changed)} changed"
        if rules.REDACTION in changed:
            self.unfit = self.rebuild_reason or ""

    def _holds_code(self) -> bool:
        return any(filetypes.of(path) for (path,) in self.connection.execute("SELECT path FROM notes"))

    def affirm(self) -> None:
        """Take on what the identity says of code, before the first of it is indexed."""
        if CODE in self.identity and self.meta(CODE) != self.identity[CODE]:
            self.set_meta(CODE, self.identity[CODE])

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.connection.close()

    def recreate(self) -> None:
        """Drop everything but the vectors and take on the current identity; call inside `writing`."""
        self._statement("CREATE TEMP TABLE IF NOT EXISTS kept(key BLOB PRIMARY KEY, vector BLOB)")
        about_vectors = {key: value for key in KEPT_META if (value := self.meta(key)) is not None}
        if "vectors" in self._tables():
            self._statement("INSERT OR IGNORE INTO kept SELECT key, vector FROM vectors")
        schema.create(self.connection, self.identity)
        self._statement("INSERT INTO vectors(key, vector) SELECT key, vector FROM kept ORDER BY key")
        self._statement("DROP TABLE kept")
        for key, value in about_vectors.items():
            self.set_meta(key, value)
        self.rebuild_reason = None

    def take(self, rows: Iterable[tuple[str, Any, Any]]) -> None:
        """Take on rows of another index's `meta` and `vectors`. Raises IndexUnavailable."""
        with self.writing():
            for table, key, value in rows:
                columns = "key, value" if table == "meta" else "key, vector"
                self._statement(f"INSERT OR REPLACE INTO {table}({columns}) VALUES(?, ?)", (key, value))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction over several changes, as a context manager. Raises IndexUnavailable."""
        with schema.translated(self.path), schema.transaction(self.connection):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the index for several questions, whatever others write. Raises IndexUnavailable."""
        with schema.translated(self.path):
            own = not self.connection.in_transaction
            if own:
                self.connection.execute("BEGIN")
            try:
                yield
            finally:
                if own:
                    schema.rollback(self.connection)

    # --- what is known ------------------------------------------------------------------------------

    def meta(self, key: str) -> str | bytes | None:
        """One value of the index's own notes about itself."""
        found = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        value: str | bytes | None = found[0][0] if found else None
        return value

    def set_meta(self, key: str, value: str | bytes) -> None:
        """Write one value of the index's own notes about itself."""
        self._statement("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def drop_meta(self, key: str) -> None:
        """Forget one value of the index's own notes about itself."""
        self._statement("DELETE FROM meta WHERE key = ?", (key,))

    def manifest(self) -> dict[Key, Known]:
        """Every indexed file with its size, time and hash; remembered until a change."""
        version = self.version()
        if self._manifest is None or self._manifest[0] != version:
            rows = self._rows("SELECT collection, path, mtime_ns, size, hash FROM notes")
            self._manifest = (version, {(c, p): Known(m, s, h) for c, p, m, s, h in rows})
        return self._manifest[1]

    def version(self) -> int:
        """A number that changes whenever another connection or this one changed the file."""
        own = self.connection.total_changes()
        return int(self._rows("PRAGMA data_version")[0][0]) * 1_000_003 + own

    def counts(self) -> dict[str, int]:
        """Rows by kind: notes, sections, passages, vectors, pending."""
        queries = {
            "notes": "SELECT count(*) FROM notes",
            "sections": "SELECT count(*) FROM sections",
            "passages": "SELECT count(*) FROM passages",
            "vectors": "SELECT count(*) FROM vectors",
            "pending": "SELECT count(*) FROM passages WHERE vector_id IS NULL",
        }
        return {name: self._rows(sql)[0][0] for name, sql in queries.items()}

    def pending(self) -> int:
        """How many passages still lack a vector."""
        return int(self._rows("SELECT count(*) FROM passages WHERE vector_id IS NULL")[0][0])

    def last_passage(self) -> int:
        """The largest passage id, 0 where there is none."""
        return int(self._rows("SELECT coalesce(max(id), 0) FROM passages")[0][0])

    def struck(self) -> frozenset[int]:
        """The passages of what is struck, by id; remembered until a change."""
        version = self.version()
        if self._struck[0] != version:
            rows = self._rows(f"SELECT id FROM passages WHERE {schema.STRUCK}")
            self._struck = (version, frozenset(row[0] for row in rows))
        return self._struck[1]

    def take_orphans(self) -> set[int]:
        """Vectors that lost a passage since they were last taken; other passages may use them still."""
        with self._lock:
            taken, self._orphans = self._orphans, set()
        return taken

    def collections(self) -> dict[str, tuple[int, int]]:
        """Notes and passages a collection."""
        rows = self._rows(
            "SELECT collection, count(*), coalesce(sum(last_passage - first_passage + 1), 0)"
            " FROM notes GROUP BY collection"
        )
        return {name: (notes, passages) for name, notes, passages in rows}

    def find_docid(self, prefix: str) -> list[Key]:
        """Files whose content hash starts with these hex digits."""
        upper = prefix + "g"
        return self._rows("SELECT collection, path FROM notes WHERE hash >= ? AND hash < ?", (prefix, upper))

    def shared_docids(self, docids: Iterable[str]) -> set[str]:
        """Which of these docids several files of different content have."""
        rows = self._rows(
            "SELECT w.value FROM json_each(?) AS w"
            " JOIN notes n ON n.hash >= w.value AND n.hash < w.value || 'g'"
            " GROUP BY w.value HAVING count(DISTINCT n.hash) > 1",
            (json.dumps(sorted(set(docids))),),
        )
        return {row[0] for row in rows}

    def notes(self) -> list[NoteRow]:
        """Every indexed file."""
        columns = ", ".join(NoteRow._fields)
        return [NoteRow(*row) for row in self._rows(f"SELECT {columns} FROM notes ORDER BY collection, path")]

    def days(self) -> list[tuple[str, str, str]]:
        """The days that passages in a file say they hold since, other than its own: collection, path, day."""
        return self._rows(
            "SELECT DISTINCT n.collection, n.path, p.day FROM passages p JOIN notes n ON n.id = p.note_id"
            f" WHERE p.{schema.WITH_DAY} AND p.until IS NULL AND p.day IS NOT n.date"
        )

    def passages_of(self, note: NoteRow) -> list[tuple[int, int, str, tuple[str, ...]]]:
        """First and last line, text and headings of what stands in a file of its `date`, in order."""
        rows = self._rows(
            "SELECT p.start_line, p.end_line, p.text, s.headings FROM passages p"
            " JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id"
            " WHERE p.id BETWEEN ? AND ? AND p.until IS NULL AND coalesce(p.day, n.date) IS ?"
            " ORDER BY p.start_line, p.id",
            (note.first_passage, note.last_passage, note.date),
        )
        with schema.translated(self.path):
            return [(start, end, text, tuple(json.loads(headings))) for start, end, text, headings in rows]

    def hash_of(self, key: Key) -> str:
        """The content hash of a file; empty for one that is not indexed."""
        rows = self._rows("SELECT hash FROM notes WHERE collection = ? AND path = ?", key)
        return str(rows[0][0]) if rows else ""

    # --- changes ------------------------------------------------------------------------------------

    def stage(self, entries: Sequence[Entry]) -> None:
        """Add or replace files, all but their full text: the first half of a write, most of it Python.

        Opens a transaction, unless one is open, which `publish` must end.
        """
        from commonplace.index import rows  # most searches write nothing

        with self._lock, schema.translated(self.path):
            self._own = schema.begin(self.connection)
            try:
                ids = self._next_ids()  # above those of what is replaced: what is new is told by its ids
                self._delete([row for entry in entries for row in self._note_ranges(entry.state.key)])
                rows.insert(self.connection, rows.compose(entries, *ids))
            except BaseException:
                if self._own:
                    schema.rollback(self.connection)
                raise

    def publish(self) -> None:
        """Index the text of what was staged and commit: the second half, nearly all of it SQLite's."""
        from commonplace.index import rows

        with self._lock, schema.translated(self.path):
            try:
                rows.publish(self.connection)
                if self._own:
                    self.connection.execute("COMMIT")
            except BaseException:
                if self._own:
                    schema.rollback(self.connection)
                raise

    def abandon(self) -> None:
        """Undo what was staged and is not going to be published: Ctrl-C may come between the two."""
        with self._lock:
            if self._own and self.connection.in_transaction:
                schema.rollback(self.connection)

    def _next_ids(self) -> tuple[int, int, int]:
        largest = "SELECT coalesce((SELECT max(id) FROM {}), 0)"
        note, section, passage = (
            self.connection.execute(largest.format(table)).get + 1
            for table in ("notes", "sections", "passages")
        )
        return note, section, passage

    def remove(self, keys: Iterable[Key]) -> None:
        """Remove files, in one transaction."""
        with self._lock, schema.translated(self.path), schema.transaction(self.connection):
            self._delete([row for key in keys for row in self._note_ranges(key)])

    def touch(self, states: Iterable[FileState]) -> None:
        """Record a new time for files whose content is what it was."""
        rows = [(state.mtime_ns, state.size, *state.key) for state in states]
        sql = "UPDATE notes SET mtime_ns = ?, size = ? WHERE collection = ? AND path = ?"
        with self._lock, schema.translated(self.path), schema.transaction(self.connection):
            self.connection.executemany(sql, rows)

    def _note_ranges(self, key: Key) -> list[tuple[int, ...]]:
        return self._rows(
            "SELECT id, first_section, last_section, first_passage, last_passage"
            " FROM notes WHERE collection = ? AND path = ?",
            key,
        )

    def _delete(self, ranges: Sequence[tuple[int, ...]]) -> None:
        if ranges:
            self.connection.execute("DELETE FROM meta WHERE key = 'scan'")
        for note, first_section, last_section, first_passage, last_passage in ranges:
            passages = (first_passage, last_passage)
            # By equality of rowid: FTS5 looks up each one, and scans the table for a range.
            rows = [(rowid,) for rowid in range(first_passage, last_passage + 1)]
            self.connection.executemany("DELETE FROM passages_fts WHERE rowid = ?", rows)
            struck = f"SELECT id FROM passages WHERE id BETWEEN ? AND ? AND {schema.STRUCK}"
            gone = self._rows(struck, passages)
            self.connection.executemany("DELETE FROM struck_fts WHERE rowid = ?", gone)
            vectors = "SELECT vector_id FROM passages WHERE id BETWEEN ? AND ? AND vector_id > 0"
            self._orphans.update(row[0] for row in self._rows(vectors, passages))
            self.connection.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", passages)
            section_range = (first_section, last_section)
            self.connection.execute("DELETE FROM sections WHERE id BETWEEN ? AND ?", section_range)
            self.connection.execute("DELETE FROM notes WHERE id = ?", (note,))

    # --- questions ----------------------------------------------------------------------------------

    def match(
        self, expression: str, limit: int, scope: Scope | None = None, header_weight: float = 1.0
    ) -> list[tuple[int, float]]:
        """Best passages for an FTS5 expression as (id, BM25), higher is better.

        BM25 is FTS5's own: k1 1.2, b 0.75, idf as in Robertson and Sparck Jones, never negative.
        """
        join, where = (scope.join("passages_fts.rowid"), scope.where()) if scope else ("", "")
        return self._rows(
            f"SELECT passages_fts.rowid, -bm25(passages_fts, 1.0, {header_weight}) AS score FROM passages_fts"
            f" {join} WHERE passages_fts MATCH ? {where} ORDER BY score DESC, passages_fts.rowid LIMIT ?",
            (expression, *(scope.bindings if scope else ()), limit),
        )

    def frequencies(self, expressions: Sequence[str], *, struck: bool = False) -> tuple[list[int], int]:
        """How many passages match each FTS5 expression, and how many there are; remembered until a change.

        Those of what is struck count only if they are wanted.
        """
        _, total, _, known = self._count()
        sql = "SELECT count(*) FROM passages_fts WHERE passages_fts MATCH ?"
        for expression in expressions:
            if expression not in known:
                known[expression] = self._rows(sql, (expression,))[0][0]
        counts = [known[expression] for expression in expressions]
        if not struck or not (gone := len(self.struck())):
            return counts, total
        sql = "SELECT count(*) FROM struck_fts WHERE struck_fts MATCH ?"
        further = (self._rows(sql, (expression,))[0][0] for expression in expressions)
        return [one + other for one, other in zip(counts, further, strict=True)], total + gone

    def text_bytes(self) -> int:
        """How many bytes all indexed files have together; remembered until a change."""
        return self._count()[2]

    def _count(self) -> tuple[int, int, int, dict[str, int]]:
        version = self.version()
        if self._counted[0] != version:
            sums = (
                "SELECT coalesce(sum(last_passage - first_passage + 1), 0), coalesce(sum(size), 0) FROM notes"
            )
            passages, size = self._rows(sums)[0]
            self._counted = (version, passages - len(self.struck()), size, {})
        return self._counted

    def matching(self, ids: Sequence[int], expression: str) -> set[int]:
        """Which of these passages match an FTS5 expression."""
        tables = ["passages_fts"] if self.struck().isdisjoint(ids) else ["passages_fts", "struck_fts"]
        bound = (expression, json.dumps(list(ids)))
        found: set[int] = set()
        for table in tables:
            among = "rowid IN (SELECT value FROM json_each(?))"
            sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND {among}"
            found.update(row[0] for row in self._rows(sql, bound))
        return found

    def candidates(self, ids: Sequence[int]) -> list[Candidate]:
        """Where passages stand and what they say, in no particular order."""
        rows = self._rows(
            "SELECT p.id, p.note_id, p.section_id, p.start_line, p.end_line, p.text, s.turns, p.annotations,"
            " p.until"
            " FROM json_each(?) AS wanted JOIN passages p ON p.id = wanted.value"
            " JOIN sections s ON s.id = p.section_id",
            (json.dumps(list(ids)),),
        )
        return [Candidate(*row) for row in rows]

    def others(
        self, ids: Iterable[int], limit: int, scope: Scope | None = None, *, struck: bool = False
    ) -> set[int]:
        """Up to `limit` further passages: neighbours of these first, then in the order of the notes.

        For those who want every passage ranked, also the ones that no list holds.
        """
        known = set(ids)
        if limit <= 0:
            return set()
        join, where = (scope.join("q.id"), scope.where()) if scope else ("", "")
        stands = "TRUE" if struck else "q.until IS NULL"
        near = ", ".join(str(i + step) for i in sorted(known) for step in (-1, 1)) or "0"
        rows = self._rows(
            f"SELECT q.id FROM passages q {join} WHERE {stands} {where}"
            f" ORDER BY q.id NOT IN ({near}), q.id LIMIT ?",
            (*(scope.bindings if scope else ()), limit + len(known)),
        )
        return set([row[0] for row in rows if row[0] not in known][:limit])

    def dates(self, ids: Sequence[int]) -> dict[int, str | None]:
        """The days of passages, which are those of their notes unless they say so, by passage id."""
        rows = self._rows(
            "SELECT p.id, coalesce(p.day, n.date) FROM json_each(?) AS wanted"
            " JOIN passages p ON p.id = wanted.value JOIN notes n ON n.id = p.note_id",
            (json.dumps(list(ids)),),
        )
        return dict(rows)

    def sources(self, ids: Sequence[int]) -> dict[int, Source]:
        """The notes and sections around passages, by passage id."""
        rows = self._rows(
            "SELECT p.id, n.collection, n.path, n.title, coalesce(p.day, n.date), n.kind, n.hash, s.headings"
            " FROM json_each(?) AS wanted JOIN passages p ON p.id = wanted.value"
            " JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id",
            (json.dumps(list(ids)),),
        )
        with schema.translated(self.path):
            return {row[0]: _source(row[1:]) for row in rows}

    def _rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        with self._lock, schema.translated(self.path):
            return self.connection.execute(sql, tuple(bindings)).fetchall()

    def _statement(self, sql: str, bindings: Sequence[Any] = ()) -> None:
        with self._lock, schema.translated(self.path):
            self.connection.execute(sql, tuple(bindings))

    def _tables(self) -> set[str]:
        return {row[0] for row in self._rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def size_bytes(self) -> int:
        """Size of the index on disk, its write-ahead log included."""
        names = (self.path, self.path + "-wal")
        return sum(os.path.getsize(name) for name in names if os.path.exists(name))


def _source(row: Sequence[Any]) -> Source:
    collection, path, title, date, kind, content, headings = row
    return Source(collection, path, title, date, kind, content[:DOCID], tuple(json.loads(headings)))
