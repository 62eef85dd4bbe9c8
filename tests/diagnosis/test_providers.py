"""Providers: really called, once; refused, hanging, left alone, offline; keys by their place and never shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.base.errors import ProviderError
from commonplace.base.paths import Workspace
from commonplace.config import user_file
from commonplace.diagnosis import providers
from commonplace.diagnosis.examination import Case, present
from commonplace.providers import opening, probe
from commonplace.providers.costs import Ledger
from commonplace.types import Finding
from tests.diagnosis.conftest import Present, by_check
from tests.providers.embedding import apis
from tests.providers.llm.conftest import answer as completion
from tests.providers.reranking import apis as reranking_apis
from tests.providers.server import Reply, Server, serving

Configure = Callable[..., None]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(apis.compatible) as running:
        yield running


@pytest.fixture
def configure(workspace: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Configure:
    """Write the user's settings; `{url}` is the address of the scripted server."""
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")

    def write(text: str) -> None:
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text(text.replace("{url}", f"{server.url}/v1"))

    return write


REMOTE = '[embedding]\nprovider = "compatible"\nmodel = "bge-m3"\nbase_url = "{url}"\n'
LANGUAGE = '[llm]\nprovider = "compatible"\nmodel = "test-model"\nbase_url = "{url}"\n'


@pytest.fixture
def remote(configure: Configure, workspace: Path) -> Present:
    configure(REMOTE)
    return lambda: present(str(workspace))


def one(findings: Iterator[Finding]) -> Finding:
    (finding,) = findings
    return finding


def only_calls(workspace: Path) -> list[tuple[str, str]]:
    """Purpose and model of what the ledger recorded."""
    ledger = Ledger(Workspace(workspace).ledger)
    try:
        with ledger.database.reading() as connection:
            return list(connection.execute("SELECT purpose, outcome FROM calls ORDER BY id"))
    finally:
        ledger.close()


def test_a_model_in_this_process(case: Present) -> None:
    assert list(providers.embedding(case())) == []


def test_no_model_is_wanted(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    assert one(providers.embedding(case())).state == "skipped"
    assert one(providers.language(case())).state == "skipped"


def test_a_provider_is_called_and_the_calls_recorded(
    remote: Present, server: Server, workspace: Path
) -> None:
    assert list(providers.embedding(remote())) == []
    assert len(server.requests) == 2  # a question and a passage
    assert only_calls(workspace) == [("test", "ok")] * 2
    assert list(providers.embedding(remote())) == []  # not answered by what was kept of the first
    assert len(server.requests) == 4


def test_a_provider_is_called_without_a_workspace(remote: Present, server: Server, nobody: Path) -> None:
    assert list(providers.embedding(present(None))) == []
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "put a valid key into "),
        (404, "check the model's name and the address"),
        (400, "check the model's name and its settings"),
    ],
)
def test_a_provider_that_refuses(
    configure: Configure,
    case: Present,
    server: Server,
    tmp_path: Path,
    status: int,
    remedy: str,
) -> None:
    key = tmp_path / "key"
    key.write_text(apis.KEY)
    configure(f"{REMOTE}key = '{key}'\n")
    server.answer = lambda request: Reply({"error": f"no, not with {apis.KEY}"}, status)
    found = one(providers.embedding(case()))
    assert found.state == "wrong"
    assert f"HTTP {status}" in found.told
    assert found.remedy.startswith(remedy)
    assert apis.KEY not in found.told + found.remedy
    if status == 401:
        assert found.remedy == f"put a valid key into {key}"


