"""The memory that is served: opened once, got ready beforehand, and nobody asked for that."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.servers.methods import Service
from tests.cli.conftest import workspace as workspace
from tests.providers.server import Server


def test_threads_share_one_memory(workspace: Path) -> None:
    opened: list[Memory] = []
    service = Service(lambda: opened.append(Memory.open(workspace)) or opened[-1])  # type: ignore[func-returns-value]
    threads = [threading.Thread(target=lambda: service.memory) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1
    service.close()


def test_getting_ready_loads_the_model_and_records_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "builtin")
    service = Service(lambda: Memory.open(workspace))
    service.memory.sync()
    model: Any = EMBEDDERS.create(Spec("builtin"))
    model.shared._begin()  # as in a process that has just started
    service.warm()
    assert model.shared.loaded
    assert service.memory.usage().since is None
    service.close()


def test_getting_ready_asks_no_server(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Server()) as server:
        monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "compatible")
        monkeypatch.setenv("COMMONPLACE_EMBEDDING_BASE_URL", server.url)
        monkeypatch.setenv("COMMONPLACE_EMBEDDING_MODEL", "x")
        service = Service(lambda: Memory.open(workspace))
        service.warm()
        service.close()
        assert server.requests == []


def test_what_fails_while_getting_ready_is_left_for_the_first_question(tmp_path: Path) -> None:
    Service(lambda: Memory.open(tmp_path / "none")).warm()
