"""The index of a workspace with Milvus: what is found by words and by meaning is found there.

The catalogue is a local index file with rows, texts and the vectors by key, but without full text. A search
takes more candidates than it needs from Milvus, by weights near those of BM25, and scores these exactly.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from time import time_ns

from commonplace.config.credentials import Secret
from commonplace.index import full_text
from commonplace.index.base import ALL, Either, In, Matches, Not, Scope
from commonplace.index.full_text import K1, LEAST_IDF, B, Expression
from commonplace.index.milvus.server import FIELDS, Milvus, cut, matching, where
from commonplace.index.rows import Rows
from commonplace.index.sql import Query, SqlVectors
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.sqlite.vectors import SqliteVectors

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.index.base import Floats, Nearest
    from commonplace.types import Level

_TYPICAL = 60  # tokens of a passage, for the weights in Milvus
_TOKENS = ("id", "body", "header")
_LENGTHS = "CREATE TABLE IF NOT EXISTS lengths(id INTEGER PRIMARY KEY, length INTEGER, struck INTEGER)"
_FIELDS = f"""
SELECT s.id, s.note_id, n.collection, n.kind, {Query.fields["date"]}, {Query.fields["written"]},
    coalesce(s.day, ''), s.until IS NOT NULL, coalesce(s.until, ''), s.start_line, s.end_line,
    coalesce(s.annotations, ''), v.vector
