"""Costs of calls to models: prices, the record of every call, and caps on them.

The ledger is one SQLite file in the state of the workspace. No prompt, answer or key is ever in it.
Reservations of budgets are in the same file as the calls, so that each check and record is one transaction.
Money is counted in billionths of a US dollar, so that sums of many small calls are exact.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import clock, paths
from commonplace.base.database import Database
from commonplace.base.errors import BudgetExceeded, CommonplaceError, ConfigError
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    import apsw

    from commonplace.config.settings import Embedding, Llm, Reranking


# --- prices --------------------------------------------------------------------------------------------

SHIPPED_PRICES = Path(__file__).with_name("prices.toml")
FILE = "prices.toml"
NANO = 1_000_000_000  # of a dollar
# A dated or numbered version of a model costs what the model costs.
_VERSION = re.compile(r"|[-@:](?:\d{4,}[\d-]*|\d{3}|latest|preview(?:-[\d-]+)?)")


class Prices(NamedTuple):
    """Prices in billionths of a dollar per million tokens, in and out, by provider and model."""

    free: frozenset[str]
    models: Mapping[tuple[str, str], tuple[int, int]]

    def cost(
        self, provider: str, model: str, tokens_in: int, tokens_out: int = 0, *, batched: bool = False
    ) -> int | None:
        """Return a call's price in billionths of a dollar, half for a `batched` one; None if unknown."""
        if provider in self.free:
            return 0
        names = [
            name
            for owner, name in self.models
            if owner == provider and model.startswith(name) and _VERSION.fullmatch(model[len(name) :])
        ]
        if not names:
            return None
        price_in, price_out = self.models[provider, max(names, key=len)]
        return -(-(tokens_in * price_in + tokens_out * price_out) // (2_000_000 if batched else 1_000_000))


def load_prices() -> Prices:
    """Read the prices that ship and the owner's over them. Raises ConfigError, naming the file."""
    shipped, place = _read(SHIPPED_PRICES), paths.user_config_dir() / FILE
    if not place.exists():
        return shipped
    owner = _read(place)
    return Prices(shipped.free | owner.free, {**shipped.models, **owner.models})


def _read(path: Path) -> Prices:
    import tomllib

    def nanos(dollars: object) -> int:
        if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars <= 10**6:
            raise ValueError(f"{dollars!r} is not a number from 0 to 1,000,000")
        return round(dollars * NANO)

    try:
        data = paths.read_contained(path, [path.resolve().parent])
        content = tomllib.loads(data.decode("utf-8-sig"))
        free = frozenset(content.pop("free", []))
        models = {
            (provider, model): (nanos(row["in"]), nanos(row["out"]))
            for provider, table in content.items()
            for model, row in table.items()
        }
        return Prices(free, models)
    except (CommonplaceError, ValueError) as error:
        raise ConfigError(paths.shown(path), f"not readable: {str(error).splitlines()[0]}") from error
    except (AttributeError, TypeError, KeyError) as error:
        form = 'free = ["PROVIDER"], and "MODEL" = { in = DOLLARS, out = DOLLARS } in [PROVIDER]'
        raise ConfigError(paths.shown(path), f"not of this form: {form}") from error


# --- the record of calls -------------------------------------------------------------------------------

By = Literal["purpose", "model", "day"]
OK = "ok"
_TABLES = """
CREATE TABLE IF NOT EXISTS calls(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, purpose TEXT NOT NULL,
    provider TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL, cost INTEGER, cached INTEGER NOT NULL, outcome TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS calls_by_time ON calls(at);
CREATE TABLE IF NOT EXISTS reservations(
    id INTEGER PRIMARY KEY, expires REAL NOT NULL, kind TEXT NOT NULL,
    tokens INTEGER NOT NULL, cost INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS jobs(name TEXT PRIMARY KEY, started REAL NOT NULL, texts TEXT NOT NULL)
"""
_GROUPS: Mapping[By, str] = {
    "purpose": "purpose",
    "model": "provider || '/' || model",
    "day": "strftime('%Y-%m-%d', at, 'unixepoch', 'localtime')",
}


class Costs(NamedTuple):
    """Calls of one purpose, model or day."""

    name: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost: float  # in US dollars, without the `unpriced` calls
    unpriced: int


class Ledger:
    """The record of one workspace; safe with many threads and processes."""

    def __init__(self, path: Path, workspace: Workspace | None = None) -> None:
        """Name the file; it is made with the first call, in the state of a workspace or anywhere."""
        self.database = Database(path, _TABLES)
        self._workspace = workspace

    @classmethod
    def of(cls, workspace: Workspace) -> Ledger:
        """Return the ledger of a workspace."""
        return cls(workspace.ledger, workspace)

    @cached_property
    def prices(self) -> Prices:
        """The table of prices, read when it is first needed. Raises ConfigError if it is unreadable."""
        return load_prices()

    def budget(self, settings: Llm | Embedding | Reranking) -> Budget:
        """Return a budget with the caps of settings. Raises ConfigError, OutsideRoots, NoteUnreadable."""
        if self._workspace is not None:
            paths.prepare_state(self._workspace)
        return Budget(self, settings.max_tokens_a_day, settings.max_dollars_a_day)

    def record(
        self,
        purpose: str,
        provider: str,
        model: str,
        tokens_in: int,
        tokens_out: int = 0,
        *,
        batched: bool = False,
        outcome: str = OK,
        reservation: int | None = None,
    ) -> None:
        """Record a call and delete its reservation. `outcome` is `ok` or one word for a failure.

        A `batched` call has the price of batches. Raises NoteUnreadable, ConfigError for unreadable prices.
        """
        cost = self.prices.cost(provider, model, tokens_in, tokens_out, batched=batched)
        row = (time.time(), purpose, provider, model, tokens_in, tokens_out, cost, outcome)
        with self.database.transaction() as connection:
            connection.execute("INSERT INTO calls VALUES(NULL, ?, '', ?, ?, ?, ?, ?, ?, 0, ?)", row)
            connection.execute("DELETE FROM reservations WHERE id = ?", (reservation,))

    def costs(self, by: By = "purpose", since: float = 0.0) -> tuple[Costs, ...]:
        """Sum up calls since a time (seconds since 1970), days in order, others by cost."""
        order = "1" if by == "day" else "price DESC, came + went DESC, 1"
        rows = self.rows(  # versions before 0.2 counted answers of the cache as well
            f"SELECT {_GROUPS[by]}, count(*), sum(outcome <> ?), sum(tokens_in) AS came,"
            " sum(tokens_out) AS went, sum(ifnull(cost, 0)) AS price, sum(cost IS NULL)"
            f" FROM calls WHERE at >= ? AND NOT cached GROUP BY 1 ORDER BY {order}",
            (OK, since),
        )
        return tuple(Costs(*[*row[:5], row[5] / NANO, row[6]]) for row in rows)

    def rows(self, query: str, values: tuple[object, ...]) -> list[Any]:
        """Return the rows of a query, [] without a file. Raises NoteUnreadable."""
        if not paths.root_of(self.database.path).is_file(self.database.path):
            return []
        with self.database.reading() as connection:
            return list(connection.execute(query, values))

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        self.database.close()


# --- caps ----------------------------------------------------------------------------------------------

_TOKENS, _DOLLARS = "limits.max_tokens_a_day", "limits.max_dollars_a_day"
GRACE_S = 60.0  # beyond a call's deadline, before its reservation expires


class Budget:
    """The caps of a day over all calls in a ledger."""

    def __init__(
        self, ledger: Ledger, max_tokens_a_day: int | None = None, max_dollars_a_day: float | None = None
    ) -> None:
        """Put caps over a ledger, None for unlimited. Tokens in and out count together."""
        self.ledger, self.prices = ledger, ledger.prices
        self._caps = {_TOKENS: max_tokens_a_day, _DOLLARS: max_dollars_a_day}

    def reserve(self, tokens: int, cost: int | None, lifetime_s: float, *, model: str = "") -> int | None:
        """Reserve the most that a call can take; return the number of the reservation for `Ledger.record`.

        `cost` is in billionths of a dollar, None for an unknown price. Without caps the call is not reserved.
        Raises BudgetExceeded, without a reservation.
        """
        caps = {key: cap for key, cap in self._caps.items() if cap is not None}
        if not caps:
            return None
        if cost is None and _DOLLARS in caps:
            message = f"the price of {model or 'this model'} is not known; put it into {FILE} beside your"
            raise BudgetExceeded(_DOLLARS, f"{message} config.toml")
        now = time.time()
        with self.ledger.database.transaction() as connection:
            connection.execute("DELETE FROM reservations WHERE expires < ?", (now,))
            for key, cap in caps.items():
                _check(connection, key, cap, (cost or 0) if key == _DOLLARS else tokens)
            row = (now + lifetime_s + GRACE_S, tokens, cost or 0)
            connection.execute("INSERT INTO reservations VALUES(NULL, ?, '', ?, ?)", row)
            return connection.last_insert_rowid()


def _check(connection: apsw.Connection, key: str, cap: float, asked: int) -> None:
    """Raise BudgetExceeded if a call would pass a cap, on top of today's calls and all reservations."""
    money = key == _DOLLARS
    spent, reserved = ("ifnull(cost, 0)", "cost") if money else ("tokens_in + tokens_out", "tokens")
    taken: int = connection.execute(  # in tokens or billionths of a dollar
        f"SELECT (SELECT ifnull(sum({spent}), 0) FROM calls WHERE NOT cached AND at >= ?)"
        f" + (SELECT ifnull(sum({reserved}), 0) FROM reservations)",
        (clock.began(date.today()),),
    ).get
    unit = NANO if money else 1
    if taken + asked > int(cap * unit):
        amounts = f"{taken:,} of {cap:,} tokens are taken and this call may need {asked:,}"
        if money:
            amounts = f"${taken / NANO:.4f} of ${cap:.2f} is taken and this call may need ${asked / NANO:.4f}"
        message = f"{amounts}; raise it in your own config.toml, or wait until tomorrow"
        raise BudgetExceeded(key, message, cap=cap, spent=taken / unit, asked=asked / unit)
