"""JSON out of a model: found in its answer, checked against a schema, and repaired once.

Checked of JSON schema (https://json-schema.org/draft/2020-12) are `type`, `enum`, `anyOf`, `properties`,
`required`, `additionalProperties`, `items` and the limits on items, length and value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from commonplace.base import messages
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Completion, Message, Request, Schema, without_thoughts

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_SHOWN = 60  # characters of a value in a message


def complete(ask: Callable[[Request], Completion], request: Request, provider: str) -> Completion:
    """Ask for JSON; where it does not fit the schema, show the model what is wrong and ask once more.

    Raises ProviderError if the second answer does not fit either.
    """
    assert request.schema is not None
    deadline = Deadline(request.deadline_s)
    first = ask(request)
    if first.calls:  # a model that wants to call a tool has not answered yet
        return first
    data, wrong = parse(first, request.schema)
    if not wrong:
        return replace(first, data=data)
    shown = json.dumps(request.schema, ensure_ascii=False)
    remarks = prompting.load("repair").messages(error=wrong, schema=shown)
    messages = (*request.messages, Message("assistant", first.text), *remarks)
    second = ask(replace(request, messages=messages, deadline_s=deadline.left_s()))
    data, still = parse(second, request.schema)
    if still:
        raise ProviderError(provider, f"no JSON that fits, also when told what is wrong: {still}")
    came, went = first.tokens_in + second.tokens_in, first.tokens_out + second.tokens_out
    return replace(second, data=data, tokens_in=came, tokens_out=went)


def parse(completion: Completion, schema: Schema) -> tuple[object, str]:
    """Return the JSON of an answer and an empty text, or None and what is wrong with it.

    The JSON is all of the answer, or what lies between the first bracket and the last.
    """
    # A draft that a model thought aloud is not the answer.
    thinks = completion.text.lstrip().startswith("<think>")
    text = without_thoughts(completion.text) if thinks else completion.text
    start = min((at for bracket in "{[" if (at := text.find(bracket)) >= 0), default=0)
    end = max(text.rfind("}"), text.rfind("]")) + 1
    wrong = "there is no JSON in the answer"
    for candidate in filter(None, (text, text[start:end])):
        try:
            data = json.loads(candidate, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            wrong = f"not valid JSON: {error}"
            continue
        wrong = problem(data, schema)
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


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def problem(value: object, schema: Mapping[str, Any]) -> messages.Message:
    """Return the first thing about a value that does not fit: its `place`, and `what`; empty if it fits."""
    found = next(_problems(value, schema, "$"), None)
    if found is None:
        return messages.Message("", "", {})
    return messages.message("value", "{place}: {what}", place=found[0], what=found[1])


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Tell whether every object names and requires all its properties, as OpenAI's strict mode demands."""
    properties = schema.get("properties", {})
    complete = set(schema.get("required", ())) == set(properties)
    open_ = schema.get("additionalProperties") is not False or not complete
    parts = [*properties.values(), *schema.get("anyOf", ())]
    parts += [schema["items"]] if "items" in schema else []
    return not ("object" in _names(schema) and open_) and all(map(is_closed, parts))


def _names(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _problems(value: object, schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    names = _names(schema)
    if names and not any(_is(value, name) for name in names):
        yield place, f"{_shown(value)} is not of type {' or '.join(names)}"
        return
    if "enum" in schema and not any(value == one and type(value) is type(one) for one in schema["enum"]):
        yield place, f"{_shown(value)} is not one of {', '.join(map(_shown, schema['enum']))}"
    if "anyOf" in schema and all(problem(value, form) for form in schema["anyOf"]):
        yield place, f"{_shown(value)} fits none of the allowed forms"
    yield from _problems_inside(value, schema, place)


def _problems_inside(value: object, schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield from _out_of_bounds(place, len(value), schema, "Length", "characters")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _out_of_bounds(place, value, schema, "imum", "as value")
    elif isinstance(value, list):
        yield from _out_of_bounds(place, len(value), schema, "Items", "items")
        for at, part in enumerate(value):
            yield from _problems(part, schema.get("items", {}), f"{place}[{at}]")
    elif isinstance(value, dict):
        missing = [name for name in schema.get("required", ()) if name not in value]
        yield from ((place, f"{name!r} is missing") for name in missing)
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name, part in value.items():
            expected = properties.get(name, others)
            if expected is False:
                yield place, f"{_shown(name)} is not allowed; allowed are {', '.join(properties) or 'none'}"
            elif isinstance(expected, Mapping):
                yield from _problems(part, expected, f"{place}.{name}")


def _out_of_bounds(
    place: str, size: float, schema: Mapping[str, Any], name: str, unit: str
) -> Iterator[tuple[str, str]]:
    """Say which bound a number, or the size of a text or a list, passes."""
    about = {"n": size, "unit": unit}
    if size < (least := schema.get(f"min{name}", size)):
        told = "{n} {unit}, at least {least:g} needed"
        yield place, messages.message("value.short", told, **about, least=least)
    if size > (most := schema.get(f"max{name}", size)):
        told = "{n} {unit}, at most {most:g} allowed"
        yield place, messages.message("value.long", told, **about, most=most)


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
