"""The language model that callers get: cache, budget, breaker, provider, ledger, in this order.

Every part but the model can be left out. A repair of JSON is a second call and is budgeted and recorded as
one; an answer is kept only when it is whole and fits its schema.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from commonplace.costs.budget import Budget
from commonplace.costs.ledger import OK, Ledger
from commonplace.costs.prices import NANO
from commonplace.errors import CommonplaceError, ProviderError
from commonplace.llm import structured, tokens
from commonplace.llm.base import (
    DEADLINE_S,
    MAX_TOKENS,
    Breaker,
    Completion,
    Message,
    Model,
    NoText,
    Request,
    Schema,
    ToolSpec,
    Unanswered,
)
from commonplace.llm.cache import Cache
from commonplace.refusals import TooLarge

ABANDONED = "abandoned"
# A refusal that may be about one request only: it takes several in a row to say something of the model.
_ODD_REQUEST = frozenset({400, 422})


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a call would take: `tokens_in` about, `tokens_out` at most, `dollars` for both or None if unknown.

    `most_tokens` is what a budget reserves for it. A call that the cache answers takes nothing.
    """

    tokens_in: int
    tokens_out: int
    most_tokens: int
    dollars: float | None
    cached: bool = False


@dataclass(slots=True)
class _Call:
    """A call under way: what it has taken, and the pieces that were read of a stream."""

    request: Request
    reservation: int | None
    read: list[str] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    outcome: str = ABANDONED  # until it has ended otherwise

    def settle(self, completion: Completion) -> None:
        """Take the counts of an answer."""
        self.tokens_in, self.tokens_out, self.outcome = completion.tokens_in, completion.tokens_out, OK

    def end(self, outcome: str, *, paid: bool) -> None:
        """Count what a call without an answer took: the question, and what was read."""
        self.outcome = outcome
        if paid:
            self.tokens_in = tokens.about_in(self.request)
            self.tokens_out = min(tokens.about("".join(self.read)), self.request.max_tokens)


