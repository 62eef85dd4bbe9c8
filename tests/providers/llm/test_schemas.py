"""The part of JSON schema that is used: what fits, what does not, and what is refused."""

from __future__ import annotations

from commonplace.providers.llm import schemas

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
        "any": {"anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 3}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_what_fits() -> None:
    for value in [
        {"name": "Lin"},
        {"name": "Lin", "age": None, "tags": ["a", "b"], "any": True},
        {"name": "Lin", "age": 30.0, "any": 3.5},
    ]:
        assert schemas.problem(value, PERSON) == ""


def test_what_does_not_fit() -> None:
    for value, problem in [
        ([], "$: [] is not of type object"),
        ({}, "$: 'name' is missing"),
        ({"name": 3}, "$.name: 3 is not of type string"),
        ({"name": ""}, "$.name: 0 characters, at least 1 needed"),
        ({"name": "Linnea"}, "$.name: 6 characters, at most 5 allowed"),
        ({"name": "Lin", "age": 1.5}, "$.age: 1.5 is not of type integer or null"),
        ({"name": "Lin", "age": True}, "$.age: True is not of type integer or null"),
        ({"name": "Lin", "age": -1}, "$.age: -1 as value, at least 0 needed"),
        ({"name": "Lin", "age": 151}, "$.age: 151 as value, at most 150 allowed"),
        ({"name": "Lin", "tags": []}, "$.tags: 0 items, at least 1 needed"),
        ({"name": "Lin", "tags": ["a"] * 3}, "$.tags: 3 items, at most 2 allowed"),
        ({"name": "Lin", "tags": ["a", "c"]}, "$.tags[1]: 'c' is not one of 'a', 'b'"),
        ({"name": "Lin", "any": 2}, "$.any: 2 fits none of the allowed forms"),
        ({"name": "Lin", "else": 1}, "$: 'else' is not allowed; allowed are name, age, tags, any"),
    ]:
        assert schemas.problem(value, PERSON) == problem


def test_closed_schemas() -> None:
    closed = {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}
    assert schemas.is_closed(closed)
    assert schemas.is_closed({"type": "array", "items": closed})
    assert not schemas.is_closed({"type": "array", "items": {"type": "object"}})
    assert not schemas.is_closed({**closed, "required": []})
