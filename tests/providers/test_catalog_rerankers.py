"""Rerankers by name."""

from __future__ import annotations

from importlib import import_module

import pytest

from commonplace.base.errors import ConfigError
from commonplace.config import settings
from commonplace.providers import opening
from commonplace.providers.catalog import RERANKERS


def test_the_settings_know_every_row() -> None:
    assert set(settings.RERANKERS) == {*RERANKERS.rows, opening.LLM}


def test_every_row_can_be_made() -> None:
    for name in sorted(RERANKERS.rows):
        module, _, function = RERANKERS.find(name).factory.partition(":")
        assert callable(getattr(import_module(module), function)), name


def test_an_unknown_one_is_told_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"reranking\.provider: unknown provider 'nobody'; known: fastembed"
    ):
        RERANKERS.create("nobody")
