"""Rerankers behind scripted servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from commonplace.config.credentials import Secret
from commonplace.providers import attempts, opening
from commonplace.providers.catalog import Spec
from commonplace.providers.reranking import RemoteReranker
from tests.providers.reranking import apis
from tests.providers.server import Server

Make = Callable[..., RemoteReranker]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)


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
        spec = Spec(provider, **{"base_url": f"{server.url}/v1", **key, **fields})
        made.append(RemoteReranker(spec))
        return made[-1]

    yield build
    for model in made:
        model.close()


@pytest.fixture
def opened() -> Callable[[], list[str]]:
    """What the breaker leaves alone."""
    return opening.left_alone
