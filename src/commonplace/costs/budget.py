"""Caps on tokens and money, a day and a run, that no number of threads and processes can pass.

The most that a call can take is reserved before it, in one transaction with the check, and what it took is
recorded after it in place of the reservation. A reservation expires some time after its call must be over, so
that a process that died holds back nothing for long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import apsw

from commonplace.costs.ledger import Kind, Ledger
from commonplace.costs.prices import FILE, NANO
from commonplace.errors import BudgetExceeded

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding, Llm, Reranking

GRACE_S = 60.0  # beyond a call's deadline, before its reservation expires


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be spent, in tokens (in and out together) and in US dollars; None is no cap."""

    tokens_a_day: int | None = None
    tokens_a_run: int | None = None
    dollars_a_day: float | None = None
    dollars_a_run: float | None = None

    def __bool__(self) -> bool:
        return any(cap is not None for cap in self._all())

    def _all(self) -> tuple[float | None, ...]:
        return self.tokens_a_day, self.tokens_a_run, self.dollars_a_day, self.dollars_a_run

    @property
    def money(self) -> bool:
        """Whether money is capped."""
        return self.dollars_a_day is not None or self.dollars_a_run is not None


def caps(settings: Llm | Embedding | Reranking) -> Caps:
    """Return the caps that a table of settings holds."""
    return Caps(
        settings.max_tokens_a_day,
        settings.max_tokens_a_run,
        settings.max_dollars_a_day,
        settings.max_dollars_a_run,
    )


class Budget:
    """The caps over one kind of calls in a ledger, and one run; several processes may be one, by its name."""

    def __init__(self, ledger: Ledger, caps: Caps, run: str = "", kind: Kind = "llm") -> None:
        """Put caps over a ledger; `kind` is also the table of settings that they come from."""
        self.ledger = ledger
        self.caps = caps
        self.kind = kind
        self.run = run or uuid4().hex

    def reserve(self, tokens: int, cost: int | None, lifetime_s: float, *, model: str = "") -> int | None:
        """Reserve the most that a call can take; return what to give to `Ledger.record` or `release`.

        `cost` is in billionths of a dollar, None for an unknown price. Without caps nothing is reserved.
        Raises BudgetExceeded, with nothing reserved.
        """
        if not self.caps:
            return None
        if cost is None and self.caps.money:
            cap = "max_dollars_a_day" if self.caps.dollars_a_day is not None else "max_dollars_a_run"
            unknown = f"the price of {model or 'this model'} is not known"
            raise BudgetExceeded(
                f"{self.kind}.{cap}", f"{unknown}; put it into {FILE} beside your config.toml"
            )
        now = time.time()
        with self.ledger.database.transaction() as connection:
            connection.execute("DELETE FROM reservations WHERE expires < ?", (now,))
            self._check_tokens(connection, tokens)
            self._check_money(connection, cost or 0)
            connection.execute(
                "INSERT INTO reservations(expires, kind, run, tokens, cost) VALUES(?, ?, ?, ?, ?)",
                (now + lifetime_s + GRACE_S, self.kind, self.run, tokens, cost or 0),
            )
            return connection.last_insert_rowid()

    def release(self, reservation: int | None) -> None:
        """Free what was reserved for a call that was not made."""
        if reservation is not None:
            with self.ledger.database.transaction() as connection:
                connection.execute("DELETE FROM reservations WHERE id = ?", (reservation,))

    def _check_tokens(self, connection: apsw.Connection, asked: int) -> None:
        for cap, key, run in (
            (self.caps.tokens_a_day, "max_tokens_a_day", None),
            (self.caps.tokens_a_run, "max_tokens_a_run", self.run),
        ):
            if cap is None:
                continue
            spent = _taken(connection, self.kind, "tokens_in + tokens_out", "tokens", run)
            if spent + asked > cap:
                message = (
                    f"{spent:,} of {cap:,} tokens are taken and this call may need {asked:,}; {_remedy(run)}"
                )
                raise BudgetExceeded(f"{self.kind}.{key}", message, cap=cap, spent=spent, asked=asked)

    def _check_money(self, connection: apsw.Connection, asked: int) -> None:
        for cap, key, run in (
            (self.caps.dollars_a_day, "max_dollars_a_day", None),
            (self.caps.dollars_a_run, "max_dollars_a_run", self.run),
        ):
            if cap is None:
                continue
            spent = _taken(connection, self.kind, "ifnull(cost, 0)", "cost", run)
            if spent + asked > int(cap * NANO):
                dollars = (
                    f"${spent / NANO:.4f} of ${cap:.2f} is taken and this call may need ${asked / NANO:.4f}"
                )
                told = f"{dollars}; {_remedy(run)}"
                raise BudgetExceeded(
                    f"{self.kind}.{key}", told, cap=cap, spent=spent / NANO, asked=asked / NANO
                )


def _taken(connection: apsw.Connection, kind: Kind, spent: str, reserved: str, run: str | None) -> int:
    """What is spent and reserved today, or in a run. Every open reservation counts for today."""
    calls = "at >= ?" if run is None else "run = ?"
    since = _midnight() if run is None else run
    held = ("", ()) if run is None else (" AND run = ?", (run,))
    row = connection.execute(
        f"SELECT (SELECT ifnull(sum({spent}), 0) FROM calls WHERE kind = ? AND {calls} AND NOT cached)"
        f" + (SELECT ifnull(sum({reserved}), 0) FROM reservations WHERE kind = ?{held[0]})",
        (kind, since, kind, *held[1]),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _midnight() -> float:
    """When today began here."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def _remedy(run: str | None) -> str:
    later = "wait until tomorrow" if run is None else "split the work"
    return f"raise it in your own config.toml, or {later}"
