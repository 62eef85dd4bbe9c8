"""Dates in a text, English and Chinese, as spans of days seen from a reference date.

Weeks begin on Monday. What lacks a year is the nearest that is not in the future: in March, on Tuesday,
3 May. *Last Tuesday* is the latest before today, 上周三 the Wednesday of last week. Two weeks ago is the
whole week, the last two weeks are the time up to now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import NamedTuple

from commonplace import characters
from commonplace.search.periods import Kind, Period, Rule, shifted

MAX_CHARACTERS = 8000
MAX_SPANS = 16  # a text with more is a list of dates, not a question about some
_TO = r"\s{0,3}(?:to|until|till|through|up to|-|–|—|~|～|到|至|直到|一直到)\s{0,3}(?:the\s{1,3})?"
_AND = r"\s{0,3}(?:and|和|与)\s{0,3}(?:the\s{1,3})?"
_BETWEEN = r"\bbetween\s{1,3}(?:the\s{1,3})?$"
_AMONG = r"\s{0,3}之?间"
_SINCE = r"(?:\bsince|自从)\s{0,3}(?:the\s{1,3})?$"
_ONWARDS = r"\s{0,3}(?:以来|至今|起|开始|onwards?\b)"


class Span(NamedTuple):
    """Days from the first to the last, both included, and the part of the text that says so.

    `relative` is whether another reference date would give others.
    """

    first: date
    last: date
    text: str
    relative: bool = False


class _Found(NamedTuple):
    """An expression in the text, and how it was understood."""

    start: int
    end: int
    period: Period
    kind: Kind
    rule: Rule
    match: re.Match[str]


def spans(text: str, now: date) -> tuple[Span, ...]:
    """Find the dates of a text in their order, none overlapping; ranges are one span."""
    text = text[:MAX_CHARACTERS]
    folded = characters.fold_width(text)  # of the same length
    return tuple(_joined(text, _expressions(folded, now), now))[:MAX_SPANS]


def read(text: str, now: date) -> Span | None:
    """Take a whole text as one date, or None; a bare month, year or day of the week is one here."""
    wanted = text.strip()
    for lead in ("", "in ", "on "):
        found = spans(lead + wanted, now)
        if len(found) == 1 and found[0].text.strip() == wanted:
            return found[0]
    return Span(now, now, wanted, True) if wanted.lower() in ("now", "现在") else None


def _expressions(text: str, now: date) -> list[_Found]:
    """Every expression that is a date, from left to right; of those that overlap the first, the longest."""
    found = sorted(_matches(text, now), key=lambda f: (f.start, -f.end))
    kept: list[_Found] = []
    for item in found:
        if not kept or item.start >= kept[-1].end:
            kept.append(item)
    return kept


def _matches(text: str, now: date) -> Iterator[_Found]:
    lower = text.lower()
    rules, any_hint = _rules(text.isascii())
    if any_hint.search(lower) is None:
        return
    for rule, hints in rules:
        if hints.search(lower):
            for match in _compiled(rule.pattern).finditer(text):
                period = _resolved(rule, match, now)
                if period is not None:
                    yield _Found(match.start(), match.end(), period, _kind(rule, match), rule, match)


@cache
def _rules(is_ascii: bool) -> tuple[tuple[tuple[Rule, re.Pattern[str]], ...], re.Pattern[str]]:
    """The rules that a text may follow, each with what finds one of its hints, and what finds any."""
    from commonplace.search import english_dates

    rules: tuple[Rule, ...] = english_dates.RULES
    if not is_ascii:
        from commonplace.search import chinese_dates

        rules += chinese_dates.RULES
    hints = dict.fromkeys(hint for rule in rules for hint in rule.hints)
    each = tuple((rule, re.compile("|".join(map(re.escape, rule.hints)))) for rule in rules)
    return each, re.compile("|".join(map(re.escape, hints)))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _resolved(rule: Rule, match: re.Match[str], now: date) -> Period | None:
    """The period of a match; None for the 31st of February, and for what lies outside all calendars."""
    try:
        return rule.resolve(match, now)
    except (ValueError, OverflowError):
        return None


def _kind(rule: Rule, match: re.Match[str]) -> Kind:
    groups = match.groupdict()
    if groups.get("year") or groups.get("written"):
        return "absolute"
    return "relative" if groups.get("which_year") or groups.get("which") else rule.kind


def _joined(text: str, found: Sequence[_Found], now: date) -> Iterator[Span]:
    """Make ranges of what stands on both sides of a *to*, and open ones of what follows a *since*."""
    place = 0
    while place < len(found):
        item = found[place]
        other = found[place + 1] if place + 1 < len(found) else None
        if other is not None and _is_range(text, item, other):
            first, last = _range(item, other, now)
            relative = "absolute" not in (item.kind, other.kind) or "relative" in (item.kind, other.kind)
            yield Span(first, last, text[item.start : other.end], relative)
            place += 2
            continue
        first, last = item.period
        if first <= now and (_precedes(_SINCE, text, item) or _follows(_ONWARDS, text, item)):
            last = max(last, now)
        yield Span(first, last, text[item.start : item.end], item.kind != "absolute")
        place += 1


def _is_range(text: str, one: _Found, other: _Found) -> bool:
    between = text[one.end : other.start]
    if len(between) > 20:
        return False
    if _compiled(_TO).fullmatch(between):
        return True
    joined = _compiled(_AND).fullmatch(between) is not None
    return joined and (_precedes(_BETWEEN, text, one) or _follows(_AMONG, text, other))


def _precedes(pattern: str, text: str, item: _Found) -> bool:
    return _compiled(pattern).search(text[max(0, item.start - 20) : item.start]) is not None


def _follows(pattern: str, text: str, item: _Found) -> bool:
    return _compiled(pattern).match(text, item.end) is not None


def _range(one: _Found, other: _Found, now: date) -> Period:
    """From the first day of one to the last of the other; what lacks a year takes it from the other."""
    first, last = one.period.first, other.period.last
    if one.kind == "nearest":
        again = _resolved(one.rule, one.match, last)
        first = again.first if again else first
    elif other.kind == "nearest" and last < first:
        again = _resolved(other.rule, other.match, shifted(first, "year", 1))
        last = again.last if again else last
    return Period(min(first, last), max(first, last))
