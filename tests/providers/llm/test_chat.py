"""Chat completions over real HTTP: answers, streams, tools, schemas, and every way of going wrong."""

from __future__ import annotations

import logging
import re
import socket
import subprocess
import sys
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import attempts, http
from commonplace.providers.attempts import TooLarge, Unanswered
from commonplace.providers.catalog import Spec
from commonplace.providers.llm import chat
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


def test_only_needed_headers_are_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/elsewhere")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: yes\nAuthorization: Bearer other")
    server.script = [Reply(answer()), Reply(answer())]
    model_at(server).answer(REQUEST)
    ChatModel(Spec("ollama", "llama", f"{server.url}/v1")).answer(REQUEST)
    with_key, without = (request.headers for request in server.requests)
    assert with_key.pop("authorization") == f"Bearer {KEY}"
    wanted = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length"}
    wanted |= {"user-agent", "x-stainless-raw-response"}
    assert set(with_key) <= wanted
    assert set(without) <= wanted
    assert with_key["user-agent"] == "commonplace"


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


def test_tokens_are_estimated_where_nobody_counts_them(server: Server) -> None:
    server.script = [Reply(answer("星期二部署", usage=None))]
    got = model_at(server).answer(REQUEST)
    assert got.tokens_out == 5
    assert got.tokens_in > 5


def test_counts_that_are_none_are_estimated(server: Server) -> None:
    for usage in [
        {},
        [],
        {"prompt_tokens": -1, "completion_tokens": 5},
        {"prompt_tokens": 5, "completion_tokens": -1},
        {"prompt_tokens": 5},
        {"prompt_tokens": "5", "completion_tokens": 1.5},
    ]:
        server.script = [Reply(answer(usage=usage))]
        got = model_at(server).answer(REQUEST)
        assert (got.tokens_in > 5, got.tokens_out) == (True, 3), usage


def test_text_in_parts_and_arguments_as_objects(server: Server) -> None:
    parts = [{"type": "text", "text": "On "}, {"type": "text", "text": "Tuesday."}]
    calls = [{"function": {"name": "f", "arguments": {"a": 1}}}]
    server.script = [Reply(answer(message={"content": parts, "tool_calls": calls}))]
    got = model_at(server).answer(REQUEST)
    assert got.text == "On Tuesday."
    assert got.calls == (ToolCall(got.calls[0].id, "f", '{"a": 1}'),)
    assert got.calls[0].id


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


def test_a_refusal_may_come_as_not_found(server: Server) -> None:
    server.script = [Reply(refusal("no endpoints found that support tool use: tools are not supported"), 404)]
    server.script.append(Reply(answer(finish=None)))  # type: ignore[arg-type]
    request = replace(REQUEST, tools=(ToolSpec("search", "Search.", {}),))
    assert model_at(server).answer(request).finish == "stop"
    assert "tools" not in server.requests[1].json


def test_a_server_that_refuses_everything_is_left_alone(server: Server) -> None:
    server.answer = lambda request: Reply(refusal("temperature? response_format? logprobs? no"), 400)
    with pytest.raises(ProviderError, match="HTTP 400"):
        model_at(server).answer(replace(REQUEST, schema=SCHEMA, logprobs=1))
    assert len(server.requests) == 5


def test_what_is_known_of_a_provider_is_not_tried(server: Server) -> None:
    server.answer = lambda request: Reply(answer('{"day": "Tuesday"}'))
    for provider in ("anthropic", "deepseek", "openai"):
        model_at(server, provider).answer(replace(REQUEST, schema=SCHEMA))
    words, json_object, strict = (request.json for request in server.requests)
    assert "response_format" not in words
    assert json_object["response_format"] == {"type": "json_object"}
    assert "max_completion_tokens" in strict


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


def test_a_call_without_arguments(server: Server) -> None:
    said = [{"id": "one", "function": {"name": "status", "arguments": None}}]
    server.script = [Reply(answer("One moment.", "tool_calls", message={"tool_calls": said}))]
    got = model_at(server).answer(REQUEST)
    assert (got.text, got.calls, got.finish) == (
        "One moment.",
        (ToolCall("one", "status", "{}"),),
        "tool_calls",
    )


def test_arguments_that_are_no_json_are_not_sent_again(server: Server) -> None:
    calls = (ToolCall("one", "search", '{"q": '), ToolCall("two", "search", '{"q": "a"}'))
    server.script = [Reply(answer())]
    model_at(server).answer(replace(REQUEST, messages=(*QUESTION, Message("assistant", "", calls))))
    sent = server.requests[0].json["messages"][-1]["tool_calls"]
    assert [call["function"]["arguments"] for call in sent] == ["{}", '{"q": "a"}']


@pytest.mark.parametrize(
    "said",
    [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ],
)
def test_a_server_that_takes_no_tools_is_asked_without(server: Server, said: str) -> None:
    server.script = [Reply(refusal(said), 400), Reply(answer("On Tuesday.")), Reply(answer("Yes."))]
    model, request = model_at(server), replace(REQUEST, tools=(ToolSpec("search", "Search.", {}),))
    for _ in range(2):
        model.answer(request)
    assert ["tools" in sent.json for sent in server.requests] == [True, False, False]


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "match"),
    [
        (401, refusal(f"Incorrect API key provided: {KEY}.", code="invalid_api_key"), r"\[REDACTED:key\]"),
        (403, refusal("Country, region, or territory not supported"), "HTTP 403"),
        (404, refusal("The model `test-model` does not exist", code="model_not_found"), "does not exist"),
        (
            429,
            refusal("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
            "quota",
        ),
        (307, b"", "redirects to http://127.0.0.1:9,"),
    ],
)
def test_errors_that_stay_are_not_asked_again(server: Server, status: int, body: object, match: str) -> None:
    headers = {"Location": "http://127.0.0.1:9/steal"} if status == 307 else {}
    error = failure(server, Reply(body, status, headers))
    assert error.permanent
    assert error.status == status
    assert len(server.requests) == 1
    assert re.search(match, str(error))


