"""The provider `auto`: what the owner's other settings name, if it can be reached; else what ships."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts, opening
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.embedding.remote import RemoteEmbedder
from tests.providers.embedding import apis
from tests.providers.server import Reply, Server


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, ("builtin", "")),
        ({"provider": "voyage", "model": "bge-m3"}, ("voyage", "bge-m3")),
        ({"provider": "none"}, ("none", "")),
        ({"base_url": "http://127.0.0.1:11434"}, ("ollama", "")),
        ({"base_url": "http://127.0.0.1:11434/v1", "model": "bge-m3"}, ("compatible", "bge-m3")),
        ({"base_url": "http://127.0.0.1:1234/v1", "model": "m"}, ("compatible", "m")),
        ({"base_url": "http://[bad", "model": "m"}, ("compatible", "m")),
        ({"model": "bge-m3"}, ("ollama", "bge-m3")),
        ({"model": "BAAI/bge-small-zh-v1.5"}, ("fastembed", "BAAI/bge-small-zh-v1.5")),
        ({"model": "ollama/bge-m3"}, ("ollama", "bge-m3")),
        ({"model": "text-embedding-3-large"}, ("openai", "text-embedding-3-large")),
        ({"model": "gemini-embedding-001"}, ("gemini", "gemini-embedding-001")),
        ({"model": "voyage-3.5-lite"}, ("voyage", "voyage-3.5-lite")),
        ({"model": "codestral-embed"}, ("mistral", "codestral-embed")),
        ({"model": "embed-multilingual-v3.0"}, ("cohere", "embed-multilingual-v3.0")),
        ({"model": "embeddinggemma"}, ("ollama", "embeddinggemma")),
    ],
)
def test_what_the_settings_imply(
    root: Path, given: dict[str, object], chosen: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", apis.KEY)  # a key that lies about is no leave to send notes
    with Memory.open(root, overrides={f"embedding.{name}": value for name, value in given.items()}) as memory:
        assert opening.choose(memory.settings.embedding) == chosen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("# Desk\n\nThe walnut desk is in the study.\n", "utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    for model in EMBEDDERS.made.values():
        if isinstance(model, RemoteEmbedder):
            model.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(attempts, "ATTEMPTS", 1)
    made = Server(apis.compatible)
    yield made
    made.close()


def named(url: str) -> dict[str, object]:
    return {
        "embedding.base_url": f"{url}/v1",
        "embedding.model": "words",
        "limits.deadline_s": 2,
        "limits.wait_s": 1,
    }


def test_a_server_that_answers_is_used(root: Path, server: Server) -> None:
    with Memory.open(root, overrides=named(server.url)) as memory:
        assert memory.sync().warnings == ()
        assert memory.status().model == "compatible/words"
        assert memory.search("walnut desk").level == 0
        assert "words" in str(memory._store.index.meta["model"])


def test_one_that_cannot_be_reached_is_not_waited_for(root: Path) -> None:
    # Bound for as long as the test goes, and not listening: nobody else is given the port.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with Memory.open(root, overrides=named(url)) as memory:
            report = memory.sync()
            assert (report.embedded, report.pending) == (1, 0)
            assert "cannot be reached" in report.warnings[0]
            assert "stands in" in report.warnings[0]
            found = memory.search("walnut desk")
            assert (found.level, found.hits[0].path) == (0, "memory/a.md")


def test_an_outage_does_not_throw_away_vectors(root: Path, server: Server) -> None:
    with Memory.open(root, overrides=named(server.url)) as memory:
        memory.sync()
        model = memory._store.index.meta["model"]
    (root / "memory" / "b.md").write_text("# Lamp\n\nA brass lamp.\n", "utf-8")
    server.answer = lambda request: Reply({"error": {"message": "overloaded"}}, 503)
    with Memory.open(root, overrides=named(server.url)) as memory:
        with pytest.raises(ProviderError, match="overloaded"):
            memory.sync()
        assert memory._store.index.meta["model"] == model
        found = memory.search("brass lamp")
        assert (found.level, found.hits[0].path) == (2, "memory/b.md")
    opening.breaker().reset()
    server.answer = apis.compatible
    with Memory.open(root, overrides=named(server.url)) as memory:
        assert memory.sync().embedded == 1
        assert memory.search("walnut desk").level == 0
