"""Caps hold whoever asks at the same time, and a cap in the way says so."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from commonplace.base.errors import BudgetExceeded
from commonplace.providers import costs as budgets
from commonplace.providers.costs import NANO, Budget, Ledger
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.base import Message
from commonplace.providers.llm.client import Client
from tests.cli.conftest import environment

CAP = 20_000
# Each call may take up to about 300 tokens and takes a part of them, some fail, some are slow.
CALLER = """
import sys, random, time
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.providers.llm.base import Completion, Message
from commonplace.providers.costs import Budget
from commonplace.providers.llm.client import Client
from commonplace.providers.fake import FakeModel
from commonplace.providers.costs import Ledger

def answer(request):
    time.sleep(random.uniform(0, 0.005))
    if random.random() < 0.1:
        return ProviderError("fake", "busy")
    return Completion("x", "fake", random.randint(1, 200), random.randint(1, 100))

def call(number):
    try:
        client.complete([Message("user", "x" * 120)], max_tokens=100)
        return 0
    except BudgetExceeded:
        return 1
    except ProviderError:
        return 0

ledger = Ledger(Path(sys.argv[1]))
client = Client(FakeModel(answer), budget=Budget(ledger, max_tokens_a_day=int(sys.argv[2])))
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(call, range(60))))
"""


def taken(ledger: Ledger) -> int:
    return sum(row.tokens_in + row.tokens_out for row in ledger.costs())


def test_no_number_of_threads_and_processes_passes_a_cap(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    command = [sys.executable, "-W", "error", "-c", CALLER, str(path), str(CAP)]
    callers = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    refused = 0
    ledger, highest = Ledger(path), 0
    while any(caller.poll() is None for caller in callers):
        highest = max(highest, taken(ledger))
        time.sleep(0.05)
    for caller in callers:
        out, err = caller.communicate()
        assert (caller.returncode, err) == (0, b"")
        refused += int(out)
    assert max(highest, taken(ledger)) <= CAP
    assert taken(ledger) > CAP * 0.5  # 32 calls of 300 tokens at most are reserved when the last is refused
    assert refused > 20
    with ledger.database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM reservations").fetchone() == (0,)
    ledger.close()


def test_a_cap_in_the_way_says_so(ledger: Ledger) -> None:
    budget = Budget(ledger, max_tokens_a_day=1000)
    ledger.record("x", "fake", "fake", 600, 300)
    with pytest.raises(BudgetExceeded) as caught:
        budget.reserve(101, 0, 10)
    error = caught.value
    assert (error.key, error.cap, error.spent, error.asked) == ("limits.max_tokens_a_day", 1000, 900, 101)
    assert str(error) == (
        "limits.max_tokens_a_day: 900 of 1,000 tokens are taken and this call may need 101; "
        "raise it in your own config.toml, or wait until tomorrow"
    )
    assert budget.reserve(100, 0, 10) is not None


def test_a_cap_on_money_in_the_way(ledger: Ledger) -> None:
    budget = Budget(ledger, max_dollars_a_day=0.01)
    with pytest.raises(
        BudgetExceeded, match=r"\$0\.0000 of \$0\.01 is taken and this call may need \$0\.0200"
    ):
        budget.reserve(1, NANO // 50, 10)


def test_what_was_taken_yesterday_is_no_matter_today(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.record("x", "fake", "fake", 1000)
    monkeypatch.setattr(budgets.clock, "began", lambda day: time.time() + 1)
    Budget(ledger, max_tokens_a_day=1000).reserve(1000, 0, 10)


def test_what_a_dead_process_reserved_expires(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, sys; from pathlib import Path; from commonplace.providers.costs import Ledger;"
        "from commonplace.providers.costs import Budget;"
        "Budget(Ledger(Path(sys.argv[1])), max_tokens_a_day=100).reserve(100, 0, 0.2); os._exit(9)"
    )
    path = ledger.database.path
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment(), check=False)
    budget = Budget(ledger, max_tokens_a_day=100)
    with pytest.raises(BudgetExceeded):
        budget.reserve(1, 0, 1)
    later = time.time() + 0.2 + budgets.GRACE_S
    monkeypatch.setattr("time.time", lambda: later + 1)
    budget.reserve(1, 0, 1)


def test_without_caps_nothing_is_reserved(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert Budget(ledger).reserve(10**9, None, 10) is None
    assert not ledger.database.path.exists()


def test_with_a_cap_on_money_an_unknown_price_is_refused(ledger: Ledger) -> None:
    model = FakeModel(["x"], name="of unknown price")
    client = Client(model, budget=Budget(ledger, max_dollars_a_day=5))
    with pytest.raises(BudgetExceeded, match=r"fake/of unknown price is not known; put it into prices\.toml"):
        client.complete([Message("user", "x")])
    assert model.requests == []
