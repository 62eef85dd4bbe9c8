"""The reranker tried for real: past the caches, whatever the breaker says, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.paths import Workspace
from commonplace.config import Settings
from commonplace.providers import opening, probe
from commonplace.providers.costs import Ledger
from tests.providers.reranking import apis
from tests.providers.server import Reply, Server


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(apis.jina)
    yield made
    made.close()


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> Callable[..., Settings]:
    (tmp_path / "key").write_text(apis.KEY)

    def load(**fields: object) -> Settings:
        place = {"base_url": f"{server.url}/v1", "key": str(tmp_path / "key")}
        chosen = {"provider": "jina", **place} | fields
        return config.load(tmp_path, overrides={f"reranking.{key}": value for key, value in chosen.items()})

    return load


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger.of(Workspace(tmp_path))
    yield made
    made.close()


def test_nothing_set_is_nothing_tried(tmp_path: Path) -> None:
    assert probe.reranker(config.load(tmp_path)) is None


def test_three_texts_are_scored(settings: Callable[..., Settings], accounts: Ledger, server: Server) -> None:
    found = probe.reranker(settings(), accounts)
    assert found is not None
    assert server.requests[-1].json["documents"] == list(probe.TEXTS)
    assert (found.provider, found.model, found.answered) == ("jina", "jina-reranker-v3", True)
    (row,) = accounts.costs()
    assert (row.name, row.calls, row.cached) == ("test", 1, 0)


def test_a_reranker_that_works_finds_the_answer(settings: Callable[..., Settings]) -> None:
    found = probe.reranker(settings(provider="fake", base_url="", key=""))
    assert found is not None
    assert found.answered


def test_it_is_asked_though_it_is_left_alone_and_an_answer_ends_that(
    settings: Callable[..., Settings], server: Server
) -> None:
    server.answer = lambda request: Reply({"detail": "invalid api token"}, 401)
    for _ in range(2):
        found = probe.reranker(settings())
        assert found is not None
        assert "HTTP 401" in found.trouble
        assert found.remedy == "check the key (the one that reranking.key names)"
    assert len(opening.breaker().opened()) == 1
    server.answer = apis.jina
    assert probe.reranker(settings()).answered  # type: ignore[union-attr]
    assert opening.left_alone() == []


def test_what_cannot_even_be_made_is_trouble(
    settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    found = probe.reranker(settings(base_url="", key=""))
    assert found is not None
    assert found.trouble == "jina: no key: set JINA_API_KEY"
    found = probe.reranker(settings(provider="llm"))
    assert found is not None
    assert "llm needs a language model" in found.trouble
    assert opening.left_alone() == []


def test_the_language_model_is_tried_as_a_reranker(tmp_path: Path) -> None:
    overrides = {"reranking.provider": "llm", "llm.provider": "fake", "llm.model": "echo"}
    found = probe.reranker(config.load(tmp_path, overrides=overrides))
    assert found is not None
    assert (found.provider, found.model) == ("llm", "fake/echo")
    assert "neither yes nor no" in found.trouble  # it says again what it is asked


def test_the_language_model_is_tried_though_it_is_left_alone(tmp_path: Path) -> None:
    server = Server(lambda request: Reply({"error": "no such key"}, 401))
    overrides = {"reranking.provider": "llm", "llm.provider": "compatible", "llm.model": "m"}
    settings = config.load(tmp_path, overrides={**overrides, "llm.base_url": f"{server.url}/v1"})
    for _ in range(2):
        found = probe.reranker(settings)
        assert found is not None
        assert "HTTP 401" in found.trouble
    server.close()
