"""Spans of the calendar, and the form in which a language says how its dates are written.

Weeks begin on Monday. What lies some units away is a whole unit: two weeks ago is a week, as last week is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta

from commonplace.base.tuples import NamedTuple

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Literal

    Unit = Literal["day", "week", "month", "quarter", "year"]
    # Kind of an expression: complete (2026-02-13), seen from now (last week), or recurring (in March),
    # of which the nearest is meant that lies not in the future (in March).
    Kind = Literal["absolute", "relative", "nearest"]


class Period(NamedTuple):
    """Days from the first to the last, both included."""

    first: date
    last: date


class Rule(NamedTuple):
    """One way to write a date.

    `hints` are texts of which one must occur, so that most expressions are never compiled. `resolve` turns a
    match into a period as seen from a day; None if it is no date after all. A match with a group `year` of
    digits is absolute whatever `kind` says. `every` is the unit after which it recurs without a year.
    """

    pattern: str
    hints: tuple[str, ...]
    resolve: Callable[[re.Match[str], date], Period | None]
    kind: Kind = "relative"
    every: Unit = "year"


class Beside(NamedTuple):
    """An expression for a neighbour of a date: before it (the week before), or behind it (前一周).

    `resolve` makes the period meant of a match and the period of the date.
    """

    pattern: str
    resolve: Callable[[re.Match[str], Period], Period]
    behind: bool = False


def day(of: date) -> Period:
    """One day."""
    return Period(of, of)


def week(of: date) -> Period:
    """The week of a day, Monday to Sunday."""
    monday = of - timedelta(of.weekday())
    return Period(monday, monday + timedelta(6))


def weekend(of: date) -> Period:
    """Saturday and Sunday of the week of a day."""
    return Period(week(of).last - timedelta(1), week(of).last)


def month(year: int, number: int, part: int = 0) -> Period:
    """A month, or one part of it: 1 up to the 10th, 2 up to the 20th, 3 the rest."""
    last = 31 if number == 12 else (date(year, number + 1, 1) - timedelta(1)).day
    first, end = [(1, last), (1, 10), (11, 20), (21, last)][part]
    return Period(date(year, number, first), date(year, number, end))


def year(number: int) -> Period:
    """A whole year."""
    return Period(date(number, 1, 1), date(number, 12, 31))


def part_of_year(year: int, part: int) -> Period:
    """The first month of a year (1), the two in its middle (2), or its last (3)."""
    first, last = [(1, 1), (6, 7), (12, 12)][part - 1]
    return Period(date(year, first, 1), month(year, last).last)


def part_of(now: date, unit: Unit, part: int, steps: int | None) -> Period:
    """Such a part of a month or year some steps away; None: of the latest in which that part has begun."""
    then = shifted(now, unit, steps or 0)
    period = month(then.year, then.month, part) if unit == "month" else part_of_year(then.year, part)
    return period if steps is not None or period.first <= now else part_of(now, unit, part, -1)


def recurring(
    of_year: Callable[[int], Period | None], now: date, said: int | None, which: int | None
) -> Period | None:
    """A yearly period: of a year; the last (-1), this year's (0) or the next (1); else the latest begun."""
    if said is not None or which == 0:
        return of_year(said or now.year)
    near = (of_year(now.year + step) for step in (-2, -1, 0, 1))  # a Chinese year ends in the next
    each = [period for period in near if period is not None]
    if which == 1:
        return next((period for period in each if period.first > now), None)
    begun = [one for one in each if (one.first <= now if which is None else one.last < now)]
    return begun[-1] if begun else None


def season(year: int, number: int) -> Period:
    """A season of the northern half, from 1 for spring; winter begins in December."""
    first = date(year, 3 * number, 1)
    return Period(first, shifted(first, "month", 3) - timedelta(1))


def beside(period: Period, unit: Unit, steps: int) -> Period:
    """So many units before (below 0) or after a period: the one next to it whole, a single day, else a week,
    month or year of the calendar.
    """
    end = period.last if steps > 0 else period.first
    if unit == "day":
        return day(end + timedelta(steps))
    if abs(steps) > 1:
        return away(end, unit, steps)
    if steps < 0:
        return Period(shifted(end, unit, -1), end - timedelta(1))
    return Period(end + timedelta(1), shifted(end + timedelta(1), unit, 1) - timedelta(1))


def shifted(of: date, unit: Unit, steps: int) -> date:
    """The day some units away; the last day of a shorter month where there is no such one."""
    if unit in ("day", "week"):
        return of + timedelta(steps * (7 if unit == "week" else 1))
    months = steps * {"month": 1, "quarter": 3, "year": 12}[unit]
    years, number = divmod(of.year * 12 + of.month - 1 + months, 12)
    return date(years, number + 1, min(of.day, month(years, number + 1).last.day))


def away(now: date, unit: Unit, steps: int) -> Period:
    """The whole unit that lies some of them away from now: -1 is the last, 0 this, 1 the next."""
    then = shifted(now, unit, steps)
    if unit == "day":
        return day(then)
    if unit == "week":
        return week(then)
    if unit == "month":
        return month(then.year, then.month)
    return months_of(now, then.year, 3, (then.month + 2) // 3) if unit == "quarter" else year(then.year)


def rolling(now: date, unit: Unit, count: int) -> Period:
    """The time since some units ago, today included."""
    return Period(shifted(now, unit, -count), now)


def ahead(now: date, unit: Unit, count: int) -> Period:
    """The time up to some units from now, today included."""
    return Period(now, shifted(now, unit, count))


def day_of(now: date, said: int | None, number: int, of_month: int) -> Period | None:
    """A day of a month; without a year the latest that is not in the future, or None."""
    for year_of in (said,) if said else range(now.year, now.year - 9, -1):  # leap days: eight years at most
        with suppress(ValueError):
            if said or date(year_of, number, of_month) <= now:
                return day(date(year_of, number, of_month))
    return None


def month_of(now: date, said: int | None, number: int, part: int = 0) -> Period:
    """A month or a part of it; without a year the latest of this number that has begun."""
    return month(said or now.year - (number > now.month), number, part)


def months_of(now: date, said: int | None, count: int, number: int) -> Period:
    """A quarter (3 months) or half of a year (6); without a year the latest of this number that has begun."""
    last = count * number
    of = said or now.year - (last - count >= now.month)
    return Period(date(of, last - count + 1, 1), month(of, last).last)


def week_of(now: date, said: int | None, number: int) -> Period:
    """The week of this number (ISO 8601); without a year the latest that has begun."""
    years = (said,) if said else (now.year, now.year - 1)
    weeks = [week(date.fromisocalendar(of, number, 1)) for of in years]
    return next((one for one in weeks if one.first <= now), weeks[-1])


def nearest_weekday(now: date, weekday: int) -> Period:
    """The latest such day of the week, today included; Monday is 0."""
    return day(now - timedelta((now.weekday() - weekday) % 7))
