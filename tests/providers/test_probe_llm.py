"""The language model tried for real, over HTTP on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ProviderError
from commonplace.base.paths import Workspace
from commonplace.config import Settings
from commonplace.providers import costs, opening, probe
from tests.providers.llm.conftest import KEY, answer, refusal
from tests.providers.server import Reply, Server


def settings(root: Path, **keys: object) -> Settings:
    return config.load(root, overrides={f"llm.{name}": value for name, value in keys.items()})


@pytest.fixture
def told(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", KEY)
    return settings(tmp_path, provider="compatible", model="test-model", base_url=f"{server.url}/v1")


def test_no_language_model_is_no_trial(tmp_path: Path) -> None:
    assert probe.llm(Workspace(tmp_path), settings(tmp_path)) is None


def test_each_trial_is_a_call_that_is_recorded_and_not_cached(
    server: Server, tmp_path: Path, told: Settings
) -> None:
    server.answer = lambda request: Reply(answer("yes"))
    for _ in range(2):
        found = probe.llm(Workspace(tmp_path), told)
        assert found is not None
        assert (found.answered, found.provider, found.model) == (True, "compatible", "test-model")
        assert (found.tokens_in, found.tokens_out) == (19, 10)
    assert len(server.requests) == 2
    (row,) = costs.Ledger.of(Workspace(tmp_path)).costs()
    assert (row.name, row.calls, row.cached) == ("test", 2, 0)


def test_a_refused_key_is_told_and_never_shown(server: Server, tmp_path: Path, told: Settings) -> None:
    server.answer = lambda request: Reply(refusal(f"Incorrect API key provided: {KEY}"), 401)
    breaker = opening.breaker()
    found = probe.llm(Workspace(tmp_path), told)
    assert found is not None
    assert "401" in found.trouble
    assert found.remedy == "check the key (COMMONPLACE_LLM_KEY)"
    assert KEY not in repr(found)
    (opened,) = breaker.opened()
    probe.llm(Workspace(tmp_path), told)
    (again,) = breaker.opened()
    assert again.until_s - opened.until_s < 60, "asking again on purpose does not prolong it"
    with pytest.raises(ProviderError):
        breaker.check(opened.name)
    server.answer = lambda request: Reply(answer("yes"))
    again = probe.llm(Workspace(tmp_path), told)
    assert again is not None
    assert again.answered
    assert breaker.opened() == []


def test_a_setting_that_is_missing_is_trouble(tmp_path: Path) -> None:
    found = probe.llm(Workspace(tmp_path), settings(tmp_path, provider="compatible"))
    assert found is not None
    assert "llm.base_url" in found.trouble


def test_a_cap_holds_for_trials(server: Server, tmp_path: Path, told: Settings) -> None:
    capped = told._replace(llm=told.llm._replace(max_tokens_a_day=10))
    found = probe.llm(Workspace(tmp_path), capped)
    assert found is not None
    assert "max_tokens_a_day" in found.trouble
    assert server.requests == []


def test_an_ollama_model_that_is_not_there_is_fetched_by_a_command(
    server: Server, tmp_path: Path, told: Settings
) -> None:
    server.answer = lambda request: Reply(refusal('model "qwen3:8b" not found', code="not_found"), 404)
    lacking = told._replace(llm=told.llm._replace(provider="ollama", model="qwen3:8b"))
    found = probe.llm(Workspace(tmp_path), lacking)
    assert found is not None
    assert found.remedy == "ollama pull qwen3:8b"
