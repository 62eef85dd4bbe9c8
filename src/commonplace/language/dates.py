"""Dates in a text, in every language that has rules, as spans of days seen from a reference date.

Weeks begin on Monday. What lacks a year is the latest that is not in the future: in March, on Tuesday,
3 May; of plans (`coming`) it is that of this year, or of the next or last where that is nearer, and
Tuesday is the coming one. *Last Tuesday* is the latest before today, 上周三 the Wednesday of last week. Two
weeks ago is the whole week, the last two weeks are the time up to now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from importlib import import_module

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import rules
from commonplace.language.periods import Period, Rule, away, month, shifted

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from commonplace.language.periods import Kind

    _Seen = TypeVar("_Seen", date, Period)

MAX_CHARACTERS = 8000
_BESIDE_WITHIN = 40  # characters before a date with words for a neighbouring period
BACK_MONTHS, AHEAD_MONTHS = 6, 8  # a day without a year that lies farther from its note is of another year
MAX_SPANS = 16  # a text with more is a list of dates, not a question about some
# Words around dates: between two, and before and behind a range; <> names a list of the rules.
_JOINTS = {
    "the": r"(?:<range_article>\s{1,3})?",
    "to": r"\s{0,3}(?:-|–|—|~|～|<range_to>)\s{0,3}<the>",
    "both": r"\s{0,3}<range_and>\s{0,3}<the>",
    "between": r"<range_between>\s{1,3}<the>$",
    "among": r"\s{0,3}<range_among>",
    "since": r"<range_since>\s{0,3}<the>$",
    "onwards": r"\s{0,3}<range_onwards>",
}


class Span(NamedTuple):
    """Days from the first to the last, both included, and the part of the text that says so.

    `relative` is whether another reference date would give others. `named` is whether the text names the days
    (3 May, Friday, Christmas), by which notes of other days may speak of them, and does not count them from
    the reference date (yesterday). `names_a_day` is whether it tells them to the day, and not in whole months
    or years.
    """

    first: date
    last: date
    text: str
    relative: bool = False
    named: bool = False
    names_a_day: bool = False

    @property
    def written(self) -> str:
        """The days in digits: `2026-02-13`, `2026-02-13 to 2026-02-15`."""
        first, last = self.first.isoformat(), self.last.isoformat()
        return first if first == last else f"{first} to {last}"


@cache
def _joint(name: str, languages: rules.Languages) -> str:
    """Return an expression of `_JOINTS`, or of a list of the rules, for some languages."""
    if name in _JOINTS:
        return re.sub(r"<(\w+)>", lambda match: _joint(match[1], languages), _JOINTS[name])
    return rf"(?:{rules.expression(name, languages) or '(?!)'})"


def times_of_day(text: str) -> str:
    """Return an expression for the times of day that a text may have behind a day."""
    return _joint("times_of_day", rules.spoken(text))


class _Expression(NamedTuple):
    """An expression in the text, and how it was understood."""

    match: re.Match[str]
    rule: Rule
    period: Period
    kind: Kind


def spans(text: str, now: date, *, coming: bool = False) -> tuple[Span, ...]:
    """Find the dates of a text in their order, without overlaps; ranges are one span.

    With `coming` those without a year may lie ahead, as in plans.
    """
    text = text[:MAX_CHARACTERS]
    folded = language.fold_cases(language.fold(text))  # of the same length
    languages = rules.spoken(folded)
    return tuple(_joined(text, _expressions(folded, now, languages, coming), now, languages))[:MAX_SPANS]


def read(text: str, now: date) -> Span | None:
    """Take a whole text as one date, or None; a bare month, year or day of the week is one here.

    A time of day behind a day says no more than the day. A day in digits may be of any year, which in a
    longer text would be a number.
    """
    text = text.strip()
    with suppress(ValueError):
        if (day := date.fromisoformat(text)).isoformat() == text:
            return Span(day, day, text, named=True, names_a_day=True)
    return _whole(text, now) or _whole(re.sub(f"{times_of_day(text)}$", "", text, flags=re.IGNORECASE), now)


def spellings(day: date) -> tuple[str, ...]:
    """Return how notes may write a day in every language, as phrases of lower-case words.

    All but the one in digits leave out the year.
    """
    phrases = (phrase for module in _modules(rules.LANGUAGES) for phrase in module.spellings(day))
    return (f"{day:%Y %m %d}", *phrases)


def months(first: date, last: date) -> tuple[str, ...]:
    """Return how the months of some days may be written in every language, as phrases of lower-case words."""
    count = min(12, 12 * (last.year - first.year) + last.month - first.month + 1)
    numbers = [(first.month - 1 + step) % 12 + 1 for step in range(count)]
    modules = _modules(rules.LANGUAGES)
    return tuple(phrase for number in numbers for module in modules for phrase in module.months(number))


def named(text: str, sought: Span, day: date) -> Span | None:
    """Return what a text of a day names within a span: the earliest and shortest, or None."""
    dated = (one for line in text.split("\n") for one in spans(line, day, coming=True))
    within = (one for one in dated if sought.first <= one.first and one.last <= sought.last)
    return min(within, key=lambda one: (one.last, one.first), default=None)


def _whole(text: str, now: date) -> Span | None:
    languages = rules.spoken(text)
    bare = re.sub(rf"^{_joint('the', languages)}", "", text, flags=re.IGNORECASE)
    for lead in ("", *(f"{word} " for word in sorted(rules.words("before_dates", languages)))):
        dates = spans(lead + text, now)
        if len(dates) == 1 and dates[0].text.strip() in (text, bare):
            return dates[0]
    is_now = text.lower() in rules.words("now", languages)
    return Span(now, now, text, True, names_a_day=True) if is_now else None


def _expressions(text: str, now: date, languages: rules.Languages, coming: bool = False) -> list[_Expression]:
    """Every expression that is a date, from left to right; of those that overlap the first, the longest."""
    lower = text.lower()
    rows, any_hint = _rules(languages)
    if any_hint.search(lower) is None:
        return []
    expressions: list[_Expression] = []
    for rule, hints in rows:
        for match in _compiled(rule.pattern).finditer(text) if hints.search(lower) else ():
            kind = _kind(rule, match)
            recurs = coming and (kind == "nearest" or rule.every == "month")
            if period := _nearest(rule, match, now) if recurs else _resolved(rule.resolve, match, now):
                expressions.append(_Expression(match, rule, period, kind))
    words = _compiled(_joint("not_dates", languages)).finditer(text) if expressions else ()
    others = [word.span() for word in words]  # a date that ends in such a word is none
    apart: list[_Expression] = []
    for one in sorted(expressions, key=lambda one: (one.match.start(), -one.match.end())):
        start, end = one.match.span()
        if not any(first < end <= last for first, last in others) and (
            not apart or start >= apart[-1].match.end()
        ):
            apart.append(one)
    return apart


def _kind(rule: Rule, match: re.Match[str]) -> Kind:
    """How a match was understood: some expressions may name a year, or which one of several is meant."""
    groups = match.groupdict()
    if groups.get("year") or groups.get("written"):
        return "absolute"
    return "relative" if groups.get("which_year") or groups.get("which") else rule.kind


@cache
def _rules(languages: rules.Languages) -> tuple[tuple[tuple[Rule, re.Pattern[str]], ...], re.Pattern[str]]:
    """The rules that a text may follow, each with what finds one of its hints, and what finds any."""
    rows = [rule for module in _modules(languages) for rule in module.RULES]
    each = tuple((rule, re.compile("|".join(map(re.escape, rule.hints)))) for rule in rows)
    return each, re.compile("|".join(dict.fromkeys(re.escape(hint) for rule in rows for hint in rule.hints)))


@cache
def _modules(languages: rules.Languages) -> tuple[Any, ...]:
    """Modules of languages for dates, each with `RULES`, `spellings`, `months` and maybe `BESIDE`."""
    return tuple(import_module(f"commonplace.language.dates_{name}") for name in languages)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _resolved(
    resolve: Callable[[re.Match[str], _Seen], Period | None], match: re.Match[str], seen: _Seen
) -> Period | None:
    """The period of a match, as seen from a day, or from its neighbouring date.

    None for the 31st of February, and for what lies outside all calendars.
    """
    try:
        return resolve(match, seen)
    except (ValueError, OverflowError):
        return None


def _nearest(rule: Rule, match: re.Match[str], now: date) -> Period | None:
    """The coming day of the week, this month's part, this year's day; another year's if that is far away."""
    if rule.every == "week":
        return _resolved(rule.resolve, match, now + timedelta(6))
    if rule.every == "month":
        return _resolved(rule.resolve, match, away(now, "month", 0).last)
    period = _resolved(rule.resolve, match, date(now.year, 12, 31))
    if period is None:
        return None
    months = 12 * (period.first.year - now.year) + period.first.month - now.month
    step = (months <= -BACK_MONTHS) - (months > AHEAD_MONTHS)
    return _resolved(rule.resolve, match, date(now.year + step, 12, 31)) if step else period


