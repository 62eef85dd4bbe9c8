"""What calls cost: exact, rounded up, and the owner's prices before those that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.providers import costs
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.costs import NANO


def own(text: str) -> Path:
    file = paths.user_config_dir() / costs.FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_call_costs_what_its_tokens_cost() -> None:
    table = costs.load_prices()
    assert table.cost("openai", "gpt-4.1-mini", 1_000_000, 1_000_000) == 2 * NANO
    assert table.cost("openai", "gpt-4.1-mini", 1000, 500) == 1_200_000  # $0.0012
    assert table.cost("openai", "text-embedding-3-small", 1, 0) == 20


# What each provider's page says a million tokens of its own default model, and of the others, cost.
EMBEDDINGS = {
    ("openai", "text-embedding-3-small"): 0.02,
    ("openai", "text-embedding-3-large"): 0.13,
    ("gemini", "gemini-embedding-001"): 0.15,
    ("gemini", "gemini-embedding-2-preview"): 0.20,
    ("voyage", "voyage-4-large"): 0.12,
    ("voyage", "voyage-4-lite"): 0.02,
    ("voyage", "voyage-3.5"): 0.06,
    ("mistral", "mistral-embed"): 0.10,
    ("mistral", "mistral-embed-2312"): 0.10,
    ("cohere", "embed-v4.0"): 0.12,
    ("cohere", "embed-multilingual-v3.0"): 0.10,
}


def test_every_paid_provider_of_embeddings_has_a_price_for_its_default() -> None:
    for row in EMBEDDERS.rows.values():
        cost = costs.load_prices().cost(row.name, row.model, 1_000_000)
        assert (cost is None) == (row.name == "compatible"), row.name
        assert bool(cost) == bool(row.keys), row.name


def test_what_batches_cost() -> None:
    table = costs.load_prices()
    assert table.cost("openai", "text-embedding-3-small", 1_000_000, batched=True) == NANO // 100
    assert table.cost("gemini", "gemini-embedding-001", 1_000_000, batched=True) == 75_000_000
    assert table.cost("openai", "text-embedding-3-small", 1, batched=True) == 10


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gpt-4o-2024-11-20", True),
        ("gpt-4o-mini-2024-07-18", True),
        ("gpt-4o-latest", True),
        ("gpt-4o-audio", False),
        ("gpt-5-pro", False),
        ("gpt-9", False),
    ],
)
def test_a_name_stands_for_its_versions_and_no_other_model(model: str, known: bool) -> None:
    cost = costs.load_prices().cost("openai", model, 1_000_000, 0)
    assert (cost is not None) is known
    if model.startswith("gpt-4o-mini"):
        assert cost == 150_000_000


def test_the_owners_prices_come_first() -> None:
    own('free = ["command"]\n[openai]\n"gpt-4o" = { in = 1, out = 2 }\n"new" = { in = 0.5, out = 0.25 }')
    table = costs.load_prices()
    assert table.cost("openai", "gpt-4o", 1_000_000, 0) == NANO
    assert table.cost("openai", "new", 0, 1_000_000) == NANO // 4
    assert table.cost("command", "m", 5, 5) == 0
    assert table.cost("ollama", "m", 5, 5) == 0


@pytest.mark.parametrize(
    "text",
    [
        "[openai",
        "free = 3",
        "openai = 3",
        '[openai]\n"m" = 3',
        '[openai]\n"m" = { in = 1 }',
        '[openai]\n"m" = { in = "1", out = 2 }',
        '[openai]\n"m" = { in = -1, out = 2 }',
        '[openai]\n"m" = { in = nan, out = 2 }',
        '[openai]\n"m" = { in = inf, out = 2 }',
    ],
)
def test_a_file_that_is_wrong_is_named(text: str) -> None:
    file = own(text)
    with pytest.raises(ConfigError) as caught:
        costs.load_prices()
    assert str(file) in str(caught.value)
