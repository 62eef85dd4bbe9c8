"""Models behind OpenAI's chat completions: OpenAI itself and the many servers that speak its language.

https://platform.openai.com/docs/api-reference/chat. Few servers speak all of it: a `Dialect` says how a
request is put. What a server refuses is put in another way once, and remembered.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts, services
from commonplace.providers.attempts import TooLarge, Unanswered
from commonplace.providers.catalog import LLMS, Spec
from commonplace.providers.http import as_dict
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import Completion, Message, Request, TokenChance, ToolCall, counted
from commonplace.providers.services import Dialect

ATTEMPTS = 4
MAX_ANSWER_BYTES = 16_000_000
_MAX_CONCESSIONS = 6
Json = Mapping[str, Any]
_Result = TypeVar("_Result")


class ChatModel:
    """A model behind an address; safe to use from several threads; it connects with the first request."""

    def __init__(self, spec: Spec) -> None:
        """Check model, address and key. Raises ConfigError, ProviderError for an address no key may go to."""
        self.provider = spec.provider
        self.name, self.endpoint = LLMS.connect(spec)
        self.fingerprint = f"{self.provider}@{self.endpoint.base_url}:{self.name}"
        self._dialect = services.chat(self.provider)
        self.close, self.breaker_name = self.endpoint.close, self.endpoint.breaker_name(self.name)

    def answer(self, request: Request) -> Completion:
        """Answer a request, asking again after faults that pass. Raises ProviderError."""
        deadline = Deadline(request.deadline_s)

        def ask() -> Completion:
            sent = body(self.name, request, self._dialect)
            data = self.endpoint.post(
                "chat/completions", sent, deadline, attempts=1, max_bytes=MAX_ANSWER_BYTES
            )
            collector = Collector(whole=True)
            collector.add(data)
            if not collector.chosen:
                raise ProviderError(self.provider, "the answer holds no choices with a message", status=200)
            return collector.completion(request)

        return self._repeated(ask, request, deadline)

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Yield the answer in pieces and return it whole; what has begun is not begun again."""
        deadline, collector = Deadline(request.deadline_s), Collector()

        def begin() -> tuple[object, Iterator[object]]:
            sent = body(self.name, request, self._dialect, stream=True)
            asked = partial(self.endpoint.events, "chat/completions", sent, deadline, MAX_ANSWER_BYTES)
            events = attempts.relayed(self.provider, asked, deadline, self.endpoint.origin)
            return next(events, None), events

        event, events = self._repeated(begin, request, deadline)
        while event is not None:
            if piece := collector.add(event):
                yield piece
            event = next(events, None)
        if not collector.finish:
            raise Unanswered(self.provider, "the stream ended in the middle of the answer")
        return collector.completion(request)

    def _repeated(self, ask: Callable[[], _Result], request: Request, deadline: Deadline) -> _Result:
        """Ask until it is answered, and without a part of the request that the server refuses."""

        def concede_and_ask() -> _Result:
            for _ in range(_MAX_CONCESSIONS):
                dialect = self._dialect
                try:
                    return ask()
                except ProviderError as error:
                    refused = error.status in (400, 404, 422) and not isinstance(error, TooLarge)
                    other = concede(dialect, request, str(error)) if refused else None
                    if other is None:
                        raise
                    self._dialect = other
            return ask()

        return attempts.repeated(concede_and_ask, deadline, ATTEMPTS, resend=False)


def body(model: str, request: Request, dialect: Dialect, *, stream: bool = False) -> dict[str, Any]:
    """Compose the JSON of a request."""
    messages = list(request.messages)
    parameters: dict[str, Any] = {"temperature": 0.0}
    if request.schema is not None:
        named = {"name": "answer", "schema": request.schema, "strict": schemas.is_closed(request.schema)}
        if dialect.schema == "json_schema":
            parameters["response_format"] = {"type": "json_schema", "json_schema": named}
        elif dialect.schema == "json_object":
            parameters["response_format"] = {"type": "json_object"}
        if dialect.schema != "json_schema":
            # At the end of the last message, where small models heed it best.
            words = f"{messages[-1].content}\n\n{schemas.instruction(request.schema)}"
            messages[-1] = replace(messages[-1], content=words)
    if request.tools:
        parameters["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
            }
            for t in request.tools
        ]
    if request.logprobs:
        parameters |= {"logprobs": True, "top_logprobs": request.logprobs}
    if stream:
        parameters |= {"stream": True, "stream_options": {"include_usage": True}}
    kept = {name: value for name, value in parameters.items() if name not in dialect.without}
    return {"model": model, "messages": list(map(_turn, messages)), dialect.limit: request.max_tokens, **kept}


def _turn(message: Message) -> dict[str, Any]:
    """Return a message of a request."""
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                # Chat templates of servers parse the arguments, and fail.
                "function": {
                    "name": call.name,
                    "arguments": call.arguments if _is_json(call.arguments) else "{}",
                },
            }
            for call in message.calls
        ]
    if message.answers:
        turn["tool_call_id"] = message.answers
    return turn


