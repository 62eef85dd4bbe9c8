"""The clock: files and days to come, time zones that nobody knows."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from commonplace.diagnosis import workspace as checks
from tests.diagnosis.conftest import Present, by_check, states


def test_a_clock_that_is_right(case: Present, indexed: Path) -> None:
    assert states(checks.clock(case())) == {"workspace.clock": "ok", "workspace.zone": "ok"}


def test_a_note_from_the_future(case: Present, workspace: Path) -> None:
    ahead = time.time() + 3600
    os.utime(workspace / "MEMORY.md", (ahead, ahead))
    found = by_check(checks.clock(case()))["workspace.clock"]
    assert found.state == "warning"
    assert found.told == "1 note changed at a time that is still to come: MEMORY.md"


def test_a_clock_that_was_set_back(case: Present, indexed: Path) -> None:
    past = replace(case(), now_s=time.time() - 86_400)
    found = by_check(checks.clock(past))["workspace.clock"]
    assert found.state == "warning"
    assert "the clock was set back" in found.told


def test_daily_notes_of_days_to_come(case: Present, workspace: Path) -> None:
    tomorrow, later = (date.today() + timedelta(days=n) for n in (1, 3))
    (workspace / "memory" / f"{tomorrow}.md").write_text("soon\n")
    assert "workspace.days" not in states(checks.clock(case()))
    (workspace / "memory" / f"{later}-plan.md").write_text("later\n")
    found = by_check(checks.clock(case()))["workspace.days"]
    assert found.state == "warning"
    assert f"memory/{later}-plan.md" in found.told
    assert str(tomorrow) not in found.told


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Europe/Paris", True),
        (":Europe/Paris", True),
        ("CET-1CEST,M3.5.0,M10.5.0/3", True),
        ("<+07>-7", True),
        ("UTC", True),
        ("Europe/Pariss", False),
        ("../../etc/passwd", False),
    ],
)
def test_time_zones(case: Present, monkeypatch: pytest.MonkeyPatch, name: str, known: bool) -> None:
    monkeypatch.setenv("TZ", name)
    found = by_check(checks.clock(case()))["workspace.zone"]
    assert found.state == ("ok" if known else "warning")
    assert name in found.told or known


def test_without_a_workspace_the_zone_is_told(case: Present, workspace: Path) -> None:
    assert states(checks.clock(replace(case(), root=None))) == {
        "workspace.clock": "ok",
        "workspace.zone": "ok",
    }
