"""A ledger in a folder of its own, and a scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.providers.costs import Ledger, Prices
from tests.providers.server import Server, serving

# $1 and $2 per million tokens, in billionths of a dollar.
PRICES = Prices(frozenset({"free"}), {("fake", "fake"): (1_000_000_000, 2_000_000_000)})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.sqlite")
    made.prices = PRICES
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running
