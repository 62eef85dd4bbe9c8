"""A connection to PostgreSQL for one workspace: the tables, errors in one line, no rows of others.

Every table begins with `workspace`, a number made of the workspace's name, and is divided by its hash. Before
a statement is sent, each table in it is confined to the rows of the workspace.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b

from commonplace.base import fork
from commonplace.base.errors import IndexUnavailable, MissingExtra
from commonplace.base.messages import message
from commonplace.config.credentials import Secret

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    import psycopg

    from commonplace.index.sql import Bindings

SCHEMA = "commonplace_2"  # another one when the tables change: older programs go on with theirs
_PARTS = 8  # of each table, by hash of the workspace
_WAIT_S = 5
_COLUMNS = {
    "meta": "key TEXT, value bytea, PRIMARY KEY (workspace, key)",
    "notes": "id bigint, collection TEXT, path TEXT, title TEXT, date TEXT, kind TEXT, hash TEXT,"
    " mtime_ns bigint, size bigint, lines integer, metadata TEXT, quarters bigint, first_section bigint,"
    " last_section bigint, first_passage bigint, last_passage bigint,"
    " PRIMARY KEY (workspace, id), UNIQUE (workspace, collection, path)",
    "sections": "id bigint, note_id bigint, headings TEXT, start_line integer, end_line integer,"
    " turns float8, PRIMARY KEY (workspace, id)",
    "passages": "id bigint, note_id bigint, section_id bigint, start_line integer, end_line integer,"
    " text TEXT, annotations TEXT, vector_id bigint, day TEXT, until TEXT, speakers TEXT, wide float8,"
    " script TEXT, shown TEXT, length integer, PRIMARY KEY (workspace, id)",
    "postings": "term TEXT, passage bigint, struck boolean, length integer, body integer, header integer,"
    " places integer[], PRIMARY KEY (workspace, term, passage) INCLUDE (struck, length, body, header)",
    "vectors": "id bigint DEFAULT nextval('vector_ids'), key bytea, vector halfvec,"
    " PRIMARY KEY (workspace, key)",
    "words": "key bytea, signs bytea, PRIMARY KEY (workspace, key)",
}
_INDEXES = (("notes", "hash"), ("passages", "note_id"), ("passages", "vector_id"), ("postings", "passage"),
            ("vectors", "id"))  # fmt: skip
TABLES = tuple(_COLUMNS)
_TABLE = f"(?:{'|'.join(TABLES)})"
# The places of a statement where it is confined to a workspace, or says what SQLite alone understands.
_PLACES = re.compile(
    rf"(?P<change>DELETE FROM {_TABLE}|UPDATE {_TABLE} SET (?P<values>.*?)) WHERE"
    rf"|INSERT INTO (?P<into>{_TABLE})\((?P<columns>.*?)\) VALUES\("
    rf"|(?P<word>FROM|JOIN) (?P<table>{_TABLE})\b(?: (?P<alias>[a-z]\w*))?"
    rf"|(?P<other>(?:DELETE FROM|UPDATE|INTO|USING) {_TABLE}\b|, {_TABLE} [a-z])"
    r"|(?P<conflict>ON CONFLICT \()"
    r"|IN \(SELECT value FROM json_each\(:(?P<numbers>\w+)\)\)"
    r"|json_each\(:(?P<pairs>\w+)\)"
    r"|instr\((?P<instr>)"
    r"|(?<!:):(?P<name>[a-z]\w*)|(?P<mark>\?)"
)


class PostgresServer:
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

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Any]:
        """Run one statement on the rows of this workspace and return its rows. Raises IndexUnavailable."""
        with self.lock, self.translated():
            cursor = self.connection.execute(confined(sql, self.workspace), bindings)
            return cursor.fetchall() if cursor.description else []

    def change(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of bindings. Raises IndexUnavailable."""
        with self.lock, self.translated(), self.connection.cursor() as cursor:
            cursor.executemany(confined(sql, self.workspace), list(rows))

    def copy(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Insert many rows of this workspace, with all columns in their order. Raises IndexUnavailable."""
        sql = f"COPY {table} FROM STDIN"
        with self.lock, self.translated(), self.connection.cursor() as cursor, cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row([self.workspace, *map(_writable, row)])

    @contextmanager
    def held(self, *, write: bool) -> Iterator[None]:
        """Hold one transaction, as the only writer of this workspace where it is to `write`."""
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
    yield "CREATE SEQUENCE vector_ids"
    for table, columns in _COLUMNS.items():
        columns = columns.replace("TEXT", 'text COLLATE "C"')  # days and beginnings go by code
        yield f"CREATE TABLE {table} (workspace bigint, {columns}) PARTITION BY HASH (workspace)"
        for part in range(_PARTS):
            values = f"WITH (MODULUS {_PARTS}, REMAINDER {part})"
            yield f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES {values}"
    for table, column in _INDEXES:
        yield f"CREATE INDEX {table}_by_{column} ON {table} (workspace, {column})"


@lru_cache(512)
def confined(sql: str, workspace: int) -> str:
    """Return a statement of `index.sql` for PostgreSQL, confined to a workspace in each of its tables."""

    def own(found: re.Match[str]) -> str:
        part = found.groupdict()
        if part["other"]:
            raise AssertionError(f"a statement for more than one workspace: {sql}")
        if part["change"]:
            told = found[0].replace(part["values"] or " ", confined(part["values"] or " ", workspace))
            return f"{told} workspace = {workspace} AND"
        if part["into"]:
            return f"INSERT INTO {part['into']} (workspace, {part['columns']}) VALUES({workspace}, "
        if table := part["table"]:
            rows = f"(SELECT * FROM {table} WHERE workspace = {workspace})"
            return f"{part['word']} {rows} {part['alias'] or table}"
        if part["numbers"]:
            return f"= ANY(translate(%({part['numbers']})s, '[]', '{{}}')::bigint[])"
        if part["pairs"]:
            return f"json_array_elements(%({part['pairs']})s::json)"
        if part["conflict"]:
            return "ON CONFLICT (workspace, "
        if part["instr"] is not None:
            return "strpos("
        return f"%({part['name']})s" if part["name"] else "%s"

    return _PLACES.sub(own, sql)


def _writable(value: object) -> object:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
