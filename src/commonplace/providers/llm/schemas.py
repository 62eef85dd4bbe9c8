"""JSON out of a model: found in its answer, checked against a schema, and repaired once.

Of JSON schema (https://json-schema.org/draft/2020-12) this knows types, objects, arrays, texts, numbers,
`enum`, `const` and `anyOf`, checked by hand. The package `jsonschema` knows all of it and brings four more
packages, one of them compiled; our requests do not need the rest. A schema with an unknown
keyword is refused rather than half obeyed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from commonplace.base import messages
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Completion, Message, Request, Schema

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
Rule = tuple[Any, Callable[[Any, Any], bool], Callable[[Any, Any], str]]
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
    for candidate in _candidates(text):
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


def _candidates(text: str) -> Iterator[str]:
    """Where the JSON may stand: all of the answer, in a code fence, from the first bracket to the last."""
    yield text.strip()
    for fence in text.split("```")[1::2]:
        language, _, body = fence.partition("\n")
        if language.strip().lower() in ("", "json"):
            yield body
    start = min((at for bracket in "{[" if (at := text.find(bracket)) >= 0), default=-1)
    end = max(text.rfind("}"), text.rfind("]"))
    if 0 <= start < end:
        yield text[start : end + 1]


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


def problem(value: object, schema: Mapping[str, Any]) -> messages.Message:
    """Return the first thing about a value that does not fit: its `place`, and `what`; empty if it fits."""
    found = next(_problems(value, schema, "$"), None)
    if found is None:
        return messages.Message("", "", {})
    return messages.message("value", "{place}: {what}", place=found[0], what=found[1])


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Tell whether every object names and requires all its properties, as OpenAI's strict mode demands."""
    complete = set(schema.get("required", ())) == set(schema.get("properties", {}))
    open_ = schema.get("additionalProperties") is not False or not complete
    return not ("object" in _names(schema) and open_) and all(map(is_closed, _parts(schema)))


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


def _problems(value: object, schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    names = _names(schema)
    if names and not any(_is(value, name) for name in names):
        yield place, f"{_shown(value)} is not of type {' or '.join(names)}"
        return
    for keyword, limit in schema.items():
        kind, fits, fault = _RULES.get(keyword, _NO_RULE)
        if isinstance(value, kind) and not fits(value, limit):
            yield place, fault(value, limit)
    for inside, part, expected in _inside(value, schema):
        if isinstance(expected, Mapping):
            yield from _problems(part, expected, f"{place}{inside}")
        elif expected is False:
            allowed = ", ".join(schema.get("properties", {})) or "none"
            yield place, f"{_shown(inside[1:])} is not allowed; allowed are {allowed}"


def _inside(value: object, schema: Mapping[str, Any]) -> Iterable[tuple[str, object, object]]:
    """The parts of a value, each with its place and its schema: False for a name that is not allowed."""
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        return ((f".{name}", part, properties.get(name, others)) for name, part in value.items())
    parts = value if isinstance(value, list) else []
    return ((f"[{at}]", part, schema.get("items")) for at, part in enumerate(parts))


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


def _too_short(value: str, least: int) -> messages.Message:
    told = "{n} characters, at least {least:g} needed"
    return messages.message("value.short", told, n=len(value), least=least)


def _too_long(value: str, most: int) -> messages.Message:
    return messages.message("value.long", "{n} characters, at most {most:g} allowed", n=len(value), most=most)


# By keyword: the type of value it is about, whether a value fits, and what is wrong otherwise. A truth value
# is no number here.
_RULES: Mapping[str, Rule] = {
    "required": (
        dict,
        lambda value, names: all(name in value for name in names),
        lambda value, names: f"{next(name for name in names if name not in value)!r} is missing",
    ),
    "enum": (
        object,
        lambda value, allowed: any(_same(value, one) for one in allowed),
        lambda value, allowed: f"{_shown(value)} is not one of {', '.join(map(_shown, allowed))}",
    ),
    "const": (object, _same, lambda value, only: f"{_shown(value)} is not {_shown(only)}"),
    "anyOf": (
        object,
        lambda value, forms: any(not problem(value, form) for form in forms),
        lambda value, forms: f"{_shown(value)} fits none of the allowed forms",
    ),
    "minItems": (list, lambda v, n: len(v) >= n, lambda v, n: f"{len(v)} items, at least {n:g} needed"),
    "maxItems": (list, lambda v, n: len(v) <= n, lambda v, n: f"{len(v)} items, at most {n:g} allowed"),
    "minLength": (str, lambda v, n: len(v) >= n, _too_short),
    "maxLength": (str, lambda v, n: len(v) <= n, _too_long),
    "minimum": (
        (int, float),
        lambda value, least: isinstance(value, bool) or value >= least,
        lambda value, least: f"{value:g} as value, at least {least:g} needed",
    ),
    "maximum": (
        (int, float),
        lambda value, most: isinstance(value, bool) or value <= most,
        lambda value, most: f"{value:g} as value, at most {most:g} allowed",
    ),
    "pattern": (
        str,
        lambda value, pattern: re.search(pattern, value) is not None,
        lambda value, pattern: f"{_shown(value)} does not match {pattern}",
    ),
}
_NO_RULE: Rule = ((), _same, lambda value, limit: "")
_KNOWN = {
    "title", "description", "default", "examples", "$schema",
    "type", "properties", "additionalProperties", "items", *_RULES,
}  # fmt: skip
