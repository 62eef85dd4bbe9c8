"""A connection to Milvus for one workspace: its collections, filters, errors in one line.

Each row has the workspace as its partition key and in its primary key, and every request names it in its
filter. A `generation` begins with each index made anew; rows of others are not seen, and deleted later.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from commonplace.base.errors import IndexUnavailable, MissingExtra
from commonplace.base.messages import message
from commonplace.config.credentials import Secret
from commonplace.index import full_text
from commonplace.index.base import Scope
from commonplace.index.full_text import Phrase, Tree
from commonplace.index.sql import Query

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

MOST = 16_384  # rows of an answer, the limit of Milvus
_WAIT_S, _BATCH, _LONGEST = 10, 500, 65_000  # the last in bytes, of a text
TEXT, _PASSAGES = "commonplace_text", "commonplace_vectors_"
_NONE = "id < 0"
# Fields for filters: `date` is the day of the passage or of its note, `written` leaves out the day of
# long-term memory, `day` is the passage's own, `said` its annotations as JSON; empty where missing.
FIELDS = (
    ("note", "INT64"), ("collection", "VARCHAR"), ("kind", "VARCHAR"), ("date", "VARCHAR"),
    ("written", "VARCHAR"), ("day", "VARCHAR"), ("struck", "BOOL"), ("until", "VARCHAR"),
    ("first", "INT64"), ("last", "INT64"), ("said", "VARCHAR"),
)  # fmt: skip


class Milvus:
    """The collections of a database, of which only the rows of one workspace and generation are seen."""

    def __init__(self, url: str, workspace: str, key: Secret, generation: Callable[[], int]) -> None:
        """Connect to `milvus://host:port/database`, `milvuss://` with TLS.

        Raises IndexUnavailable, MissingExtra.
        """
        try:
            import pymilvus
        except ImportError as error:
            raise MissingExtra("an index in Milvus", "milvus") from error
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs requests that fail
        parts = urlsplit(url)
        self.url, self.workspace, self._generation, self._pymilvus = url, workspace, generation, pymilvus
        self._known: set[str] = set()
        with self.translated():
            self.client = pymilvus.MilvusClient(
                f"http{'s' * (parts.scheme == 'milvuss')}://{parts.netloc}", token=key.reveal(),
                db_name=parts.path.strip("/"), timeout=_WAIT_S,
            )  # fmt: skip
        self._make(TEXT, "sparse", "SPARSE_FLOAT_VECTOR", "SPARSE_INVERTED_INDEX", "IP")

    def _make(self, name: str, field: str, kind: str, index: str, metric: str, **options: int) -> None:
        """Make a collection if it is missing."""
        if name in self._known:
            return
        with self.translated():
            if not self.client.has_collection(name):
                kinds = self._pymilvus.DataType
                schema = self.client.create_schema(auto_id=False)
                schema.add_field("pk", kinds.VARCHAR, is_primary=True, max_length=128)
                schema.add_field("workspace", kinds.VARCHAR, max_length=64, is_partition_key=True)
                for other in ("generation", "id"):
                    schema.add_field(other, kinds.INT64)
                texts = (("body", "VARCHAR"), ("header", "VARCHAR")) if name == TEXT else ()
                for other, of in (*FIELDS, *texts):
                    schema.add_field(other, kinds[of], **({"max_length": 65_535} if of == "VARCHAR" else {}))
                schema.add_field(field, kinds[kind], **options)
                indexes = self.client.prepare_index_params()
                indexes.add_index(field, index_type=index, metric_type=metric)
                self.client.create_collection(
                    name, schema=schema, index_params=indexes, consistency_level="Strong"
                )
            self.client.load_collection(name)
        self._known.add(name)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn errors of the server into IndexUnavailable, in one line."""
        try:
            yield
        except (self._pymilvus.MilvusException, ConnectionError, OSError, ValueError) as error:
            first = str(getattr(error, "message", error)).strip().partition("\n")[0]
            told = message("index.away", "the server does not answer ({first})", first=first)
            raise IndexUnavailable(self.url, told) from None

    @property
    def _own(self) -> str:
        return f"workspace == {_quoted(self.workspace)} and generation == {self._generation()}"

    def vectors(self, length: int) -> str:
        """Return the collection of vectors of a length, made if it is missing."""
        self._make(name := f"{_PASSAGES}{length}", "dense", "FLOAT_VECTOR", "AUTOINDEX", "COSINE", dim=length)
        return name

    def upsert(self, rows: Sequence[Mapping[str, Any]], name: str = TEXT) -> None:
        """Insert or replace passages by id."""
        own = {"workspace": self.workspace, "generation": self._generation()}
        key = f"{self.workspace}/{self._generation()}/"
        for at in range(0, len(rows), _BATCH):
            with self.translated():
                some = [{"pk": f"{key}{row['id']}", **own, **row} for row in rows[at : at + _BATCH]]
                self.client.upsert(name, some)

    def delete(self, condition: str) -> None:
        """Delete rows of this workspace, of whatever generation, from all collections."""
        with self.translated():
            for name in self.client.list_collections():
                if name.startswith((TEXT, _PASSAGES)):
                    self.client.delete(name, filter=f"workspace == {_quoted(self.workspace)} and {condition}")

    def delete_passages(self, ids: Iterable[int]) -> None:
        """Delete passages of this generation."""
        every = sorted(ids)
        for at in range(0, len(every), MOST):
            self.delete(f"generation == {self._generation()} and id in {every[at : at + MOST]}")

    def query(self, condition: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        """Return these fields of the passages that meet a condition, or `count(*)`."""
        limit = {} if fields[0] == "count(*)" else {"limit": MOST}
        condition = f"{self._own} and ({condition})"
        with self.translated():
            return list(self.client.query(TEXT, filter=condition, output_fields=[*fields], **limit))

    def search(
        self, vector: object, limit: int, condition: str, fields: Sequence[str], name: str = TEXT
    ) -> list[tuple[dict[str, Any], float]]:
        """Return the fields of the nearest passages with their similarity, by term weights or by vectors."""
        with self.translated():
            (hits,) = self.client.search(
                name, [vector], limit=min(limit, MOST), filter=f"{self._own} and ({condition})",
                output_fields=[*fields], anns_field="sparse" if name == TEXT else "dense",
            )  # fmt: skip
        return [(dict(hit["entity"]), float(hit["distance"])) for hit in hits]

    def compact(self) -> None:
        """Let the server drop deleted rows from its segments, if it can be asked to."""
        with suppress(self._pymilvus.MilvusException):
            for name in self._known:
                self.client.compact(name)


# --- scopes and expressions as filters ----------------------------------------------------------------------


class _Filter(Query):
    """Scopes as filters of Milvus, with what is bound written in them."""

    fields: Mapping[str, str] = {
        **{name: name for name in Query.fields}, "passage": "id", "stands": "struck == false",
    }  # fmt: skip
    has: Mapping[str, str] = {"day": 'day != ""', "until": "struck == true"}
    outside, all, none = "not ({})", "id >= 0", _NONE

    def bind(self, value: object) -> str:
        """Return a value as a filter has it."""
        return _quoted(value)

    def among(self, column: str, values: Sequence[int] | Sequence[str]) -> str:
        """Return the condition that a field has one of some values."""
        return f"{column} in {_quoted(values)}"

    def saying(self, key: str) -> str:
        """Return the condition for the passages that say something of a key of annotations."""
        return _like("said", f'"{key}":')

    def matching(self, expression: str) -> str:
        """Return the filter of an expression of full text."""
        return matching(expression)


def where(scope: Scope) -> str:
    """Return the filter of a scope."""
    return _Filter().where(scope)


def matching(expression: str) -> str:
    """Return the filter of an expression of full text: phrases are looked for in the tokens of a column."""
    read = full_text.parse(expression)
    return _joined(read.tree, [_phrase(one) for one in read.phrases])


def _joined(tree: Tree | int, phrases: Sequence[str]) -> str:
    if isinstance(tree, int):
        return phrases[tree]
    return f" {tree.sign.lower()} ".join(f"({_joined(part, phrases)})" for part in tree.parts)


def _phrase(phrase: Phrase) -> str:
    """Return the filter of a phrase."""
    if not phrase.tokens:
        return _NONE
    text = f" {' '.join(phrase.tokens)}{'' if phrase.begins else ' '}"
    return " or ".join(_like(column, text) for column in full_text.COLUMNS)


def _like(field: str, text: str) -> str:
    return f"{field} like {_quoted(f'%{text}%')}"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def cut(text: str) -> str:
    """Return as much of a text as a field takes."""
    return text.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")
