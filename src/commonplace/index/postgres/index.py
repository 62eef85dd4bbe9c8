"""One workspace's index in PostgreSQL; every method is one question or one change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from commonplace.config.credentials import Secret
from commonplace.index import full_text, rules
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
)  # fmt: skip
from commonplace.index.postgres.server import OWN, TABLES, Server
from commonplace.index.postgres.sql import DAY, PASSAGES, SECTION, Query
from commonplace.index.postgres.vectors import PostgresVectors
from commonplace.notes.scan import FileState

_NOTE = ", ".join(NoteRow._fields)
_CANDIDATE = (
    "p.id, p.note_id, p.section_id, p.start_line, p.end_line, p.text, s.turns, p.annotations, p.until,"
    f" p.shown, p.speakers, p.wide, p.script, n.collection, n.path, n.title, {DAY}, n.kind, n.hash,"
    " s.headings, n.mtime_ns"
)
_COPIED = {
    "notes": "id, collection, path, title, date, kind, hash, mtime_ns, size, lines, metadata, quarters,"
    " first_section, last_section, first_passage, last_passage",
    "sections": "id, note_id, headings, start_line, end_line, turns",
    "passages": "id, note_id, section_id, start_line, end_line, text, annotations, vector, day, until,"
    " speakers, wide, script, shown, length",
    "postings": "term, passage, struck, length, body, header, places",
}  # fmt: skip


class PostgresIndex(Server, Index):
    """The index of a workspace in a database, see `index.base.Index`."""

    readonly = False

    def __init__(
        self, url: str, identity: Mapping[str, str], workspace: str, key: Secret, path: str = ""
    ) -> None:
        """Open or make the index of a workspace; one that other rules redacted is emptied but for vectors.

        Raises IndexUnavailable where the server is away or may not be used so, MissingExtra.
        """
        super().__init__(url, workspace, key)
        self.identity, self.rebuild_reason = identity, None
        self.vectors: PostgresVectors = PostgresVectors(self)
        self._manifest: tuple[int, dict[Key, Known]] = (-1, {})
        self._counted: tuple[int, int, float, dict[str, tuple[int, int]]] = (-1, 0, 0, {})
        noted = {name: self.meta.get(name) for name in identity}
        changed = [name for name, value in identity.items() if noted[name] != value]
        self.begun = not any(noted.values())  # an empty workspace
        if self.begun or rules.REDACTION in changed:
            with self.transaction(anew=True):
                pass
        if changed and not self.begun:
            self.rebuild_reason = f"{', '.join(changed)} changed"

    @property
    def version(self) -> int:
        """A number that changes whenever any process has changed the index."""
        return int(self.meta.get("version", 0))

    @contextmanager
    def transaction(self, *, write: bool = True, anew: bool = False) -> Iterator[None]:
        """Make several changes, or ask several questions of one state; see `index.base.Index`."""
        with self.changing() if write else self._transaction(write=False):
            if anew:
                for table in ("notes", "sections", "passages", "postings"):
                    self.rows(f"DELETE FROM {table} WHERE {OWN}")
                self.meta.pop("scan", None)
                self.meta.update(self.identity)
                self.change()
                self.rebuild_reason = None
            yield

    def drop(self) -> None:
        """Delete all that the server has of the workspace."""
        with self.changing():
            for table in TABLES:
                self.rows(f"DELETE FROM {table} WHERE {OWN}")
        self.erase()

    def erase(self) -> None:
        """Let the server reuse the space of deleted rows now."""
        self.rows(f"VACUUM {', '.join(TABLES)}")

    # --- changes ------------------------------------------------------------------------------------

    def write(self, batches: Iterable[Sequence[Entry]]) -> int:
        """Add or replace files, each batch in one transaction; return the last passage before."""
        from commonplace.index.sqlite.rows import compose  # loaded by a write

        last = self._largest("passages")
        for batch in batches:
            with self.changing():
                ids = [self._largest(table) + 1 for table in ("notes", "sections", "passages")]
                self._delete([entry.state.key for entry in batch])
                rows = compose(batch, ids[0], ids[1], ids[2])
                texts = {row[0]: row[1:] for row in (*rows["passages_fts"], *rows["struck_fts"])}
                passages, rows["passages"], rows["postings"] = rows["passages"], [], []
                for row in passages:
                    found, length = full_text.positions(*texts[row[0]])
                    rows["passages"].append((*row, length))
                    for word, at in found.items():
                        own = sum(place >= 0 for place in at)
                        posting = (word, row[0], row[9] is not None, length, own, len(at) - own, at)
                        rows["postings"].append(posting)
                for table, columns in _COPIED.items():
                    self.copy(table, columns, rows[table])
                self.change()
        return last

    def _largest(self, table: str) -> int:
        return int(self.rows(f"SELECT coalesce(max(id), 0) FROM {table} WHERE {OWN}")[0][0])

    def update(self, touched: Iterable[FileState] = (), gone: Iterable[Key] = ()) -> None:
        """Record the time and size of unchanged files, and remove others, in one transaction."""
        with self.changing():
            for state in touched:
                self.rows(
                    f"UPDATE notes SET mtime_ns = %(m)s, size = %(s)s WHERE {OWN} AND collection = %(c)s"
                    " AND path = %(p)s", m=state.mtime_ns, s=state.size, c=state.collection, p=state.path,
                )  # fmt: skip
            self._delete(list(gone))
            self.change()

    def _delete(self, keys: Sequence[Key]) -> None:
        """Delete files with their rows, note the vectors that they leave, and forget what was scanned."""
        self.meta.pop("scan", None)
        notes = self.rows(
            "DELETE FROM notes USING unnest(%(c)s::text[], %(p)s::text[]) AS t(c, p)"
            f" WHERE {OWN} AND collection = c AND path = p RETURNING id",
            c=[key[0] for key in keys], p=[key[1] for key in keys],
        )  # fmt: skip
        of_notes = f"WHERE {OWN} AND note_id = ANY(%(ids)s)"
        ids = [row[0] for row in notes]
        gone = self.rows(f"DELETE FROM passages {of_notes} RETURNING id, vector", ids=ids)
        self.lost.update(row[1] for row in gone if row[1])
        self.rows(f"DELETE FROM sections {of_notes}", ids=ids)
        ids = [row[0] for row in gone]
        self.rows(f"DELETE FROM postings WHERE {OWN} AND passage = ANY(%(ids)s)", ids=ids)

    # --- what is known ------------------------------------------------------------------------------

    @property
    def tokens(self) -> int:
        """Estimated tokens of all indexed files together."""
        return -(-int(self.rows(f"SELECT coalesce(sum(quarters), 0) FROM notes WHERE {OWN}")[0][0]) // 4)

    def manifest(self) -> dict[Key, Known]:
        """Return every indexed file with its time, size and hash; remembered until a change."""
        if self._manifest[0] != (version := self.version):
            rows = self.rows(f"SELECT collection, path, mtime_ns, size, hash FROM notes WHERE {OWN}")
            self._manifest = version, {(c, p): Known(m, s, h) for c, p, m, s, h in rows}
        return dict(self._manifest[1])

    def statistics(self) -> Statistics:
        """Count the rows; the size is that of all workspaces in the database."""
        tables = ("notes", "sections", "passages", "vectors", "passages")
        parts = [f"(SELECT count(*) FROM {table} WHERE {OWN})" for table in tables]
        parts[-1] = f"{parts[-1][:-1]} AND vector IS NULL)"
        (counts,) = self.rows(f"SELECT {', '.join(parts)}")
        ((size,),) = self.rows("SELECT pg_database_size(current_database())")
        collections = self.rows(
            "SELECT collection, count(*), coalesce(sum(last_passage - first_passage + 1), 0)::bigint"
            f" FROM notes WHERE {OWN} GROUP BY 1"
        )
        by_name = {name: (notes, passages) for name, notes, passages in collections}
        return Statistics._make((*counts, self._largest("passages"), size, by_name))

    def notes(
        self, *, keys: Iterable[Key] | None = None, docids: Iterable[str] | None = None
    ) -> list[NoteRow]:
        """Return files in the order of collection and path: all, some, or those of hashes that begin so."""
        sql, query = f"SELECT {_NOTE} FROM notes WHERE {OWN}", Query()
        if keys is not None:
            pairs = list(keys)
            columns = ", ".join(f"{query.bind([pair[at] for pair in pairs])}::text[]" for at in (0, 1))
            sql += f" AND (collection, path) IN (SELECT * FROM unnest({columns}))"
        elif docids is not None:
            ids = query.bind(list(docids))
            sql += f" AND EXISTS (SELECT 1 FROM unnest({ids}::text[]) AS d WHERE starts_with(hash, d))"
        return [NoteRow(*row) for row in self.rows(f"{sql} ORDER BY collection, path", **query.bound)]

    def passages(self, ids: Iterable[int]) -> list[Candidate]:
        """Return passages with their sources, in no particular order; unknown ids are left out."""
        sql = f"SELECT {_CANDIDATE} FROM {PASSAGES} {SECTION} WHERE p.{OWN} AND p.id = ANY(%(ids)s)"
        found = []
        for row in self.rows(sql, ids=list(ids)):
            source = Source._make((*row[13:18], row[18][:DOCID], tuple(json.loads(row[19])), row[20]))
            found.append(Candidate._make((*row[:9], Traits(*row[10:13]), row[9], source)))
        return found

    # --- questions ----------------------------------------------------------------------------------

    def select(
        self, scope: Scope, limit: int | None = None, *, struck: bool = False, newest: bool = False
    ) -> list[int]:
        """Return the passages of a scope; see `index.base.Index`."""
        query = Query()
        utc = "to_char(to_timestamp(n.mtime_ns / 1000000000) AT TIME ZONE 'utc', 'YYYY-MM-DD')"
        order = f"coalesce({DAY}, {utc}) DESC, n.mtime_ns DESC, p.id" if newest else "p.id"
        rows = self.rows(
            f"SELECT p.id FROM {PASSAGES} WHERE {query.where(scope, struck=struck)}"
            f" ORDER BY {order} LIMIT {query.bind(limit)}", **query.bound,
        )  # fmt: skip
        return [row[0] for row in rows]

    def match(
        self, expression: str, limit: int, *scopes: Scope, header: float = 1.0
    ) -> list[tuple[int, float]]:
        """Return the best standing passages for an expression, by BM25; see `index.base.Index`."""
        query, (_, total, average, _) = Query(), self._count()
        scored, most = query.scored(expression, header, total, average), query.bind(limit)
        best = " UNION ".join(
            f"(SELECT p.id, f.score FROM scored f JOIN {PASSAGES} ON p.id = f.passage"
            f" WHERE {query.where(scope, struck=True)} ORDER BY f.score DESC, p.id LIMIT {most})"
            if scope.conditions
            else f"(SELECT passage AS id, score FROM scored ORDER BY score DESC, passage LIMIT {most})"
            for scope in scopes or (ALL,)
        )
        return self.rows(f"{scored} SELECT * FROM ({best}) u ORDER BY 2 DESC, 1", **query.bound)

    def frequencies(self, expressions: Sequence[str], *, struck: bool = False) -> tuple[list[int], int]:
        """Count the passages that match each expression, and all of them; remembered until a change."""
        _, total, _, known = self._count()
        if unknown := [one for one in dict.fromkeys(expressions) if one not in known]:
            query = Query()
            each = (f"({query.matching(one, counted=True)})" for one in unknown)
            parts = (f"SELECT {at}, c.* FROM {counted} c" for at, counted in enumerate(each))
            for at, *counts in self.rows(" UNION ALL ".join(parts), **query.bound):
                known[unknown[at]] = (counts[0], counts[1])
        if struck:
            total = int(self.rows(f"SELECT count(*) FROM passages WHERE {OWN}")[0][0])
        found = [known[expression][struck] for expression in expressions]
        return found, max(total, *found, 0)

    def _count(self) -> tuple[int, int, float, dict[str, tuple[int, int]]]:
        """Of one version: how many passages stand, their mean length in tokens, frequencies by expression."""
        if self._counted[0] != (version := self.version):
            sql = f"SELECT count(*), coalesce(avg(length), 1)::float8 FROM passages WHERE {OWN}"
            self._counted = version, *self.rows(f"{sql} AND until IS NULL")[0], {}
        return self._counted


open_index = PostgresIndex
