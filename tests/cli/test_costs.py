"""`costs`: what the ledger holds, in columns and as JSON, and the days it is asked for."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.providers.costs import Ledger
from tests.cli.conftest import Run


@pytest.fixture
def spent(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with calls of today and of ten days ago."""
    ledger = Ledger.of(Workspace(workspace))
    ledger.record("summary", "openai", "gpt-4.1-mini", 120_000, 8_000)
    ledger.record("summary", "openai", "gpt-4.1-mini", 0, outcome="failed")
    ledger.record("总结", "somebody", "new", 500, 50)
    now = time.time()
    with monkeypatch.context() as earlier:
        earlier.setattr("time.time", lambda: now - 10 * 86_400)
        ledger.record("embed", "ollama", "nomic-embed-text", 4_000)
    ledger.close()
    return workspace


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_nothing_is_said_in_words_and_in_json(run: Run, workspace: Path) -> None:
    assert run("costs").output == "no calls to models\n"
    assert run("costs", "--since", "7d").output == "no calls to models since 7d\n"
    for by in ("purpose", "model", "day"):
        assert json.loads(run("costs", "--by", by, "--format", "json").output) == []
    assert not Workspace(workspace).ledger.exists()


def test_by_purpose(run: Run, spent: Path) -> None:
    result = run("costs")
    assert result.exit_code == 0
    assert lines(result.output) == [
        ["purpose", "calls", "failed", "tokens", "in", "tokens", "out", "cost"],
        ["summary", "2", "1", "120,000", "8,000", "$0.0608"],
        ["embed", "1", "0", "4,000", "0", "$0.0000"],
        ["总结", "1", "0", "500", "50", "$0.0000", "+", "1", "unpriced"],
        ["total", "4", "1", "124,500", "8,050", "$0.0608", "+", "1", "unpriced"],
    ]


def test_by_model_and_since(run: Run, spent: Path) -> None:
    names = [row[0] for row in lines(run("costs", "--by", "model", "--since", "2d").output)]
    assert names == ["model", "openai/gpt-4.1-mini", "somebody/new", "total"]
    day = f"{datetime.now() - timedelta(days=10):%Y-%m-%d}"
    assert "ollama" in run("costs", "--by", "model", "--since", day).output
    assert "ollama" in run("costs", "--by", "model", "--since", "2w").output


def test_by_day_as_json(run: Run, spent: Path) -> None:
    found = json.loads(run("costs", "--by", "day", "--format", "json").output)
    assert [row["name"] for row in found] == sorted(row["name"] for row in found)
    assert found[-1] == {
        "name": f"{datetime.now():%Y-%m-%d}",
        "calls": 3,
        "failed": 1,
        "tokens_in": 120_500,
        "tokens_out": 8_050,
        "cost": 0.0608,
        "unpriced": 1,
    }


@pytest.mark.parametrize("since", ["yesterday", "7x", "2026-13-01", "20260101", "0001-01-01x", "-3d", ""])
def test_what_is_no_day_is_wrong_usage(run: Run, workspace: Path, since: str) -> None:
    result = run("costs", f"--since={since}")
    assert result.exit_code == 2


def test_prices_that_cannot_be_read_hide_no_costs(run: Run, spent: Path) -> None:
    file = paths.user_config_dir() / "prices.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[broken")
    assert run("costs").exit_code == 0
