"""Models tried for real: over HTTP on loopback, in this process, and when they fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.config import Settings
from commonplace.providers import opening, probe
from commonplace.providers.costs import Ledger
from tests.providers.embedding.apis import DIMENSIONS, KEY, compatible, openai
from tests.providers.llm.conftest import answer
from tests.providers.reranking import apis
from tests.providers.server import Reply, Server


def settings(root: Path, **keys: object) -> Settings:
    return config.load(root, overrides={name.replace("__", "."): value for name, value in keys.items()})


@pytest.fixture
def told(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "key").write_text(KEY)
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", KEY)
    place = {"base_url": f"{server.url}/v1", "key": str(tmp_path / "key"), "model": "m"}
    names = {"embedding": "openai", "llm": "compatible", "reranking": "jina"}
    keys = {f"{kind}__{key}": value for kind in names for key, value in place.items()}
    return settings(tmp_path, **keys, **{f"{kind}__provider": name for kind, name in names.items()})


def everything(root: Path, told: Settings) -> list[probe.Trial | None]:
    ledger = Ledger.of(Workspace(root))
    found = probe.embedders(told.embedding, ledger)
    return [*found, probe.llm(Workspace(root), told), probe.reranker(told, ledger)]


def test_nothing_set_is_nothing_tried(tmp_path: Path) -> None:
    none = settings(tmp_path, embedding__provider="none")
    assert everything(tmp_path, none) == [None, None]


def test_every_trial_is_a_call_that_is_recorded_and_not_cached(
    server: Server, tmp_path: Path, told: Settings
) -> None:
    by_path = {"embeddings": openai, "rerank": apis.jina, "completions": lambda request: Reply(answer("yes"))}
    server.answer = lambda request: by_path[request.path.rpartition("/")[2]](request)
    for _ in range(2):
        embedder, llm, reranker = everything(tmp_path, told)
        assert embedder
        assert llm
        assert reranker
        assert (embedder.trouble, embedder.provider, embedder.model) == ("", "openai", "m")
        assert (embedder.dimensions, embedder.scripts) == (DIMENSIONS, {"latin", "cjk"})
        assert (llm.trouble, llm.model, llm.tokens_in, llm.tokens_out) == ("", "m", 19, 10)
        assert (reranker.trouble, reranker.provider, reranker.model) == ("", "jina", "m")
        assert min(embedder.seconds, llm.seconds, reranker.seconds) > 0
    asked = [request.json for request in server.requests]
    assert [one["input"] for one in asked if "input" in one] == [[probe.QUESTION], [probe.PASSAGE]] * 2
    assert [one["documents"] for one in asked if "documents" in one] == [list(probe.TEXTS)] * 2
    (row,) = Ledger.of(Workspace(tmp_path)).costs()
    assert (row.name, row.calls) == ("test", 8)
    assert not list(paths.user_cache_dir().glob("*.sqlite"))


def test_a_refused_key_is_told_and_never_shown_and_asked_again(
    server: Server, tmp_path: Path, told: Settings
) -> None:
    server.answer = lambda request: Reply({"error": {"message": f"bad key {KEY}"}}, 401)
    for _ in range(2):
        before = {one.name: one.until_s for one in opening.SHARED.opened()}
        for found in everything(tmp_path, told):
            assert found is not None
            assert "401" in found.trouble
            assert KEY not in repr(found)
        opened = opening.SHARED.opened()
        assert len(opened) == 3
        assert all(one.permanent for one in opened)
        assert all(one.until_s - before.get(one.name, one.until_s) < 60 for one in opened), "not prolonged"
    server.answer = openai
    assert probe.embedders(told.embedding)[0].trouble == ""
    assert len(opening.SHARED.opened()) == 2


def test_a_cap_holds_for_trials(server: Server, tmp_path: Path, told: Settings) -> None:
    parts = (told.embedding, told.llm, told.reranking)
    embedding, llm, reranking = (part._replace(max_tokens_a_day=3) for part in parts)  # type: ignore[attr-defined]
    capped = told._replace(embedding=embedding, llm=llm, reranking=reranking)
    for found in everything(tmp_path, capped):
        assert found is not None
        assert "max_tokens_a_day" in found.trouble
    assert server.requests == []
    assert opening.SHARED.opened() == []


def test_the_wanted_provider_and_each_that_stands_in(server: Server, tmp_path: Path) -> None:
    server.answer = compatible
    place = {"embedding__model": "m", "embedding__base_url": f"{server.url}/v1"}
    told = settings(
        tmp_path, embedding__provider="compatible", embedding__fallback=("fake", "builtin"), **place
    )
    found = probe.embedders(told.embedding)
    assert [(one.provider, one.trouble) for one in found] == [
        ("compatible", ""),
        ("fake", ""),
        ("builtin", ""),
    ]
    assert (found[2].model, found[2].dimensions, found[2].scripts) == (
        "all-MiniLM-L6-v2",
        384,
        {"latin", "han"},
    )


def test_what_cannot_even_be_made_is_trouble(tmp_path: Path) -> None:
    key = {"embedding__key": str(tmp_path / "nowhere")}
    told = settings(tmp_path, embedding__provider="openai", llm__provider="compatible", **key)
    embedder, llm, _ = everything(tmp_path, told)
    assert embedder
    assert llm
    assert embedder.trouble.startswith("embedding.key: cannot be read")
    assert "llm.base_url" in llm.trouble
    gone = settings(tmp_path, embedding__provider="fastembed", embedding__model="nowhere")
    assert probe.embedders(gone.embedding)[0].trouble
    told = settings(tmp_path, reranking__provider="llm")
    found = probe.reranker(told)
    assert found
    assert "needs a language model" in found.trouble
