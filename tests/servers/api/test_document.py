"""The description: of all that is served and of nothing else, and it describes itself by the standard."""

from __future__ import annotations

import json

from commonplace.providers.llm import schemas
from commonplace.servers.api import routes, schema
from commonplace.types import Hit, Recall, Status, Usage
from commonplace.types.data import to_data
from tests.schemas import check
from tests.servers.api.conftest import Api

VERBS = ("get", "put", "post", "delete", "patch")


def test_what_is_described_is_what_is_served(api: Api) -> None:
    document = api.document
    described = {(verb.upper(), path) for path, item in document["paths"].items() for verb in item}
    table = {(one.method, one.path) for one in routes.operations()}
    assert described == table | {("POST", "/api/codes"), ("POST", "/api/visits"), ("GET", "/api/events")}
    for method, path in sorted(described - {("GET", "/api/events")}):
        assert api.raw(method, path, {} if method != "GET" else None)[0] not in (404, 405, 500)
        for other in {verb.upper() for verb in VERBS} - {m for m, p in described if p == path}:
            assert api.raw(other, path)[0] == 405
    assert document["openapi"] == "3.1.0"
    names = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    assert len(names) == len(set(names))


def test_every_reference_in_it_leads_somewhere(api: Api) -> None:
    text = json.dumps(api.document)
    for name in {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert name in api.document["components"]["schemas"]


def test_schemas_are_those_that_requests_are_checked_by() -> None:
    for one in routes.operations():
        for part in (*one.query.values(), *one.headers.values(), *([one.body] if one.body else [])):
            check(part)  # no keyword that is described and not obeyed
        assert set(one.required) <= one.query.keys()


def test_values_are_as_their_classes_are_described() -> None:
    hit = Hit("a.md", 1, 2, "text", 0.5, "A", ("A",), None, "memory", "abc123")
    recall = Recall("q", "", 0, 10, (hit,), 2)
    status = Status("/w", "/i", 2, (), 1, 1, 1, 0, 0, 0, 1, "none")
    usage = Usage(True, "/u", opened=2)
    for value in (hit, recall, status, usage):
        described = schema.of(type(value))
        assert schemas.problem(json.loads(json.dumps(to_data(value))), described) == ""
        assert described["required"] == [name for name in described["properties"] if name != "said"]
