"""A ledger in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.costs.ledger import Ledger
from commonplace.costs.prices import Prices

# $1 and $2 per million tokens, in billionths of a dollar.
PRICES = Prices(frozenset({"free"}), {("fake", "fake"): (1_000_000_000, 2_000_000_000)}, {"fake": 50})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.sqlite", PRICES)
    yield made
    made.close()
