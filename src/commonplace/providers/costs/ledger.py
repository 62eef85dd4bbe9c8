"""The record of every call to a model: when, what for, whose, how many tokens, what it cost, how it ended.

One SQLite file in the workspace's derived folder. No prompt, answer or key is ever in it. Reservations of
budgets lie beside the calls: what is checked, reserved, recorded and freed is in one file's transactions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from commonplace.base import database, paths
from commonplace.base.database import Database
from commonplace.base.paths import Workspace
from commonplace.providers.costs.prices import NANO, Prices
from commonplace.providers.costs.prices import load as load_prices
from commonplace.render import screen

By = Literal["purpose", "model", "day"]
Kind = Literal["llm", "embedding", "reranking"]
OK = "ok"
_MAX_NAME = 100  # characters of a purpose, provider or model
_TABLES = """
CREATE TABLE IF NOT EXISTS calls(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, purpose TEXT NOT NULL,
    provider TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL, cost INTEGER, cached INTEGER NOT NULL, outcome TEXT NOT NULL,
    run TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS calls_by_time ON calls(at);
CREATE INDEX IF NOT EXISTS calls_by_run ON calls(run);
CREATE TABLE IF NOT EXISTS reservations(
    id INTEGER PRIMARY KEY, expires REAL NOT NULL, kind TEXT NOT NULL, run TEXT NOT NULL,
    tokens INTEGER NOT NULL, cost INTEGER NOT NULL)
"""
_GROUPS: Mapping[By, str] = {
    "purpose": "purpose",
    "model": "provider || '/' || model",
    "day": "strftime('%Y-%m-%d', at, 'unixepoch', 'localtime')",
}


@dataclass(frozen=True, slots=True)
class Costs:
    """Calls of one purpose, model or day. `cost` is in US dollars, without the `unpriced` calls."""

    name: str
    calls: int
    cached: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost: float
    unpriced: int


class Ledger:
    """The record of one workspace; safe with many threads and processes."""

    def __init__(self, path: Path, prices: Prices | None = None) -> None:
        """Name the file; it is made with the first call."""
        self._prices = prices
        self.database = Database(path, _TABLES)

    @property
    def prices(self) -> Prices:
        """What calls cost, read when it is first needed. Raises ConfigError for unreadable prices."""
        if self._prices is None:
            self._prices = load_prices()
        return self._prices

    def record(
        self,
        purpose: str,
        provider: str,
        model: str,
        tokens_in: int,
        tokens_out: int = 0,
        *,
        kind: Kind = "llm",
        cached: bool = False,
        batched: bool = False,
        outcome: str = OK,
        run: str = "",
        reservation: int | None = None,
    ) -> None:
        """Record a call; what a reservation held is free again. `outcome` is `ok` or one word for a failure.

        What is `batched` costs what batches cost. Raises NoteUnreadable, ConfigError for unreadable prices.
        """
        cost = 0 if cached else self.prices.cost(provider, model, tokens_in, tokens_out, batched=batched)
        names = [screen.one_line(name)[:_MAX_NAME] for name in (purpose, provider, model)]
        row = (time.time(), kind, *names, tokens_in, tokens_out, cost, cached, outcome, run)
        with self.database.transaction() as connection:
            connection.execute(
                "INSERT INTO calls(at, kind, purpose, provider, model, tokens_in, tokens_out, cost, cached,"
                " outcome, run) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            connection.execute("DELETE FROM reservations WHERE id = ?", (reservation,))

    def costs(self, by: By = "purpose", since: float = 0.0) -> tuple[Costs, ...]:
        """Sum up the calls since a time (seconds of the epoch): days in order, others by cost and tokens.

        A ledger that nobody has written yet is empty. Raises NoteUnreadable.
        """
        if not paths.root_of(self.database.path).is_file(self.database.path):
            return ()
        group = _GROUPS[by]
        order = "1" if by == "day" else "price DESC, came + went DESC, 1"
        # What an answer from the cache once took is no use of today.
        with self.database.reading() as connection:
            rows: list[Any] = list(
                connection.execute(
                    f"SELECT {group}, count(*), sum(cached), sum(outcome <> ?),"
                    " sum(tokens_in * NOT cached) AS came, sum(tokens_out * NOT cached) AS went,"
                    " sum(ifnull(cost, 0)) AS price, sum(cost IS NULL)"
                    f" FROM calls WHERE at >= ? GROUP BY 1 ORDER BY {order}",
                    (OK, since),
                )
            )
        return tuple(Costs(*[*row[:6], row[6] / NANO, row[7]]) for row in rows)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        self.database.close()


def place(workspace: Workspace, environ: Mapping[str, str] | None = None) -> Path:
    """Return where the ledger of a workspace lies: in it, or in the user's cache where it is read-only."""
    return database.place(workspace, workspace.ledger, environ)


def open_ledger(workspace: Workspace, environ: Mapping[str, str] | None = None) -> Ledger:
    """Open the ledger of a workspace to write to it. Raises ConfigError, OutsideRoots, NoteUnreadable."""
    path = place(workspace, environ)
    if path == workspace.ledger:
        paths.prepare_derived(workspace)
    return Ledger(path, load_prices(environ))
