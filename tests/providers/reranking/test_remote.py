"""Every rerank endpoint over real HTTP, against servers that behave as its documentation says."""

from __future__ import annotations

import re
import time

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


def test_making_one_asks_nothing(provider: str, make: Make, server: Server) -> None:
    model = make()
    assert model.name.startswith(f"{model.service.name}:")
    assert model.score(QUESTION, []) == []
    assert server.requests == []


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
    if provider == "tei":
        server.script.append(Reply(b"missing field `texts`", 422))
    too_long = Reply({"error": "input is too large to process. increase the physical batch size"}, 500)
    server.script.append(too_long)
    assert make().score(QUESTION, texts) == pytest.approx(expected(provider, texts))
    assert [len(texts_of(request)) for request in server.requests[-3:]] == [4, 2, 2]


def test_a_text_that_is_too_long_alone_is_shortened(provider: str, make: Make, server: Server) -> None:
    if provider == "tei":
        server.script.append(Reply(b"missing field `texts`", 422))
    server.script.append(Reply({"error": "input is too large to process"}, 500))
    text = "One sentence of some length. Another one follows here."
    (score,) = make().score(QUESTION, [text])
    (sent,) = texts_of(server.requests[-1])
    assert text.startswith(sent)
    assert len(sent) < len(text)
    assert [score] == pytest.approx(expected(provider, [sent]))


def test_what_cannot_be_shortened_is_an_error(provider: str, make: Make, server: Server) -> None:
    server.answer = lambda request: Reply({"error": "input is too large to process"}, 500)
    assert "too large" in str(refused(make(), ["tea"]))


def test_the_wrong_kind_of_request_is_made_once() -> None:
    server = Server(apis.tei)
    model = remote.load(Spec("compatible", base_url=f"{server.url}/v1/rerank"))
    try:
        model.score(QUESTION, ["tea", "milk"])
        model.score(QUESTION, ["tea", "milk"])
        assert ["documents" in request.json for request in server.requests] == [True, False, False]
        assert server.requests[-1].json["truncate"] is True
    finally:
        model.close()
        server.close()


def test_a_second_refusal_of_the_other_form_is_an_error(make: Make, server: Server) -> None:
    """A server that wants `texts` and refuses them as well is not asked in turns for ever."""
    server.answer = lambda request: Reply(b"missing field `texts`", 422)
    model = remote.load(Spec("compatible", "m", f"{server.url}/v1"))
    for asked in (2, 3):
        with pytest.raises(ProviderError, match="`texts`"):
            model.score(QUESTION, ["tea"])
        assert len(server.requests) == asked
    assert "texts" in server.requests[-1].json


def test_another_refusal_is_no_reason_to_ask_otherwise(provider: str, make: Make, server: Server) -> None:
    server.answer = lambda request: Reply({"error": "no such model"}, 422)
    assert str(refused(make())) == f"{make().service.name}: HTTP 422: no such model"
    assert len(server.requests) == 1


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
        name = "score" if provider == "tei" else "relevance_score"
        rows = (
            [{"index": index, name: score} for index, score in results]
            if isinstance(results, list)
            else results
        )
        server.script = [Reply(apis.listing(provider, rows))]
        error = refused(make())
        assert told in str(error)
        assert "\n" not in str(error), (results, told)


def test_garbage_is_an_error(make: Make, server: Server) -> None:
    for body in [b"<html>busy</html>", b"", b"[1, 2]", b'{"results": [3]}', b"NaN", b"{}"]:
        server.script = [Reply(body)]
        assert re.search("is not JSON|holds no scores|without a place", str(refused(make()))), body


def test_a_wrong_key_is_told_without_it(make: Make, server: Server) -> None:
    server.answer = lambda request: Reply({"message": f"invalid api token {apis.KEY}"}, 401)
    model = make(key=Secret(apis.KEY))
    error = refused(model)
    assert (error.status, error.permanent, len(server.requests)) == (401, True, 1)
    assert "[REDACTED:key]" in str(error)


def test_passing_faults_are_tried_again(provider: str, make: Make, server: Server) -> None:
    for status in [429, 500, 503]:
        server.script += [Reply({"error": "busy"}, status, {"retry-after": "0"})] * 2
        assert make().score(QUESTION, ["tea"]) == pytest.approx(expected(provider, ["tea"])), status
        server.script += [Reply({"error": "busy"}, status, {"retry-after": "0"})] * 3
        error = refused(make(), ["milk"])
        assert (error.status, error.permanent) == (status, False)


def test_a_longer_wait_than_there_is_time_is_not_waited_for(make: Make, server: Server) -> None:
    server.answer = lambda request: Reply({"error": "slow down"}, 429, {"retry-after": "60"})
    assert refused(make()).retry_after_s == 60
    assert len(server.requests) == 1


def test_it_gives_up_in_time(make: Make, server: Server) -> None:
    server.answer = lambda request: Reply({}, delay_s=20)
    began = time.monotonic()
    error = refused(make(query_deadline_s=0.3))
    assert "did not answer within 0.3 s" in str(error)
    assert not error.permanent
    assert time.monotonic() - began < 10


def test_nobody_there_is_an_error(make: Make) -> None:
    error = refused(make(base_url="http://127.0.0.1:9/v1", query_deadline_s=0.5))
    assert "127.0.0.1:9" in str(error)


def test_a_key_of_the_environment_goes_to_its_own_provider_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("cohere", "jina", "voyage"):
        variable = f"{name.upper()}_API_KEY"
        monkeypatch.delenv(variable, raising=False)
        with pytest.raises(ProviderError, match=f"no key: set {variable}"):
            remote.load(Spec(name))
        monkeypatch.setenv(variable, apis.KEY)
        assert remote.load(Spec(name)).endpoint._key.reveal() == apis.KEY
        assert not remote.load(Spec(name, base_url="http://127.0.0.1:9/v1")).endpoint._key


def test_an_address_is_needed_and_a_key_does_not_travel_in_clear() -> None:
    with pytest.raises(ConfigError, match=r"reranking\.base_url: compatible needs one"):
        remote.load(Spec("compatible"))
    with pytest.raises(ProviderError, match=r"a key is not sent to example\.org"):
        remote.load(Spec("compatible", base_url="http://example.org", key=Secret(apis.KEY)))


def test_a_server_without_a_name_for_its_model_is_called_by_its_address() -> None:
    bare = remote.load(Spec("compatible", base_url="http://127.0.0.1:8080/v1/"))
    named = remote.load(Spec("compatible", "bge", "http://127.0.0.1:8080/v1"))
    assert (bare.name, named.name) == ("compatible:127.0.0.1:8080", "compatible:bge")
