"""The Chinese calendar from 1900 to 2100: months of the moon, and the days of the solar terms.

`rules/lunar.txt` has a line for each year: its first day, a sign for each month (`+` of 30 days, `-` of 29),
and behind them the month after which one is inserted, if one is. Made with lunar-python 1.4.8 (MIT), which
follows the calendar as it was published, and from now on GB/T 33661-2017.

`rules/terms.txt` has the days of the solar terms of each year, two a month, computed after Jean Meeus,
Astronomical Formulae for Calculators (1979), chapter 18; a few near midnight are a day off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache

from commonplace.language import rules
from commonplace.language.periods import Period

_FIRST_TERM = 285  # 小寒, in January; each month has two


@cache
def _years() -> Mapping[int, tuple[date, str, int]]:
    """The first day of each year, the signs of its months, and the month before an inserted one, or 0."""
    rows = (line.split() for line in rules.lines("lunar.txt"))
    return {
        int(year): (date.fromisoformat(f"{year}-{first}"), signs, int("".join(leap) or 0))
        for year, first, signs, *leap in rows
    }


def month(year: int, number: int, days: Sequence[int] = (), *, inserted: bool = False) -> Period | None:
    """Return a month of a year, or its days from a first to a last; month 0 is the last of the year before.

    None if there is no such month, or the month is too short.
    """
    if number == 0:
        return month(year - 1, 12, days)
    begins, signs, leap = _years().get(year, (date.min, "", 0))
    if not signs or number > 12 or (inserted and number != leap):
        return None
    before = number - 1 + (inserted or 0 < leap < number)
    first = begins + timedelta(29 * before + signs[:before].count("+"))
    size = 29 + signs[before].count("+")
    start, end = (days[0], days[-1]) if days else (1, size)
    return Period(first + timedelta(start - 1), first + timedelta(end - 1)) if start <= end <= size else None


def year_of(now: date) -> int:
    """Return the year in which a day lies: before the Chinese New Year it is the last one."""
    return now.year - (now < _years().get(now.year, (date.min,))[0])


@cache
def _terms() -> Mapping[int, tuple[int, ...]]:
    lines = (line.split() for line in rules.lines("terms.txt"))
    return {int(year): tuple(map(int, days)) for year, *days in lines}


def solar_term(year: int, longitude: int) -> date | None:
    """Return the day of a year, in China, on which the sun reaches a longitude: 0 at 春分, 270 at 冬至.

    The longitude is a multiple of 15; None outside the years of the table.
    """
    days, number = _terms().get(year), (longitude - _FIRST_TERM) % 360 // 15
    return None if days is None else date(year, number // 2 + 1, days[number])
