"""JSON out of a model: found in its answer, checked against a schema, and repaired once.

Of JSON schema (https://json-schema.org/draft/2020-12) this knows types, objects, arrays, texts, numbers,
`enum`, `const` and `anyOf`, checked by hand. The package `jsonschema` knows all of it and brings four more
packages, one of them compiled; what models are asked for needs none of the rest. A schema with an unknown
keyword is refused rather than half obeyed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Completion, Message, Request, Schema

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_NOTES = frozenset({"title", "description", "default", "examples", "$schema"})
_KNOWN = _NOTES | {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
    "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern",
}  # fmt: skip
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SHOWN = 60  # characters of a value in a message


def complete(ask: Callable[[Request], Completion], request: Request, provider: str) -> Completion:
    """Ask for JSON; where it does not fit the schema, show the model what is wrong and ask once more.

    Raises ProviderError if the second answer does not fit either, ValueError for a schema that is not known.
    """
    assert request.schema is not None
    check(request.schema)
    deadline = Deadline(request.deadline_s)
    first = ask(request)
    if first.calls:  # a model that wants to call a tool has not answered yet
        return first
    data, wrong = parse(first, request.schema)
    if not wrong:
        return replace(first, data=data)
    if not deadline.left_s():
        raise ProviderError(provider, f"no JSON that fits, and no time for a second answer: {wrong}")
    shown = json.dumps(request.schema, ensure_ascii=False)
    remarks = prompting.load("repair").messages(error=wrong, schema=shown)
    messages = (*request.messages, Message("assistant", first.text), *remarks)
    second = ask(replace(request, messages=messages, deadline_s=deadline.left_s()))
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
    text = completion.text
    # Models that think aloud put it before the answer; what they drafted there is not the answer.
    if text.lstrip().startswith("<think>") and "</think>" in text:
        text = text.partition("</think>")[2]
    start = min((at for bracket in "{[" if (at := text.find(bracket)) >= 0), default=-1)
    end = max(text.rfind("}"), text.rfind("]"))
    # Where the JSON may stand: all of the answer, in a code fence, from the first bracket to the last.
    bracketed = [text[start : end + 1]] if 0 <= start < end else []
    for candidate in (text.strip(), *_FENCED.findall(text), *bracketed):
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


def check(schema: Mapping[str, Any]) -> None:
    """Raise ValueError for a schema with keywords or types that are not known here."""
    unknown = sorted(schema.keys() - _KNOWN)
    if unknown:
        raise ValueError(f"JSON schema: {', '.join(unknown)} is not supported")
    wrong = [name for name in _names(schema) if name not in _TYPES]
    if wrong:
        raise ValueError(f"JSON schema: no such type: {', '.join(map(str, wrong))}")
    try:
        re.compile(schema.get("pattern", ""))
    except re.error as error:
        raise ValueError(f"JSON schema: {schema['pattern']!r} is no pattern: {error}") from error
    for part in _parts(schema):
        check(part)


def problem(value: object, schema: Mapping[str, Any]) -> str:
    """Return the first thing about a value that does not fit, with its place, or an empty text."""
    return next(_problems(value, schema, "$"), "")


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether every object names and requires all its properties, as OpenAI's strict mode demands."""
    if "object" in _names(schema):
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(
            properties
        ):
            return False
    return all(map(is_closed, _parts(schema)))


def _names(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas directly inside one."""
    yield from schema.get("properties", {}).values()
    yield from schema.get("anyOf", ())
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), Mapping):
            yield schema[name]


def _problems(value: object, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    names = _names(schema)
    if names and not any(_is(value, name) for name in names):
        yield f"{place}: {_shown(value)} is not of type {' or '.join(names)}"
        return
    yield from _outside(value, schema, place)
    if isinstance(value, dict):
        yield from _in_object(value, schema, place)
    elif isinstance(value, list):
        yield from _limits(len(value), schema, place, "Items", "items")
        for number, part in enumerate(value if "items" in schema else ()):
            yield from _problems(part, schema["items"], f"{place}[{number}]")
    elif isinstance(value, str):
        yield from _limits(len(value), schema, place, "Length", "characters")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{place}: {_shown(value)} does not match {schema['pattern']}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _limits(value, schema, place, "imum", "as value")


def _outside(value: object, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """That a value is none of those which `enum`, `const` and `anyOf` allow."""
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        yield f"{place}: {_shown(value)} is not one of {', '.join(map(_shown, schema['enum']))}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{place}: {_shown(value)} is not {_shown(schema['const'])}"
    if "anyOf" in schema and all(problem(value, option) for option in schema["anyOf"]):
        yield f"{place}: {_shown(value)} fits none of the allowed forms"


def _in_object(value: dict[str, object], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}: {name!r} is missing"
    others = schema.get("additionalProperties", True)
    for name, part in value.items():
        inside = properties.get(name, others)
        if inside is False:
            yield f"{place}: {_shown(name)} is not allowed; allowed are {', '.join(properties) or 'none'}"
        elif inside is not True:
            yield from _problems(part, inside, f"{place}.{name}")


def _limits(size: float, schema: Mapping[str, Any], place: str, name: str, unit: str) -> Iterator[str]:
    if f"min{name}" in schema and size < schema[f"min{name}"]:
        yield f"{place}: {size:g} {unit}, at least {schema[f'min{name}']:g} needed"
    if f"max{name}" in schema and size > schema[f"max{name}"]:
        yield f"{place}: {size:g} {unit}, at most {schema[f'max{name}']:g} allowed"


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