def _joined(
    text: str, expressions: Sequence[_Expression], now: date, languages: rules.Languages
) -> Iterator[Span]:
    """Make ranges of what stands on both sides of a *to*, and open ones of what follows a *since*."""
    place = 0
    while place < len(expressions):
        one = expressions[place]
        start, end = one.match.span()
        other = expressions[place + 1] if place + 1 < len(expressions) else None
        place += 1
        if other is not None and _is_range(text, one, other, languages):
            first, last = _range(one, other, now)
            kinds = (one.kind, other.kind)
            relative = "absolute" not in kinds or "relative" in kinds
            named = _is_named(one) or _is_named(other)
            names_a_day = not (_is_whole(one.period) and _is_whole(other.period))
            yield Span(first, last, text[start : other.match.end()], relative, named, names_a_day)
            place += 1
            continue
        period, start, end = _beside(one, languages)
        if period is None:
            continue
        first, last = period
        names_a_day = not _is_whole(period)
        if first <= now and (
            _precedes(_joint("since", languages), text, start)
            or _compiled(_joint("onwards", languages)).match(text, end)
        ):
            last = max(last, now)
        yield Span(first, last, text[start:end], one.kind != "absolute", _is_named(one), names_a_day)


def _is_named(one: _Expression) -> bool:
    """Tell whether an expression names its days; feasts always do."""
    return one.kind != "relative" or "holiday" in one.match.groupdict()


