"""The language model that callers get: guarded, its answers kept, JSON checked and repaired once.

A repair of JSON is a second call and is budgeted and recorded as one; an answer is kept only when it is whole
and fits its schema.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.base import tokens
from commonplace.providers.cache import answer_key
from commonplace.providers.costs import NANO
from commonplace.providers.guard import Call, Guard, Store
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
    from commonplace.providers.costs import Budget
    from commonplace.providers.guard import Breaker


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected cost of a call: `tokens_in` about, `tokens_out` at most, `dollars` or None if unknown.

    A call that the cache answers is free.
    """

    tokens_in: int
    tokens_out: int
    dollars: float | None
    cached: bool = False


class Client(Guard[Request, Completion]):
    """A language model as callers see it; safe to share between threads."""

    def __init__(
        self,
        model: Model,
        *,
        cache: Store[Completion] | None = None,
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

        Raises ProviderError, BudgetExceeded, ConfigError, MissingExtra, and ValueError for a schema with
        keywords that `schemas` does not know.
        """
        request = Request(tuple(messages), schema, tuple(tools), max_tokens, logprobs, deadline_s, purpose)
        key, known = self._known(request)
        if known is not None:
            return known
        if schema is None:
            completion = self._ask(request)
        else:
            completion = schemas.complete(self._ask, request, self.model.provider)
        self._keep(key, completion)
        return completion

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = MAX_TOKENS,
        deadline_s: float = DEADLINE_S,
        purpose: str = "",
    ) -> Generator[str, None, Completion]:
        """Yield the text in pieces and return the answer whole, with the calls it asks for.

        Raises as `complete` does, between pieces too. A reader that stops early has paid for the question
        and for what it has read.
        """
        request = Request(tuple(messages), None, tuple(tools), max_tokens, 0, deadline_s, purpose)
        key, known = self._known(request)
        if known is not None:
            if known.text:
                yield known.text
            return known
        with self._asking(request) as call:
            pieces, stream = [], self.model.stream(request)
            try:
                while call.answer is None:
                    try:
                        pieces.append(next(stream))
                    except StopIteration as end:
                        call.answer = end.value
                    else:
                        yield pieces[-1]
            finally:
                stream.close()
                if call.answer is None and pieces:
                    call.tokens = about_in(request)
                    call.tokens_out = min(tokens.about("".join(pieces)), max_tokens)
        completion = call.answer
        assert isinstance(completion, Completion)
        self._check(completion)
        self._keep(key, completion)
        return completion

    def estimate(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        *,
        max_tokens: int = MAX_TOKENS,
    ) -> Estimate:
        """Say what a call would take, without making it; a repair of JSON would come on top."""
        request = Request(tuple(messages), schema, max_tokens=max_tokens)
        if self.known([answer_key(self.fingerprint, request)]):
            return Estimate(0, 0, 0.0, cached=True)
        came = about_in(request)
        cost = self.price(came, max_tokens)
        return Estimate(came, max_tokens, None if cost is None else cost / NANO)

    def _known(self, request: Request) -> tuple[bytes, Completion | None]:
        """Return the key of a request, and the answer in the cache, recorded with a cost of 0."""
        key = answer_key(self.fingerprint, request) if self.store is not None else b""
        completion = self.known([key]).get(key)
        if completion is not None:
            self.record_known(request.purpose, completion.tokens_in, completion.tokens_out)
        return key, completion

    def _keep(self, key: bytes, completion: Completion) -> None:
        # A cut or filtered answer may be complete the next time.
        if completion.finish in ("stop", "tool_calls"):
            self.keep({key: completion})

    def _ask(self, request: Request) -> Completion:
        with self._asking(request) as call:
            call.answer = completion = self.model.answer(request)
        self._check(completion)
        return completion

    @contextmanager
    def _asking(self, request: Request) -> Iterator[Call]:
        """Around one call to the provider, whose answer tells what it took."""
        limits = (about_in(request), most_in(request), request.deadline_s)
        with (
            self.asking(),
            self.request(request.purpose, *limits, most_out=request.max_tokens) as call,
        ):
            yield call
            call.tokens, call.tokens_out = call.answer.tokens_in, call.answer.tokens_out

    def _check(self, completion: Completion) -> None:
        """Refuse an answer without anything in it; it has been counted."""
        if completion.text.strip() or completion.calls:
            return
        remedy = "; allow it more tokens" if completion.finish == "length" else ""
        raise NoText(self.model.provider, f"an empty answer (finish: {completion.finish}){remedy}")
