"""One workspace's index in PostgreSQL: its rows as those of SQLite, its full text in `postings`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time_ns

from commonplace.config.credentials import Secret
from commonplace.index import full_text, rules
from commonplace.index.postgres.server import TABLES, PostgresServer
from commonplace.index.postgres.sql import PostgresQuery
from commonplace.index.postgres.vectors import PostgresVectors
from commonplace.index.sql import Meta, Query, SqlIndex

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.index.rows import Rows


class _Meta(Meta):
    """The table of what an index notes of itself: texts and bytes, of which the first byte says which."""

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        kind, value = (stored := super().__getitem__(key))[:1], stored[1:]
        return value.decode() if kind == b"t" else value

    def __setitem__(self, key: str, value: str | bytes) -> None:
        super().__setitem__(key, b"t" + value.encode() if isinstance(value, str) else b"b" + value)


class PostgresIndex(PostgresServer, SqlIndex):
    """The index of a workspace in a database, see `index.base.Index`."""

    readonly = False
    last_change = "to_char(to_timestamp(n.mtime_ns / 1000000000) AT TIME ZONE 'utc', 'YYYY-MM-DD')"

    def __init__(
        self, url: str, identity: Mapping[str, str], workspace: str, key: Secret, path: str = ""
    ) -> None:
        """Open or make the index of a workspace; one that other rules redacted is emptied but for vectors.

        Raises IndexUnavailable where the server is away or may not be used so, MissingExtra.
        """
        super().__init__(url, workspace, key)
        self.identity, self.rebuild_reason = identity, None
        self.meta = _Meta(self)
        self.vectors: PostgresVectors = PostgresVectors(self)
        noted = {name: self.meta.get(name) for name in identity}
        changed = rules.differences(noted, identity)
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
        if not write:
            with self.held(write=False):
                yield
            return
        with self.lock, self.held(write=True):
            if anew:
                for table in ("notes", "sections", "passages", "postings"):
                    self.rows(f"DELETE FROM {table} WHERE TRUE")
                kept = ", ".join(f"'{name}'" for name in rules.KEPT_META)
                self.rows(f"DELETE FROM meta WHERE key NOT IN ({kept})")
                self.meta.update(self.identity, version=str(time_ns()))
                self.rebuild_reason = None
            yield
            self.meta["version"] = str(time_ns())

    def drop(self) -> None:
        """Delete all that the server has of the workspace."""
        with self.held(write=True):
            for table in TABLES:
                self.rows(f"DELETE FROM {table} WHERE TRUE")
        self.erase()

    def erase(self) -> None:
        """Let the server reuse the space of deleted rows now."""
        self.rows(f"VACUUM {', '.join(TABLES)}")

    # --- changes ------------------------------------------------------------------------------------

    def insert(self, rows: Rows) -> None:
        """Insert the rows of files; in a transaction."""
        texts = {row[0]: row[1:] for row in (*rows["passages_fts"], *rows["struck_fts"])}
        passages, postings = [], []
        for row in rows["passages"]:
            found, length = full_text.positions(*texts[row[0]])
            passages.append((*row, length))
            for word, at in found.items():
                own = sum(place >= 0 for place in at)
                postings.append((word, row[0], row[9] is not None, length, own, len(at) - own, at))
        inserted = {**rows, "passages": passages, "postings": postings}
        for table in ("notes", "sections", "passages", "postings"):
            self.copy(table, inserted[table])

    def delete_texts(self, passages: Sequence[tuple[int, bool]]) -> None:
        """Delete passages from the full text; in a transaction."""
        self.change("DELETE FROM postings WHERE passage = ?", [row[:1] for row in passages])

    # --- questions ----------------------------------------------------------------------------------

    def query(self) -> PostgresQuery:
        """Return an empty query."""
        return PostgresQuery()

    def matched(self, query: Query, expression: str, header: float, *, many: bool) -> str:
        """Return the table of passages that stand and match, by BM25."""
        assert isinstance(query, PostgresQuery)
        sql = "SELECT coalesce(avg(length), 1)::float8 FROM passages WHERE until IS NULL"
        mean: float = self.remembered("mean", lambda: self.rows(sql)[0][0])
        passages, _, struck, _ = self._sums()
        return query.scored(expression, header, passages - struck, mean)

    def count(self, expressions: Sequence[str], *, struck: bool) -> list[int]:
        """Count the passages that match each expression: those that stand, or those that are struck."""
        query = PostgresQuery()
        some = "struck" if struck else "NOT struck"
        each = (
            f"SELECT {at}, count(*) FROM ({query.found(one)}) m WHERE {some}"
            for at, one in enumerate(expressions)
        )
        return [row[1] for row in sorted(self.rows(" UNION ALL ".join(each), query.bound))]

    def stored_bytes(self) -> int:
        """Return the size of all workspaces in the database."""
        return int(self.rows("SELECT pg_database_size(current_database())")[0][0])


open_index = PostgresIndex
