"""Feasts: by date, weekday, Easter and the Chinese calendar, of any year."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from commonplace.language import holidays, rules


def test_days_of_feasts() -> None:
    for spec, year, first, last in [
        ("12-25", 2026, "2026-12-25", "2026-12-25"),
        ("10-01~10-07", 2025, "2025-10-01", "2025-10-07"),
        ("11/4/4", 2026, "2026-11-26", "2026-11-26"),
        ("11/4/4:1", 2023, "2023-11-24", "2023-11-24"),
        ("easter", 2024, "2024-03-31", "2024-03-31"),
        ("easter", 2000, "2000-04-23", "2000-04-23"),
        ("easter:-2~1", 2026, "2026-04-03", "2026-04-06"),
        ("lunar1-1", 2024, "2024-02-10", "2024-02-10"),
        ("lunar8-15", 2026, "2026-09-25", "2026-09-25"),
        ("lunar0-23:0~1", 2026, "2026-02-10", "2026-02-11"),
        ("sun270", 2026, "2026-12-22", "2026-12-22"),
    ]:
        period = holidays.of_year(spec, year)
        assert period is not None
        assert (str(period.first), str(period.last)) == (first, last)
    assert holidays.of_year("lunar1-1", 1800) is None


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.sampled_from([None, -1, 0, 1]))
def test_every_feast_has_a_place_in_time(now: date, which: int | None) -> None:
    for language in rules.LANGUAGES:
        for spec in holidays.names(language).values():
            period = holidays.nearest(spec, now, None, which)
            if period is None:
                continue
            assert period.first <= period.last
            assert which != -1 or period.last < now
            assert which != 1 or period.first > now
            assert which is not None or period.first <= now


def test_easter_is_a_sunday_in_spring() -> None:
    for year in range(1900, 2200):
        day = holidays.easter(year)
        assert day.isoweekday() == 7
        assert date(year, 3, 22) <= day <= date(year, 4, 25)


def test_how_a_text_names_a_feast() -> None:
    for text, written, shortest, another in [
        ("中秋節", "中秋節", "中秋", "mid-autumn festival"),
        ("去年圣诞节", "圣诞节", "圣诞", "christmas"),
        ("last Christmas Day", "Christmas Day", "christmas", "圣诞"),
        ("Easter Sunday 2026", "Easter Sunday", "easter sunday", "easter sunday"),
    ]:
        naming = holidays.naming(text)
        assert naming is not None
        assert naming[:2] == (written, shortest)
        assert another in naming[2]
    assert holidays.naming("3 May") is None


# --- the Chinese calendar: days that were published, and the moon and the sun ------------------------------

YEARS = range(1900, 2101)


def test_months_and_terms_as_they_were_published() -> None:
    for year, number, inserted, first, last in (
        (1900, 8, True, "1900-09-24", "1900-10-22"), (2025, 6, False, "2025-06-25", "2025-07-24"),
        (2026, 0, False, "2026-01-19", "2026-02-16"), (2033, 11, True, "2033-12-22", "2034-01-19"),
    ):  # fmt: skip
        assert holidays.lunar_month(year, number, inserted=inserted) == (
            date.fromisoformat(first), date.fromisoformat(last),
        )  # fmt: skip
    for year, days in ((1926, "03-21 06-22 09-24 12-22"), (2100, "03-20 06-21 09-23 12-22")):
        terms = [holidays.solar_term(year, longitude) for longitude in (0, 90, 180, 270)]
        assert [f"{term:%m-%d}" for term in terms if term] == days.split()


def test_what_is_no_month_and_no_day() -> None:
    assert holidays.lunar_month(1899, 1) is None
    assert holidays.lunar_month(2026, 13) is None
    assert holidays.lunar_month(2026, 6, inserted=True) is None
    assert holidays.lunar_month(2025, 12, [29]) is not None
    assert holidays.lunar_month(2025, 12, [30]) is None


def test_months_follow_each_other_from_new_moon_to_new_moon() -> None:
    moon = date(2000, 1, 7)  # of a new moon in China
    months = [
        holidays.lunar_month(year, number, inserted=inserted)
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
    assert [holidays.lunar_year(date(2026, 2, day)) for day in (16, 17)] == [2025, 2026]
    assert holidays.lunar_year(date(1800, 1, 1)) == 1800


def test_the_winter_solstice_lies_in_the_eleventh_month() -> None:
    """The rule from which the calendar is made."""
    for year in YEARS:
        month = holidays.lunar_month(year, 11)
        assert month is not None
        solstice = holidays.solar_term(year, 270)
        assert solstice is not None
        assert month.first <= solstice <= month.last, year
