"""A meter: what a call took is written down however it ends, and never more than a cap allows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.providers.attempts import Unanswered
from commonplace.providers.costs import Budget, Ledger, Prices
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.guard import Guard


def meter(ledger: Ledger, cap: int | None = None) -> Guard[str, bytes]:
    return Guard(FakeEmbedder(), budget=Budget(ledger, cap))


def rows(ledger: Ledger) -> list[tuple[object, ...]]:
    with ledger.database.reading() as connection:
        return list(connection.execute("SELECT purpose, tokens_in, cost, cached, outcome FROM calls"))


def reserved(ledger: Ledger) -> int:
    with ledger.database.reading() as connection:
        return int(connection.execute("SELECT count(*) FROM reservations").get)


def test_what_the_provider_counted_is_recorded(ledger: Ledger) -> None:
    with meter(ledger).request("embed", 100, 400, 5) as call:
        call.tokens = 120
    assert rows(ledger) == [("embed", 120, 120_000, 0, "ok")]


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


@pytest.mark.parametrize(
    ("error", "tokens", "outcome"),
    [
        (ProviderError("fake", "wrong key", permanent=True), 0, "failed"),
        (Unanswered("fake", "no answer"), 100, "unanswered"),
        (KeyboardInterrupt(), 100, "abandoned"),
    ],
)
def test_a_call_that_fails_is_recorded(
    ledger: Ledger, error: BaseException, tokens: int, outcome: str
) -> None:
    with pytest.raises(type(error)), meter(ledger, 1000).request("embed", 100, 400, 5):
        raise error
    assert rows(ledger) == [("embed", tokens, tokens * 1000, 0, outcome)]
    assert reserved(ledger) == 0


def test_a_cap_holds_however_many_ask(ledger: Ledger) -> None:
    metered = meter(ledger, 2000)

    def ask(_: int) -> bool:
        try:
            with metered.request("embed", 50, 200, 5) as call:
                call.tokens = 150
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(ask, range(100)))
    assert 0 < sum(row[1] for row in rows(ledger)) <= 2000
    assert not all(done)


def test_nothing_is_spent_that_cannot_be_written_down(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()  # no file can be there
    broken = Ledger(tmp_path / "ledger.sqlite", Prices(frozenset(), {}))
    with pytest.raises(ProviderError, match="costs cannot be recorded"):
        meter(broken, 1000).request("embed", 1, 4, 5).__enter__()