class Client:
    """A language model as callers see it (`base.Llm`); safe to share between threads."""

    def __init__(
        self,
        model: Model,
        *,
        cache: Cache | None = None,
        budget: Budget | None = None,
        breaker: Breaker | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        """Put the parts around a model; a budget brings its ledger."""
        self.model = model
        self._cache, self._budget, self._breaker = cache, budget, breaker
        self._ledger = budget.ledger if budget is not None else ledger
        # What follows # is for telling apart, not for people: one name at two addresses is two models.
        digest = hashlib.sha256(model.fingerprint.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        self._breaker_name = f"{self.name}#{digest}"

    @property
    def name(self) -> str:
        """Provider and model, for people."""
        return f"{self.model.provider}/{self.model.name}"

    @property
    def calls_tools(self) -> bool:
        """Whether tools can be offered; a provider that says nothing can take them."""
        return bool(getattr(self.model, "calls_tools", True))

    def complete(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = MAX_TOKENS,
        temperature: float = 0.0,
        logprobs: int = 0,
        deadline_s: float = DEADLINE_S,
        purpose: str = "",
    ) -> Completion:
        """Answer messages, with JSON that fits the schema where one is given (`Completion.data`).

        Raises ProviderError, BudgetExceeded, ConfigError, MissingExtra, NoteUnreadable for the ledger, and
        ValueError for a schema with keywords that `schemas` does not know.
        """
        request = Request(
            tuple(messages), schema, tuple(tools), max_tokens, temperature, logprobs, deadline_s, purpose
        )
        known = self._known(request)
        if known is not None:
            return known
        if schema is None:
            completion = self._ask(request)
        else:
            completion = structured.complete(self._ask, request, self.model.provider)
        self._keep(request, completion)
        return completion

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = MAX_TOKENS,
        temperature: float = 0.0,
        deadline_s: float = DEADLINE_S,
        purpose: str = "",
    ) -> Generator[str, None, Completion]:
        """Yield the text in pieces and return the answer whole, with the calls it asks for.

        Raises as `complete` does, between pieces too. A reader that stops early has paid for the question
        and for what it has read.
        """
        request = Request(
            tuple(messages), None, tuple(tools), max_tokens, temperature, 0, deadline_s, purpose
        )
        known = self._known(request)
        if known is not None:
            if known.text:
                yield known.text
            return known
        with self._metered(request) as call:
            completion = yield from _read(self.model.stream(request), call.read)
            call.settle(completion)
        self._check(completion)
        self._keep(request, completion)
        return completion

    def estimate(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = MAX_TOKENS,
        temperature: float = 0.0,
        logprobs: int = 0,
    ) -> Estimate:
        """Say what a call would take, without making it; a repair of JSON would come on top."""
        request = Request(tuple(messages), schema, tuple(tools), max_tokens, temperature, logprobs)
        if self._cache is not None and self._cache.get(self.model.fingerprint, request) is not None:
            return Estimate(0, 0, 0, 0.0, cached=True)
        came = tokens.about_in(request)
        cost = self._price(came, max_tokens)
        dollars = None if cost is None else cost / NANO
        return Estimate(came, max_tokens, tokens.most_in(request) + max_tokens, dollars)

    def _known(self, request: Request) -> Completion | None:
        found = self._cache.get(self.model.fingerprint, request) if self._cache is not None else None
        if found is not None:
            self._record(request, found.tokens_in, found.tokens_out, OK, None, cached=True)
        return found

    def _keep(self, request: Request, completion: Completion) -> None:
        # What was cut off or filtered may come out whole the next time.
        if self._cache is not None and completion.finish in ("stop", "tool_calls"):
            self._cache.put(self.model.fingerprint, request, completion)

    def _ask(self, request: Request) -> Completion:
        """One call to the provider, metered."""
        with self._metered(request) as call:
            completion = self.model.answer(request)
            call.settle(completion)
        self._check(completion)
        return completion

    @contextmanager
    def _metered(self, request: Request) -> Iterator[_Call]:
        """Reserve before, record after, whatever happens in between."""
        call = _Call(request, self._reserve(request))
        try:
            if self._breaker is not None:
                self._breaker.check(self._breaker_name)
        except CommonplaceError:
            self._release(call)
            raise
        try:
            yield call
        except CommonplaceError as error:
            lost = isinstance(error, Unanswered)
            call.end("unanswered" if lost else "failed", paid=lost or bool(call.read))
            self._tell_breaker(error)
            raise
        else:
            self._tell_breaker(None)
        finally:
            if call.outcome == ABANDONED:  # the reader went away, or Ctrl-C
                call.end(ABANDONED, paid=True)
            self._record(request, call.tokens_in, call.tokens_out, call.outcome, call.reservation)

    def _tell_breaker(self, error: CommonplaceError | None) -> None:
        """Tell how a call ended; a question that is too long says nothing about its provider."""
        if self._breaker is None or isinstance(error, TooLarge):
            return
        if error is None:
            self._breaker.succeeded(self._breaker_name)
        elif isinstance(error, ProviderError):
            if error.status in _ODD_REQUEST:
                error = _passing(error)
            self._breaker.failed(self._breaker_name, error)

    def _reserve(self, request: Request) -> int | None:
        if self._budget is None:
            return None
        most = tokens.most_in(request)
        cost = self._price(most, request.max_tokens)
        return self._budget.reserve(most + request.max_tokens, cost, request.deadline_s, model=self.name)

    def _release(self, call: _Call) -> None:
        if self._budget is not None:
            self._budget.release(call.reservation)

    def _price(self, tokens_in: int, tokens_out: int) -> int | None:
        if self._ledger is None:
            return None
        return self._ledger.prices.cost(self.model.provider, self.model.name, tokens_in, tokens_out)

    def _record(
        self,
        request: Request,
        tokens_in: int,
        tokens_out: int,
        outcome: str,
        reservation: int | None,
        *,
        cached: bool = False,
    ) -> None:
        if self._ledger is None:
            return
        self._ledger.record(
            request.purpose,
            self.model.provider,
            self.model.name,
            tokens_in,
            tokens_out,
            cached=cached,
            outcome=outcome,
            run="" if self._budget is None else self._budget.run,
            reservation=reservation,
        )

    def _check(self, completion: Completion) -> None:
        """Refuse an answer without anything in it; it has been counted."""
        if completion.text.strip() or completion.calls:
            return
        remedy = "; allow it more tokens" if completion.finish == "length" else ""
        raise NoText(self.model.provider, f"an empty answer (finish: {completion.finish}){remedy}")


def _read(stream: Generator[str, None, Completion], read: list[str]) -> Generator[str, None, Completion]:
    """Pass the pieces of a stream on, and note them."""
    try:
        while True:
            try:
                piece = next(stream)
            except StopIteration as end:
                whole: Completion = end.value
                return whole
            read.append(piece)
            yield piece
    finally:
        stream.close()


def _passing(error: ProviderError) -> ProviderError:
    message = str(error).removeprefix(f"{error.provider}: ")
    return ProviderError(error.provider, message, error.retry_after_s, status=error.status)
