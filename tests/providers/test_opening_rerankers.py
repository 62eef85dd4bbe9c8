"""From settings to a reranker: cached, left alone after failures, recorded, capped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import BudgetExceeded, ConfigError, ProviderError
from commonplace.base.paths import Workspace
from commonplace.config import Settings
from commonplace.providers import opening
from commonplace.providers.costs import Ledger
from commonplace.providers.reranking import GuardedReranker
from tests.providers.reranking import apis
from tests.providers.server import Reply, Server

QUESTION = "When do we deploy?"
TEXTS = ["On Thursday.", "The desk is walnut."]
Open = Callable[..., GuardedReranker]


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(apis.voyage)
    yield made
    made.close()


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> Callable[..., Settings]:
    (tmp_path / "key").write_text(apis.KEY)

    def load(**fields: object) -> Settings:
        chosen = {
            "provider": "voyage",
            "base_url": f"{server.url}/v1",
            "key": str(tmp_path / "key"),
            "timeout_s": 2,
        } | fields
        tables = {key: "limits" if key.startswith("max_") else "reranking" for key in chosen}
        return config.load(
            tmp_path, overrides={f"{tables[key]}.{key}": value for key, value in chosen.items()}
        )

    return load


@pytest.fixture
def accounts(settings: Callable[..., Settings], tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger.of(Workspace(tmp_path))
    yield made
    made.close()


@pytest.fixture
def reopen(settings: Callable[..., Settings], accounts: Ledger) -> Open:
    def build(**fields: object) -> GuardedReranker:
        made = opening.open_reranker(settings(**fields), accounts)
        assert made is not None
        return made

    return build


def rows(accounts: Ledger) -> list[tuple[object, ...]]:
    columns = "purpose, provider, model, tokens_in, cost, cached, outcome"
    with accounts.database.reading() as connection:
        return list(connection.execute(f"SELECT {columns} FROM calls ORDER BY id"))


def test_scores_are_recorded(reopen: Open, server: Server, accounts: Ledger) -> None:
    reranker = reopen()
    assert reranker.name == "voyage:rerank-2.5"
    wanted = [apis.chance(QUESTION, text) for text in TEXTS]
    assert reranker.score(QUESTION, [*TEXTS, TEXTS[0]]) == pytest.approx([*wanted, wanted[0]])
    assert server.requests[-1].json["documents"] == list(TEXTS)
    reranker.close()
    assert rows(accounts) == [("rerank", "voyage", "rerank-2.5", 7, 350, 0, "ok")]


def test_blank_texts_are_not_asked_about(reopen: Open, server: Server) -> None:
    assert reopen().score(QUESTION, ["", " \n", TEXTS[0], TEXTS[0]])[:2] == [0, 0]
    assert server.requests[-1].json["documents"] == [TEXTS[0]]
    assert reopen().score(" ", TEXTS) == [0, 0]
    assert reopen().score(QUESTION, []) == []
    assert len(server.requests) == 1


def test_a_cap_is_held(reopen: Open, server: Server, accounts: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match=r"limits\.max_tokens_a_day: 0 of 20 tokens are taken"):
        reopen(max_tokens_a_day=20).score(QUESTION, TEXTS)
    assert server.requests == []
    free = reopen(max_dollars_a_day=1.0)
    free.score(QUESTION, TEXTS)
    with pytest.raises(BudgetExceeded, match=r"limits\.max_dollars_a_day: the price of voyage/mine"):
        reopen(max_dollars_a_day=1.0, model="mine").score(QUESTION, TEXTS)
    assert list(map(str, opening.SHARED.opened())) == []
    assert [row[6] for row in rows(accounts)] == ["ok"]


def test_a_failure_for_good_is_remembered_by_everybody(
    reopen: Open, server: Server, accounts: Ledger
) -> None:
    server.answer = lambda request: Reply({"detail": f"Provided API key {apis.KEY} is invalid"}, 401)
    with pytest.raises(ProviderError, match="voyage: HTTP 401"):
        reopen().score(QUESTION, TEXTS)
    with pytest.raises(ProviderError, match=r"voyage/rerank-2\.5: left alone after a failure") as caught:
        reopen().score(QUESTION, TEXTS)
    assert caught.value.permanent
    assert len(server.requests) == 1
    (line,) = list(map(str, opening.SHARED.opened()))
    assert line.startswith("voyage/rerank-2.5 is left alone until")
    assert apis.KEY not in line
    assert [row[6] for row in rows(accounts)] == ["failed"]


def test_a_missing_key_file_and_a_missing_language_model_are_told(
    settings: Callable[..., Settings],
) -> None:
    with pytest.raises(ConfigError, match=r"reranking\.key"):
        opening.open_reranker(settings(key="/nowhere/key"))
    with pytest.raises(ConfigError, match=r"reranking\.provider: llm needs a language model"):
        opening.open_reranker(settings(provider="llm"))
