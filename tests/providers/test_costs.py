"""Costs: exact prices, calls as rows, and caps that hold whoever asks at the same time."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.errors import BudgetExceeded, ConfigError, ProviderError
from commonplace.base.paths import Workspace
from commonplace.providers import costs
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.costs import NANO, Budget, Costs, Ledger
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.guard import Guard
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


def test_a_cap_in_the_way_says_so(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
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
    money = Budget(ledger, max_dollars_a_day=0.01)
    with pytest.raises(
        BudgetExceeded, match=r"\$0\.0012 of \$0\.01 is taken and this call may need \$0\.0200"
    ):
        money.reserve(1, NANO // 50, 10)
    with pytest.raises(BudgetExceeded, match=r"the price of m is not known; put it into prices\.toml"):
        money.reserve(1, None, 10, model="m")
    monkeypatch.setattr(costs.clock, "began", lambda day: time.time() + 1)
    Budget(ledger, max_tokens_a_day=1100).reserve(1000, 0, 10)  # what was taken yesterday is no matter today


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
    later = time.time() + 0.2 + costs.GRACE_S
    monkeypatch.setattr("time.time", lambda: later + 1)
    budget.reserve(1, 0, 1)


def test_without_caps_nothing_is_reserved(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none" / "ledger.sqlite")
    assert Budget(ledger).reserve(10**9, None, 10) is None
    assert ledger.costs() == ()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_spent_that_cannot_be_written_down(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()  # no file can be there
    guard = Guard(FakeEmbedder(), budget=Budget(Ledger(tmp_path / "ledger.sqlite"), 1000))
    with pytest.raises(ProviderError, match="costs cannot be recorded"):
        guard.request("embed", 1, 4, 5).__enter__()


def test_calls_are_summed_up(ledger: Ledger) -> None:
    ledger.record("summary", "fake", "fake", 1000, 500)
    ledger.record("summary", "fake", "fake", 0, outcome="failed")
    ledger.record("embed", "fake", "other", 10)
    assert ledger.costs() == (
        Costs("summary", 2, 1, 1000, 500, 0.002, 0),
        Costs("embed", 1, 0, 10, 0, 0.0, 1),
    )
    assert [row.name for row in ledger.costs("model")] == ["fake/fake", "fake/other"]
    (today,) = ledger.costs("day")
    assert today.name == f"{datetime.now():%Y-%m-%d}"
    assert today.calls == 3
    assert ledger.costs(since=time.time() + 1) == ()


def test_it_lies_in_the_state_and_nothing_in_the_workspace(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    ledger = Ledger.of(workspace)
    ledger.record("x", "fake", "fake", 1)
    assert list(tmp_path.iterdir()) == []
    assert workspace.ledger == ledger.database.path
    assert workspace.ledger.exists()
    ledger.close()


# --- prices -------------------------------------------------------------------------------------------


def own(text: str) -> Path:
    file = paths.user_config_dir() / costs.FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_call_costs_what_its_tokens_cost() -> None:
    table = costs.load_prices()
    assert table.cost("openai", "gpt-4.1-mini", 1000, 500) == 1_200_000  # $0.0012
    assert table.cost("openai", "text-embedding-3-small", 1) == 20
    assert table.cost("openai", "text-embedding-3-small", 1, batched=True) == 10
    assert costs.Prices(frozenset(), {("x", "m"): (1, 0)}).cost("x", "m", 1) == 1, "rounded up"
    for row in EMBEDDERS.rows.values():
        cost = table.cost(row.name, row.model, 1_000_000)
        assert (cost is None) == (row.name == "compatible"), row.name
        assert bool(cost) == bool(row.keys), row.name
    own('free = ["command"]\n[openai]\n"gpt-4o" = { in = 1, out = 2 }\n"new" = { in = 0.5, out = 0.25 }')
    table = costs.load_prices()
    assert table.cost("openai", "gpt-4o", 1_000_000) == NANO
    assert table.cost("openai", "new", 0, 1_000_000) == NANO // 4
    assert table.cost("command", "m", 5, 5) == table.cost("ollama", "m", 5, 5) == 0


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
