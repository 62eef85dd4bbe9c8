"""JSON Schema of answers; that of requests is in `actions.schema`.

Answers are described from the very classes that become JSON, by their annotations: the fields that `to_data`
shows are the fields of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from commonplace import types
from commonplace.actions.schema import Schema as Schema
from commonplace.actions.schema import flag as flag
from commonplace.actions.schema import listed as listed
from commonplace.actions.schema import number as number
from commonplace.actions.schema import record as record
from commonplace.actions.schema import text as text
from commonplace.base.messages import Message

MOST_DIFF = 1_000_000  # characters of a diff that are answered
_SCALARS: Mapping[object, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null",
}  # fmt: skip


SAID = ("message", "reason", "remedy", "skipped", "told", "warnings")  # hold sentences for people
_CODED = {
    "type": "object",
    "description": "Of those of the sentences that have codes: `code`, which stays the same, and `values`.",
    "additionalProperties": True,
}


def answer(**properties: Schema) -> Schema:
    """Describe an object that has all of these properties, with the codes of sentences, and no other."""
    coded = {"said": _CODED} if any(name in properties for name in SAID) else {}
    return record(" ".join(properties), **properties, **coded)


def cut(data: object) -> Any:  # noqa: ANN401 - any JSON
    """Leave of the diff of an answer as much as anybody reads, whole lines of it."""
    diff = data.get("diff") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(diff, str) or len(diff) <= MOST_DIFF:
        return data
    end = diff.rfind("\n", 0, MOST_DIFF) + 1
    return {**data, "diff": diff[: end or MOST_DIFF]}


def coded(data: object) -> Any:  # noqa: ANN401 - any JSON
    """Add to each object of JSON, as `said`, the codes and values of the sentences in it."""
    if isinstance(data, list):
        return [coded(one) for one in data]
    if not isinstance(data, dict):
        return data
    said = {name: _codes(data[name]) for name in SAID if name in data}
    whole = {name: coded(value) for name, value in data.items()}
    return {**whole, "said": said} if (said := {k: v for k, v in said.items() if v}) else whole


def _codes(value: object) -> object:
    """Return the code of a sentence, or those of several, with None for one without; None if all lack one."""
    if isinstance(value, list):
        codes = [_codes(one) for one in value]
        return codes if any(codes) else None
    return value.data() if isinstance(value, Message) else None


def of(kind: object) -> Schema:
    """Describe a type as `types.data.to_data` shows its values."""
    if kind in (Any, object):
        return {}
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, UnionType):
        return _either([of(one) for one in inner])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": of(inner[1])}
    if origin is not None:
        return {"type": "array", "items": of(inner[0])}
    assert isinstance(kind, type)
    return answer(**parts(kind))


def parts(kind: type, names: str = "") -> dict[str, Schema]:
    """Describe the properties that a class is shown with, or attributes by their names."""
    shown = names or getattr(kind, "JSON", "") or " ".join(_fields(kind))
    pairs = (one.partition(":")[0].partition("=") for one in shown.split())
    hints = _hints(kind)
    return {
        name: of(hints[key] if (key := attribute or name) in hints else _returned(kind, key))
        for name, _, attribute in pairs
    }


def _fields(kind: type) -> list[str]:
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(getattr(kind, "_fields", ()))


def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, localns=_names())


def _returned(kind: type, attribute: str) -> object:
    """Return the type of a property's value."""
    return get_type_hints(getattr(kind, attribute).fget, localns=_names())["return"]


def _names() -> dict[str, object]:
    """The names that annotations use and modules import for type checkers alone."""
    return {name: getattr(types, name) for name in types.__all__} | {"Mapping": Mapping, "ClassVar": Any}


def _either(forms: list[Schema]) -> Schema:
    """One of several forms; scalars share a `type`."""
    if all(form.keys() == {"type"} and isinstance(form["type"], str) for form in forms):
        return {"type": [form["type"] for form in forms]}
    return {"anyOf": forms}
