"""`providers.reranking`: the reranker is called once, recorded, and not when it is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.base.paths import Workspace
from commonplace.diagnosis import providers
from commonplace.diagnosis.examination import present
from commonplace.providers.costs import Ledger
from commonplace.types import Finding
from tests.diagnosis.conftest import Present
from tests.providers.reranking import apis
from tests.providers.server import Reply, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(apis.jina) as running:
        yield running


def choose(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"COMMONPLACE_{name.upper()}", value)


@pytest.fixture
def remote(case: Present, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Present:
    (tmp_path / "key").write_text(apis.KEY)
    choose(monkeypatch, reranking_provider="jina", reranking_base_url=f"{server.url}/v1")
    choose(monkeypatch, reranking_key=str(tmp_path / "key"))
    return case


def test_none_is_set_and_none_is_missed(case: Present) -> None:
    assert list(providers.reranker(case())) == []


def test_it_is_called_and_recorded(remote: Present, server: Server, workspace: Path) -> None:
    (found,) = providers.reranker(remote())
    assert (found.check, found.state) == ("providers.reranking", "ok")
    assert found.told.startswith("jina/jina-reranker-v3 scores three texts in ")
    assert len(server.requests) == 1
    ledger = Ledger(Workspace(workspace).ledger)
    assert [(row.name, row.calls) for row in ledger.costs()] == [("test", 1)]
    ledger.close()


def test_one_that_refuses_is_left_alone_the_next_time(remote: Present, server: Server) -> None:
    server.answer = lambda request: Reply({"detail": f"no, not with {apis.KEY}"}, 401)
    (found,) = providers.reranker(remote())
    assert found.state == "wrong"
    assert "jina/jina-reranker-v3 does not answer (jina: HTTP 401" in found.told
    (again,) = providers.reranker(remote())
    assert again.told.startswith("not called: jina/jina-reranker-v3 is left alone until")
    assert "--reranker" in again.remedy
    assert len(server.requests) == 1
    assert apis.KEY not in found.told + found.remedy + again.told


def test_offline_only_what_stays_here_is_called(
    remote: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline() -> Finding:
        (found,) = providers.reranker(present(str(workspace), offline=True))
        return found

    assert offline().state == "ok"  # its address is this machine's
    monkeypatch.delenv("COMMONPLACE_RERANKING_BASE_URL")
    assert offline() == Finding(
        "providers.reranking", "skipped", "jina/jina-reranker-v3 was not called (--offline)"
    )
    choose(monkeypatch, reranking_provider="llm", llm_provider="openai", llm_model="m")
    assert offline().state == "skipped"
    choose(monkeypatch, reranking_provider="fake")
    assert offline().state == "ok"
