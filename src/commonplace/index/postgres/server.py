"""A connection to PostgreSQL for one workspace: the tables, errors in one line, no statement for others.

Every table begins with `workspace`, a number made of the workspace's name, and is divided by its hash. A
statement names it with each table that it reads or changes, or it is refused before it is sent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from time import time_ns

from commonplace.base import fork
from commonplace.base.errors import IndexUnavailable, MissingExtra
from commonplace.base.messages import message
from commonplace.config.credentials import Secret

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    import psycopg

SCHEMA = "commonplace_1"  # another one when the tables change: older programs go on with theirs
_PARTS = 8  # of each table, by hash of the workspace
_WAIT_S = 5
_COLUMNS = {
    "meta": "key TEXT, value bytea, is_text boolean, PRIMARY KEY (workspace, key)",
    "notes": "id bigint, collection TEXT, path TEXT, title TEXT, date TEXT, kind TEXT, hash TEXT,"
    " mtime_ns bigint, size bigint, lines integer, metadata TEXT, quarters bigint, first_section bigint,"
    " last_section bigint, first_passage bigint, last_passage bigint,"
    " PRIMARY KEY (workspace, id), UNIQUE (workspace, collection, path)",
    "sections": "id bigint, note_id bigint, headings TEXT, start_line integer, end_line integer,"
    " turns float8, PRIMARY KEY (workspace, id)",
    "passages": "id bigint, note_id bigint, section_id bigint, start_line integer, end_line integer,"
    " text TEXT, annotations TEXT, vector bytea, day TEXT, until TEXT, speakers TEXT, wide float8,"
    " script TEXT, shown TEXT, length integer, PRIMARY KEY (workspace, id)",
    "postings": "term TEXT, passage bigint, struck boolean, length integer, body integer, header integer,"
    " places integer[], PRIMARY KEY (workspace, term, passage) INCLUDE (struck, length, body, header)",
    "vectors": "key bytea, vector halfvec, signs bytea, PRIMARY KEY (workspace, key)",
}
_INDEXES = (("notes", "hash"), ("sections", "note_id"), ("passages", "note_id"), ("passages", "vector"),
            ("postings", "passage"))  # fmt: skip
TABLES = tuple(_COLUMNS)
_NAMED = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE|USING) (?:{'|'.join(TABLES)})\b")
OWN = "workspace = %(w)s"


class Server:
    """One connection, one statement at a time; safe to share between threads."""

    def __init__(self, url: str, workspace: str, key: Secret) -> None:
        """Connect and make the tables that are missing. Raises IndexUnavailable, MissingExtra."""
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtra("an index in PostgreSQL", "postgres") from error
        self.path, self._psycopg = url, psycopg
        digest = blake2b(workspace.encode(), digest_size=8).digest()
        self.workspace = int.from_bytes(digest, "big", signed=True)
        self.lock = fork.renewed(threading.RLock())
        self.meta: MutableMapping[str, Any] = _Meta(self)
        self.lost: set[bytes] = set()  # keys of vectors that lost a passage; others may use them still
        with self.translated():
            self.connection = psycopg.connect(
                url, autocommit=True, connect_timeout=_WAIT_S, application_name="commonplace",
                password=key.reveal() or None,
            )  # fmt: skip
        try:
            with self.translated():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        run = self.connection.execute
        with self.connection.transaction():
            run("SELECT pg_advisory_xact_lock(hashtext('commonplace'))")  # one makes the tables
            if run("SELECT to_regclass(%s)", (f"{SCHEMA}.vectors",)).fetchone() == (None,):
                run("CREATE EXTENSION IF NOT EXISTS vector")
                run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                for sql in _tables():
                    run(sql)
        # As many as one question asks for; where a filter leaves fewer, the search goes on.
        nearest = "SET hnsw.ef_search = 400; SET hnsw.iterative_scan = strict_order; SET jit = off"
        run(f"SET search_path = {SCHEMA}, public; {nearest}")

    def close(self) -> None:
        """Close the connection; may be repeated."""
        self.connection.close()

    def rows(self, sql: str, **bound: object) -> list[Any]:
        """Run one statement of this workspace and return its rows. Raises IndexUnavailable."""
        with self.lock, self.translated():
            cursor = self.connection.execute(_of_one(sql), bound | {"w": self.workspace})
            return cursor.fetchall() if cursor.description else []

    def copy(self, table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
        """Insert many rows of this workspace. Raises IndexUnavailable."""
        sql = f"COPY {table} (workspace, {columns}) FROM STDIN"
        with self.lock, self.translated(), self.connection.cursor() as cursor, cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row([self.workspace, *map(_writable, row)])

    def change(self) -> None:
        """Note that the index has changed."""
        self.meta["version"] = str(time_ns())

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make changes as one, while no other process changes this workspace; join an open transaction."""
        with self.lock, self._transaction(write=True):
            yield

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[None]:
        with self.translated():
            if self._in_transaction:
                yield
                return
            with self.connection.transaction(force_rollback=not write):
                first = f"SELECT pg_advisory_xact_lock({self.workspace})"
                self.connection.execute(first if write else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                yield

    @property
    def _in_transaction(self) -> bool:
        return self.connection.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn errors of the server into IndexUnavailable, in one line without the address's secrets."""
        try:
            yield
        except self._psycopg.Error as error:
            raise IndexUnavailable(self.path, self._reason(error)) from None

    def _reason(self, error: psycopg.Error) -> str:
        errors, first = self._psycopg.errors, str(error).strip().partition("\n")[0]
        if isinstance(error, errors.UndefinedFile | errors.FeatureNotSupported | errors.UndefinedObject):
            told = "the server has no pgvector 0.8 or later ({first}); install it there"
            return message("index.no_pgvector", told, first=first)
        if isinstance(error, errors.InsufficientPrivilege):
            told = "no right to do this ({first}); let an administrator grant CREATE on the database"
            return message("index.no_right", told, first=first)
        if isinstance(error, self._psycopg.OperationalError):
            return message("index.away", "the server does not answer ({first})", first=first)
        return first or type(error).__name__


def _tables() -> Iterator[str]:
    yield f"SET LOCAL search_path = {SCHEMA}, public"
    for table, columns in _COLUMNS.items():
        columns = columns.replace("TEXT", 'text COLLATE "C"')  # days and beginnings go by code
        yield f"CREATE TABLE {table} (workspace bigint, {columns}) PARTITION BY HASH (workspace)"
        for part in range(_PARTS):
            values = f"WITH (MODULUS {_PARTS}, REMAINDER {part})"
            yield f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES {values}"
    for table, column in _INDEXES:
        yield f"CREATE INDEX {table}_by_{column} ON {table} (workspace, {column})"


@lru_cache(512)
def _of_one(sql: str) -> str:
    """Return a statement that names the workspace with each of its tables; refuse another one."""
    if len(_NAMED.findall(sql)) > sum(map(sql.count, (OWN, "VALUES (%(w)s", "SELECT %(w)s"))):
        raise AssertionError(f"a statement for more than one workspace: {sql}")
    return sql


def _writable(value: object) -> object:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class _Meta(MutableMapping[str, "Any"]):
    """The table of what an index notes of itself, texts or bytes."""

    def __init__(self, server: Server) -> None:
        self._rows = server.rows

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        sql = f"SELECT value, is_text FROM meta WHERE {OWN} AND key = %(k)s"
        for value, is_text in self._rows(sql, k=key):
            return value.decode() if is_text else value
        raise KeyError(key)

    def __setitem__(self, key: str, value: str | bytes) -> None:
        is_text = isinstance(value, str)
        self._rows(
            "INSERT INTO meta (workspace, key, value, is_text) VALUES (%(w)s, %(k)s, %(v)s, %(is_text)s)"
            " ON CONFLICT (workspace, key) DO UPDATE SET value = excluded.value, is_text = excluded.is_text",
            k=key, v=value.encode() if isinstance(value, str) else value, is_text=is_text,
        )  # fmt: skip

    def __delitem__(self, key: str) -> None:
        if not self._rows(f"DELETE FROM meta WHERE {OWN} AND key = %(k)s RETURNING key", k=key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([row[0] for row in self._rows(f"SELECT key FROM meta WHERE {OWN}")])

    def __len__(self) -> int:
        return len(list(iter(self)))
