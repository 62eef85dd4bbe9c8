"""Models behind OpenAI's chat completions: OpenAI itself and the many servers that speak its language.

https://platform.openai.com/docs/api-reference/chat. Few servers speak all of it: a `Dialect` says how a
request is put. What a server refuses is put in another way once, and remembered.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts, services
from commonplace.providers.attempts import TooLarge
from commonplace.providers.catalog import LLMS, Spec
from commonplace.providers.http import as_dict
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import Completion, Message, Request, ToolCall, counted
from commonplace.providers.services import Dialect

ATTEMPTS, MAX_ANSWER_BYTES, _MAX_CONCESSIONS = 4, 16_000_000, 6
Json = Mapping[str, Any]


class ChatModel:
    """A model behind an address; safe to use from several threads; it connects with the first request."""

    def __init__(self, spec: Spec) -> None:
        """Check model, address and key. Raises ConfigError, ProviderError for an address no key may go to."""
        self.provider = spec.provider
        self.name, self.endpoint = LLMS.connect(spec)
        self.fingerprint = f"{self.provider}@{self.endpoint.base_url}:{self.name}"
        self._dialect = services.chat(self.provider)
        self.close = self.endpoint.close

    def answer(self, request: Request) -> Completion:
        """Answer a request, again after passing faults, without what is refused. Raises ProviderError."""
        deadline = Deadline(request.deadline_s)

        def ask() -> Completion:
            for left in reversed(range(_MAX_CONCESSIONS + 1)):
                dialect = self._dialect
                sent = body(self.name, request, dialect)
                try:
                    data = self.endpoint.post(
                        "chat/completions", sent, deadline, attempts=1, max_bytes=MAX_ANSWER_BYTES
                    )
                    break
                except ProviderError as error:
                    refused = error.status in (400, 404, 422) and not isinstance(error, TooLarge)
                    other = concede(dialect, request, str(error)) if refused and left else None
                    if other is None:
                        raise
                    self._dialect = other
            return self._read(data, request)

        return attempts.repeated(ask, deadline, ATTEMPTS, resend=False)

    def _read(self, data: object, request: Request) -> Completion:
        """Read an answer; every call gets its own id and arguments, which some servers leave out."""
        answer = as_dict(data)
        choice = as_dict(next(iter(_list(answer, "choices")), None))
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ProviderError(self.provider, "the answer holds no choices with a message", status=200)
        content = message.get("content")
        if isinstance(content, list):  # some servers send it in parts
            content = "".join(str(as_dict(part).get("text") or "") for part in content)
        calls: dict[str, ToolCall] = {}
        for call in map(as_dict, _list(message, "tool_calls")):
            function, name = as_dict(call.get("function")), str(call.get("id") or "")
            arguments = function.get("arguments") or ""
            if not isinstance(arguments, str):  # Ollama has sent objects
                arguments = json.dumps(arguments, ensure_ascii=False)
            name = name if name and name not in calls else f"call_{uuid.uuid4().hex[:16]}"
            calls[name] = ToolCall(name, str(function.get("name") or ""), arguments.strip() or "{}")
        read = Completion(
            content if isinstance(content, str) else "",
            str(answer.get("model") or ""),
            calls=tuple(calls.values()),
            logprobs=_chances(choice),
            finish=str(choice.get("finish_reason") or "stop"),
        )
        return counted(read, request, answer.get("usage"))


def body(model: str, request: Request, dialect: Dialect) -> dict[str, Any]:
    """Compose the JSON of a request."""
    messages = list(request.messages)
    parameters: dict[str, Any] = {"temperature": 0.0}
    if request.schema is not None:
        if dialect.schema != "words":
            parameters["response_format"] = {"type": dialect.schema}
        if dialect.schema == "json_schema":
            named = {"name": "answer", "schema": request.schema, "strict": schemas.is_closed(request.schema)}
            parameters["response_format"]["json_schema"] = named
        else:  # at the end of the last message, where small models heed it best
            words = f"{messages[-1].content}\n\n{schemas.instruction(request.schema)}"
            messages[-1] = replace(messages[-1], content=words)
    if request.tools:
        functions = (
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        )
        parameters["tools"] = [{"type": "function", "function": function} for function in functions]
    if request.logprobs:
        parameters |= {"logprobs": True, "top_logprobs": request.logprobs}
    kept = {name: value for name, value in parameters.items() if name not in dialect.without}
    return {"model": model, "messages": list(map(_turn, messages)), dialect.limit: request.max_tokens, **kept}


def _turn(message: Message) -> dict[str, Any]:
    """Return a message of a request."""
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    for call in message.calls:
        # Chat templates of servers parse the arguments, and fail.
        function = {"name": call.name, "arguments": call.arguments if _is_json(call.arguments) else "{}"}
        turn.setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
    if message.answers:
        turn["tool_call_id"] = message.answers
    return turn


def concede(dialect: Dialect, request: Request, refusal: str) -> Dialect | None:
    """Return how to ask again after a refusal that names a parameter; None where no other way is left."""
    if dialect.limit == "max_tokens" and "max_completion_tokens" in refusal:
        return dialect._replace(limit="max_completion_tokens")
    if request.schema is not None and dialect.schema != "words" and services.refusal("schema", refusal):
        return dialect._replace(schema="json_object" if dialect.schema == "json_schema" else "words")
    for names in ({"logprobs", "top_logprobs"}, {"temperature"}, {"tools"}):
        if not names <= dialect.without and services.refusal(min(names), refusal):
            return dialect._replace(without=dialect.without | names)
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _chances(choice: Json) -> tuple[tuple[str, float], ...]:
    """Return the first token that is not blank, and those in its place, with their logarithms."""
    rows = map(as_dict, _list(as_dict(choice.get("logprobs")), "content"))
    first = next((row for row in rows if str(row.get("token") or "").strip()), {})
    likely = (first, *map(as_dict, _list(first, "top_logprobs")))
    pairs = ((str(row.get("token") or ""), row.get("logprob")) for row in likely)
    return tuple({token: float(chance) for token, chance in pairs if isinstance(chance, int | float)}.items())


def _list(value: Json, name: str) -> list[Any]:
    part = value.get(name)
    return part if isinstance(part, list) else []
