"""Requests and answers in the language of OpenAI's chat completions, as pure functions.

https://platform.openai.com/docs/api-reference/chat. Many servers speak it, few speak all of it: a `Dialect`
says how a request is put, and `concede` finds the next one to try when a server refuses a part.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from commonplace.llm import schemas, structured, tokens
from commonplace.llm.base import Completion, Message, Request, TokenChance, ToolCall, ToolSpec

Json = Mapping[str, Any]


class Dialect(NamedTuple):
    """How a server takes a request: a schema, the limit on tokens, and parameters it does not take."""

    schema: Literal["json_schema", "json_object", "words"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: frozenset[str] = frozenset()


class Malformed(ValueError):
    """An answer that is not one of chat completions."""


def body(model: str, request: Request, dialect: Dialect, *, stream: bool = False) -> dict[str, Any]:
    """Compose the JSON of a request."""
    messages = list(request.messages)
    parameters: dict[str, Any] = {"temperature": request.temperature}
    if request.schema is not None:
        parameters |= _constraint(request.schema, dialect)
        if dialect.schema != "json_schema":
            messages = _instructed(messages, structured.instruction(request.schema))
    if request.tools:
        parameters["tools"] = [_offered(tool) for tool in request.tools]
    if request.logprobs:
        parameters |= {"logprobs": True, "top_logprobs": request.logprobs}
    if stream:
        parameters |= {"stream": True, "stream_options": {"include_usage": True}}
    kept = {name: value for name, value in parameters.items() if name not in dialect.without}
    return {
        "model": model,
        "messages": [_turn(m) for m in messages],
        dialect.limit: request.max_tokens,
        **kept,
    }


def concede(dialect: Dialect, request: Request, refusal: str) -> Dialect | None:
    """Return how to ask again after a refusal that names a parameter; None where nothing is left to try."""
    said = refusal.lower()
    if dialect.limit == "max_tokens" and "max_completion_tokens" in said:
        return dialect._replace(limit="max_completion_tokens")
    if request.schema is not None and re.search(
        r"response_?format|json_?(schema|object)|structured|grammar", said
    ):
        if dialect.schema == "json_schema":
            return dialect._replace(schema="json_object")
        if dialect.schema == "json_object":
            return dialect._replace(schema="words")
    for pattern, names in _DISPENSABLE.items():
        if re.search(pattern, said) and not names <= dialect.without:
            return dialect._replace(without=dialect.without | names)
    return None


# By what a refusal says; of tools as Ollama ("does not support tools") and vLLM ("tool choice requires …")
# put it, since a refusal may also name a tool that is well known.
_DISPENSABLE = {
    "logprobs": frozenset({"logprobs", "top_logprobs"}),
    "temperature": frozenset({"temperature"}),
    "stream_options": frozenset({"stream_options"}),
    r"not support(ed)?\b.{0,40}\btools?\b|tool.choice requires|tools? (is|are) not supported": frozenset(
        {"tools"}
    ),
}


def completion(data: object, request: Request) -> Completion:
    """Read a whole answer. Raises Malformed."""
    choice = _choice(data)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise Malformed("the answer holds no message")
    calls = _finished(_call(call) for call in _list(message, "tool_calls"))
    read = Completion(
        _text(message),
        str(_mapping(data).get("model") or ""),
        calls=calls,
        logprobs=tuple(_chances(choice)),
        finish=str(choice.get("finish_reason") or "stop"),
    )
    return counted(read, request, _mapping(data).get("usage"))


class Collector:
    """Puts the chunks of a stream together."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._places: dict[int, int] = {}  # index of a server → place of the call it means now
        self._chances: list[TokenChance] = []
        self._usage: object = None
        self.model = ""
        self.finish = ""

    def add(self, chunk: object) -> str:
        """Take a chunk in and return the text it brings. Raises Malformed."""
        data = _mapping(chunk)
        self.model = str(data.get("model") or self.model)
        self._usage = data.get("usage") or self._usage
        if not _list(data, "choices"):
            return ""
        choice = _choice(chunk)
        delta = _mapping(choice.get("delta") or choice.get("message") or {})
        for call in _list(delta, "tool_calls"):
            self._merge(_mapping(call))
        self._chances += _chances(choice)
        self.finish = str(choice.get("finish_reason") or self.finish)
        text = _text(delta)
        self._texts.append(text)
        return text

    def completion(self, request: Request) -> Completion:
        """Return the whole answer."""
        text, chances = "".join(self._texts), tuple(self._chances)
        read = Completion(
            text, self.model, calls=_finished(self._calls), logprobs=chances, finish=self.finish
        )
        return counted(read, request, self._usage)

    def _merge(self, call: Json) -> None:
        """Put a piece of a tool call to the pieces that came before it."""
        index, piece = call.get("index"), _call(call)
        index = index if isinstance(index, int) else -1  # by itself: the last one
        place = self._places.get(index)
        if place is None or _begins(self._calls[place], piece):
            self._places[index] = len(self._calls)
            self._calls.append(piece)
            return
        known = self._calls[place]
        self._calls[place] = ToolCall(
            known.id or piece.id, known.name or piece.name, known.arguments + piece.arguments
        )


