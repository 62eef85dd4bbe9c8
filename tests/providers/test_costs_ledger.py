"""Calls as rows: recorded whole, summed up, by many at once, with nothing in them that is private."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from commonplace.base.paths import Workspace
from commonplace.providers.costs import Costs, Ledger

WRITER = """
import sys
from pathlib import Path
from commonplace.providers.costs import Ledger
ledger = Ledger(Path(sys.argv[1]))
for number in range(50):
    ledger.record("embed", "ollama", "m", 10)
"""


def test_calls_are_summed_up(ledger: Ledger) -> None:
    ledger.record("summary", "fake", "fake", 1000, 500)
    ledger.record("summary", "fake", "fake", 1000, 500, cached=True)
    ledger.record("summary", "fake", "fake", 0, outcome="failed")
    ledger.record("embed", "fake", "other", 10)
    assert ledger.costs() == (
        Costs("summary", 3, 1, 1, 1000, 500, 0.002, 0),
        Costs("embed", 1, 0, 0, 10, 0, 0.0, 1),
    )
    assert [row.name for row in ledger.costs("model")] == ["fake/fake", "fake/other"]
    (today,) = ledger.costs("day")
    assert today.name == f"{datetime.now():%Y-%m-%d}"
    assert today.calls == 4
    assert ledger.costs(since=time.time() + 1) == ()


def test_a_ledger_that_nobody_wrote_is_empty_and_stays_unwritten(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "none" / "ledger.sqlite").costs() == ()
    assert list(tmp_path.iterdir()) == []


def test_it_lies_in_the_state_and_nothing_in_the_workspace(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    ledger = Ledger.of(workspace)
    ledger.record("x", "fake", "fake", 1)
    assert list(tmp_path.iterdir()) == []
    assert workspace.ledger.exists()
    assert workspace.ledger == ledger.database.path
    ledger.close()
