"""What it takes to add a provider: one row, and one in the table of services."""

from __future__ import annotations

import pytest

from commonplace.config import providers as rows
from commonplace.providers import reranking as remote
from commonplace.providers import services
from commonplace.providers.catalog import EMBEDDERS, LLMS, RERANKERS, Provider, Spec
from commonplace.providers.embedding import remote as embedding
from commonplace.providers.llm.base import Message, Request
from tests.providers.server import Reply, Server

LIMITS = {"inputs": 8, "tokens": 1000, "input_tokens": 100}


def test_an_embedding_service(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Provider("acme", f"{embedding.__name__}:load", "Acme's models", model="acme-1")
    monkeypatch.setitem(EMBEDDERS.rows, "acme", row)
    monkeypatch.setitem(
        services._table()["embedding"],
        "acme",
        {**LIMITS, "path": "vectors", "texts": "of", "vectors_at": ["vectors"]},
    )
    server = Server(lambda request: Reply({"vectors": [[3.0, 4.0] for _ in request.json["of"]]}))
    try:
        model = EMBEDDERS.create(Spec("acme", base_url=server.url))
        assert model.embed(["a", "b"], "passage").tolist() == [pytest.approx([0.6, 0.8])] * 2
        assert server.requests[0].json == {"model": "acme-1", "of": ["a", "b"]}
        assert server.requests[0].path == "/vectors"
    finally:
        server.close()


def test_a_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RERANKERS.rows, "acme", Provider("acme", f"{remote.__name__}:load", "Acme's"))
    monkeypatch.setitem(services._table()["reranking"], "acme", {**LIMITS, "limit": "count"})
    scores = [{"index": 1, "score": 0.25}, {"index": 0, "score": 0.75}]
    server = Server(lambda request: Reply({"results": scores}))
    try:
        model = RERANKERS.create(Spec("acme", base_url=server.url))
        assert model.score("question", ["a", "b"]) == [0.75, 0.25]
        assert server.requests[0].json == {"query": "question", "documents": ["a", "b"], "count": 2}
    finally:
        server.close()


def test_a_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    server = Server(lambda request: Reply({"model": "acme-1", "choices": [choice]}))
    monkeypatch.setitem(LLMS.rows, "acme", rows._chat("acme", "Acme's models", server.url, model="acme-1"))
    try:
        answer = LLMS.create(Spec("acme")).answer(Request((Message("user", "Is it?"),)))
        assert (answer.text, answer.model) == ("yes", "acme-1")
        assert server.requests[0].path == "/chat/completions"
    finally:
        server.close()
