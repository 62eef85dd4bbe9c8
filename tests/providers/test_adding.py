"""What it takes to add a provider: one row, and for a service that is embedded or ranked by, one value."""

from __future__ import annotations

import pytest

from commonplace.config import providers as rows
from commonplace.providers import reranking as remote
from commonplace.providers.catalog import EMBEDDERS, LLMS, RERANKERS, Provider, Spec
from commonplace.providers.embedding import remote as embedding
from commonplace.providers.embedding import services
from commonplace.providers.embedding.services import Service
from commonplace.providers.llm.base import Message, Request
from commonplace.providers.packing import Limits
from tests.providers.server import Reply, Server

LIMITS = Limits(inputs=8, tokens=1000, input_tokens=100)


def test_an_embedding_service(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Provider("acme", f"{embedding.__name__}:load", "Acme's models", model="acme-1")
    service = Service(
        "acme",
        lambda call: "vectors",
        lambda call: {"of": list(call.inputs)},
        lambda answer: answer["vectors"],
        LIMITS,
    )
    monkeypatch.setitem(EMBEDDERS.rows, "acme", row)
    monkeypatch.setitem(services.SERVICES, "acme", service)
    server = Server(lambda request: Reply({"vectors": [[3.0, 4.0] for _ in request.json["of"]]}))
    try:
        model = EMBEDDERS.create(Spec("acme", base_url=server.url))
        assert model.embed(["a", "b"], "passage").tolist() == [pytest.approx([0.6, 0.8])] * 2
        assert server.requests[0].json == {"of": ["a", "b"]}
    finally:
        server.close()


def test_a_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    service = remote.Service(
        "acme",
        lambda pairs: {"q": pairs.question, "of": list(pairs.texts)},
        lambda answer: answer["scores"],
        LIMITS,
        usage=lambda answer: None,
    )
    monkeypatch.setitem(RERANKERS.rows, "acme", Provider("acme", f"{remote.__name__}:load", "Acme's"))
    monkeypatch.setitem(remote.SERVICES, "acme", service)
    scores = [{"index": 1, "score": 0.25}, {"index": 0, "score": 0.75}]
    server = Server(lambda request: Reply({"scores": scores}))
    try:
        model = RERANKERS.create(Spec("acme", base_url=server.url))
        assert model.score("question", ["a", "b"]) == [0.75, 0.25]
        assert server.requests[0].json == {"q": "question", "of": ["a", "b"]}
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
