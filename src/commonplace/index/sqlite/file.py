"""An index file as SQLite has it: one connection, one statement at a time, and what hangs on its version."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager

from commonplace.base import fork
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Scope
from commonplace.index.sqlite import conditions, schema

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

_MOST_TOUCHED = 10_000  # passages that are remembered one by one


class State(NamedTuple):
    """What the vectors of passages depend on: of two that differ in the last figure alone it is known which.

    The passages between the two in `IndexFile.touched` may have got, lost or changed theirs, and no others.
    """

    others: int
    unknown: int
    touched: int


class IndexFile:
    """One open file; safe to share between threads."""

    def __init__(self, path: str, *, readonly: bool = False) -> None:
        """Open or create the file at `path`, or one in memory (`:memory:`). Raises IndexUnavailable."""
        self.path = path
        self.readonly = readonly
        self.connection = schema.connect(path, readonly=readonly)
        self.lock = fork.renewed(threading.RLock())
        self.meta: MutableMapping[str, Any] = _Meta(self)
        self.noted = 0  # rows of meta that this connection changed
        self.orphans: set[int] = set()  # vectors that lost a passage; other passages may use them still
        self.touched: list[int] = []  # passages whose vectors were changed here, as far as it is known
        self._known = 0  # rows that were changed together with them
        self._struck: tuple[int, frozenset[int]] = (-1, frozenset())

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.connection.close()

    @property
    def version(self) -> int:
        """A number that changes whenever another connection changed the file, or this one more than meta."""
        return self.others_version * 1_000_003 + self.connection.total_changes() - self.noted

    @property
    def others_version(self) -> int:
        """A number that changes whenever another connection changed the file."""
        return int(self.rows("PRAGMA data_version")[0][0])

    @property
    def state(self) -> State:
        """What the vectors of passages are as of now."""
        changes = self.connection.total_changes() - self.noted - self._known
        return State(self.others_version, changes, len(self.touched))

    @contextmanager
    def touching(self, passages: Iterable[int] = ()) -> Iterator[None]:
        """Make changes after which no other passages but these, and those named within, have other vectors.

        After one that fails nobody knows.
        """
        with self.lock:
            before = self.connection.total_changes()
            yield
            self.touched.extend(passages)
            if len(self.touched) > _MOST_TOUCHED:
                self.touched.clear()
            else:
                self._known += self.connection.total_changes() - before

    def struck(self) -> frozenset[int]:
        """The passages of what is struck, by id; remembered until a change."""
        version = self.version
        if self._struck[0] != version:
            rows = self.rows(f"SELECT id FROM passages WHERE {schema.STRUCK}")
            self._struck = (version, frozenset(row[0] for row in rows))
        return self._struck[1]

    def where(self, scope: Scope) -> conditions.Where:
        """Compile what a question covers."""
        return conditions.compile_scope(
            scope, lambda: bool(self.rows(f"SELECT 1 FROM passages WHERE {schema.WITH_DAY} LIMIT 1"))
        )

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        """Run a question; return all its rows. Raises IndexUnavailable."""
        with self.lock, schema.translated(self.path):
            return self.connection.execute(sql, tuple(bindings)).fetchall()

    def execute(self, sql: str, bindings: Sequence[Any] = ()) -> None:
        """Run a statement. Raises IndexUnavailable."""
        with self.lock, schema.translated(self.path):
            self.connection.execute(sql, tuple(bindings))

    def change(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run one statement for each row, in one transaction or in the one that is open."""
        if rows:
            with self.lock, schema.translated(self.path), schema.transaction(self.connection):
                self.connection.executemany(sql, rows)


class _Meta(MutableMapping[str, "Any"]):
    """The table of what an index notes of itself."""

    def __init__(self, file: IndexFile) -> None:
        self._file = file

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        rows = self._file.rows("SELECT value FROM meta WHERE key = ?", (key,))
        if not rows:
            raise KeyError(key)
        return rows[0][0]

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        self._change("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def __delitem__(self, key: str) -> None:
        self._change("DELETE FROM meta WHERE key = ?", (key,))

    def _change(self, sql: str, bindings: Sequence[Any]) -> None:
        with self._file.lock:
            before = self._file.connection.total_changes()
            self._file.execute(sql, bindings)
            self._file.noted += self._file.connection.total_changes() - before

    def __iter__(self) -> Iterator[str]:
        return iter([row[0] for row in self._file.rows("SELECT key FROM meta")])

    def __len__(self) -> int:
        return len(list(iter(self)))
