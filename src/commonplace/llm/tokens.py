"""How many tokens a request has: about, for people, and at most, for budgets."""

from __future__ import annotations

import json

from commonplace.estimates import about as about
from commonplace.estimates import quarters as quarters
from commonplace.llm.base import Request

# A tokenizer that works on bytes, as all common ones do in the end, makes at most one token of a byte. What a
# chat template puts around a message and before the first one is counted generously.
_AROUND_MESSAGE, _AROUND_ALL = 16, 64


def about_in(request: Request) -> int:
    """About how many tokens a request is."""
    return about(_written(request)) + 4 * len(request.messages)


def most_in(request: Request) -> int:
    """The most tokens that a request can be, whatever its tokenizer."""
    text = _written(request).encode("utf-8", "surrogatepass")
    return len(text) + _AROUND_MESSAGE * len(request.messages) + _AROUND_ALL


def _written(request: Request) -> str:
    parts = [message.content for message in request.messages]
    parts += [c.name + c.arguments for message in request.messages for c in message.calls]
    parts += [f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in request.tools]
    if request.schema is not None:
        # Once as a constraint and once in words, where an endpoint takes no constraint.
        parts += [json.dumps(request.schema)] * 2
    return "\n".join(parts)
