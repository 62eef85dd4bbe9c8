"""The order of things: cache, budget, breaker, provider, ledger, whatever happens in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.base.errors import BudgetExceeded, MissingExtra, ProviderError
from commonplace.providers.attempts import Unanswered
from commonplace.providers.cache import AnswerCache
from commonplace.providers.costs import Budget, Ledger
from commonplace.providers.fake import Answer, FakeModel
from commonplace.providers.llm.base import Completion, Message, Request, ToolCall, ToolSpec
from commonplace.providers.llm.client import Client, Estimate
from tests.providers.llm.conftest import KEY, QUESTION, answer, model_at, refusal
from tests.providers.server import Reply, Server

SCHEMA = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
SAID = Completion("On Tuesday.", "fake", 100, 20)


def rows(ledger: Ledger) -> list[tuple[object, ...]]:
    with ledger.database.reading() as connection:
        columns = "purpose, tokens_in, tokens_out, cost, cached, outcome"
        return list(connection.execute(f"SELECT {columns} FROM calls ORDER BY id"))


def reserved(ledger: Ledger) -> int:
    with ledger.database.reading() as connection:
        return int(connection.execute("SELECT count(*) FROM reservations").fetchone()[0])  # type: ignore[index]


def made(ledger: Ledger, *answers: Answer, **more: object) -> tuple[Client, FakeModel]:
    model = FakeModel(answers)
    return Client(model, budget=Budget(ledger, max_tokens_a_day=100_000), **more), model  # type: ignore[arg-type]


def test_a_call_is_recorded(ledger: Ledger) -> None:
    client, _ = made(ledger, SAID)
    assert client.complete(QUESTION, purpose="example") == SAID
    assert rows(ledger) == [("example", 100, 20, 140_000, 0, "ok")]
    assert reserved(ledger) == 0


def test_the_same_question_is_asked_once(ledger: Ledger, tmp_path: Path) -> None:
    client, model = made(ledger, SAID, cache=AnswerCache(tmp_path / "answers.sqlite"))
    first, second = client.complete(QUESTION), client.complete(QUESTION, purpose="other")
    assert (first.cached, second.cached, second.text) == (False, True, "On Tuesday.")
    assert len(model.requests) == 1
    assert rows(ledger) == [("", 100, 20, 140_000, 0, "ok")]


@pytest.mark.parametrize(
    ("failure", "outcome", "tokens_in"),
    [
        (ProviderError("fake", "busy"), "failed", 0),
        (Unanswered("fake", "no answer"), "unanswered", 15),
        (MissingExtra("x", "y"), "failed", 0),
        (KeyboardInterrupt(), "abandoned", 15),
    ],
)
def test_failures_are_recorded_and_not_kept(
    ledger: Ledger, tmp_path: Path, failure: Exception, outcome: str, tokens_in: int
) -> None:
    client, model = made(ledger, failure, SAID, cache=AnswerCache(tmp_path / "answers.sqlite"))
    if isinstance(failure, KeyboardInterrupt):

        def interrupt(request: Request) -> Completion:
            raise failure

        model.answer = interrupt  # type: ignore[method-assign]
    with pytest.raises(type(failure)):
        client.complete(QUESTION)
    assert rows(ledger) == [("", tokens_in, 0, tokens_in * 1000, 0, outcome)]
    assert reserved(ledger) == 0
    if not isinstance(failure, KeyboardInterrupt):
        assert client.complete(QUESTION) == SAID


@pytest.mark.parametrize(
    "said", [Completion("On Tu", "fake", 10, 5, finish="length"), Completion("", "fake", finish="stop")]
)
def test_what_is_cut_off_or_empty_is_not_kept(ledger: Ledger, tmp_path: Path, said: Completion) -> None:
    client, model = made(ledger, said, SAID, cache=AnswerCache(tmp_path / "answers.sqlite"))
    if said.text:
        client.complete(QUESTION)
    else:
        with pytest.raises(ProviderError, match="an empty answer"):
            client.complete(QUESTION)
    assert client.complete(QUESTION) == SAID
    assert len(model.requests) == 2


def test_a_repair_is_a_call_of_its_own_and_only_the_end_is_kept(ledger: Ledger, tmp_path: Path) -> None:
    client, model = made(
        ledger, "on tuesday", '{"day": "Tuesday"}', cache=AnswerCache(tmp_path / "answers.sqlite")
    )
    assert client.complete(QUESTION, SCHEMA).data == {"day": "Tuesday"}
    again = client.complete(QUESTION, SCHEMA)
    assert (again.cached, again.data) == (True, {"day": "Tuesday"})
    assert len(model.requests) == 2
    assert [row[4] for row in rows(ledger)] == [0, 0]


# --- tools ----------------------------------------------------------------------------------------------


def test_an_answer_of_calls_is_budgeted_recorded_and_not_kept(ledger: Ledger, tmp_path: Path) -> None:
    tools = (ToolSpec("search", "Search the notes.", {"type": "object"}),)
    asked = Completion("", "fake", 100, 20, calls=(ToolCall("one", "search", "{}"),), finish="tool_calls")
    client, model = made(ledger, asked, asked, cache=AnswerCache(tmp_path / "answers.sqlite"))
    for _ in range(2):
        got = client.complete(QUESTION, tools=tools, purpose="chat")
        assert (got.calls, got.cached) == (asked.calls, False)
    assert [request.tools for request in model.requests] == [tools] * 2
    assert rows(ledger) == [("chat", 100, 20, 140_000, 0, "ok")] * 2
    client = Client(model, budget=Budget(ledger, max_tokens_a_day=1))
    with pytest.raises(BudgetExceeded):
        client.complete(QUESTION, tools=tools)
    assert len(model.requests) == 2


# --- estimates and secrets ------------------------------------------------------------------------------


def test_an_estimate_spends_nothing(ledger: Ledger, tmp_path: Path) -> None:
    client, model = made(ledger, SAID, cache=AnswerCache(tmp_path / "answers.sqlite"))
    estimate = client.estimate(QUESTION, None, 1000)
    assert estimate == Estimate(15, 1000, 0.002015)
    assert not ledger.database.path.exists()
    assert model.requests == []
    client.complete(QUESTION, max_tokens=1000)
    assert client.estimate(QUESTION, None, 1000) == Estimate(0, 0, 0.0, cached=True)
    assert Client(FakeModel([], "unknown")).estimate(QUESTION, None, 1).dollars is None


def test_neither_key_nor_prompt_nor_answer_reach_the_ledger(tmp_path: Path, server: Server) -> None:
    ledger = Ledger(tmp_path / "workspace" / "ledger.sqlite")
    cache = AnswerCache(tmp_path / "cache" / "answers.sqlite")
    prompt, said = "the password of the vault is swordfish", "an answer about halibut"
    call = ToolCall("1", "search", "{}")
    server.script = [
        Reply(answer(said)),
        Reply(refusal(f"wrong key {KEY}: {prompt}"), 401),
        Reply(answer("", "tool_calls", message={"tool_calls": [{"id": call.id, "function": {"name": "s"}}]})),
    ]
    client = Client(model_at(server), budget=Budget(ledger, max_tokens_a_day=10**6), cache=cache)
    client.complete([Message("user", prompt)], purpose="example")
    with pytest.raises(ProviderError) as caught:
        client.complete([Message("user", prompt + "?")])
    assert KEY not in str(caught.value)
    client.complete([Message("user", prompt + "!")])
    ledger.close()
    cache.close()
    for file in tmp_path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert KEY.encode() not in data
            assert b"swordfish" not in data
            assert b"halibut" not in data or file.parent.name == "cache"
        assert KEY not in str(file)
    assert KEY not in repr(client.model)
