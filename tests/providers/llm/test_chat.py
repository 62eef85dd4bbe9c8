"""Chat completions over real HTTP: answers, streams, tools, schemas, and every way of going wrong."""

from __future__ import annotations

import time
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts
from commonplace.providers.attempts import Unanswered
from commonplace.providers.catalog import Spec
from commonplace.providers.llm.base import Completion, Message, Request, ToolCall, ToolSpec
from commonplace.providers.llm.chat import ChatModel
from commonplace.providers.opening import open_llm
from tests.providers.llm.conftest import (
    KEY,
    QUESTION,
    answer,
    model_at,
    refusal,
)
from tests.providers.server import Reply, Server

REQUEST = Request(QUESTION, deadline_s=10)
SCHEMA = {
    "type": "object",
    "properties": {"day": {"type": "string"}},
    "required": ["day"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)


def failure(server: Server, *replies: Reply, request: Request = REQUEST) -> ProviderError:
    server.script += replies
    with pytest.raises(ProviderError) as caught:
        model_at(server).answer(request)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__)
    assert KEY not in shown
    assert "\n" not in str(caught.value)
    return caught.value


# --- answers --------------------------------------------------------------------------------------------


def test_an_answer(server: Server) -> None:
    server.script = [Reply(answer())]
    got = model_at(server).answer(REQUEST)
    assert got == Completion("On Tuesday.", "test-model-2026-01-01", 19, 10)
    (sent,) = server.requests
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.json == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "When do we deploy?"},
        ],
        "max_tokens": 1024,
        "temperature": 0.0,
    }


def test_tools(server: Server) -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "search", "arguments": '{"q": "deploy"}'},
    }
    server.script = [Reply(answer(None, "tool_calls", message={"tool_calls": [call]})), Reply(answer())]
    tool = ToolSpec(
        "search", "Search the notes.", {"type": "object", "properties": {"q": {"type": "string"}}}
    )
    request = replace(REQUEST, tools=(tool,))
    got = model_at(server).answer(request)
    assert (got.text, got.finish) == ("", "tool_calls")
    assert got.calls == (ToolCall("call_1", "search", '{"q": "deploy"}'),)
    assert server.requests[0].json["tools"][0]["function"]["name"] == "search"

    turns = (Message("assistant", "", got.calls), Message("tool", "Tuesdays.", answers="call_1"))
    model_at(server).answer(replace(request, messages=QUESTION + turns))
    sent = server.requests[1].json["messages"]
    assert sent[2]["tool_calls"] == [call]
    assert sent[3] == {"role": "tool", "content": "Tuesdays.", "tool_call_id": "call_1"}


def test_probabilities(server: Server) -> None:
    likely = [
        {"token": "yes", "logprob": -0.1, "bytes": None},
        {"token": "no", "logprob": -2.5, "bytes": None},
    ]
    reply = answer("yes")
    blank = {"token": "\n", "logprob": -0.2, "top_logprobs": []}
    rows = [blank, {**likely[0], "top_logprobs": likely}, {"token": ".", "logprob": 0.0}]
    reply["choices"][0]["logprobs"] = {"content": rows, "refusal": None}  # type: ignore[index]
    server.script = [Reply(reply)]
    got = model_at(server).answer(replace(REQUEST, logprobs=2))
    assert got.logprobs == (("yes", -0.1), ("no", -2.5))
    assert server.requests[0].json["logprobs"] is True
    assert server.requests[0].json["top_logprobs"] == 2


# --- schemas and dialects -------------------------------------------------------------------------------


def test_a_schema_is_sent_as_a_constraint(server: Server) -> None:
    server.script = [Reply(answer('{"day": "Tuesday"}'))] * 2
    model = model_at(server)
    model.answer(replace(REQUEST, schema=SCHEMA))
    model.answer(replace(REQUEST, schema={"type": "object", "properties": {"day": {"type": "string"}}}))
    first, second = (request.json["response_format"] for request in server.requests)
    assert first == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    assert second["json_schema"]["strict"] is False


def test_what_a_server_refuses_is_asked_in_another_way_once(server: Server) -> None:
    def serve(request: object) -> Reply:
        form = request.json.get("response_format", {}).get("type")  # type: ignore[attr-defined]
        if form == "json_schema":
            return Reply(refusal("This response_format type is unavailable now"), 400)
        if form == "json_object":
            return Reply(refusal("'response_format.type' must be 'text'"), 400)
        return Reply(answer('{"day": "Tuesday"}'))

    server.answer = serve
    model = model_at(server)
    assert model.answer(replace(REQUEST, schema=SCHEMA)).text == '{"day": "Tuesday"}'
    assert len(server.requests) == 3
    assert "response_format" not in server.requests[2].json
    assert '"required": ["day"]' in server.requests[2].json["messages"][-1]["content"]
    model.answer(replace(REQUEST, schema=SCHEMA))
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("message", "name", "there"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens", False),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_completion_tokens",
            True,
        ),
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature", False),
        ("logprobs are not supported", "top_logprobs", False),
    ],
)
def test_parameters_that_are_refused_are_left_out(
    server: Server, message: str, name: str, there: bool
) -> None:
    server.script = [Reply(refusal(message), 400), Reply(answer())]
    model_at(server).answer(replace(REQUEST, logprobs=1))
    assert (name in server.requests[1].json) is there


