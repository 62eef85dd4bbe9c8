"""Rerankers in `models list|pull|test`, over real HTTP on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.providers.reranking import apis
from tests.providers.server import Reply, Server, serving

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(apis.voyage) as running:
        yield running


@pytest.fixture
def voyage(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    (tmp_path / "key").write_text(apis.KEY)
    place = {"PROVIDER": "voyage", "BASE_URL": f"{server.url}/v1", "KEY": str(tmp_path / "key")}
    for name, value in place.items():
        monkeypatch.setenv(f"COMMONPLACE_RERANKING_{name}", value)
    return server


def listed(run: Run) -> dict[str, dict[str, object]]:
    rows = json.loads(run("models", "list", "--format", "json").stdout)
    return {row["name"]: row for row in rows if row["kind"] == "reranking"}


def test_the_one_that_is_set_is_tried_with_the_others(run: Run, voyage: Server) -> None:
    result = run("models", "test")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].split()[:2] == ["voyage/rerank-2.5", "yes"]
    data = json.loads(run("models", "test", "--format", "json").stdout)
    assert data["reranking"]["answered"] is True
    costs = json.loads(run("costs", "--format", "json").stdout)
    assert [(row["name"], row["calls"]) for row in costs] == [("test", 2)]


def test_it_can_be_tried_alone(run: Run, voyage: Server) -> None:
    assert "voyage/rerank-2.5  yes" in run("models", "test", "--reranker").stdout
    voyage.answer = lambda request: Reply({"detail": "no such key"}, 403)
    result = run("models", "test", "--reranker")
    assert result.exit_code == 1
    assert "voyage/rerank-2.5  no" in result.stdout
    assert "HTTP 403: no such key" in result.stdout
    assert apis.KEY not in result.output
    result = run("models", "test", "builtin", "--reranker")
    assert result.exit_code == 1
    assert "tries the reranker that is set; leave out the name" in result.stderr


def test_without_one_there_is_nothing_to_try(run: Run) -> None:
    result = run("models", "test", "--reranker")
    assert result.exit_code == 1
    assert "no reranker is set; `commonplace config set reranking.provider NAME`" in result.stderr
    assert json.loads(run("models", "test", "--format", "json").stdout)["reranking"] is None


def test_they_are_listed_with_what_each_lacks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COHERE_API_KEY", "CO_API_KEY", "JINA_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JINA_API_KEY", apis.KEY)
    found = listed(run)
    assert set(found) == {"fastembed", "compatible", "cohere", "jina", "voyage", "llm"}
    assert {row["role"] for row in found.values()} == {""}
    assert found["jina"]["state"] == "key in JINA_API_KEY"
    assert found["cohere"]["remedy"] == "set COHERE_API_KEY or CO_API_KEY"
    assert found["compatible"]["remedy"] == "commonplace config set reranking.base_url ADDRESS"
    assert found["llm"]["state"] == "no language model"
    monkeypatch.setenv("COMMONPLACE_RERANKING_PROVIDER", "llm")
    monkeypatch.setenv("COMMONPLACE_LLM_PROVIDER", "fake")
    row = listed(run)["llm"]
    assert (row["role"], row["ready"], row["state"]) == ("active", True, "asks fake")
    text = run("models", "list").stdout
    assert "\n\nrerankers\n" in text
    assert apis.KEY not in text


@pytest.mark.skipif(not HERE, reason="fastembed is an extra")
def test_a_cross_encoder_is_pulled_by_its_name(run: Run, private_home: Path) -> None:
    from tests.providers.reranking.test_fastembed import NAME, write_cache

    place = write_cache()
    result = run("models", "pull", NAME)
    assert result.stdout.startswith(f"{NAME}: /")
    assert result.stdout.rstrip().endswith(str(place))
    result = run("models", "pull", "nobody/knows-it")
    assert result.exit_code == 1
    assert "none of fastembed's models" in result.stderr
