"""Rerankers by name."""

from __future__ import annotations

from importlib import import_module

import pytest

from commonplace.config import table
from commonplace.errors import ConfigError
from commonplace.reranking import opening, registry


def test_the_settings_know_every_row() -> None:
    assert set(table.RERANKERS) == {*registry.PROVIDERS, opening.LLM}


@pytest.mark.parametrize("name", sorted(registry.PROVIDERS))
def test_every_row_can_be_made(name: str) -> None:
    module, _, function = registry.find(name).factory.partition(":")
    assert callable(getattr(import_module(module), function))


def test_an_unknown_one_is_told_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"reranking\.provider: unknown provider 'nobody'; known: fastembed"
    ):
        registry.create("nobody")
