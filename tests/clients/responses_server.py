"""A language model as OpenAI's Responses API serves it, on loopback, that says what a test tells it.

https://platform.openai.com/docs/api-reference/responses-streaming: server-sent events. Every request is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.providers.server import Reply, Request, serving


class Call(NamedTuple):
    """A tool that the model calls, in a namespace if it lies in one."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""


Rule = Callable[[Mapping[str, Any]], "str | Call"]


@contextmanager
def responding(rule: Rule) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Answer each request by a rule, with a text or a call; yield the base URL and the requests, as they come."""
    requests: list[dict[str, Any]] = []

    def reply(request: Request) -> Reply:
        if not request.path.endswith("/responses"):
            return Reply({"object": "list", "data": [], "models": []})
        requests.append(request.json)
        number, said = len(requests), rule(request.json)
        if isinstance(said, Call):
            named = {"namespace": said.namespace} if said.namespace else {}
            item = {
                "type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": said.name,
                "arguments": json.dumps(said.arguments), "status": "completed", **named,
            }  # fmt: skip
        else:
            text = {"type": "output_text", "text": said, "annotations": []}
            item = {
                "type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [text],
            }  # fmt: skip
        whole = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item]}
        usage = {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
        }  # fmt: skip
        events = [
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**whole, "usage": usage}},
        ]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return Reply(body.encode(), headers={"Content-Type": "text/event-stream"})

    with serving(reply) as server:
        yield f"{server.url}/v1", requests