def _begins(known: ToolCall, piece: ToolCall) -> bool:
    """Whether a piece begins another call under the index of a known one.

    Ollama and Gemini's endpoint have sent several whole calls under index 0, with and without ids; other
    servers give each piece of one call a new id, but its name only once.
    """
    if not piece.name or not known.name:
        return False
    if piece.id or known.id:
        return piece.id != known.id
    return _is_json(known.arguments)


def _finished(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Give every call an id of its own, which some servers leave out, and arguments where there are none."""
    finished: list[ToolCall] = []
    for call in calls:
        name = call.id
        if not name or any(name == other.id for other in finished):
            name = f"call_{uuid.uuid4().hex[:16]}"
        finished.append(ToolCall(name, call.name, call.arguments.strip() or "{}"))
    return tuple(finished)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def counted(read: Completion, request: Request, usage: object = None) -> Completion:
    """Return an answer with its tokens as the provider counts them, or else about right."""
    counts = usage if isinstance(usage, Mapping) else {}
    came, went = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if isinstance(came, int) and isinstance(went, int) and came >= 0 and went >= 0:
        return replace(read, tokens_in=came, tokens_out=went)
    written = read.text + "".join(call.name + call.arguments for call in read.calls)
    went = min(tokens.about(written), request.max_tokens)
    return replace(read, tokens_in=tokens.about_in(request), tokens_out=went, estimated=True)


def _constraint(schema: Json, dialect: Dialect) -> dict[str, Any]:
    if dialect.schema == "words":
        return {}
    if dialect.schema == "json_object":
        return {"response_format": {"type": "json_object"}}
    named = {"name": "answer", "schema": schema, "strict": schemas.is_closed(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _offered(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _instructed(messages: list[Message], words: str) -> list[Message]:
    """Put an instruction at the end of the last message, where small models heed it best."""
    last = messages[-1]
    return [*messages[:-1], replace(last, content=f"{last.content}\n\n{words}")]


def _turn(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _sent(call)}}
            for call in message.calls
        ]
    if message.answers:
        turn["tool_call_id"] = message.answers
    return turn


def _sent(call: ToolCall) -> str:
    """The arguments of a call as they may be sent again: chat templates of servers parse them, and fail."""
    return call.arguments if _is_json(call.arguments) else "{}"


def _choice(data: object) -> Json:
    choices = _list(_mapping(data), "choices")
    if not choices or not isinstance(choices[0], Mapping):
        raise Malformed("the answer holds no choices")
    return choices[0]


def _text(message: Json) -> str:
    """The text of a message, which some servers send in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _call(call: object) -> ToolCall:
    function = _mapping(_mapping(call).get("function") or {})
    arguments = function.get("arguments") or ""
    if not isinstance(arguments, str):  # Ollama has sent objects
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(_mapping(call).get("id") or ""), str(function.get("name") or ""), arguments)


def _chances(choice: Json) -> Iterator[TokenChance]:
    told = choice.get("logprobs")
    for item in _list(told, "content") if isinstance(told, Mapping) else ():
        others = tuple(_likely(_list(_mapping(item), "top_logprobs")))
        yield from (TokenChance(token, chance, others) for token, chance in _likely([item]))


def _likely(items: Iterable[object]) -> Iterator[tuple[str, float]]:
    for item in items:
        chance = _mapping(item).get("logprob")
        if isinstance(chance, int | float):
            yield str(_mapping(item).get("token") or ""), float(chance)


def _mapping(value: object) -> Json:
    if not isinstance(value, Mapping):
        raise Malformed("the answer is not one of chat completions")
    return value


def _list(value: Json, name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []
