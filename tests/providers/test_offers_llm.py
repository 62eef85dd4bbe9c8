"""The language models that a provider lists, over HTTP on loopback."""

from __future__ import annotations

import pytest

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers.catalog import Spec
from commonplace.providers.downloads import llm_offers
from tests.providers.llm.conftest import KEY
from tests.providers.server import Reply, Server


def test_names_come_sorted_and_the_key_is_sent(server: Server) -> None:
    server.answer = lambda request: Reply({"data": [{"id": "qwen3"}, {"id": "gemma3"}]})
    assert llm_offers(Spec("compatible", base_url=f"{server.url}/v1", key=Secret(KEY))) == ("gemma3", "qwen3")
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/v1/models")
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_a_providers_own_key_is_for_its_own_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.answer = lambda request: Reply({"data": []})
    assert llm_offers(Spec("openai", base_url=f"{server.url}/v1")) == ()
    assert "authorization" not in server.requests[0].headers


def test_what_goes_wrong_is_told_without_the_key(server: Server) -> None:
    spec = Spec("vllm", base_url=f"{server.url}/v1", key=Secret(KEY))
    server.answer = lambda request: Reply({"error": {"message": f"bad key {KEY}"}}, 401)
    with pytest.raises(ProviderError, match="401") as caught:
        llm_offers(spec)
    assert KEY not in str(caught.value)
    server.answer = lambda request: Reply({"models": []})
    with pytest.raises(ProviderError, match="lists no models"):
        llm_offers(spec)


def test_who_has_no_address_has_no_list() -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url"):
        llm_offers(Spec("compatible"))
