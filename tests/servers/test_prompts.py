"""Prompts that people pick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.servers import methods, protocol
from commonplace.servers.methods import Service
from commonplace.servers.protocol import Connection
from tests.servers.test_protocol import asked


def got(service: Service, **params: object) -> Any:
    return methods.respond(asked("prompts/get", params), Connection(), service)


def text(answer: Any) -> str:
    (message,) = answer["result"]["messages"]
    assert message["role"] == "user"
    return str(message["content"]["text"])


def test_recall_brings_the_passages(service: Service, workspace: Path) -> None:
    told = text(got(service, name="recall", arguments={"query": "When do we deploy?"}))
    assert told.startswith("When do we deploy?\n\n<recalled-notes")
    assert "From memory/2026-02-13.md#L" in told
    assert "memory_search" in told
    nothing = text(got(service, name="recall", arguments={"query": "zeppelin quasar"}))
    assert "hold nothing about it" in nothing
    (workspace / "MEMORY.md").write_text("# Memory\n\n- The zeppelin is late, perhaps. <!-- tentative -->\n")
    guess = text(got(service, name="recall", arguments={"query": "zeppelin late"}))
    assert "hold nothing sure about it" in guess
    assert "(1 tentative passage left out; memory_search finds them.)" in guess


def test_reflect_says_what_to_keep(service: Service, workspace: Path) -> None:
    assert "memory_write" in text(got(service, name="reflect"))
    assert "above all the {budget}," in text(
        got(service, name="reflect", arguments={"focus": "the  {budget}"})
    )
    assert len(list(workspace.rglob("*.md"))) == 3  # it is the model that writes


def test_what_is_wrong_is_told(service: Service) -> None:
    for params, told in [
        ({}, "name is missing"),
        ({"name": "recal"}, "unknown prompt 'recal'; there are recall, reflect"),
        ({"name": "recall"}, "the argument query is missing"),
        ({"name": "recall", "arguments": {"query": " "}}, "the argument query is missing"),
        (
            {"name": "recall", "arguments": {"query": "x", "limit": "3"}},
            "unknown argument 'limit'; there is query",
        ),
        ({"name": "recall", "arguments": {"query": 3}}, "an object of texts"),
        ({"name": "recall", "arguments": [1]}, "an object of texts"),
    ]:
        error = got(service, **params)["error"]
        assert error["code"] == protocol.PARAMS, (params, told)
        assert told in error["message"]
