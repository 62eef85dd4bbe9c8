"""What the engines with SQL have in common: scopes as conditions, and all questions but those of full text.

Statements are those of SQLite, with `?` or `:name` in the place of what is bound. A passage is `s` in
conditions, its note `n`. Lists are bound as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from commonplace.base.paths import shown
from commonplace.index import base
from commonplace.index.base import Key, Known, Scope
from commonplace.providers.embedding.base import check_length, quantize

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeVar

    from numpy.typing import NDArray

    from commonplace.index.base import Floats, Nearest
    from commonplace.index.rows import Rows
    from commonplace.notes.scan import FileState
    from commonplace.types import Level

    Bindings = Sequence[Any] | Mapping[str, Any]
    T = TypeVar("T")
else:
    Protocol = object

AMONG = "IN (SELECT value FROM json_each({}))"  # a list of numbers
KEYS = "IN (SELECT value ->> 0, value ->> 1 FROM json_each(:keys))"
OF_PASSAGES = "FROM passages p JOIN vectors v ON v.id = p.vector_id"
_PASSAGE = "p.id, p.note_id, p.section_id, p.start_line, p.end_line, p.text, s.turns, p.annotations"
_TRAITS = "p.until, p.shown, p.speakers, p.wide, p.script"
_SOURCE = f"n.collection, n.path, n.title, coalesce(p.day, n.date), n.kind, substr(n.hash, 1, {base.DOCID})"
_JOINED = "passages p JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id"
_CANDIDATES = (
    f"SELECT {_PASSAGE}, {_TRAITS}, {_SOURCE}, s.headings, n.mtime_ns FROM {_JOINED}"
    f" WHERE p.id {AMONG.format(':ids')}"
)
_PAGE = 8192  # vectors that are read at once


class Query:
    """Scopes as conditions of an engine, and what is bound in them by name."""

    fields: Mapping[str, str] = {
        "collection": "n.collection", "kind": "n.kind", "note": "n.id", "passage": "s.id",
        # The day that a passage says it holds since, otherwise that of its note.
        "date": "coalesce(s.day, n.date, '')",
        "written": "coalesce(s.day, CASE n.kind WHEN 'long-term' THEN NULL ELSE n.date END, '')",
        "stands": "s.until IS NULL", "until": "s.until", "first": "s.start_line", "last": "s.end_line",
    }  # fmt: skip
    has: Mapping[str, str] = {"day": "s.day IS NOT NULL", "until": "s.until IS NOT NULL"}
    outside, all, none = "({}) IS NOT TRUE", "TRUE", "FALSE"

    def __init__(self) -> None:
        self.bound: dict[str, Any] = {}

    def bind(self, value: object) -> str:
        """Bind a value; return how a statement names it."""
        name = f"v{len(self.bound)}"
        self.bound[name] = value
        return f":{name}"

    def where(self, scope: Scope) -> str:
        """Return the condition for the passages of a scope."""
        return " and ".join(f"({self._condition(one)})" for one in scope.conditions) or self.all

    def _condition(self, one: base.Condition) -> str:
        fields, bind = self.fields, self.bind
        if isinstance(one, base.In):
            return self.among(fields[one.field], sorted(one.values)) if one.values else self.none  # type: ignore[arg-type]
        if isinstance(one, base.Days):
            return self.days(one)
        if isinstance(one, base.WrittenBy):
            return f"{fields['written']} <= {bind(one.day)}"
        if isinstance(one, base.HeldOn):
            return f"{fields['stands']} or {fields['until']} > {bind(one.day)}"
        if isinstance(one, base.Lines):
            note = self.among(fields["note"], [one.note])
            return (
                f"{note} and {fields['last']} >= {bind(one.first)} and {fields['first']} <= {bind(one.last)}"
            )
        if isinstance(one, base.Has):
            return self.has.get(one.key) or self.saying(one.key)
        if isinstance(one, base.Not):
            return self.outside.format(self.where(one.scope))
        if isinstance(one, base.Either):
            return " or ".join(f"({self.where(scope)})" for scope in one.scopes) or self.none
        return self.matching(one.expression)

    def among(self, column: str, values: Sequence[int] | Sequence[str]) -> str:
        """Return the condition that a column has one of some values, of which there may be thousands."""
        if isinstance(values[0], int):
            return f"{column} {AMONG.format(self.bind(json.dumps(values)))}"
        return f"{column} IN ({', '.join(map(self.bind, values))})"

    def days(self, days: base.Days) -> str:
        """Return the condition for the passages of some days."""
        return self.between(self.fields["date"], days)

    def between(self, column: str, days: base.Days) -> str:
        """Return the condition that a column, "" without a day, is one of some days."""
        return (
            f"{column} >= {self.bind(days.first or '0')} and {column} <= {self.bind(days.last or '9999-99')}"
        )

    def saying(self, key: str) -> str:
        """Return the condition for the passages that say something of a key of annotations."""
        said = f'"{key}":'
        return f"instr(s.annotations, {self.bind(said)}) > 0"

    def matching(self, expression: str) -> str:
        """Return the condition for the passages that match an expression, struck ones included."""
        raise NotImplementedError


class Meta(MutableMapping[str, "Any"]):
    """The table of what an index notes of itself."""

    def __init__(self, index: SqlIndex) -> None:
        self._index = index

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        rows = self._index.rows("SELECT value FROM meta WHERE key = ?", (key,))
        if not rows:
            raise KeyError(key)
        return rows[0][0]

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        sql = (
            "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        )
        self._index.note(sql, (key, value))

    def __delitem__(self, key: str) -> None:
        self._index.note("DELETE FROM meta WHERE key = ?", (key,))

    def __iter__(self) -> Iterator[str]:
        return iter([row[0] for row in self._index.rows("SELECT key FROM meta")])

    def __len__(self) -> int:
        return len(list(iter(self)))


class SqlIndex(base.Index, Protocol):
    """An index in tables; an engine runs the statements, and has a full text of its own."""

    note_of_passage: str = "JOIN notes n ON n.id = s.note_id"  # in conditions
    last_change: str = "date(n.mtime_ns / 1000000000, 'unixepoch')"  # the day of it

    vectors: SqlVectors
    _remembered: tuple[int, dict[str, Any]] = (-1, {})  # of a version, see `remembered`

    # --- what an engine does ------------------------------------------------------------------------

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Any]:
        """Run a statement; return all its rows. Raises IndexUnavailable."""

    def change(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of bindings, in a transaction. Raises IndexUnavailable."""

    def note(self, sql: str, bindings: Bindings) -> None:
        """Run a statement that changes the notes of the index about itself and nothing else."""
        self.rows(sql, bindings)

    def query(self) -> Query:
        """Return an empty query of this engine."""

    def translated(self) -> AbstractContextManager[None]:
        """Turn errors about what is stored into IndexUnavailable."""
        return nullcontext()

    def insert(self, rows: Rows) -> None:
        """Insert the rows of files; in a transaction."""

    def delete_texts(self, passages: Sequence[tuple[int, bool]]) -> None:
        """Delete passages, each with whether it is struck, from the full text; in a transaction."""

    def matched(self, query: Query, expression: str, header: float, *, many: bool) -> str:
        """Return the table `matched(id, score)` of passages that stand and match, as WITH takes it.

        With `many` it is read more than once.
        """

    def count(self, expressions: Sequence[str], *, struck: bool) -> list[int]:
        """Count the passages that match each expression: those that stand, or those that are struck."""

    def stored_bytes(self) -> int:
        """Return the size of what is stored."""

    # --- changes ------------------------------------------------------------------------------------

    def write(self, batches: Iterable[Sequence[base.Entry]]) -> int:
        """Add or replace files, each batch in one transaction; return the last passage before."""
        from commonplace.index import rows  # most searches do not write

        last = self._largest("passages")
        for batch in batches:
            with self.transaction():
                ids = [self._largest(table) + 1 for table in ("notes", "sections", "passages")]
                self._delete([entry.state.key for entry in batch])
                self.insert(rows.compose(batch, *ids))
        return last

    def _largest(self, table: str) -> int:
        return int(self.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0])

    def update(self, touched: Iterable[FileState] = (), gone: Iterable[Key] = ()) -> None:
        """Record the time and size of unchanged files, and remove others, in one transaction."""
        rows = [(state.mtime_ns, state.size, *state.key) for state in touched]
        with self.transaction():
            self.change("UPDATE notes SET mtime_ns = ?, size = ? WHERE collection = ? AND path = ?", rows)
            self._delete(list(gone))

    def _delete(self, keys: Sequence[Key]) -> None:
        """Delete files with their sections, passages, tokens; note the vectors that lose a passage."""
        self.meta.pop("scan", None)
        ranges = "first_section, last_section, first_passage, last_passage"
        sql = f"SELECT id, {ranges} FROM notes WHERE (collection, path) {KEYS}"
        if not keys or not (notes := self.rows(sql, {"keys": json.dumps(keys)})):
            return
        ids = {"ids": json.dumps([note[0] for note in notes])}
        passages = self.rows(
            "SELECT p.id, p.until IS NOT NULL, p.vector_id FROM notes n JOIN passages p"
            f" ON p.id BETWEEN n.first_passage AND n.last_passage WHERE n.id {AMONG.format(':ids')}", ids,
        )  # fmt: skip
        self.delete_texts([row[:2] for row in passages])
        self.vectors.lose([(row[0], row[2]) for row in passages if row[2]])
        self.change("DELETE FROM passages WHERE id BETWEEN ? AND ?", [note[3:] for note in notes])
        self.change("DELETE FROM sections WHERE id BETWEEN ? AND ?", [note[1:3] for note in notes])
        self.rows(f"DELETE FROM notes WHERE id {AMONG.format(':ids')}", ids)

    # --- what is known ------------------------------------------------------------------------------

    def remembered(self, name: str, read: Callable[[], T]) -> T:
        """Return what `read` reads of this version of the index, read once until a change."""
        if self._remembered[0] != (version := self.version):
            self._remembered = version, {}
        known = self._remembered[1]
        if name not in known:
            known[name] = read()
        value: T = known[name]
        return value

    @property
    def tokens(self) -> int:
        """About how many tokens reading all indexed files takes; remembered until a change."""
        return -(-self._sums()[1] // 4)

    def _sums(self) -> tuple[int, int, int, dict[tuple[str, bool], int]]:
        """Return passages, their tokens times four, struck ones, and the frequencies that are known."""
        sums = (
            "SELECT cast(coalesce(sum(last_passage - first_passage + 1), 0) AS bigint),"
            " cast(coalesce(sum(quarters), 0) AS bigint),"
            " (SELECT count(*) FROM passages WHERE until IS NOT NULL) FROM notes"
        )
        return self.remembered("sums", lambda: (*self.rows(sums)[0], {}))

    def manifest(self) -> dict[Key, Known]:
        """Return every indexed file with its time, size and hash; remembered until a change."""

        def read() -> dict[Key, Known]:
            rows = self.rows("SELECT collection, path, mtime_ns, size, hash FROM notes")
            return {(name, path): Known(*known) for name, path, *known in rows}

        return self.remembered("manifest", read)

    def statistics(self) -> base.Statistics:
        """Count the rows."""
        tables = ("notes", "sections", "passages", "vectors", "passages WHERE vector_id IS NULL")
        counts = [self.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables]
        collections = self.rows(
            "SELECT collection, count(*), cast(sum(last_passage - first_passage + 1) AS bigint)"
            " FROM notes GROUP BY collection"
        )
        by_name = {name: (notes, passages) for name, notes, passages in collections}
        return base.Statistics._make((*counts, self._largest("passages"), self.stored_bytes(), by_name))

    def notes(
        self, *, keys: Iterable[Key] | None = None, docids: Iterable[str] | None = None
    ) -> list[base.NoteRow]:
        """Return files in the order of collection and path: all, some, or those of hashes that begin so."""
        sql, query = f"SELECT {', '.join(base.NoteRow._fields)} FROM notes", self.query()
        if keys is not None:
            query.bound["keys"] = json.dumps(list(keys))
            sql += f" WHERE (collection, path) {KEYS}"
        elif docids is not None:
            each = (f"hash >= {query.bind(one)} AND hash < {query.bind(f'{one}g')}" for one in docids)
            sql += f" WHERE {' OR '.join(f'({one})' for one in each) or 'FALSE'}"
        return [base.NoteRow(*row) for row in self.rows(f"{sql} ORDER BY collection, path", query.bound)]

    def passages(self, ids: Iterable[int]) -> list[base.Candidate]:
        """Return passages with their sources, in no particular order; unknown ids are left out."""
        rows = self.rows(_CANDIDATES, {"ids": json.dumps(list(ids))})
        new = tuple.__new__  # `_make` takes twice as long, for hundreds of rows
        with self.translated():
            return [
                new(base.Candidate, (
                    *row[:9], new(base.Traits, row[10:13]), row[9],
                    new(base.Source, (*row[13:19], _headings(row[19]), row[20])),
                ))
                for row in rows
            ]  # fmt: skip

    # --- questions ----------------------------------------------------------------------------------

    def select(
        self, scope: Scope, limit: int | None = None, *, struck: bool = False, newest: bool = False
    ) -> list[int]:
        """Return the passages of a scope by id; see `index.base.Index`."""
        query, stands = self.query(), "TRUE" if struck else "s.until IS NULL"
        either = next((one for one in scope.conditions if isinstance(one, base.Either) and one.scopes), None)
        rest = tuple(one for one in scope.conditions if one is not either)
        scopes = either.scopes if either else (base.ALL,)
        each = [query.where(Scope((*rest, *one.conditions))) for one in scopes]
        where = each[0]
        if each[1:]:  # each finds its own way: of OR every passage would be read
            passages = f"SELECT s.id FROM passages s {self.note_of_passage} WHERE"
            where = f"s.id IN ({' UNION '.join(f'{passages} {one}' for one in each)})"
        join = self.note_of_passage if newest or "n." in where else ""
        latest = f"coalesce(s.day, n.date, {self.last_change}) DESC, n.mtime_ns DESC, s.id"
        order = latest if newest else "+s.id" if scope.conditions else "s.id"  # +: or all are read in it
        most = query.bind(1 << 62 if limit is None else limit)
        sql = f"SELECT s.id FROM passages s {join} WHERE {stands} AND {where} ORDER BY {order} LIMIT {most}"
        return [row[0] for row in self.rows(sql, query.bound)]

    def match(
        self, expression: str, limit: int, *scopes: Scope, header: float = 1.0
    ) -> list[tuple[int, float]]:
        """Return the best passages that stand for an expression; see `index.base.Index`.

        However many scopes there are, each passage is scored once.
        """
        query = self.query()
        matched, most = self.matched(query, expression, header, many=len(scopes) > 1), query.bind(limit)
        parts = []
        for scope in scopes or (base.ALL,):
            join = "JOIN passages s ON s.id = m.id JOIN notes n ON n.id = s.note_id" * bool(scope.conditions)
            parts.append(
                f"SELECT * FROM (SELECT m.id, m.score FROM matched m {join} WHERE {query.where(scope)}"
                f" ORDER BY m.score DESC, m.id LIMIT {most}) t"
            )
        return self.rows(f"WITH {matched} {' UNION '.join(parts)} ORDER BY 2 DESC, 1", query.bound)

    def frequencies(self, expressions: Sequence[str], *, struck: bool = False) -> tuple[list[int], int]:
        """Count the passages that match each expression, and all of them; remembered until a change."""
        total, _, gone, known = self._sums()
        counts = [0] * len(expressions)
        for is_struck in (False, True) if struck and gone else (False,):
            if new := [one for one in dict.fromkeys(expressions) if (one, is_struck) not in known]:
                counted = self.count(new, struck=is_struck)
                known.update(zip(((one, is_struck) for one in new), counted, strict=True))
            counts = [n + known[one, is_struck] for n, one in zip(counts, expressions, strict=True)]
        return counts, max(total if struck else total - gone, *counts, 0)  # another may just have written


class SqlVectors(base.VectorStore):
    """The vectors of an index in tables; an engine says which are nearest."""

    # A vector of `vectors v` as it is read, its length, and whether it has a direction.
    raw, dimensions, is_some = "v.vector", "length(v.vector)", "v.vector <> x''"

    def __init__(self, index: SqlIndex) -> None:
        """Attach to an index, without reading it."""
        self.file = index
        self.orphans: set[int] = set()  # vectors that lost a passage here; other passages may use them still

    def stored(self, row: NDArray[Any]) -> object:
        """Return a row of int8 as it is stored; one of zeros has no direction."""
        return row.tobytes() if row.any() else b""

    def read(self, raw: Any) -> Any:  # noqa: ANN401
        """Return the numbers of a stored vector."""
        import numpy as np

        return np.frombuffer(raw, np.int8)

    def log_change(self, passages: Iterable[int]) -> None:
        """Note the passages whose vectors change, for those who hold them in memory; 0 stands for all."""

    def lose(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Note passages that are deleted, each with its vector, or 0."""
        self.orphans.update(vector for _, vector in pairs)
        self.log_change(passage for passage, _ in pairs)

    def texts(self, after: int, limit: int, *, pending: bool = False) -> list[base.Text]:
        """Return the next passages above an id; see `index.base.VectorStore`."""
        rows = self.file.rows(
            f"SELECT p.id, p.text, s.headings, n.collection, n.path, s.turns FROM {_JOINED} WHERE"
            f" {'p.vector_id IS NULL AND ' * pending}p.id > ? ORDER BY p.id LIMIT ?", (after, limit),
        )  # fmt: skip
        with self.file.translated():
            return [base.Text(row[0], row[1], _headings(row[2]), *row[3:]) for row in rows]

    def pending(self) -> int:
        """Count the passages without a vector."""
        return int(self.file.rows("SELECT count(*) FROM passages WHERE vector_id IS NULL")[0][0])

    @property
    def length(self) -> int:
        """The dimensions of the vectors of passages, 0 before the first; one model has one length."""
        sql = f"SELECT {self.dimensions} {OF_PASSAGES} WHERE {self.is_some} ORDER BY p.vector_id LIMIT 1"
        rows = self.file.rows(sql)
        return int(rows[0][0]) if rows else 0

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare a question; see `index.base.VectorStore`."""

        def nearest(vector: Floats, limit: int) -> list[tuple[int, float]]:
            check_length(vector, self.length, shown(self.file.path))
            best: dict[int, float] = {}
            for scope in scopes or (base.ALL,):
                best |= dict(self.nearest(vector, limit, scope, struck))
            return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))

        return nearest, self.level()

    def nearest(self, vector: Floats, limit: int, scope: Scope, struck: bool) -> list[tuple[int, float]]:
        """Return the passages of a scope that are nearest to a unit vector as (id, cosine)."""
        raise NotImplementedError

    def level(self) -> Level:
        """Return 0, or 2 while no passage has a vector."""
        return 0 if self.file.rows("SELECT 1 FROM passages WHERE vector_id > 0 LIMIT 1") else 2

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of some keys that have a vector."""
        return set(self.ids(keys))

    def ids(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Return the ids of the vectors of keys."""
        sql = "SELECT v.key, v.id FROM json_each(?) JOIN vectors v ON v.key = unhex(value)"
        return dict(self.file.rows(sql, (json.dumps([key.hex() for key in keys]),)))

    def add(self, keys: Sequence[bytes], vectors: Floats, words: Mapping[bytes, bytes] | None = None) -> None:
        """Store vectors, one row a key; another process may have stored the same meanwhile.

        One of zeros has a row, so that it is neither compared nor made again.
        """
        rows = [(key, self.stored(row)) for key, row in zip(keys, quantize(vectors), strict=True)]
        signs = "INSERT INTO words(key, signs) VALUES(?, ?)"
        signs += " ON CONFLICT (key) DO UPDATE SET signs = excluded.signs"
        with self.file.transaction():
            self.file.change(signs, (words or {}).items())
            self.file.change("INSERT INTO vectors(key, vector) VALUES(?, ?) ON CONFLICT DO NOTHING", rows)

    def kept(self) -> Iterator[tuple[list[bytes], Floats, dict[bytes, bytes]]]:
        """Yield all vectors as `add` takes them, some at a time."""
        import numpy as np

        sql = f"SELECT v.key, {self.raw}, w.signs, v.id FROM vectors v LEFT JOIN words w ON w.key = v.key"
        sql, after = f"{sql} WHERE v.id > ? AND {self.is_some} ORDER BY v.id LIMIT {_PAGE}", 0
        while rows := self.file.rows(sql, (after,)):
            after, signs = rows[-1][3], {row[0]: row[2] for row in rows if row[2]}
            yield [row[0] for row in rows], np.array([self.read(row[1]) for row in rows], np.float32), signs

    def assign(self, pairs: Iterable[tuple[int, bytes]]) -> set[bytes]:
        """Give passages the vectors of keys; see `index.base.VectorStore`."""
        pairs = list(pairs)
        known = self.ids({key for _, key in pairs})
        ids = known | {base.UNSERVED: 0}
        rows = [(ids[key], passage) for passage, key in pairs if key in ids]
        if rows:
            with self.file.transaction():
                self.file.change("UPDATE passages SET vector_id = ? WHERE id = ?", rows)
                self.log_change(passage for _, passage in rows)
        return set(known)

    def clear(self, notes: Iterable[int] | None = None) -> None:
        """Take the vectors from the passages of some notes, or from all; the vectors stay."""
        some, bound = (
            ("", {})
            if notes is None
            else (f"AND note_id {AMONG.format(':ids')}", {"ids": json.dumps([*notes])})
        )
        with self.file.transaction():
            self.file.rows(f"UPDATE passages SET vector_id = NULL WHERE vector_id IS NOT NULL {some}", bound)
            self.log_change([0])

    def prune(self, *, lost: bool = False) -> None:
        """Delete vectors that no passage uses; with `lost` only those that lost one in this process.

        An unused vector would take a place among the nearest to a question.
        """
        gone = "NOT EXISTS (SELECT 1 FROM passages WHERE vector_id = vectors.id)"
        bound = {}
        if lost:
            gone, bound = f"id {AMONG.format(':ids')} AND {gone}", {"ids": json.dumps([*self.orphans])}
        if self.orphans or not lost:
            self.orphans = set()
            with self.file.transaction():
                self.file.rows(
                    f"DELETE FROM words WHERE key IN (SELECT key FROM vectors WHERE {gone})", bound
                )
                self.file.rows(f"DELETE FROM vectors WHERE {gone}", bound)

    def words(self, passages: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        """Return section and signs of the words of passages, by passage."""
        rows = self.file.rows(
            f"SELECT p.id, p.section_id, w.signs {OF_PASSAGES} JOIN words w ON w.key = v.key"
            f" WHERE p.id {AMONG.format(':ids')}", {"ids": json.dumps(list(passages))},
        )  # fmt: skip
        return {passage: (section, signs) for passage, section, signs in rows}


@lru_cache(4096)
def _headings(stored: str) -> tuple[str, ...]:
    """Return the headings of a section as they are stored. Raises ValueError for no JSON."""
    return tuple(json.loads(stored))
