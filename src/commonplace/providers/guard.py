"""The chain around every model behind a server: cache → breaker → budget → call → record → keep.

The same chain serves vectors, scores and completions. The breaker (M. Nygard, Release It!) pauses a provider:
at once after a permanent failure (wrong key, unknown model, quota used up), longer each time; briefly after
three transient ones in a row, which after a permanent one do not count until a call succeeds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.base import fork
from commonplace.base.errors import CommonplaceError, NoteUnreadable, ProviderError
from commonplace.providers.attempts import TooLarge, Unanswered
from commonplace.providers.costs import OK

if TYPE_CHECKING:
    from commonplace.providers.cache import AnswerCache, VectorCache
    from commonplace.providers.costs import Budget

# --- the breaker ---------------------------------------------------------------------------------------

COOL_OFF_S, COOL_OFF_MAX_S = 15 * 60.0, 24 * 3600.0  # after permanent failures, doubled each time
PASSING_S, PASSING_FAILURES = 30.0, 3  # in a row
_ODD_REQUEST = frozenset({400, 422})  # often the fault of one request; only three in a row pause the provider


@dataclass(slots=True)
class BreakerState:
    """The failures of a provider, the last of them, and until when it is not asked (seconds since 1970)."""

    name: str
    reason: str = ""
    until_s: float = 0.0
    permanent: int = 0
    passing: int = 0

    def __str__(self) -> str:
        until = time.strftime("%H:%M", time.localtime(self.until_s))
        return f"{self.name} is left alone until {until} ({self.reason})"


class Breaker:
    """The failures of all providers by `provider/model`; safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Start without failures; `clock` returns seconds since 1970."""
        self._clock = clock
        self._states: dict[str, BreakerState] = {}
        self._lock = fork.renewed(threading.RLock())

    def check(self, name: str) -> None:
        """Raise ProviderError while the provider is paused."""
        if opened := self.find(name):
            message = f"left alone after a failure ({opened.reason})"
            wait_s, permanent = opened.until_s - self._clock(), bool(opened.permanent)
            raise ProviderError(name, message, wait_s, permanent=permanent)

    def failed(self, name: str, error: ProviderError) -> None:
        """Count a failure, which may open the breaker; ignore it while the breaker is open."""
        with self._lock:
            if self.find(name) is not None:
                return
            state = self._states.setdefault(name, BreakerState(name))
            state.reason, pause = str(error), PASSING_S
            if error.permanent and error.status not in _ODD_REQUEST:
                state.permanent += 1
                pause = COOL_OFF_S * 2 ** min(state.permanent - 1, 16)
            else:
                state.passing += 1
                if state.passing < PASSING_FAILURES or state.permanent:
                    return
            state.until_s = self._clock() + min(COOL_OFF_MAX_S, max(error.retry_after_s or 0.0, pause))

    def succeeded(self, name: str) -> None:
        """Forget the failures of a provider."""
        with self._lock:
            self._states.pop(name, None)

    def opened(self) -> list[BreakerState]:
        """Return the providers that are not asked now, by name."""
        with self._lock:
            now = self._clock()
            return [replace(one) for _, one in sorted(self._states.items()) if one.until_s > now]

    def find(self, name: str) -> BreakerState | None:
        """Return a provider if it is not asked now."""
        return next((one for one in self.opened() if name == one.name), None)


SHARED = Breaker()  # of this process


# --- the chain -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class ModelCall:
    """A request under way, and the tokens in and out that the provider counted (None: it did not)."""

    tokens: int | None = None
    tokens_out: int = 0


Watcher = Callable[..., AbstractContextManager[ModelCall]]


@contextmanager
def unwatched(*request: object, **how: object) -> Iterator[ModelCall]:
    """Wrap a request without recording it."""
    yield ModelCall()


class Guard:
    """A model behind cache, breaker and budget, each of which can be left out; safe in several threads."""

    def __init__(
        self,
        inner: Any,  # noqa: ANN401 - an Embedder, Reranker or Model
        provider: str = "",
        model_name: str = "",
        *,
        store: VectorCache | AnswerCache | None = None,
        breaker: Breaker | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Wrap a model; `provider` and `model_name` select its price (default: from its name)."""
        before, _, after = inner.name.partition(":")
        self.inner, self.name = inner, inner.name
        self.provider = provider or before
        self.model_name = model_name or getattr(inner, "model", "") or after or before
        self.fingerprint: str = getattr(inner, "fingerprint", inner.name)
        self.scripts: frozenset[str] = getattr(inner, "scripts", frozenset())  # of an embedding model
        self.breaker_name = "/".join(filter(None, (self.provider, self.model_name)))
        self.store, self.breaker, self.budget = store, breaker, budget

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Return the answers that the cache has."""
        return self.store.find(list(dict.fromkeys(keys))) if self.store is not None else {}

    def keep(self, answers: Mapping[bytes, Any]) -> None:
        """Put answers into the cache."""
        if self.store is not None:
            self.store.keep(self.fingerprint, answers)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Wrap the requests of one call: refuse while paused, then count success or failure."""
        if self.breaker is None:
            yield
            return
        self.breaker.check(self.breaker_name)
        try:
            yield
        except ProviderError as error:
            if not isinstance(error, TooLarge):
                self.breaker.failed(self.breaker_name, error)
            raise
        self.breaker.succeeded(self.breaker_name)

    def close(self) -> None:
        """Close the connections that the model keeps; the next call opens new ones."""
        getattr(self.inner, "close", lambda: None)()

    def forget_failures(self) -> None:
        """Close the breaker, so that the next call is made."""
        getattr(self.inner, "forget_failures", lambda: None)()
        if self.breaker is not None:
            self.breaker.succeeded(self.breaker_name)

    @contextmanager
    def request(
        self,
        purpose: str,
        about: int,
        most: int,
        lifetime_s: float,
        *,
        most_out: int = 0,
        batched: bool = False,
    ) -> Iterator[ModelCall]:
        """Reserve `most` tokens (the upper bound), make one request and record its real tokens.

        If the provider reports none, record `about`; a request without an answer may be charged too. Raises
        BudgetExceeded before the request, ProviderError where the ledger cannot be written.
        """
        call, reservation, outcome = ModelCall(), None, "abandoned"
        if self.budget is not None:
            with self._ledger_errors():
                price = self.price(most, most_out, batched=batched)
                name = f"{self.provider}/{self.model_name}"
                reservation = self.budget.reserve(most + most_out, price, lifetime_s, model=name)
        try:
            yield call
            outcome = OK
        except CommonplaceError as error:
            outcome = "unanswered" if isinstance(error, Unanswered) else "failed"
            raise
        finally:
            if call.tokens is None:  # Ctrl-C in the middle of it may be charged as well
                call.tokens = 0 if outcome == "failed" else about
            how = {"outcome": outcome, "reservation": reservation, "batched": batched}
            self._record(purpose, call.tokens, call.tokens_out, **how)

    def price(self, tokens: int, tokens_out: int = 0, *, batched: bool = False) -> int | None:
        """Return what so many tokens cost, in billionths of a dollar; None where no price is known."""
        if self.budget is None:
            return None
        return self.budget.prices.cost(self.provider, self.model_name, tokens, tokens_out, batched=batched)

    def _record(self, purpose: str, *tokens: int, **how: Any) -> None:  # noqa: ANN401
        if self.budget is not None:
            with self._ledger_errors():
                self.budget.ledger.record(purpose, self.provider, self.model_name, *tokens, **how)

    @contextmanager
    def _ledger_errors(self) -> Iterator[None]:
        try:
            yield
        except NoteUnreadable as error:
            raise ProviderError(self.provider, f"its costs cannot be recorded ({error})") from error