def test_a_provider_that_hangs(
    configure: Configure, case: Present, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(REMOTE)
    monkeypatch.setattr(probe, "DEADLINE_S", 0.3)
    server.answer = lambda request: Reply({}, delay_s=30)
    found = one(providers.embedding(case()))
    assert found.state == "wrong"
    assert "did not answer within" in found.told
    assert found.remedy == "see whether its server runs and can be reached"


def test_a_provider_that_is_gone(configure: Configure, case: Present, server: Server) -> None:
    with serving() as gone:
        url = gone.url
    configure(REMOTE.replace("{url}", url))
    assert one(providers.embedding(case())).state == "wrong"


def test_a_missing_key_is_told_with_its_variable(
    case: Present, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = one(providers.embedding(case()))
    assert (found.state, found.remedy) == ("wrong", "set OPENAI_API_KEY, or name a file that holds the key")


def test_a_key_file_that_cannot_be_read(configure: Configure, case: Present, tmp_path: Path) -> None:
    configure(f"{REMOTE}key = '{tmp_path / 'none'}'\n")
    found = one(providers.embedding(case()))
    assert found.state == "wrong"
    assert "embedding.key" in found.told


def test_those_that_stand_in_are_called_as_well(configure: Configure, case: Present, server: Server) -> None:
    configure(f"{REMOTE}fallback = ['fake', 'cohere']\n")
    cohere = one(providers.embedding(case()))
    assert (cohere.check, cohere.state) == ("providers.fallback", "warning")
    assert cohere.told.startswith("cohere/")


def test_a_provider_that_is_left_alone_is_not_called(remote: Present, server: Server) -> None:
    server.answer = lambda request: Reply({"error": "wrong key"}, 401)
    assert one(providers.embedding(remote())).state == "wrong"
    assert len(server.requests) == 1
    found = one(providers.embedding(remote()))
    assert len(server.requests) == 1
    assert found.state == "wrong"
    assert found.told.startswith("not called: compatible/bge-m3 is left alone until ")
    assert "wrong key" in found.told
    assert found.remedy


def test_offline_nothing_leaves(
    configure: Configure, workspace: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure('[embedding]\nprovider = "openai"\nfallback = ["builtin", "ollama"]\n')
    monkeypatch.setenv("OPENAI_API_KEY", apis.KEY)
    away, local = providers.embedding(present(str(workspace), offline=True))
    assert (away.state, away.told) == ("skipped", "openai/text-embedding-3-small was not called (--offline)")
    assert local.state == "warning"  # a server on this machine is asked; there is none


# --- language models ------------------------------------------------------------------------------------


def test_a_language_model_is_called_once_and_recorded(
    configure: Configure, case: Present, server: Server, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(LANGUAGE)
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", apis.KEY)
    server.answer = lambda request: Reply(completion("yes"))
    assert list(providers.language(case())) == []
    assert len(server.requests) == 1
    assert only_calls(workspace) == [("test", "ok")]
    assert list(providers.language(case())) == []
    assert len(server.requests) == 2


def test_a_language_model_that_refuses_is_left_alone_afterwards(
    configure: Configure, case: Present, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(LANGUAGE)
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", apis.KEY)
    server.answer = lambda request: Reply({"error": {"message": f"bad key {apis.KEY}"}}, 401)
    found = one(providers.language(case()))
    assert (found.state, found.remedy) == ("wrong", "put a valid key into COMMONPLACE_LLM_KEY")
    calls = len(server.requests)
    left = one(providers.language(case()))
    assert left.told.startswith("not called: compatible/test-model is left alone until ")
    assert len(server.requests) == calls
    assert apis.KEY not in json.dumps([found.told, left.told])


def test_a_language_model_that_cannot_be_made(configure: Configure, case: Present) -> None:
    configure('[llm]\nprovider = "compatible"\n')
    found = one(providers.language(case()))
    assert (found.state, found.remedy) == (
        "wrong",
        "mend llm.base_url: `commonplace config` shows what is set",
    )
    configure('[llm]\nprovider = "nobody"\n')
    assert one(providers.language(case())).state == "wrong"


def test_a_failure_that_passes_is_no_more_than_a_warning(
    case: Present, remote: Present, server: Server
) -> None:
    examined: Case = remote()
    spec = opening.specs(examined.settings.embedding)[0]
    for _ in range(3):
        opening.SHARED.failed(f"{spec.provider}/{spec.model}", ProviderError("compatible", "busy"))
    found = by_check(providers.embedding(examined))["providers.embedding"]
    assert found.state == "warning"
    assert server.requests == []


# --- rerankers ------------------------------------------------------------------------------------------


@pytest.fixture
def reranking(case: Present, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Present:
    server.answer = reranking_apis.jina
    (tmp_path / "key").write_text(reranking_apis.KEY)
    values = {"PROVIDER": "jina", "BASE_URL": f"{server.url}/v1", "KEY": str(tmp_path / "key")}
    for name, value in values.items():
        monkeypatch.setenv(f"COMMONPLACE_RERANKING_{name}", value)
    return case


def test_a_reranker_is_called_and_recorded(reranking: Present, server: Server, workspace: Path) -> None:
    assert list(providers.reranker(reranking())) == []
    assert len(server.requests) == 1
    assert only_calls(workspace) == [("test", "ok")]


def test_a_reranker_that_refuses_is_left_alone_the_next_time(reranking: Present, server: Server) -> None:
    server.answer = lambda request: Reply({"detail": f"no, not with {reranking_apis.KEY}"}, 401)
    found, again = one(providers.reranker(reranking())), one(providers.reranker(reranking()))
    assert found.state == "wrong"
    assert "jina/jina-reranker-v3 does not answer (jina: HTTP 401" in found.told
    assert again.told.startswith("not called: jina/jina-reranker-v3 is left alone until")
    assert "--reranker" in again.remedy
    assert len(server.requests) == 1
    assert reranking_apis.KEY not in found.told + found.remedy + again.told


def test_offline_only_a_reranker_of_this_machine_is_called(
    reranking: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline: Present = lambda: present(str(workspace), offline=True)  # noqa: E731
    assert list(providers.reranker(offline())) == []
    monkeypatch.delenv("COMMONPLACE_RERANKING_BASE_URL")
    away = one(providers.reranker(offline()))
    assert (away.state, away.told) == ("skipped", "jina/jina-reranker-v3 was not called (--offline)")
    monkeypatch.setenv("COMMONPLACE_RERANKING_PROVIDER", "llm")
    monkeypatch.setenv("COMMONPLACE_LLM_PROVIDER", "openai")
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "m")
    assert one(providers.reranker(offline())).state == "skipped"
    monkeypatch.setenv("COMMONPLACE_RERANKING_PROVIDER", "none")
    assert list(providers.reranker(offline())) == []


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [
        ("p: HTTP 401: no", "put a valid key into A_KEY"),
        ("p: HTTP 402: pay", "add credit"),
        ("p: HTTP 404: no such model", "check the model's name and the address"),
        ("p: HTTP 400: what?", "check the model's name and its settings"),
        ("p: HTTP 429: slow down", "wait, or raise the quota"),
        ("p: HTTP 503", "wait: the provider itself"),
        ("p: http://127.0.0.1:1 cannot be reached (refused)", "see whether its server runs"),
        ("p: http://127.0.0.1:1 did not answer within 5 s", "see whether its server runs"),
        ("llm.model: x needs one", "mend llm.model: `commonplace config`"),
        ("openai: no key: set A_KEY or B_KEY", "set A_KEY or B_KEY, or name a file"),
        ("p: something else", "mend what it says"),
    ],
)
def test_the_remedy_fits_the_trouble(trouble: str, remedy: str) -> None:
    assert providers.remedy_of(trouble, "A_KEY").startswith(remedy)


def test_a_key_whose_place_is_not_known() -> None:
    assert providers.remedy_of("p: HTTP 403") == "put a valid key into a file, and name that in the settings"
