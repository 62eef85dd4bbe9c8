"""A model's calls for vectors or scores under its budget: checked before each, recorded after it, always."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from commonplace.costs.budget import Budget
from commonplace.costs.ledger import OK
from commonplace.errors import CommonplaceError, NoteUnreadable, ProviderError
from commonplace.refusals import Unanswered

Purpose = Literal["embed", "question", "rerank", "test"]
ABANDONED = "abandoned"


@dataclass(slots=True)
class Call:
    """A call under way; whoever makes it writes down the `tokens` that the provider counted, if it did."""

    about: int
    tokens: int | None = None
    outcome: str = ABANDONED  # until it has ended otherwise

    def end(self, error: CommonplaceError | None) -> None:
        """Note how it ended; what was sent and not answered may be charged all the same."""
        lost = isinstance(error, Unanswered)
        self.outcome = OK if error is None else "unanswered" if lost else "failed"
        if self.tokens is None:
            self.tokens = self.about if error is None or lost else 0


class Meter:
    """Counts the calls of one model; safe to share between threads."""

    def __init__(self, budget: Budget, provider: str, model: str) -> None:
        """Put a budget over a model, named as the table of prices names it."""
        self._budget = budget
        self._ledger = budget.ledger
        self.provider, self.model = provider, model

    @contextmanager
    def calling(
        self, purpose: Purpose, about: int, most: int, lifetime_s: float, *, batched: bool = False
    ) -> Iterator[Call]:
        """Around one call: reserve the `most` tokens that it can take, record what it took, or `about` that.

        Raises BudgetExceeded before the call, ProviderError where the ledger cannot be had: nothing is spent
        that is not written down.
        """
        with self._written():
            cost = self._ledger.prices.cost(self.provider, self.model, most, batched=batched)
            name = f"{self.provider}/{self.model}"
            reservation = self._budget.reserve(most, cost, lifetime_s, model=name)
        call = Call(about)
        try:
            yield call
        except CommonplaceError as error:
            call.end(error)
            raise
        else:
            call.end(None)
        finally:
            taken = about if call.tokens is None else call.tokens  # None: Ctrl-C in the middle of it
            with self._written():
                self._record(purpose, taken, call.outcome, reservation, batched=batched)

    def known(self, purpose: Purpose, about: int) -> None:
        """Record a call that needed none, because a cache knew all."""
        with self._written():
            self._record(purpose, about, OK, None, cached=True)

    def price(self, tokens: int, *, batched: bool = False) -> int | None:
        """What so many tokens cost, in billionths of a dollar; None where no price is known."""
        return self._ledger.prices.cost(self.provider, self.model, tokens, batched=batched)

    def _record(
        self,
        purpose: Purpose,
        tokens: int,
        outcome: str,
        reservation: int | None,
        *,
        cached: bool = False,
        batched: bool = False,
    ) -> None:
        self._ledger.record(
            purpose,
            self.provider,
            self.model,
            tokens,
            kind=self._budget.kind,
            cached=cached,
            batched=batched,
            outcome=outcome,
            run=self._budget.run,
            reservation=reservation,
        )

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except NoteUnreadable as error:
            raise ProviderError(self.provider, f"its costs cannot be recorded ({error})") from error
