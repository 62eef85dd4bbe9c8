"""The text for a system prompt: short, in two languages, and true of the tools."""

from __future__ import annotations

import pytest

from commonplace.agent import instructions, tools
from commonplace.base import tokens
from commonplace.base.errors import ConfigError

TOOLS = [tool.name for tool in tools.TOOLS]


def test_it_is_short_and_names_every_tool() -> None:
    for language in ["en", "zh"]:
        text = instructions.text(language)
        assert tokens.about(text) <= 240, language
        assert all(text.count(tool) == 1 for tool in TOOLS), language
        assert "path#L12-L18" in text, language


def test_the_language_is_that_of_the_text_it_goes_with(monkeypatch: pytest.MonkeyPatch) -> None:
    english, chinese = instructions.text("en"), instructions.text("zh")
    assert instructions.text("auto", like="我们在杭州工作。") == chinese
    assert instructions.text("auto", like="Mostly English, with 豆豆 in it.") == english
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert instructions.text() == chinese
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert instructions.text() == english


def test_another_language_is_an_error_that_names_these() -> None:
    with pytest.raises(ConfigError, match="auto, en, zh"):
        instructions.text("fr")  # type: ignore[arg-type]
