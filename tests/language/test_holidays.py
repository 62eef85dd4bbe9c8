"""Feasts: by date, weekday, Easter and the Chinese calendar, of any year."""

from __future__ import annotations

from datetime import date

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
