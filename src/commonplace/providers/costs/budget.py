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

from commonplace.base.errors import BudgetExceeded
from commonplace.providers.costs.ledger import Kind, Ledger
from commonplace.providers.costs.prices import FILE, NANO

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
        return self != Caps()


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
        """Reserve the most that a call can take; return what to give to `Ledger.record`.

        `cost` is in billionths of a dollar, None for an unknown price. Without caps nothing is reserved.
        Raises BudgetExceeded, with nothing reserved.
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
            self._check(connection, "max_tokens_a_day", caps.tokens_a_day, tokens)
            self._check(connection, "max_tokens_a_run", caps.tokens_a_run, tokens)
            self._check(connection, "max_dollars_a_day", caps.dollars_a_day, cost or 0)
            self._check(connection, "max_dollars_a_run", caps.dollars_a_run, cost or 0)
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
        row = connection.execute(
            f"SELECT (SELECT ifnull(sum({spent}), 0) FROM calls WHERE kind = ? AND NOT cached"
            f" AND {'at >= ?' if today else 'run = ?'})"
            f" + (SELECT ifnull(sum({reserved}), 0) FROM reservations WHERE kind = ?"
            f"{'' if today else ' AND run = ?'})",
            (self.kind, _midnight(), self.kind) if today else (self.kind, self.run) * 2,
        ).fetchone()
        assert row is not None
        taken = int(row[0])
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


def _midnight() -> float:
    """When today began here."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
