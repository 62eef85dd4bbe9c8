"""JSON out of a model: found in its answer, checked, and repaired once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from commonplace.deadline import Deadline
from commonplace.errors import ProviderError
from commonplace.llm import prompting, schemas
from commonplace.llm.base import Completion, Message, Request, Schema

Ask = Callable[[Request], Completion]
# Models that think aloud put it before the answer; what they drafted there is not the answer.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def complete(ask: Ask, request: Request, provider: str) -> Completion:
    """Ask for JSON; where it does not fit the schema, show the model what is wrong and ask once more.

    Raises ProviderError if the second answer does not fit either, ValueError for a schema that is not known.
    """
    assert request.schema is not None
    schemas.check(request.schema)
    deadline = Deadline(request.deadline_s)
    first = ask(request)
    if first.calls:  # a model that wants to call a tool has not answered yet
        return first
    data, wrong = parse(first, request.schema)
    if not wrong:
        return replace(first, data=data)
    if not deadline.left_s():
        raise ProviderError(provider, f"no JSON that fits, and no time for a second answer: {wrong}")
    second = ask(_repair(request, first, wrong, deadline.left_s()))
    data, still = parse(second, request.schema)
    if still:
        raise ProviderError(provider, f"no JSON that fits, also when told what is wrong: {still}")
    return replace(
        second,
        data=data,
        tokens_in=first.tokens_in + second.tokens_in,
        tokens_out=first.tokens_out + second.tokens_out,
        estimated=first.estimated or second.estimated,
    )


def parse(completion: Completion, schema: Schema) -> tuple[object, str]:
    """Return the JSON of an answer and an empty text, or None and what is wrong with it."""
    wrong = "there is no JSON in the answer"
    for candidate in _candidates(_THOUGHTS.sub("", completion.text)):
        try:
            data = json.loads(candidate, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            wrong = f"not valid JSON: {error}"
            continue
        wrong = schemas.problem(data, schema)
        if not wrong:
            return data, ""
        break
    if completion.finish == "length":
        wrong += " (it was cut off: it must be shorter)"
    return None, wrong


def instruction(schema: Schema) -> str:
    """Say in words what answer is wanted, for models that cannot be held to a schema."""
    return (
        "Answer with one JSON value and nothing else: no explanation, no code fence. "
        f"It must fit this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _repair(request: Request, first: Completion, wrong: str, left_s: float) -> Request:
    told = prompting.load("repair").messages(
        error=wrong, schema=json.dumps(request.schema, ensure_ascii=False)
    )
    messages = (*request.messages, Message("assistant", first.text), *told)
    return replace(request, messages=messages, deadline_s=left_s)


def _candidates(text: str) -> Iterator[str]:
    """Where the JSON may stand: all of the answer, in a code fence, from the first bracket to the last."""
    yield text.strip()
    yield from _FENCED.findall(text)
    start = min((at for bracket in "{[" if (at := text.find(bracket)) >= 0), default=-1)
    end = max(text.rfind("}"), text.rfind("]"))
    if 0 <= start < end:
        yield text[start : end + 1]


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no JSON")