def test_a_refusal_may_come_as_not_found_and_one_of_everything_ends(server: Server) -> None:
    server.script = [Reply(refusal("no endpoints found that support tool use: tools are not supported"), 404)]
    server.script.append(Reply(answer(finish=None)))  # type: ignore[arg-type]
    request = replace(REQUEST, tools=(ToolSpec("search", "Search.", {}),))
    assert model_at(server).answer(request).finish == "stop"
    assert "tools" not in server.requests[1].json
    server.answer = lambda request: Reply(refusal("temperature? response_format? logprobs? no"), 422)
    with pytest.raises(ProviderError, match="HTTP 422"):
        model_at(server).answer(replace(REQUEST, schema=SCHEMA, logprobs=1))
    assert len(server.requests) == 7


# --- tool calls -----------------------------------------------------------------------------------------

CALLS = [("search", '{"q": "a"}'), ("get", '{"path": "b"}')]


@pytest.mark.parametrize("ids", [("one", "two"), ("one", "one"), (None, None)])
def test_every_call_has_an_id_of_its_own(server: Server, ids: tuple[str | None, ...]) -> None:
    said = [
        {"id": own, "type": "function", "function": {"name": name, "arguments": arguments}}
        for own, (name, arguments) in zip(ids, CALLS, strict=True)
    ]
    server.script = [Reply(answer(None, "tool_calls", message={"tool_calls": said}))]
    got = model_at(server).answer(REQUEST)
    assert [(call.name, call.arguments) for call in got.calls] == CALLS
    assert all(call.id for call in got.calls)
    assert len({call.id for call in got.calls}) == 2


def test_arguments_that_are_no_json_are_not_sent_again(server: Server) -> None:
    calls = (ToolCall("one", "search", '{"q": '), ToolCall("two", "search", '{"q": "a"}'))
    server.script = [Reply(answer())]
    model_at(server).answer(replace(REQUEST, messages=(*QUESTION, Message("assistant", "", calls))))
    sent = server.requests[0].json["messages"][-1]["tool_calls"]
    assert [call["function"]["arguments"] for call in sent] == ["{}", '{"q": "a"}']


# --- errors ---------------------------------------------------------------------------------------------


def test_a_silent_server_is_left_at_the_deadline_and_not_asked_again(server: Server) -> None:
    begun = time.monotonic()
    error = failure(server, Reply(answer(), delay_s=5), request=replace(REQUEST, deadline_s=0.4))
    assert isinstance(error, Unanswered)
    assert time.monotonic() - begun < 2
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "match"),
    [
        (Reply(b"<html><title>Portal</title><body>Sign in</body></html>"), "not JSON: Portal Sign in"),
        (Reply(b'{"choices": [{"message": {"content": "On '), "not JSON"),
        (Reply({"choices": []}), "no choices"),
        (Reply({"choices": [{"message": None}]}), "no choices with a message"),
        (Reply([1]), "no choices"),
        (Reply({"error": {"message": "No credits", "code": 402}}), "HTTP 402: No credits"),
        (Reply(b"[" * 100_000), "not JSON"),
    ],
)
def test_answers_that_are_none(server: Server, reply: Reply, match: str) -> None:
    server.answer = lambda request: reply
    with pytest.raises(ProviderError, match=match):
        model_at(server).answer(replace(REQUEST, deadline_s=3))


# --- keys and addresses ---------------------------------------------------------------------------------


def test_a_providers_key_stays_with_the_provider(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script = [Reply(answer())]
    ChatModel(Spec("openai", "gpt", f"{server.url}/v1")).answer(REQUEST)
    assert "authorization" not in server.requests[0].headers
    assert KEY not in repr(ChatModel(Spec("openai", "gpt")).__dict__)


def test_the_key_for_language_models_goes_where_the_owner_points(
    monkeypatch: pytest.MonkeyPatch, server: Server, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", KEY)
    server.script = [Reply(answer())]
    chosen = {"provider": "compatible", "model": "m", "base_url": f"{server.url}/v1"}
    settings = config.load(tmp_path, overrides={f"llm.{name}": value for name, value in chosen.items()})
    client = open_llm(None, settings, cached=False)
    assert client is not None
    client.complete(QUESTION)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
