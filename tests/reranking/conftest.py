"""Rerankers behind scripted servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from commonplace import transport
from commonplace.config.credentials import Secret
from commonplace.embedding import configured
from commonplace.reranking import registry
from commonplace.reranking.base import Spec
from commonplace.reranking.remote import RemoteReranker

from ..embedding.server import Server
from . import apis

Make = Callable[..., RemoteReranker]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "FIRST_PAUSE_S", 0.01)


@pytest.fixture(params=sorted(apis.APIS))
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(provider: str) -> Iterator[Server]:
    made = Server(apis.APIS[provider])
    yield made
    made.close()


@pytest.fixture
def make(provider: str, server: Server) -> Iterator[Make]:
    made: list[RemoteReranker] = []

    def build(**fields: object) -> RemoteReranker:
        key = {} if provider in apis.KEYLESS else {"key": Secret(apis.KEY)}
        name = "compatible" if provider == "tei" else provider
        module, _, function = registry.find(name).factory.partition(":")
        spec = Spec(name, **{"base_url": f"{server.url}/v1", **key, **fields})
        made.append(getattr(__import__(module, fromlist=[function]), function)(spec))
        return made[-1]

    yield build
    for model in made:
        model.close()


@pytest.fixture
def opened() -> Callable[[], list[str]]:
    """What the breaker leaves alone."""
    return configured.left_alone
