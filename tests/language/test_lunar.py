"""The Chinese calendar against days that were published, and against the moon and the sun."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest

from commonplace.language import lunar

YEARS = range(1900, 2101)


@pytest.mark.parametrize(
    ("year", "number", "inserted", "first", "last"),
    [
        (1900, 8, True, "1900-09-24", "1900-10-22"),
        (1985, 1, False, "1985-02-20", "1985-03-20"),
        (2023, 2, True, "2023-03-22", "2023-04-19"),
        (2025, 6, False, "2025-06-25", "2025-07-24"),
        (2025, 12, False, "2026-01-19", "2026-02-16"),
        (2026, 0, False, "2026-01-19", "2026-02-16"),
        (2033, 11, True, "2033-12-22", "2034-01-19"),
    ],
)
def test_months_as_they_were_published(year: int, number: int, inserted: bool, first: str, last: str) -> None:
    month = lunar.month(year, number, inserted=inserted)
    assert month is not None
    assert (str(month.first), str(month.last)) == (first, last)


def test_what_is_no_month_and_no_day() -> None:
    assert lunar.month(1899, 1) is None
    assert lunar.month(2026, 13) is None
    assert lunar.month(2026, 6, inserted=True) is None
    assert lunar.month(2025, 12, [29]) is not None
    assert lunar.month(2025, 12, [30]) is None


def test_months_follow_each_other_from_new_moon_to_new_moon() -> None:
    moon = date(2000, 1, 7)  # of a new moon in China
    months = [
        lunar.month(year, number, inserted=inserted)
        for year in YEARS
        for number in range(1, 13)
        for inserted in (False, True)
    ]
    known = [month for month in months if month is not None]
    assert len(known) == 201 * 12 + 74  # seven inserted in nineteen years
    for one, following in pairwise(known):
        assert following.first == one.last + timedelta(1)
    for one in known:
        assert abs(((one.first - moon).days + 15.4) % 29.530588 - 15) < 1.3, one


def test_the_year_of_a_day_before_the_new_year_is_the_last_one() -> None:
    assert [lunar.year_of(date(2026, 2, day)) for day in (16, 17)] == [2025, 2026]
    assert lunar.year_of(date(1800, 1, 1)) == 1800


@pytest.mark.parametrize(
    ("year", "days"),
    [  # spring equinox and every sixth term
        (1926, "03-21 06-22 09-24 12-22"),
        (1984, "03-20 06-21 09-23 12-22"),
        (2024, "03-20 06-21 09-22 12-21"),
        (2026, "03-20 06-21 09-23 12-22"),
        (2100, "03-20 06-21 09-23 12-22"),
    ],
)
def test_solar_terms_as_they_were_published(year: int, days: str) -> None:
    terms = [lunar.solar_term(year, longitude) for longitude in (0, 90, 180, 270)]
    assert [f"{term:%m-%d}" for term in terms if term] == days.split()


def test_the_winter_solstice_lies_in_the_eleventh_month() -> None:
    """The rule from which the calendar is made."""
    for year in YEARS:
        month = lunar.month(year, 11)
        assert month is not None
        solstice = lunar.solar_term(year, 270)
        assert solstice is not None
        assert month.first <= solstice <= month.last, year
