"""The language model that callers get: guarded, its answers kept, JSON checked and repaired once.

A repair of JSON is a second call and is budgeted and recorded as one; an answer is kept only when it is whole
and fits its schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.base.tuples import NamedTuple
from commonplace.providers.cache import answer_key
from commonplace.providers.costs import NANO
from commonplace.providers.guard import Guard
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import (
    DEADLINE_S,
    MAX_TOKENS,
    Completion,
    Message,
    Model,
    NoText,
    Request,
    Schema,
    ToolSpec,
    about_in,
    most_in,
)

if TYPE_CHECKING:
    from commonplace.providers.cache import AnswerCache
    from commonplace.providers.costs import Budget
    from commonplace.providers.guard import Breaker


class Estimate(NamedTuple):
    """The expected cost of a call; one that the cache answers is free."""

    tokens_in: int  # about
    tokens_out: int  # at most
    dollars: float | None  # None: no known price
    cached: bool = False


class Client(Guard):
    """A language model as callers see it; safe to share between threads."""

    def __init__(
        self,
        model: Model,
        *,
        cache: AnswerCache | None = None,
        budget: Budget | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        """Put the parts around a model; each of them can be left out."""
        super().__init__(model, model.provider, model.name, store=cache, breaker=breaker, budget=budget)
        self.model, self.name = model, f"{model.provider}/{model.name}"

    def complete(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = MAX_TOKENS,
        logprobs: int = 0,
        deadline_s: float = DEADLINE_S,
        purpose: str = "",
    ) -> Completion:
        """Answer messages, with JSON that fits the schema where one is given (`Completion.data`).

        Raises ProviderError, BudgetExceeded, ConfigError, MissingExtra.
        """
        request = Request(tuple(messages), schema, tuple(tools), max_tokens, logprobs, deadline_s, purpose)
        key = answer_key(self.fingerprint, request) if self.store is not None else b""
        known: Completion | None = self.known([key]).get(key)
        if known is not None:
            return known
        if schema is None:
            completion = self._ask(request)
        else:
            completion = schemas.complete(self._ask, request, self.model.provider)
        if completion.finish == "stop":  # a cut or filtered one may be complete the next time
            self.keep({key: completion})
        return completion

    def estimate(self, messages: Sequence[Message], schema: Schema | None, max_tokens: int) -> Estimate:
        """Say what a call would take, without making it; a repair of JSON would come on top."""
        request = Request(tuple(messages), schema, max_tokens=max_tokens)
        if self.known([answer_key(self.fingerprint, request)]):
            return Estimate(0, 0, 0.0, cached=True)
        came = about_in(request)
        cost = self.price(came, max_tokens)
        return Estimate(came, max_tokens, None if cost is None else cost / NANO)

    def _ask(self, request: Request) -> Completion:
        """Make one call to the provider; refuse an answer without anything in it, which has been counted."""
        limits = (about_in(request), most_in(request), request.deadline_s)
        with self.asking(), self.request(request.purpose, *limits, most_out=request.max_tokens) as call:
            completion = self.model.answer(request)
            call.tokens, call.tokens_out = completion.tokens_in, completion.tokens_out
        if not (completion.text.strip() or completion.calls):
            remedy = "; allow it more tokens" if completion.finish == "length" else ""
            raise NoText(self.model.provider, f"an empty answer (finish: {completion.finish}){remedy}")
        return completion
