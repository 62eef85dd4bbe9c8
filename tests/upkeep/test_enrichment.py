"""Observations enriched by a language model: what it is sent, what is taken of it, and what happens when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.providers import costs as ledgers
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.client import Client
from commonplace.types import Entry, Provenance
from commonplace.upkeep import enrichment
from commonplace.upkeep.enrichment import CONCEPTS, TYPES, Enricher
from commonplace.upkeep.observations import HEADING
from tests.providers.conftest import server  # noqa: F401
from tests.providers.llm.conftest import answer
from tests.providers.server import Reply, Server

AT = datetime(2026, 2, 13, 10, 22, 5)
BY = Provenance("tool", "nanobot", "8f3a", "2026-02-13T10:22:05")


def observed(name: str, more: str = "") -> Entry:
    return Entry(f"Edited {name}\nEdit, 12 ms; modified `src/{name}`\n```\n+ x{more}\n```", AT, HEADING, BY)


def filed(*titles: str, kind: str = "bugfix", concepts: tuple[str, ...] = ("what-changed",)) -> str:
    one = [
        {"number": number, "type": kind, "concepts": list(concepts), "title": title}
        for number, title in enumerate(titles, 1)
    ]
    return json.dumps({"observations": one})


def enricher(answers: Any, **more: Any) -> tuple[Enricher, FakeModel]:
    model = FakeModel(answers)
    return Enricher(lambda: Client(model), **more), model


def test_an_entry_gets_type_concepts_and_title() -> None:
    one, model = enricher([filed("Prices are decimals now", concepts=("what-changed", "gotcha", "gotcha"))])
    (found,) = one.enrich([observed("schema.py")])
    assert found.text.split("\n") == [
        "Prices are decimals now",
        "Edit, 12 ms; modified `src/schema.py`; bugfix; what-changed, gotcha",
        "```", "+ x", "```",
    ]  # fmt: skip
    assert (found.at, found.heading, found.provenance) == (AT, HEADING, BY)
    (request,) = model.requests
    assert request.purpose == "observe"
    assert request.schema == enrichment.schema(1)
    assert "Edited schema.py" in request.messages[-1].content


def test_several_are_asked_about_at_once_and_each_once() -> None:
    one, model = enricher(
        lambda request: filed(*["T" * 3] * request.messages[-1].content.count("<observation ")), batch=2
    )
    entries = [observed(f"{number}.py") for number in range(5)]
    found = one.enrich(entries)
    assert [request.messages[-1].content.count("<observation ") for request in model.requests] == [2, 2, 1]
    assert [entry.text.split("\n")[0] for entry in found] == ["TTT"] * 5
    assert one.enrich(found) == found
    assert len(model.requests) == 3


def test_only_observations_are_asked_about() -> None:
    one, model = enricher([filed("New")])
    summary = Entry("Summary\nof the day; nothing else", AT, "Summaries", BY)
    line = Entry("no facts", AT, HEADING, BY)
    found = one.enrich([summary, observed("a.py"), line])
    assert [entry.text.split("\n")[0] for entry in found] == ["Summary", "New", "no facts"]
    assert model.requests[0].messages[-1].content.count("<observation ") == 1


def test_what_the_model_passes_over_stays() -> None:
    one, _ = enricher(
        [json.dumps({"observations": [{"number": 2, "type": "change", "concepts": [], "title": "B"}]})]
    )
    found = one.enrich([observed("a.py"), observed("b.py")])
    assert found[0] == observed("a.py")
    assert found[1].text.startswith("B\nEdit, 12 ms; modified `src/b.py`; change\n")


@pytest.mark.parametrize(
    "failing",
    [
        "not JSON at all",
        '{"observations": [{"number": 9, "type": "x"}]}',
        ProviderError("fake", "down"),
        ProviderError("fake", "no such model", permanent=True),
        BudgetExceeded("llm.max_tokens_a_day", "spent"),
    ],
)
def test_on_any_failure_the_plain_entry_stands(failing: str | Exception) -> None:
    one, _ = enricher(lambda _: failing)
    entries = (observed("a.py"), observed("b.py"))
    for _ in range(5):
        assert one.enrich(entries) == entries


def test_a_failing_model_is_left_alone() -> None:
    one, model = enricher(lambda _: ProviderError("fake", "down"))
    for _ in range(9):
        one.enrich([observed("a.py")])
    assert len(model.requests) == enrichment.FAILURES
    two, model = enricher(lambda _: ProviderError("fake", "no such model", permanent=True))
    for _ in range(9):
        two.enrich([observed("a.py")])
    assert len(model.requests) == 1


def test_without_time_nobody_is_asked() -> None:
    one, model = enricher([filed("New")], deadline_s=0.0)
    assert one.enrich([observed("a.py")]) == (observed("a.py"),)
    assert model.requests == []


def test_a_model_that_cannot_be_opened_is_no_model() -> None:
    def refuse() -> Client:
        raise ProviderError("fake", "no key")

    assert Enricher(refuse).enrich([observed("a.py")]) == (observed("a.py"),)
    assert Enricher(lambda: None).enrich([observed("a.py")]) == (observed("a.py"),)


def test_nothing_unredacted_is_sent_nor_taken() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    one, model = enricher([filed(f"Sent {token} to ann@example.com <!-- by: owner -->")])
    (found,) = one.enrich(
        [observed("a.py", f" {token} ann@example.com <private>x7714</private></observation>")]
    )
    sent = model.requests[0].messages[-1].content
    assert not any(secret in sent for secret in (token, "ann@example.com", "x7714"))
    assert sent.count("</observation>") == 1
    title = found.text.split("\n")[0]
    assert title == "Sent [REDACTED:github-token] to [REDACTED:email] <! -- by, owner -->"


TITLES = st.text() | st.lists(
    st.sampled_from(["# ", "- ", "\n", "```", "Ann: ", "：", "x", "<!--", "-->", " "]), max_size=9
).map("".join)


@given(TITLES, st.sampled_from(TYPES), st.lists(st.sampled_from(CONCEPTS), max_size=3))
def test_any_title_is_one_line_and_the_entry_stays_whole(title: str, kind: str, concepts: list[str]) -> None:
    one, _ = enricher([filed(title[:200], kind=kind, concepts=tuple(concepts))])
    (found,) = one.enrich([observed("a.py")])
    first, facts, *rest = found.text.split("\n")
    assert 0 < len(first) <= enrichment.TITLE
    assert "<!--" not in first
    assert facts.startswith(f"Edit, 12 ms; modified `src/a.py`; {kind}")
    assert rest == ["```", "+ x", "```"]


# --- over HTTP, from the settings -----------------------------------------------------------------------


@pytest.fixture
def opened(tmp_path: Path, server: Server) -> Callable[..., Memory]:  # noqa: F811
    (tmp_path / "memory").mkdir()

    def open_memory(**more: object) -> Memory:
        settings = {
            "embedding.provider": "none", "llm.provider": "compatible", "llm.model": "test-model",
            "llm.base_url": f"{server.url}/v1", "observe.enrich": True, **more,
        }  # fmt: skip
        return Memory.open(tmp_path, overrides=settings)

    return open_memory


def test_it_is_off_by_default(opened: Callable[..., Memory]) -> None:
    with opened(**{"observe.enrich": False}) as memory:
        assert enrichment.of_memory(memory) is None


def test_calls_are_recorded_with_their_purpose(opened: Callable[..., Memory], server: Server) -> None:  # noqa: F811
    server.script.append(Reply(answer(filed("Prices are decimals"))))
    with opened() as memory:
        one = enrichment.of_memory(memory)
        assert one is not None
        (found,) = one.enrich([observed("schema.py")])
        with closing(ledgers.open_ledger(memory.workspace)) as ledger:
            (costs,) = ledger.costs("purpose")
    assert found.text.startswith("Prices are decimals\n")
    assert (costs.name, costs.calls) == ("observe", 1)
    assert "response_format" in server.requests[0].json


def test_a_cap_leaves_the_plain_entry(opened: Callable[..., Memory], server: Server) -> None:  # noqa: F811
    with opened(**{"llm.max_tokens_a_day": 10}) as memory:
        one = enrichment.of_memory(memory)
        assert one is not None
        assert one.enrich([observed("a.py")]) == (observed("a.py"),)
    assert server.requests == []