def _is_whole(period: Period) -> bool:
    """Tell whether a period is made of whole months."""
    first, last = period
    return first.day == 1 and last == month(last.year, last.month).last


def _beside(one: _Expression, languages: rules.Languages) -> tuple[Period | None, int, int]:
    """Return the period and the range of an expression, with words for a neighbouring period."""
    text, (start, end) = one.match.string, one.match.span()
    before = max(0, start - _BESIDE_WITHIN)
    rows = (row for module in _modules(languages) for row in getattr(module, "BESIDE", ()))
    for pattern, resolve, behind in rows:
        where = _compiled(pattern)
        if found := where.match(text, end) if behind else where.search(text, before, start):
            return _resolved(resolve, found, one.period), min(start, found.start()), max(end, found.end())
    return one.period, start, end


def _is_range(text: str, one: _Expression, other: _Expression, languages: rules.Languages) -> bool:
    between = text[one.match.end() : other.match.start()]
    if len(between) > 20:
        return False
    if _compiled(_joint("to", languages)).fullmatch(between):
        return True
    if not _compiled(_joint("both", languages)).fullmatch(between):
        return False
    among = _compiled(_joint("among", languages)).match(text, other.match.end()) is not None
    return among or _precedes(_joint("between", languages), text, one.match.start())


def _precedes(pattern: str, text: str, start: int) -> bool:
    return _compiled(pattern).search(text[max(0, start - 20) : start]) is not None


def _range(one: _Expression, other: _Expression, now: date) -> Period:
    """From the first day of one to the last of the other, which may be the earlier; what lacks a year takes
    it from the other.
    """
    (first, end), (start, last) = one.period, other.period
    if one.kind == "nearest":
        first, end = _resolved(one.rule.resolve, one.match, last) or one.period
    elif other.kind == "nearest" and last < first:
        again = _resolved(
            lambda match, day: other.rule.resolve(match, shifted(day, "year", 1)), other.match, first
        )
        start, last = again or other.period
    return Period(first, last) if first <= last else Period(min(first, start), max(end, last))
