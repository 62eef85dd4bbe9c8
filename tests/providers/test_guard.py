"""A meter: what a call took is written down however it ends, and never more than a cap allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers.costs import Budget, Ledger
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.guard import Guard


def meter(ledger: Ledger, cap: int | None = None) -> Guard[str, bytes]:
    return Guard(FakeEmbedder(), budget=Budget(ledger, cap))


def rows(ledger: Ledger) -> list[tuple[object, ...]]:
    with ledger.database.reading() as connection:
        return list(connection.execute("SELECT purpose, tokens_in, cost, cached, outcome FROM calls"))


def test_what_nobody_counted_is_about_that(ledger: Ledger) -> None:
    with meter(ledger).request("question", 10, 40, 5):
        pass
    with meter(ledger).request("embed", 100, 400, 5, batched=True):
        pass
    meter(ledger).record_known("question", 10)
    assert rows(ledger) == [
        ("question", 10, 10_000, 0, "ok"),
        ("embed", 100, 50_000, 0, "ok"),
        ("question", 10, 0, 1, "ok"),
    ]


def test_nothing_is_spent_that_cannot_be_written_down(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()  # no file can be there
    broken = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(ProviderError, match="costs cannot be recorded"):
        meter(broken, 1000).request("embed", 1, 4, 5).__enter__()
