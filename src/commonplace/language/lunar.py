"""The Chinese calendar from 1900 to 2100: months of the moon, and the days of the solar terms.

`rules/lunar.txt` has a line for each year: its first day, a sign for each month (`+` of 30 days, `-` of 29),
and behind them the month after which one is inserted, if one is. Made with lunar-python 1.4.8 (MIT), which
follows the calendar as it was published, and from now on GB/T 33661-2017.

`rules/terms.txt` has the days of the solar terms of each year, two a month, computed after Jean Meeus,
Astronomical Formulae for Calculators (1979), chapter 18; a few near midnight are a day off.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache

from commonplace.base.tuples import NamedTuple
from commonplace.language import rules
from commonplace.language.periods import Period

_FIRST_TERM = 285  # 小寒, in January; each month has two


class _Year(NamedTuple):
    """The first day of a year, the days of its months, and which is followed by an inserted one (or 0)."""

    first: date
    lengths: tuple[int, ...]
    leap: int


@cache
def _years() -> Mapping[int, _Year]:
    years = {}
    for line in rules.lines("lunar.txt"):
        year, first, lengths, *leap = line.split()
        days = tuple(30 if sign == "+" else 29 for sign in lengths)
        years[int(year)] = _Year(date.fromisoformat(f"{year}-{first}"), days, int(leap[0]) if leap else 0)
    return years


def month(year: int, number: int, *, inserted: bool = False) -> Period | None:
    """Return a month of a year, 0 for the last of the year before; None if there is no such month."""
    if number == 0:
        return month(year - 1, 12)
    of = _years().get(year)
    if of is None or number > 12 or (inserted and number != of.leap):
        return None
    before = number - 1 + (inserted or 0 < of.leap < number)
    first = of.first + timedelta(sum(of.lengths[:before]))
    return Period(first, first + timedelta(of.lengths[before] - 1))


def day(month: Period, number: int) -> Period | None:
    """Return a day of a month; None for the 30th of a short one."""
    then = month.first + timedelta(number - 1)
    return Period(then, then) if then <= month.last else None


def year_of(now: date) -> int:
    """Return the year in which a day lies: before the Chinese New Year it is the last one."""
    of = _years().get(now.year)
    return now.year - (of is not None and now < of.first)


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
