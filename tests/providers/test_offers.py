"""The models of each provider: from its own list, or as they are known."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from commonplace.base.errors import CommonplaceError, ConfigError, ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import downloads, fastembed, services
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.downloads import Offer
from tests.providers.server import Reply, Server, serving

needs_fastembed = pytest.mark.skipif(find_spec("fastembed") is None, reason="fastembed is an extra")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@needs_fastembed
def test_fastembed_tells_sizes_languages_and_what_is_here() -> None:
    place = fastembed.cache_of(fastembed.find("BAAI/bge-small-en-v1.5")) / "snapshots" / "1"
    place.mkdir(parents=True)
    (place / "model_optimized.onnx").write_bytes(b"")
    found = {one.model: one for one in downloads.offers(Spec("fastembed"))}
    small = found["BAAI/bge-small-zh-v1.5"]
    assert small == Offer("BAAI/bge-small-zh-v1.5", 512, 90_000_000, small.about)
    assert "Chinese" in small.about
    assert found["BAAI/bge-small-en-v1.5"].here
    assert all(one.about for one in found.values())
    assert next(iter(found)) == "BAAI/bge-small-en-v1.5", "what is here comes before the others"


def test_ollama_lists_what_the_server_has(server: Server) -> None:
    server.answer = lambda request: Reply(
        {"object": "list", "data": [{"id": "bge-m3:latest"}, {"id": "qwen3:8b"}]}
    )
    found = downloads.offers(Spec("ollama", base_url=server.url))
    assert [(one.model, one.here) for one in found] == [("bge-m3", True), ("qwen3:8b", True)]
    assert server.requests[0].path == "/v1/models"
    assert found[0].dimensions == 1024
    assert found[1].about == "", "of a model that nobody knows no languages are told"


def test_a_compatible_server_is_asked_with_its_key(server: Server) -> None:
    server.answer = lambda request: Reply({"object": "list", "data": [{"id": "bge-m3"}, {"id": "x"}]})
    spec = Spec("compatible", base_url=f"{server.url}/v1", key=Secret("sk-offers-012345"))
    assert [one.model for one in downloads.offers(spec)] == ["bge-m3", "x"]
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/v1/models")
    assert request.headers["authorization"] == "Bearer sk-offers-012345"
    server.answer = lambda request: Reply({"error": "no such page"}, 404)
    with pytest.raises(ProviderError, match="404"):
        downloads.offers(spec)
    server.answer = lambda request: Reply({"data": None})
    with pytest.raises(ProviderError, match="lists no models"):
        downloads.offers(spec)
    with pytest.raises(ConfigError, match="base_url"):
        downloads.offers(Spec("compatible"))


def test_what_a_provider_embeds_with_is_known_without_asking() -> None:
    for provider in ["openai", "gemini", "voyage", "mistral", "cohere"]:
        found = downloads.offers(Spec(provider))
        assert EMBEDDERS.find(provider).model in {one.model for one in found}
        for one in found:
            assert services.family(one.model) is not services.UNKNOWN, provider
            assert one.dimensions, provider
            assert not one.here, provider


def test_providers_of_files_have_no_list() -> None:
    assert downloads.offers(Spec("fake")) == ()
    assert [one.model for one in downloads.offers(Spec("builtin"))] == ["all-MiniLM-L6-v2"]
    with pytest.raises(CommonplaceError):
        downloads.offers(Spec("nobody"))
