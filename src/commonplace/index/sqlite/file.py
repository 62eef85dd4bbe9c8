"""An index file as SQLite has it: one connection, one statement at a time, and its notes about itself."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager

from commonplace.base import fork
from commonplace.index.base import Scope
from commonplace.index.sqlite import conditions, schema

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

_MOST_TOUCHED = 10_000  # passages in the table `touched`; a reader that missed more reads all vectors


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
        self._struck: tuple[int, frozenset[int]] = (-1, frozenset())

    def close(self) -> None:
        """Close the file; a second call has no effect."""
        self.connection.close()

    @property
    def version(self) -> int:
        """A number that changes whenever another connection changed the file, or this one more than meta."""
        return self.others_version * 1_000_003 + self.connection.total_changes() - self.noted

    @property
    def others_version(self) -> int:
        """A number that changes whenever another connection changed the file."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def struck(self) -> frozenset[int]:
        """Return the ids of struck passages; remembered until a change."""
        version = self.version
        if self._struck[0] != version:
            rows = self.rows(f"SELECT id FROM passages WHERE {schema.STRUCK}")
            self._struck = (version, frozenset(row[0] for row in rows))
        return self._struck[1]

    def where(self, scope: Scope) -> conditions.Where:
        """Compile a scope."""
        return conditions.compile_scope(
            scope, lambda: bool(self.rows(f"SELECT 1 FROM passages WHERE {schema.WITH_DAY} LIMIT 1"))
        )

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        """Run a statement; return all its rows. Raises IndexUnavailable."""
        with self.lock, schema.translated(self.path):
            return self.connection.execute(sql, tuple(bindings)).fetchall()

    def change(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of bindings. Raises IndexUnavailable."""
        with self.changing():
            self.connection.executemany(sql, rows)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make changes in one transaction, or in the open one. Raises IndexUnavailable."""
        with self.lock, schema.translated(self.path), schema.transaction(self.connection):
            yield

    def log_change(self, sql: str, bindings: Sequence[Any] = ()) -> None:
        """Note the passages that a SELECT returns as those whose vectors change; 0 stands for all."""
        self.rows(f"INSERT INTO touched(passage) {sql}", bindings)
        self.rows(f"DELETE FROM touched WHERE seq <= (SELECT max(seq) FROM touched) - {_MOST_TOUCHED}")


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
            self._file.rows(sql, bindings)
            self._file.noted += self._file.connection.total_changes() - before

    def __iter__(self) -> Iterator[str]:
        return iter([row[0] for row in self._file.rows("SELECT key FROM meta")])

    def __len__(self) -> int:
        return len(list(iter(self)))