FROM json_each(?) JOIN passages s ON s.id = value JOIN notes n ON n.id = s.note_id
LEFT JOIN vectors v ON v.id = s.vector_id AND s.vector_id > 0"""


class MilvusIndex(SqliteIndex):
    """The index of a workspace on a server, with its catalogue; see `index.base.Index`."""

    def __init__(
        self, url: str, identity: Mapping[str, str], workspace: str, key: Secret, path: str = ":memory:"
    ) -> None:
        """Open or make it, with the catalogue in the folder of the index file at `path`.

        Raises IndexUnavailable where the server is away, MissingExtra.
        """
        self.server = Milvus(url, workspace, key, lambda: int(self.meta["generation"]))
        self._gone: set[int] = set()  # passages to be deleted from the server when the transaction ends
        super().__init__(path if path == ":memory:" else f"{os.path.dirname(path)}/milvus.sqlite", identity)
        self.vectors = MilvusVectors(self)
        self.rows(_LENGTHS)
        mark = f"{url} {workspace}"
        self.begun = self.meta.get("server") != mark
        if self.begun or self.unfit:
            self.unfit, reason = "", self.unfit
            with self.transaction(anew=True):
                self.meta["server"] = mark
            self.rebuild_reason = reason or None

    def close(self) -> None:
        """Close the catalogue and the connection; may be repeated."""
        super().close()
        self.server.client.close()

    @contextmanager
    def transaction(self, *, write: bool = True, anew: bool = False) -> Iterator[None]:
        """Make several changes, or ask several questions of one state; see `index.base.Index`."""
        try:
            with super().transaction(write=write):
                if anew:
                    server = self.meta.get("server", "")
                    with super().transaction(anew=True):
                        self.rows("DELETE FROM lengths")
                        self.meta.update(generation=str(time_ns()), server=server)
                yield
        except BaseException:
            self._gone.clear()
            raise
        if anew:
            self.server.delete(f"generation != {self.meta['generation']}")
        self._settle()

    def _settle(self) -> None:
        """Delete from the server what no transaction can bring back any more."""
        if self._gone and not self.connection.in_transaction:
            gone, self._gone = self._gone, set()
            self.server.delete_passages(gone)

    def drop(self) -> None:
        """Delete all that the server has of the workspace, and the catalogue."""
        self.server.delete("id >= 0")
        self.close()
        schema.remove_files(self.path)

    def erase(self) -> None:
        """Rewrite the catalogue, and let the server drop deleted rows."""
        from commonplace.index.sqlite.forget import rewrite

        rewrite(self.connection, Path(self.path))
        self.server.compact()

    # --- changes ------------------------------------------------------------------------------------

    def insert(self, rows: Rows) -> None:
        """Insert the rows of files, their full text into Milvus."""
        tables = ("passages_fts", "struck_fts")
        texts = [(row, name == "struck_fts") for name in tables for row in rows[name]]
        super().insert({**rows, **{name: [] for name in tables}})
        fields, upserts, lengths = self.fields([row[0] for row, _ in texts]), [], []
        for (passage, *columns), struck in texts:
            body, header = map(full_text.tokens, columns)
            length = len(body) + len(header)
            lengths.append((passage, length, struck))
            norm = K1 * (1 - B + B * length / _TYPICAL)
            counts = {word: body.count(word) + header.count(word) for word in {*body, *header}}
            weights = {_place(word): tf * (K1 + 1) / (tf + norm) for word, tf in counts.items()}
            upserts.append({
                **fields[passage][0], "sparse": weights or {0: LEAST_IDF},
                "body": cut(f" {' '.join(body)} "), "header": cut(f" {' '.join(header)} "),
            })  # fmt: skip
        self.change("INSERT INTO lengths VALUES(?, ?, ?)", lengths)
        self.server.upsert(upserts)
        self._gone -= fields.keys()

    def fields(self, passages: Sequence[int]) -> dict[int, tuple[dict[str, Any], bytes | None]]:
        """Return what filters ask of passages, and their vectors."""
        names = [name for name, _ in FIELDS]
        found = {}
        for own, *values, vector in self.rows(_FIELDS, (json.dumps(list(passages)),)):
            fields = dict(zip(names, values, strict=True), id=own)
            found[own] = {**fields, "struck": bool(fields["struck"]), "said": cut(fields["said"])}, vector
        return found

    def delete_texts(self, passages: Sequence[tuple[int, bool]]) -> None:
        """Delete passages from the full text; in a transaction."""
        self._gone.update(row[0] for row in passages)
        self.change("DELETE FROM lengths WHERE id = ?", [row[:1] for row in passages])

    # --- questions ----------------------------------------------------------------------------------

    def select(
        self, scope: Scope, limit: int | None = None, *, struck: bool = False, newest: bool = False
    ) -> list[int]:
        """Return the passages of a scope; see `index.base.Index`. Milvus answers for expressions."""
        if _asks(scope):
            found = frozenset(row["id"] for row in self.server.query(where(scope), ["id"]))
            scope = Scope((In("passage", found),))
        return super().select(scope, limit, struck=struck, newest=newest)

    def count(self, expressions: Sequence[str], *, struck: bool) -> list[int]:
        """Count the passages that match each expression: those that stand, or those that are struck."""
        which = f"struck == {str(struck).lower()}"
        found = (self.server.query(f"{which} and ({matching(one)})", ["count(*)"]) for one in expressions)
        return [int(rows[0]["count(*)"]) for rows in found]

    def match(
        self, expression: str, limit: int, *scopes: Scope, header: float = 1.0
    ) -> list[tuple[int, float]]:
        """Return the best standing passages for an expression, by BM25; see `index.base.Index`."""
        read = full_text.parse(expression)
        counts, total = self.frequencies([phrase.expression for phrase in read.phrases])
        idfs = [max(LEAST_IDF, math.log((total - n + 0.5) / (n + 0.5))) for n in counts]
        weights: dict[int, float] = {}
        for phrase, idf in zip(read.phrases, idfs, strict=True):
            for word in phrase.tokens:
                weights[_place(word)] = weights.get(_place(word), 0) + idf
        plain = all(len(phrase.tokens) == 1 for phrase in read.phrases) and " AND " not in expression
        begins = any(phrase.begins for phrase in read.phrases)
        best: set[tuple[int, float]] = set()
        rows: list[dict[str, Any]] = []
        for scope in scopes or (ALL,):
            asked = f"struck == false and ({where(scope)})"
            if not plain or begins:
                asked += f" and ({matching(expression)})"
            if begins:
                rows = self.server.query(asked, _TOKENS)
            elif weights:
                rows = [row for row, _ in self.server.search(weights, max(1000, 4 * limit), asked, _TOKENS)]
            scored = [(row["id"], self._score(read, row, idfs, header)) for row in rows]
            best.update(sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit])
        return self.there(dict(best))

    def there(self, found: Mapping[int, float], condition: str = "TRUE") -> list[tuple[int, float]]:
        """Return the passages that the catalogue has, best first: Milvus keeps those of a failed write."""
        sql = f"SELECT id FROM passages WHERE {condition} AND id IN (SELECT value FROM json_each(?))"
        known = [row[0] for row in self.rows(sql, (json.dumps([*found]),))]
        return sorted(((one, found[one]) for one in known), key=lambda pair: (-pair[1], pair[0]))

    def _score(self, read: Expression, row: Mapping[str, Any], idfs: Sequence[float], header: float) -> float:
        texts = {column: row[column].split() for column in full_text.COLUMNS}
        norm = K1 * (1 - B + B * sum(map(len, texts.values())) / self._mean())
        score = 0.0
        for phrase, idf in zip(read.phrases, idfs, strict=True):
            found = full_text.count(phrase, texts)
            tf = found["body"] + header * found["header"]
            score += idf * tf * (K1 + 1) / (tf + norm)
        return round(score, 10)

    def _mean(self) -> float:
        sql = "SELECT coalesce(avg(length), 1) FROM lengths WHERE NOT struck"
        mean: float = self.remembered("mean", lambda: self.rows(sql)[0][0])
        return mean


class MilvusVectors(SqliteVectors):
    """The vectors of a workspace, by key in the catalogue, by passage in Milvus; see `index.base`."""

    def __init__(self, index: MilvusIndex) -> None:
        """Attach to an index."""
        super().__init__(index)
        self.index = index

    def level(self) -> Level:
        """Return 0, or 2 while no passage has a vector."""
        return SqlVectors.level(self)

    def assign(self, pairs: Iterable[tuple[int, bytes]]) -> set[bytes]:
        """Give passages the vectors of keys; see `index.base.VectorStore`."""
        import numpy as np

        pairs = list(pairs)
        known = super().assign(pairs)
        rows: dict[int, list[dict[str, Any]]] = {}
        for fields, vector in self.index.fields([passage for passage, key in pairs if key in known]).values():
            if vector:
                dense = np.frombuffer(vector, np.int8).astype(np.float32).tolist()
                rows.setdefault(len(vector), []).append({**fields, "dense": dense})
        for length, some in rows.items():
            self.index.server.upsert(some, self.index.server.vectors(length))
        return known

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare a question; see `index.base.VectorStore`."""
        return SqlVectors.ready(self, *scopes, struck=struck)

    def nearest(self, vector: Floats, limit: int, scope: Scope, struck: bool) -> list[tuple[int, float]]:
        """Return the nearest passages of a scope."""
        server, stands = self.index.server, "" if struck else " and struck == false"
        if _asks(scope):
            scope = Scope((In("passage", frozenset(self.index.select(scope, struck=struck))),))
        condition, name = f"({where(scope)}){stands}", server.vectors(len(vector))
        hits = server.search(vector.tolist(), limit, condition, ("id",), name)
        return self.index.there({row["id"]: near for row, near in hits}, "vector_id > 0")


def _asks(scope: Scope) -> bool:
    """Tell if a scope asks for words."""
    for one in scope.conditions:
        inner = (one.scope,) if isinstance(one, Not) else one.scopes if isinstance(one, Either) else ()
        if isinstance(one, Matches) or any(map(_asks, inner)):
            return True
    return False


def _place(word: str) -> int:
    """Return the dimension of a token: two that share one differ when they are scored."""
    return int.from_bytes(blake2b(word.encode(), digest_size=4).digest(), "big") % 0xFFFF_FFFE


open_index = MilvusIndex
