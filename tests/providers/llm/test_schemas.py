"""JSON out of answers: found, held to a schema, repaired once."""

from __future__ import annotations

import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import Completion, ToolCall, ToolSpec
from commonplace.providers.llm.client import Client
from tests.providers.llm.conftest import QUESTION, answer, model_at
from tests.providers.server import Reply, Server

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


SCHEMA = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}


def test_json_is_found() -> None:
    for text in [
        '{"day": "周二"}',
        '\n {"day": "周二"}\n',
        '```json\n{"day": "周二"}\n```',
        'Here it is:\n```\n{"day": "周二"}\n```\nAnything else?',
        'Sure! {"day": "周二"} is the answer.',
        '<think>{"day": "Monday"}? no</think>\n{"day": "周二"}',
    ]:
        assert schemas.parse(Completion(text, "m"), SCHEMA) == ({"day": "周二"}, "")


def test_what_is_wrong_is_said() -> None:
    for text, wrong in [
        ("On Tuesday.", "not valid JSON"),
        ('{"day": 2}', "$.day: 2 is not of type string"),
        ('{"day": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("", "there is no JSON"),
    ]:
        data, said = schemas.parse(Completion(text, "m"), SCHEMA)
        assert data is None, (text, wrong)
        assert wrong in said


def test_an_answer_cut_off_must_be_shorter() -> None:
    _, said = schemas.parse(Completion('{"day": "Tue', "m", finish="length"), SCHEMA)
    assert said.endswith("(it was cut off: it must be shorter)")


def test_one_repair_shows_the_error(server: Server) -> None:
    server.script = [Reply(answer('{"day": 2}')), Reply(answer('{"day": "Tuesday"}'))]
    got = Client(model_at(server)).complete(QUESTION, SCHEMA)
    assert got.data == {"day": "Tuesday"}
    assert (got.tokens_in, got.tokens_out) == (38, 20)
    sent = server.requests[1].json["messages"]
    assert sent[-2] == {"role": "assistant", "content": '{"day": 2}'}
    assert "$.day: 2 is not of type string" in sent[-1]["content"]
    assert '"required": ["day"]' in sent[-1]["content"]


def test_a_second_wrong_answer_is_an_error(server: Server) -> None:
    server.answer = lambda request: Reply(answer("On Tuesday, I think."))
    with pytest.raises(ProviderError, match="also when told"):
        Client(model_at(server)).complete(QUESTION, SCHEMA)
    assert len(server.requests) == 2


def test_a_call_to_a_tool_is_not_held_to_the_schema() -> None:
    wants = Completion("", "m", calls=(ToolCall("1", "f", "{}"),), finish="tool_calls")
    tool = ToolSpec("f", "", {"type": "object"})
    got = Client(FakeModel([wants])).complete(QUESTION, SCHEMA, tools=[tool])
    assert got.calls
    assert got.data is None
