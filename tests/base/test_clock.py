"""When a day begins: also on days on which clocks change, at midnight itself too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest

from commonplace.base import clock


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be changed here")
@pytest.mark.parametrize(
    ("zone", "day", "moment"),
    [
        ("Europe/Berlin", date(2026, 3, 29), "2026-03-28T23:00"),  # clocks go forward at two
        ("Europe/Berlin", date(2026, 10, 25), "2026-10-24T22:00"),  # and back at three
        ("Europe/Berlin", date(2026, 10, 26), "2026-10-25T23:00"),
        ("Asia/Shanghai", date(2026, 3, 29), "2026-03-28T16:00"),
        ("Africa/Cairo", date(2026, 4, 24), "2026-04-23T22:00"),  # there is no midnight
    ],
    indirect=["zone"],
)
def test_a_day_begins_at_its_own_midnight(zone: None, day: date, moment: str) -> None:
    assert clock.began(day) == datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


def test_days_far_back_are_no_error() -> None:
    assert clock.began(date(1, 1, 1)) == clock.began(date(1970, 5, 1)) == 0.0
