"""From settings to a model: none by default, whole where one is set, and never by a workspace's word."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import BudgetExceeded
from commonplace.base.paths import Workspace
from commonplace.providers.catalog import LLMS, Provider, Spec
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.base import Message
from commonplace.providers.opening import open_llm

ROW = Provider("mine", "tests.providers.test_opening_llm:make", "a provider that another package brings")


def make(spec: Spec) -> FakeModel:
    return FakeModel([f"I am {spec.model}"], provider="mine")


def settings(root: Path, **values: object) -> config.Settings:
    tables = {name: "limits" if name.startswith("max_") else "llm" for name in values}
    return config.load(root, {}, {f"{tables[name]}.{name}": value for name, value in values.items()})


def test_another_package_brings_a_provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    point = EntryPoint("mine", "tests.providers.test_opening_llm:ROW", LLMS.group)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [point] if group == LLMS.group else []
    )
    llm = open_llm(Workspace(tmp_path), settings(tmp_path, provider="mine", model="m"))
    assert llm is not None
    assert llm.complete([Message("user", "who?")]).text == "I am m"


def test_no_provider_no_model_and_no_file(tmp_path: Path) -> None:
    assert open_llm(Workspace(tmp_path), config.load(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


def test_settings_come_through(tmp_path: Path) -> None:
    chosen = settings(tmp_path, provider="fake", max_tokens_a_day=600)
    one, other = (open_llm(Workspace(tmp_path), chosen) for _ in range(2))
    assert one is not None
    assert other is not None
    question = [Message("user", "hello")]
    assert one.complete(question, max_tokens=400).text == "hello"
    assert other.complete(question, max_tokens=400).cached
    with pytest.raises(BudgetExceeded):
        other.complete(question, max_tokens=900)
    assert Workspace(tmp_path).ledger.exists()
    assert (paths.user_cache_dir() / "answers.sqlite").exists()


def test_no_answer_of_a_conversation_is_kept(tmp_path: Path) -> None:
    llm = open_llm(Workspace(tmp_path), settings(tmp_path, provider="fake"), cached=False)
    assert llm is not None
    llm.complete([Message("user", "hello")])
    assert not llm.complete([Message("user", "hello")]).cached
    assert not (paths.user_cache_dir() / "answers.sqlite").exists()