def test_a_prompt_that_is_too_long(server: Server) -> None:
    said = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )
    error = failure(server, Reply(refusal(said, code="context_length_exceeded"), 400))
    assert isinstance(error, TooLarge)
    assert error.permanent
    request = replace(REQUEST, schema=SCHEMA, logprobs=1)
    assert isinstance(failure(server, Reply(refusal(f"{said} (logprobs)"), 400), request=request), TooLarge)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_errors_that_pass_are_asked_again(server: Server, status: int) -> None:
    server.script = [Reply(refusal("busy"), status), Reply(refusal("busy"), status), Reply(answer())]
    assert model_at(server).answer(REQUEST).text == "On Tuesday."
    assert len(server.requests) == 3


def test_a_server_that_stays_down(server: Server) -> None:
    error = failure(server, *[Reply(refusal("busy"), 500)] * 9)
    assert not error.permanent
    assert len(server.requests) == chat.ATTEMPTS


def test_the_wait_that_is_asked_for_is_kept(server: Server) -> None:
    server.script = [Reply(refusal("slow down"), 429, {"Retry-After": "1"}), Reply(answer())]
    begun = time.monotonic()
    model_at(server).answer(REQUEST)
    assert 1 <= time.monotonic() - begun < 4


def test_a_wait_beyond_the_deadline_is_told_and_not_kept(server: Server) -> None:
    error = failure(server, Reply(refusal("slow down"), 429, {"Retry-After": "30"}))
    assert (error.retry_after_s, error.permanent, error.status) == (30, False, 429)
    assert len(server.requests) == 1


def test_a_silent_server_is_left_at_the_deadline_and_not_asked_again(server: Server) -> None:
    begun = time.monotonic()
    error = failure(server, Reply(answer(), delay_s=5), request=replace(REQUEST, deadline_s=0.4))
    assert isinstance(error, Unanswered)
    assert time.monotonic() - begun < 2
    assert len(server.requests) == 1


def test_a_server_that_sends_a_byte_a_second_is_left_too(server: Server) -> None:
    error = failure(server, Reply(answer(), drip_s=0.1), request=replace(REQUEST, deadline_s=0.4))
    assert isinstance(error, Unanswered)


def test_an_answer_that_breaks_off(server: Server) -> None:
    assert isinstance(failure(server, Reply(answer(), cut=40)), Unanswered)
    assert len(server.requests) == 1


def test_a_connection_that_is_closed_before_an_answer_is_not_asked_again(server: Server) -> None:
    error = failure(server, Reply(dropped=True))
    assert not error.permanent
    assert len(server.requests) == 1


def test_nobody_there() -> None:
    model = ChatModel(Spec("compatible", "m", "http://127.0.0.1:9/v1"))
    with pytest.raises(ProviderError, match=r"http://127\.0\.0\.1:9 cannot be reached") as caught:
        model.answer(replace(REQUEST, deadline_s=2))
    assert not caught.value.permanent


def test_a_server_that_does_not_let_anybody_in_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REACH_S", 0.2)
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        model = ChatModel(Spec("compatible", "m", f"http://127.0.0.1:{full.getsockname()[1]}/v1"))
        begun = time.monotonic()
        with pytest.raises(ProviderError, match="did not answer within") as caught:
            model.answer(REQUEST)
    assert not isinstance(caught.value, Unanswered)
    assert time.monotonic() - begun > 0.7


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


def test_an_endless_answer_is_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "MAX_ANSWER_BYTES", 10_000)
    assert "larger than" in str(failure(server, Reply(answer("x" * 20_000))))


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


def test_what_is_missing_is_told() -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url"):
        ChatModel(Spec("compatible", "m"))
    with pytest.raises(ConfigError, match=r"llm\.model"):
        ChatModel(Spec("ollama"))
    with pytest.raises(ProviderError, match="set OPENAI_API_KEY"):
        ChatModel(Spec("openai", "gpt"))
    with pytest.raises(ProviderError, match="in clear"):
        ChatModel(Spec("compatible", "m", "http://example.com/v1", key=Secret(KEY)))


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_no_log_holds_the_key(server: Server, caplog: pytest.LogCaptureFixture, level: int) -> None:
    caplog.set_level(level)
    server.script = [Reply(answer()), Reply(refusal("bad key"), 401)]
    model = model_at(server)
    model.answer(REQUEST)
    with pytest.raises(ProviderError):
        model.answer(REQUEST)
    assert KEY not in caplog.text
    assert KEY not in repr(vars(model.endpoint))
    assert level == logging.DEBUG or "deploy" not in caplog.text


def test_nothing_is_imported_before_the_first_question() -> None:
    code = (
        "import sys; from commonplace.providers.catalog import LLMS; from commonplace.providers.catalog import Spec;"
        "LLMS.create(Spec('ollama', 'm')); print('httpx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
