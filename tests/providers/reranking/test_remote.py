"""Every rerank endpoint over real HTTP, against servers that behave as its documentation says."""

from __future__ import annotations

import pytest

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import packing
from commonplace.providers import reranking as remote
from commonplace.providers.catalog import Spec
from commonplace.providers.reranking import RemoteReranker
from tests.providers.reranking import apis
from tests.providers.reranking.conftest import Make
from tests.providers.server import Reply, Server

QUESTION = "When do we deploy? 茶"


def expected(provider: str, texts: list[str], question: str = QUESTION) -> list[float]:
    if provider == "compatible":
        return [remote.sigmoid(apis.logit(question, text)) for text in texts]
    return [apis.chance(question, text) for text in texts]


def refused(model: RemoteReranker, texts: list[str] | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        model.score(QUESTION, texts or ["tea", "milk"])
    assert caught.value.provider == model.service.name
    assert apis.KEY not in str(caught.value)
    assert str(caught.value).isprintable()
    return caught.value


def texts_of(request: object) -> list[str]:
    body = request.json  # type: ignore[attr-defined]
    return body.get("documents") or body["texts"]


def test_scores_come_in_the_order_of_the_texts(provider: str, make: Make) -> None:
    texts = [f"note {number} 茶" for number in range(7)]
    assert make().score(QUESTION, texts) == pytest.approx(expected(provider, texts))


def test_many_texts_become_several_requests(provider: str, make: Make, server: Server) -> None:
    texts = [f"{'word ' * (number % 70)}{number}" for number in range(230)]
    model = make()
    assert model.score(QUESTION, texts) == pytest.approx(expected(provider, texts))
    limits = model.service
    for request in server.requests:
        sent = texts_of(request)
        assert len(sent) <= limits.inputs
        pairs = [packing.tokens(text) + packing.tokens(QUESTION) for text in sent]
        assert sum(pairs) <= limits.tokens
    if limits.inputs < len(texts):
        assert len(server.requests) > 1


def test_a_long_text_is_cut_and_so_is_a_long_question(make: Make, server: Server) -> None:
    model = make()
    most = model.service.input_tokens
    model.score("why " * 50_000, ["tea " * 50_000, "\ud800 half"])
    body = server.requests[-1].json
    question, (long, odd) = body["query"], texts_of(server.requests[-1])
    assert packing.tokens(question) <= most // 2
    assert most * 0.7 < packing.tokens(question) + packing.tokens(long) <= most
    assert odd == "? half"


def test_a_request_that_is_too_large_is_sent_in_halves(provider: str, make: Make, server: Server) -> None:
    texts = [f"note {number}" for number in range(4)]
    too_long = Reply({"error": "input is too large to process. increase the physical batch size"}, 500)
    server.script.append(too_long)
    assert make().score(QUESTION, texts) == pytest.approx(expected(provider, texts))
    assert [len(texts_of(request)) for request in server.requests[-3:]] == [4, 2, 2]


def test_a_text_that_is_too_long_alone_is_shortened(provider: str, make: Make, server: Server) -> None:
    server.script.append(Reply({"error": "input is too large to process"}, 500))
    text = "One sentence of some length. Another one follows here."
    (score,) = make().score(QUESTION, [text])
    (sent,) = texts_of(server.requests[-1])
    assert text.startswith(sent)
    assert len(sent) < len(text)
    assert [score] == pytest.approx(expected(provider, [sent]))


def test_logits_are_remembered(provider: str, make: Make, server: Server) -> None:
    model = make()
    server.answer = lambda request: Reply(apis.listing("x", [{"index": 0, "relevance_score": 3.0}]))
    assert model.score(QUESTION, ["tea"]) == [remote.sigmoid(3.0)]
    server.answer = lambda request: Reply(apis.listing("x", [{"index": 0, "relevance_score": 0.5}]))
    assert model.score(QUESTION, ["tea"]) == [remote.sigmoid(0.5)]
    assert make().score(QUESTION, ["tea"]) == [0.5]


def test_an_answer_that_does_not_fit_is_one_clear_line(provider: str, make: Make, server: Server) -> None:
    for results, told in [
        ([(0, 0.5)], "leaves out 1 of 2 texts"),
        ([(0, 0.5), (0, 0.4)], "a result without a place or a score"),
        ([(0, 0.5), (2, 0.4)], "a result without a place or a score"),
        ([(0, 0.5), (-1, 0.4)], "a result without a place or a score"),
        ([(0, 0.5), (True, 0.4)], "a result without a place or a score"),
        ([(0, 0.5), (1, None)], "a result without a place or a score"),
        ([(0, 0.5), (1, "0.4")], "a result without a place or a score"),
        ([(0, 0.5), (1, 10**400)], "a result without a place or a score"),
        ("none", "holds no scores"),
        (None, "holds no scores"),
    ]:
        rows = (
            [{"index": index, "relevance_score": score} for index, score in results]
            if isinstance(results, list)
            else results
        )
        server.script = [Reply(apis.listing(provider, rows))]
        error = refused(make())
        assert told in str(error)
        assert "\n" not in str(error), (results, told)


def test_an_address_is_needed_and_a_key_does_not_travel_in_clear() -> None:
    with pytest.raises(ConfigError, match=r"reranking\.base_url: compatible needs one"):
        remote.RemoteReranker(Spec("compatible"))
    with pytest.raises(ProviderError, match=r"a key is not sent to example\.org"):
        remote.RemoteReranker(Spec("compatible", base_url="http://example.org", key=Secret(apis.KEY)))
