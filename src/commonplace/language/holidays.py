"""Feasts and other days with a name: on a date, on a weekday of a month, by Easter, by the Chinese calendar.

A language lists its names with their days (`rules`): `12-25`, `10-01~10-07`, `11/4/4` (of November the fourth
Thursday), `easter`, `lunar8-15` (of the eighth month of the Chinese calendar; month 0 is the last of the year
before), `sun270` (when the sun reaches this longitude), each with `:-1~6` for days from a first to a last one
around it. The Chinese calendar (`lunar`) is known from 1900 to 2100.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache

from commonplace import language
from commonplace.language import lunar, periods, rules
from commonplace.language.periods import Period


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
        return lunar.month(year, number, [day])
    if base.startswith("sun"):
        term = lunar.solar_term(year, int(base.removeprefix("sun")))
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
