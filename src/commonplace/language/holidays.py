"""Feasts and other days with a name: on a date, on a weekday of a month, by Easter, by the Chinese calendar.

A language lists its names with their days (`rules`): `12-25`, `10-01~10-07`, `11/4/4` (of November the fourth
Thursday), `easter`, `lunar8-15` (of the eighth month of the Chinese calendar; month 0 is the last of the year
before), `sun270` (when the sun reaches this longitude), each with `:-1~6` for days from a first to a last one
around it.

The Chinese calendar from 1900 to 2100: `rules/lunar.txt` has a line for each year, its first day, a sign for
each month (`+` of 30 days, `-` of 29), and the month after which one is inserted, if one is. Made with
lunar-python 1.4.8 (MIT), which follows the calendar as it was published, and from now on GB/T 33661-2017.
`rules/terms.txt` has the days of the solar terms of each year, two a month, after Jean Meeus; a few near
midnight are a day off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache

from commonplace import language
from commonplace.language import periods, rules
from commonplace.language.periods import Period

_FIRST_TERM = 285  # 小寒, in January; each month has two


@cache
def names(code: str) -> Mapping[str, str]:
    """Return what each name of a language stands for, the longest name first."""
    pairs = (entry.rpartition("=") for entry in rules.listed(code, "holidays"))
    known = {name.replace("_", " "): spec for name, _, spec in pairs}
    return dict(sorted(known.items(), key=lambda pair: -len(pair[0])))


def naming(text: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Return how a text names a feast: as written, the shortest name in that, the names in any language.

    None for no feast. 中秋 is the shortest name in 中秋节.
    """
    folded = language.fold_cases(language.fold(text)).lower()  # of the same length
    every = [(name, spec) for code in rules.LANGUAGES for name, spec in names(code).items()]
    name, spec = max(
        (one for one in every if one[0] in folded), key=lambda one: len(one[0]), default=("", "")
    )
    if not name:
        return None
    same = tuple(other for other, of in every if of == spec)
    start = folded.index(name)
    shortest = min((other for other in same if other in name), key=len)
    return text[start : start + len(name)], shortest, same


def nearest(spec: str, now: date, said: int | None, which: int | None) -> Period | None:
    """Return a feast: of a year; the last (-1), this year's (0) or the next (1); else the latest begun."""
    return periods.recurring(lambda year: of_year(spec, year), now, said, which)


def of_year(spec: str, year: int) -> Period | None:
    """Return a feast of a year; None outside the table."""
    base, _, beside = spec.partition(":")
    period = _base(base, year)
    if period is None or not beside:
        return period
    first, _, last = beside.partition("~")
    return Period(*(period.first + timedelta(int(days)) for days in (first, last or first)))


def _base(base: str, year: int) -> Period | None:
    if base == "easter":
        return periods.day(easter(year))
    if base.startswith("lunar"):
        number, day = map(int, base.removeprefix("lunar").split("-"))
        return lunar_month(year, number, [day])
    if base.startswith("sun"):
        term = solar_term(year, int(base.removeprefix("sun")))
        return periods.day(term) if term else None
    if "/" in base:
        month, nth, weekday = map(int, base.split("/"))
        begins = date(year, month, 1)
        return periods.day(begins + timedelta((weekday - begins.isoweekday()) % 7 + 7 * (nth - 1)))
    first, _, last = base.partition("~")
    return Period(*(date.fromisoformat(f"{year:04}-{written}") for written in (first, last or first)))


def easter(year: int) -> date:
    """Return Easter Sunday of the western churches (Meeus, Astronomical Algorithms, 1991, chapter 8)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


# --- the Chinese calendar ---------------------------------------------------------------------------------


@cache
def _years() -> Mapping[int, tuple[date, str, int]]:
    """The first day of each Chinese year, its months, and the month before an inserted one, or 0."""
    rows = (line.split() for line in rules.lines("lunar.txt"))
    return {
        int(year): (date.fromisoformat(f"{year}-{first}"), signs, int("".join(leap) or 0))
        for year, first, signs, *leap in rows
    }


def lunar_month(year: int, number: int, days: Sequence[int] = (), *, inserted: bool = False) -> Period | None:
    """Return a month of a year, or its days from a first to a last; month 0 is the last of the year before.

    None if there is no such month, or the month is too short.
    """
    if number == 0:
        return lunar_month(year - 1, 12, days)
    begins, signs, leap = _years().get(year, (date.min, "", 0))
    if not signs or number > 12 or (inserted and number != leap):
        return None
    before = number - 1 + (inserted or 0 < leap < number)
    first = begins + timedelta(29 * before + signs[:before].count("+"))
    size = 29 + signs[before].count("+")
    start, end = (days[0], days[-1]) if days else (1, size)
    return Period(first + timedelta(start - 1), first + timedelta(end - 1)) if start <= end <= size else None


def lunar_year(now: date) -> int:
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
