"""The Chinese calendar from 1900 to 2100: months of the moon, and the days of the solar terms.

`rules/lunar.txt` has a line for each year: its first day, a sign for each month (`+` of 30 days, `-` of 29),
and behind them the month after which one is inserted, if one is. Made with lunar-python 1.4.8 (MIT), which
follows the calendar as it was published, and from now on GB/T 33661-2017.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache

from commonplace.base.tuples import NamedTuple
from commonplace.language import rules
from commonplace.language.periods import Period

_DAY_ZERO = 1721424.5  # the Julian day at which the day before 0001-01-01 begins
_TROPICAL_YEAR = 365.2422
_NEW_YEAR = 280.0  # near where the sun stands on 1 January
_CHINA, _LATE = 8 / 24, 60 / 86400  # from Greenwich; dynamical time is a minute ahead in these years


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


def solar_term(year: int, longitude: int) -> date:
    """Return the day of a year, in China, on which the sun reaches a longitude: 0 at 春分, 270 at 冬至.

    A few that fall within three minutes of midnight are a day off.
    """
    moment = date(year, 1, 1).toordinal() + _DAY_ZERO + (longitude - _NEW_YEAR) % 360 / 360 * _TROPICAL_YEAR
    for _ in range(4):
        moment += ((longitude - _longitude(moment) + 180) % 360 - 180) / 360 * _TROPICAL_YEAR
    return date.fromordinal(math.floor(moment - _LATE + _CHINA - _DAY_ZERO))


def _longitude(moment: float) -> float:
    """The apparent longitude of the sun, in degrees, at a Julian day.

    Jean Meeus, Astronomical Formulae for Calculators (1979), chapter 18, the higher accuracy.
    """
    t = (moment - 2415020.0) / 36525
    m = math.radians(358.47583 + 35999.04975 * t - 0.000150 * t**2 - 0.0000033 * t**3)
    center = (
        (1.919460 - 0.004789 * t - 0.000014 * t**2) * math.sin(m)
        + (0.020094 - 0.000100 * t) * math.sin(2 * m)
        + 0.000293 * math.sin(3 * m)
    )
    planets = (
        0.00134 * math.cos(math.radians(153.23 + 22518.7541 * t))
        + 0.00154 * math.cos(math.radians(216.57 + 45037.5082 * t))
        + 0.00200 * math.cos(math.radians(312.69 + 32964.3577 * t))
        + 0.00179 * math.sin(math.radians(350.74 + 445267.1142 * t - 0.00144 * t**2))
        + 0.00178 * math.sin(math.radians(231.19 + 20.20 * t))
    )
    apparent = -0.00569 - 0.00479 * math.sin(math.radians(259.18 - 1934.142 * t))
    return 279.69668 + 36000.76892 * t + 0.0003025 * t**2 + center + planets + apparent
