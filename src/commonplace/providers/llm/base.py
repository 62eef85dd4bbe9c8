"""Requests to language models, their answers, and the interface that a provider implements.

Callers use a `client.Client` (made by `providers.opening.open_llm`), with cache, budget and repairs around a
`Model`, which answers one request at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from commonplace.base import tokens
from commonplace.base.errors import ProviderError

Role = Literal["system", "user", "assistant", "tool"]
Schema = Mapping[str, object]  # JSON schema, the part of it that `schemas` knows

MAX_TOKENS, DEADLINE_S = 1024, 60.0
# A tokenizer that works on bytes, as all common ones do in the end, makes at most one token of a byte. What a
# chat template puts around a message and before the first one is counted generously.
_AROUND_MESSAGE, _AROUND_ALL = 16, 64


class NoText(ProviderError):
    """An answer without anything in it: a model may have spent all its tokens on thinking."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Schema


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for, with an `id` of its own; `arguments` is JSON as it wrote it, or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `calls` are those an assistant asked for, `answers` the id of the call a tool answers."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model."""

    messages: tuple[Message, ...]
    schema: Schema | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = MAX_TOKENS
    logprobs: int = 0  # likely first tokens to report
    deadline_s: float = DEADLINE_S  # of the call with all its retries
    purpose: str = ""  # for the ledger


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer. `data` is its JSON where a schema was given, `logprobs` the likeliest tokens that it could
    begin with, and the natural logarithms of their probabilities.

    `finish` is why it ended: `stop`, `length`, `tool_calls`, `content_filter`, or what the provider says.
    After a repair the token counts are those of both calls; `cached` answers are free.
    """

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    data: object = None
    calls: tuple[ToolCall, ...] = ()
    logprobs: tuple[tuple[str, float], ...] = ()
    finish: str = "stop"
    cached: bool = False


class Model(Protocol):
    """A model of a provider: one request, one answer."""

    @property
    def provider(self) -> str:
        """The name of its row in `providers.catalog`."""

    @property
    def name(self) -> str:
        """The model as its provider calls it."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that may change an answer (the model, its address, its file)."""

    def answer(self, request: Request) -> Completion:
        """Answer a request before its deadline; JSON stays text. Raises ProviderError."""


def about_in(request: Request) -> int:
    """About how many tokens a request is."""
    return tokens.about(_written(request)) + 4 * len(request.messages)


def most_in(request: Request) -> int:
    """The most tokens that a request can be, whatever its tokenizer."""
    text = _written(request).encode("utf-8", "surrogatepass")
    return len(text) + _AROUND_MESSAGE * len(request.messages) + _AROUND_ALL


def counted(read: Completion, request: Request, usage: object = None) -> Completion:
    """Return an answer with its tokens as the provider counts them, or else about right."""
    counts = usage if isinstance(usage, Mapping) else {}
    came, went = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if isinstance(came, int) and isinstance(went, int) and came >= 0 and went >= 0:
        return replace(read, tokens_in=came, tokens_out=went)
    written = read.text + "".join(call.name + call.arguments for call in read.calls)
    went = min(tokens.about(written), request.max_tokens)
    return replace(read, tokens_in=about_in(request), tokens_out=went)


def without_thoughts(text: str) -> str:
    """Return the answer of a model without what it thought aloud."""
    answer, *thoughts = text.split("<think>")
    return answer + "".join(thought.partition("</think>")[2] for thought in thoughts)


def _written(request: Request) -> str:
    parts = [message.content for message in request.messages]
    parts += [c.name + c.arguments for message in request.messages for c in message.calls]
    parts += [f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in request.tools]
    if request.schema is not None:
        # Once as a constraint and once in words, where an endpoint takes no constraint.
        parts += [json.dumps(request.schema)] * 2
    return "\n".join(parts)
