"""Costs of calls to models: prices, the record of every call, and caps on them.

The ledger is one SQLite file in the state of the workspace. No prompt, answer or key is ever in it.
Reservations of budgets are in the same file as the calls, so that each check and record is one transaction.
Money is counted in billionths of a US dollar, so that sums of many small calls are exact.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import clock, paths
from commonplace.base.database import Database
from commonplace.base.errors import BudgetExceeded, CommonplaceError, ConfigError
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple
from commonplace.render import screen

if TYPE_CHECKING:
    import apsw

    from commonplace.config.settings import Embedding, Llm, Reranking


# --- prices --------------------------------------------------------------------------------------------

SHIPPED_PRICES = Path(__file__).with_name("prices.toml")
FILE = "prices.toml"
NANO = 1_000_000_000  # of a dollar
# A dated or numbered version of a model costs what the model costs.
_VERSION = re.compile(r"[-@:](?:\d{4,}[\d-]*|\d{3}|latest|preview(?:-[\d-]+)?)")


class Prices(NamedTuple):
    """Prices in billionths of a dollar per million tokens, in and out, by provider and model.

    `batches` are the percents of the price that batches of a provider cost, 100 where it is not in the table.
    """

    free: frozenset[str]
    models: Mapping[tuple[str, str], tuple[int, int]]
    batches: Mapping[str, int]

    def cost(
        self, provider: str, model: str, tokens_in: int, tokens_out: int = 0, *, batched: bool = False
    ) -> int | None:
        """Return what a call costs in billionths of a dollar, rounded up, or None where no price is known."""
        if provider in self.free:
            return 0
        names = [model] if (provider, model) in self.models else []
        names = names or [
            name
            for owner, name in self.models
            if owner == provider and model.startswith(name) and _VERSION.fullmatch(model[len(name) :])
        ]
        if not names:
            return None
        price_in, price_out = self.models[provider, max(names, key=len)]
        percent = self.batches.get(provider, 100) if batched else 100
        return -(-(tokens_in * price_in + tokens_out * price_out) * percent // 100_000_000)


def load_prices(environ: Mapping[str, str] | None = None) -> Prices:
    """Read the prices that ship and the owner's over them. Raises ConfigError, naming the file."""
    shipped = _shipped()
    place = paths.user_config_dir(environ) / FILE
    if not place.exists():
        return shipped
    owner = _read(place)
    return Prices(
        shipped.free | owner.free, {**shipped.models, **owner.models}, {**shipped.batches, **owner.batches}
    )


@cache
def _shipped() -> Prices:
    return _read(SHIPPED_PRICES)


def _read(path: Path) -> Prices:
    import tomllib
    from decimal import Decimal

    shown = paths.shown(path)
    try:
        content = tomllib.loads(
            paths.read_contained(path, [path.resolve().parent]).decode("utf-8-sig"), parse_float=Decimal
        )
    except (CommonplaceError, ValueError) as error:
        raise ConfigError(shown, f"not readable: {str(error).splitlines()[0]}") from error
    free, batches = content.pop("free", []), content.pop("batches", {})
    if not isinstance(free, list) or not all(isinstance(name, str) for name in free):
        raise ConfigError(shown, "free must be a list of providers")
    percents = batches.values() if isinstance(batches, dict) else [None]
    if not all(type(percent) is int and 0 <= percent <= 100 for percent in percents):
        raise ConfigError(shown, "batches must be a table of percents, 0 to 100, by provider")
    models = {}
    for provider, table in content.items():
        if not isinstance(table, Mapping):
            raise ConfigError(shown, f"{paths.shown(provider)} must be a table of models")
        for model, price in table.items():
            whole = isinstance(price, Mapping) and price.keys() == {"in", "out"}
            if not whole or not all(map(_is_price, price.values())):
                name = paths.shown(f'{provider}."{model}"')
                raise ConfigError(shown, f"{name} must be {{ in = DOLLARS, out = DOLLARS }}")
            # Dollars per million tokens, times a billion: exact for any price of nine places.
            models[provider, model] = int(Decimal(price["in"]) * NANO), int(Decimal(price["out"]) * NANO)
    return Prices(frozenset(free), models, batches)


def _is_price(value: object) -> bool:
    from decimal import Decimal

    number = isinstance(value, int | Decimal) and not isinstance(value, bool) and Decimal(value)
    return number is not False and number.is_finite() and 0 <= number < 1_000_000


# --- the record of calls -------------------------------------------------------------------------------

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


