"""Models tried for real: over HTTP on loopback, in this process, and when they fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.config.credentials import Secret
from commonplace.config.settings import Embedding
from commonplace.providers import opening, probe
from commonplace.providers.catalog import Spec
from commonplace.providers.costs import Ledger
from tests.providers.embedding.apis import DIMENSIONS, KEY, compatible, ollama, openai
from tests.providers.server import Reply, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def settings(root: Path, **keys: object) -> Embedding:
    return config.load(root, overrides={f"embedding.{name}": value for name, value in keys.items()}).embedding


def spec(server: Server, provider: str = "openai", key: str = KEY, model: str = "m") -> Spec:
    return Spec(provider, model, base_url=f"{server.url}/v1", key=Secret(key))


def test_question_and_passage_reach_the_model_and_nothing_is_cached(server: Server, tmp_path: Path) -> None:
    server.answer = openai
    for _ in range(2):
        found = probe.embedder(spec(server), settings(tmp_path))
        assert (found.answered, found.provider, found.model) == (True, "openai", "m")
        assert (found.dimensions, found.scripts) == (DIMENSIONS, {"latin", "cjk"})
    told = [request.json["input"] for request in server.requests]
    assert told == [[probe.QUESTION], [probe.PASSAGE]] * 2
    assert not (paths.user_cache_dir() / "vectors.sqlite").exists()


def test_the_bundled_model_is_tried_as_it_is(tmp_path: Path) -> None:
    found = probe.embedder(Spec("builtin"), settings(tmp_path))
    assert (found.trouble, found.dimensions, found.scripts) == ("", 384, {"latin", "han"})
    assert found.model == "all-MiniLM-L6-v2"
    assert found.seconds > 0


def test_a_refused_key_is_told_with_its_place_and_never_shown(server: Server, tmp_path: Path) -> None:
    key = "sk-wrong-0123456789"
    server.answer = lambda request: Reply({"error": {"message": f"bad key {key}"}}, 401)
    found = probe.embedder(spec(server, key=key), settings(tmp_path))
    assert not found.answered
    assert "401" in found.trouble
    assert found.remedy == "check the key (the one that embedding.key names)"
    assert key not in repr(found)


def test_a_failure_opens_the_breaker_and_an_answer_closes_it(server: Server, tmp_path: Path) -> None:
    server.answer = lambda request: Reply({"error": "no"}, 401)
    wanted, told = spec(server), settings(tmp_path)
    name = opening.breaker_name(wanted)
    probe.embedder(wanted, told)
    (first,) = opening.breaker().opened()
    assert (first.name, first.permanent) == (name, True)
    probe.embedder(wanted, told)
    (again,) = opening.breaker().opened()
    assert again.until_s - first.until_s < 60, "asking again on purpose does not prolong it"
    server.answer = openai
    assert probe.embedder(wanted, told).answered
    assert opening.breaker().opened() == []


def test_a_model_in_this_process_is_never_left_alone(tmp_path: Path) -> None:
    found = probe.embedder(Spec("fastembed", "nowhere"), settings(tmp_path))
    assert not found.answered
    assert found.model == "nowhere"
    assert opening.breaker().opened() == []


def test_trials_are_recorded_as_such_and_capped(server: Server, tmp_path: Path) -> None:
    server.answer = openai
    told = settings(tmp_path)._replace(max_tokens_a_day=500)
    accounts = Ledger.of(Workspace(tmp_path))
    assert probe.embedder(spec(server), told, accounts).answered
    from commonplace.providers import costs

    (row,) = costs.Ledger.of(Workspace(tmp_path)).costs()
    assert (row.name, row.calls) == ("test", 2)
    capped = settings(tmp_path)._replace(max_tokens_a_day=3)
    refused = probe.embedder(spec(server), capped, Ledger.of(Workspace(tmp_path)))
    assert "max_tokens_a_day" in refused.trouble
    assert len(server.requests) == 2
    assert opening.breaker().opened() == []


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(404, "ollama pull bge-m3"), (400, "")],
)
def test_what_an_ollama_server_lacks_is_named(
    server: Server, tmp_path: Path, status: int, remedy: str
) -> None:
    server.answer = lambda request: Reply({"error": "model not found"}, status)
    assert probe.embedder(spec(server, "ollama", "", "bge-m3"), settings(tmp_path)).remedy == remedy
    server.answer = ollama
    assert probe.embedder(spec(server, "ollama", "", "bge-m3"), settings(tmp_path)).answered


def test_a_server_that_is_not_there_is_told_to_be_started(tmp_path: Path) -> None:
    with serving() as gone:
        wanted = spec(gone, "ollama", "")
    found = probe.embedder(wanted, settings(tmp_path))
    assert "cannot be reached" in found.trouble
    assert found.remedy == "start the server with `ollama serve`"


def test_an_unknown_provider_is_trouble_and_no_error(tmp_path: Path) -> None:
    assert "unknown provider" in probe.embedder(Spec("nobody"), settings(tmp_path)).trouble


def test_the_wanted_provider_and_each_that_stands_in(server: Server, tmp_path: Path) -> None:
    server.answer = compatible
    told = settings(
        tmp_path, provider="compatible", model="m", base_url=f"{server.url}/v1", fallback=("fake", "builtin")
    )
    found = probe.embedders(told)
    assert [(one.provider, one.answered) for one in found] == [
        ("compatible", True),
        ("fake", True),
        ("builtin", True),
    ]
    assert probe.embedders(settings(tmp_path, provider="none")) == ()


def test_a_key_that_cannot_be_read_is_the_trouble(tmp_path: Path) -> None:
    told = settings(tmp_path, provider="openai", key=str(tmp_path / "nowhere"), fallback=("fake",))
    (first,) = probe.embedders(told)
    assert first.trouble.startswith("embedding.key: cannot be read")
    assert first.provider == "openai"