def concede(dialect: Dialect, request: Request, refusal: str) -> Dialect | None:
    """Return how to ask again after a refusal that names a parameter; None where no other way is left."""
    if dialect.limit == "max_tokens" and "max_completion_tokens" in refusal:
        return dialect._replace(limit="max_completion_tokens")
    if request.schema is not None and dialect.schema != "words" and _OF_A_SCHEMA.search(refusal):
        return dialect._replace(schema="json_object" if dialect.schema == "json_schema" else "words")
    for names, pattern in _DISPENSABLE:
        if not names <= dialect.without and pattern.search(refusal):
            return dialect._replace(without=dialect.without | names)
    return None


_OF_A_SCHEMA = re.compile(r"response_?format|json_?(?:schema|object)|structured|grammar", re.IGNORECASE)
# Words of refusals, and the parameters that are left out then. Of tools: as Ollama ("does not support tools")
# and vLLM ("tool choice requires …") put it; a refusal may also name a tool that is known.
_DISPENSABLE = [
    (frozenset(names.split()), re.compile(pattern, re.IGNORECASE))
    for names, pattern in (
        ("logprobs top_logprobs", "logprobs"),
        ("temperature", "temperature"),
        ("stream_options", "stream_options"),
        ("tools", r"not support\b.{0,40}\btool|tool[ _]choice.? requires|tools? (?:is|are) not supported"),
    )
]


class Collector:
    """Puts the chunks of a stream together, or takes a `whole` answer as its only chunk."""

    def __init__(self, *, whole: bool = False) -> None:
        """Start an empty answer."""
        self._whole = whole
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._places: dict[int, int] = {}  # index of a server → place of the call it means now
        self._chances: list[TokenChance] = []
        self._usage: object = None
        self.model = ""
        self.finish = "stop" if whole else ""
        self.chosen = False  # whether a message came

    def add(self, chunk: object) -> str:
        """Take a chunk in and return the text it brings; a chunk of another form brings none."""
        data = as_dict(chunk)
        self.model = str(data.get("model") or self.model)
        self._usage = data.get("usage") or self._usage
        choice = as_dict(next(iter(_list(data, "choices")), None))
        delta = choice.get("delta") or choice.get("message")
        self.chosen = self.chosen or isinstance(delta, dict)
        delta = as_dict(delta)
        for call in _list(delta, "tool_calls"):
            self._merge(as_dict(call))
        self._chances += _chances(choice)
        self.finish = str(choice.get("finish_reason") or self.finish)
        content = delta.get("content")
        if isinstance(content, list):  # some servers send it in parts
            content = "".join(str(as_dict(part).get("text") or "") for part in content)
        self._texts.append(text := content if isinstance(content, str) else "")
        return text

    def completion(self, request: Request) -> Completion:
        """Return the whole answer; every call gets its own id and arguments, which some servers leave out."""
        calls: dict[str, ToolCall] = {}
        for call in self._calls:
            name = call.id if call.id and call.id not in calls else f"call_{uuid.uuid4().hex[:16]}"
            calls[name] = ToolCall(name, call.name, call.arguments.strip() or "{}")
        text, chances = "".join(self._texts), tuple(self._chances)
        read = Completion(text, self.model, calls=tuple(calls.values()), logprobs=chances, finish=self.finish)
        return counted(read, request, self._usage)

    def _merge(self, call: Json) -> None:
        """Put a piece of a tool call to the pieces that came before it."""
        function = as_dict(call.get("function"))
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):  # Ollama has sent objects
            arguments = json.dumps(arguments, ensure_ascii=False)
        piece = ToolCall(str(call.get("id") or ""), str(function.get("name") or ""), arguments)
        index = call.get("index")
        index = index if isinstance(index, int) else -1  # by itself: the last one
        place = self._places.get(index)
        if place is None or self._whole or _begins(self._calls[place], piece):
            self._places[index] = len(self._calls)
            self._calls.append(piece)
            return
        begun = self._calls[place]
        self._calls[place] = ToolCall(
            begun.id or piece.id, begun.name or piece.name, begun.arguments + piece.arguments
        )


def _begins(begun: ToolCall, piece: ToolCall) -> bool:
    """Tell whether a piece begins another call under the index of an open call.

    Ollama and Gemini's endpoint have sent several whole calls under index 0, with and without ids; other
    servers give each piece of one call a new id, but its name only once.
    """
    if not piece.name or not begun.name:
        return False
    if piece.id or begun.id:
        return piece.id != begun.id
    return _is_json(begun.arguments)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _chances(choice: Json) -> Iterator[TokenChance]:
    for row in _list(as_dict(choice.get("logprobs")), "content"):
        others = tuple(_likely(_list(as_dict(row), "top_logprobs")))
        yield from (TokenChance(token, chance, others) for token, chance in _likely([row]))


def _likely(rows: Iterable[object]) -> Iterator[tuple[str, float]]:
    for row in map(as_dict, rows):
        chance = row.get("logprob")
        if isinstance(chance, int | float):
            yield str(row.get("token") or ""), float(chance)


def _list(value: Json, name: str) -> list[Any]:
    part = value.get(name)
    return part if isinstance(part, list) else []