class Costs(NamedTuple):
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
        """The table of prices, read when it is first needed. Raises ConfigError if it is unreadable."""
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

        A `batched` call has the price of batches. Raises NoteUnreadable, ConfigError for unreadable prices.
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

        A ledger that does not exist yet is empty. Raises NoteUnreadable.
        """
        if not paths.root_of(self.database.path).is_file(self.database.path):
            return ()
        group = _GROUPS[by]
        order = "1" if by == "day" else "price DESC, came + went DESC, 1"
        # The tokens of an answer from the cache were used earlier.
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


def open_ledger(workspace: Workspace, environ: Mapping[str, str] | None = None) -> Ledger:
    """Open the ledger of a workspace to write to it. Raises ConfigError, OutsideRoots, NoteUnreadable."""
    paths.prepare_state(workspace)
    return Ledger(workspace.ledger, load_prices(environ))


# --- caps ----------------------------------------------------------------------------------------------

GRACE_S = 60.0  # beyond a call's deadline, before its reservation expires


class Caps(NamedTuple):
    """The most that may be spent, in tokens (in and out together) and in US dollars; None: unlimited."""

    tokens_a_day: int | None = None
    tokens_a_run: int | None = None
    dollars_a_day: float | None = None
    dollars_a_run: float | None = None

    def __bool__(self) -> bool:
        return self != Caps()


def caps(settings: Llm | Embedding | Reranking) -> Caps:
    """Return the caps that a table of settings holds."""
    return Caps(tokens_a_day=settings.max_tokens_a_day, dollars_a_day=settings.max_dollars_a_day)


class Budget:
    """The caps over one kind of calls in a ledger, and one run; several processes may be one, by its name."""

    def __init__(self, ledger: Ledger, caps: Caps, run: str = "", kind: Kind = "llm") -> None:
        """Put caps over a ledger; `kind` is also the table of settings that they come from."""
        self.ledger = ledger
        self.caps = caps
        self.kind = kind
        self.run = run or os.urandom(16).hex()

    def reserve(self, tokens: int, cost: int | None, lifetime_s: float, *, model: str = "") -> int | None:
        """Reserve the most that a call can take; return what to give to `Ledger.record`.

        `cost` is in billionths of a dollar, None for an unknown price. Without caps the call is not reserved.
        Raises BudgetExceeded, without a reservation.
        """
        caps, kind = self.caps, self.kind
        if not caps:
            return None
        if cost is None and (caps.dollars_a_day is not None or caps.dollars_a_run is not None):
            cap = "max_dollars_a_day" if caps.dollars_a_day is not None else "max_dollars_a_run"
            unknown = f"the price of {model or 'this model'} is not known"
            raise BudgetExceeded(f"{kind}.{cap}", f"{unknown}; put it into {FILE} beside your config.toml")
        now = time.time()
        with self.ledger.database.transaction() as connection:
            connection.execute("DELETE FROM reservations WHERE expires < ?", (now,))
            for name, most in zip(Caps._fields, caps, strict=True):
                asked = (cost or 0) if "dollars" in name else tokens
                self._check(connection, f"max_{name}", most, asked)
            connection.execute(
                "INSERT INTO reservations(expires, kind, run, tokens, cost) VALUES(?, ?, ?, ?, ?)",
                (now + lifetime_s + GRACE_S, kind, self.run, tokens, cost or 0),
            )
            return connection.last_insert_rowid()

    def _check(self, connection: apsw.Connection, key: str, cap: float | None, asked: int) -> None:
        """Raise BudgetExceeded if a call would pass a cap: on what is spent and reserved today, or in a run.

        Every open reservation counts for today.
        """
        if cap is None:
            return
        money, today = "dollars" in key, key.endswith("day")
        spent, reserved = ("ifnull(cost, 0)", "cost") if money else ("tokens_in + tokens_out", "tokens")
        # In tokens or billionths of a dollar.
        taken: int = connection.execute(
            f"SELECT (SELECT ifnull(sum({spent}), 0) FROM calls WHERE kind = ? AND NOT cached"
            f" AND {'at >= ?' if today else 'run = ?'})"
            f" + (SELECT ifnull(sum({reserved}), 0) FROM reservations WHERE kind = ?"
            f"{'' if today else ' AND run = ?'})",
            (self.kind, clock.began(date.today()), self.kind) if today else (self.kind, self.run) * 2,
        ).get
        if taken + asked <= (int(cap * NANO) if money else cap):
            return
        remedy = (
            f"raise it in your own config.toml, or {'wait until tomorrow' if today else 'split the work'}"
        )
        amounts = f"{taken:,} of {cap:,} tokens are taken and this call may need {asked:,}"
        if money:
            amounts = f"${taken / NANO:.4f} of ${cap:.2f} is taken and this call may need ${asked / NANO:.4f}"
        unit = NANO if money else 1
        raise BudgetExceeded(
            f"{self.kind}.{key}", f"{amounts}; {remedy}", cap=cap, spent=taken / unit, asked=asked / unit
        )


class Accounts:
    """Budgets for the models of one workspace; safe to share between threads."""

    def __init__(self, workspace: Workspace, folder: Path | None = None) -> None:
        """Name the workspace, or another folder for the ledger; the file is made with the first call."""
        self.folder = folder or workspace.state
        self._workspace = None if folder else workspace
        self._lock = threading.Lock()
        self._ledger: Ledger | None = None

    def budget(self, kind: Kind, settings: Embedding | Reranking, run: str = "") -> Budget:
        """Return the budget of calls of a kind, with the caps of its table of settings.

        `run` names what the caps of a run are for, empty: a run of its own. Raises ConfigError for unreadable
        prices, OutsideRoots, NoteUnreadable.
        """

        return Budget(self.ledger(), caps(settings), run, kind)

    def close(self) -> None:
        """Close the ledger; it is opened again when it is needed."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()

    def ledger(self) -> Ledger:
        """Return the ledger. Raises ConfigError for unreadable prices, OutsideRoots, NoteUnreadable."""

        with self._lock:
            if self._ledger is None:
                workspace = self._workspace
                self._ledger = open_ledger(workspace) if workspace else Ledger(self.folder / "ledger.sqlite")
            return self._ledger
