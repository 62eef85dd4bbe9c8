"""The values in a sentence, by kind, each written one way: 9:30 am, 09:30 and 上午九点半 are one time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
).split()
_FIGURES = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_WIDE = "[零〇一二两三四五六七八九十百]"
# Numbers have an upper end, and runs are taken from their beginning: no text takes longer than its length.
_DIGITS = r"\d[\d,]{0,30}"
_COUNT = rf"(?:\d{{1,9}}|{_WIDE}{{1,4}})"
_MONTH = r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:[a-z]{0,6})\.?"
_MEASURES = "个只条次人名位台页岁元块分小天号层间套份门本辆家款种张把支件年周月"
# A number that names one of many is no value: room 12, PR #13, 第三章.
_NAMED = re.compile(
    r"(?:\b(?:rooms?|prs?|issues?|tickets?|chapters?|steps?|phases?|stages?|sections?|lines?|pages?|parts?"
    r"|sprints?|items?|bugs?|tasks?|days?|weeks?|levels?|gates?|tracks?|bus|flights?|builds?|releases?|milestones?"
    r"|quarters?|q|team|group|plan|option|server|node|shard|cluster)[ -]?#?|#)(\d[\w.]*)"
    rf"|\b(?:number|no\.|nr\.?) ?(?:\d[\w.]*|(?:{'|'.join(_WORDS)})\b)"
    rf"|在\d+[行页层]|第{_COUNT}[章节步期阶页行条季轮批组个次]|\d{{1,9}}号[楼线机会]",
    re.IGNORECASE,
)


class Valued(NamedTuple):
    """The values of a sentence by kind, and the sentence without them."""

    values: Mapping[str, frozenset[str]]
    rest: str


def read(sentence: str) -> Valued:
    """Take the values out of a folded sentence; each counts for the first kind that it is of."""
    names: list[str] = []

    def named(found: re.Match[str]) -> str:
        names.append("".join(found[0].split()))
        return " "

    rest = _NAMED.sub(named, sentence)
    values: dict[str, frozenset[str]] = {}
    for kind, pattern, told in _ROWS:
        if found := [told(match) for match in pattern.finditer(rest)]:
            values[kind] = values.get(kind, frozenset()) | _each(found)
            rest = pattern.sub(" ", rest)
    if names:
        values["named"] = frozenset(names)
    return Valued(values, rest)


def _each(told: Sequence[str]) -> frozenset[str]:
    """Values, those that stand there again as others: of "shelf 3 from depot 3" two would change at once."""
    times: Counter[str] = Counter()
    each = []
    for value in told:
        each.append(f"{value}, {times[value]}" if times[value] else value)
        times[value] += 1
    return frozenset(each)


def number(text: str) -> str:
    """Return a number in figures, as words or in characters as plain figures."""
    text = text.strip(",. ").replace(",", "").lower()
    if text in _WORDS:
        return str(_WORDS.index(text))
    if text and all(character in _FIGURES or character in "十百" for character in text):
        return str(_wide(text))
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return text


def _wide(text: str) -> int:
    total = digit = 0
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        else:
            digit = digit * 10 + _FIGURES[character]
    return total + digit


def _first(found: re.Match[str]) -> str:
    return number(next(filter(None, found.groups()), found[0]))


def _clock(found: re.Match[str]) -> str:
    hour, half = int(found[1]), (found[3] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return f"{hour}:{int(found[2] or 0):02}"


def _wide_clock(found: re.Match[str]) -> str:
    hour, part = int(number(found[2])), found[1] or ""
    if part in ("下午", "晚上") and hour < 12:
        hour += 12
    minute = "30" if found[3] == "半" else number((found[3] or "0").rstrip("分"))
    return f"{hour}:{int(minute):02}"


def _iso(found: re.Match[str]) -> str:
    return f"{int(found[2])}-{int(found[3])}"


def _named_date(month: int, day: int) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{_MONTHS.index(found[month].lower()) + 1}-{int(found[day])}"


def _wide_date(found: re.Match[str]) -> str:
    return f"{number(found[1])}-{number(found[2])}"


def _day(found: re.Match[str]) -> str:
    return str(_DAYS.index(found[1].lower()[:3]) + 1)


def _wide_day(found: re.Match[str]) -> str:
    return "7" if found[1] in "日天" else number(found[1])


_ROWS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE), told)
    for kind, pattern, told in (
        (
            "address",
            r"\bhttps?://[^\s，。；]+|(?<![\w.+-])[\w.+-]++@[\w-]++\.\w[\w.]*+|\b\d{1,3}(?:\.\d{1,3}){3}\b",
            _first,
        ),
        ("version", r"\bv?(\d{1,30}(?:\.\d{1,30}){2,30})\b|\bv(\d{1,30}(?:\.\d{1,30})?)\b", _first),
        ("percent", rf"(?<![\d.])(\d[\d.,]{{0,30}})\s?(?:%|percent\b)|百分之({_COUNT})", _first),
        (
            "money",
            r"[$€£¥]\s?(\d[\d.,]{0,30}[km]?)|(?<![\d.])(\d[\d.,]{0,30})\s?(?:元|块|dollars\b|euros\b)",
            _first,
        ),
        ("clock", r"(?<![\d.:])(\d{1,2})(?::(\d\d))?\s?([ap])\.?m\b", _clock),
        ("clock", r"(?<![\d.:])(\d{1,2}):(\d\d)(?!\d)()", _clock),
        ("clock", rf"(上午|早上|中午|下午|晚上)?({_COUNT})点(半|{_COUNT}分)?(?!钟头|儿)", _wide_clock),
        ("date", r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", _iso),
        ("date", rf"{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b", _named_date(1, 2)),
        ("date", rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}", _named_date(2, 1)),
        ("date", r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)\b", _first),
        ("date", rf"({_COUNT})月({_COUNT})[日号]", _wide_date),
        ("day", r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b", _day),
        ("day", r"(?:周|星期|礼拜)([一二三四五六日天])", _wide_day),
        ("year", r"(?<![\d.-])((?:19|20)\d\d)(?![\d.]|\s?(?:元|块|[a-z]))", _first),
        ("number", rf"(?<![\w.-])({_DIGITS}(?:\.\d{{1,30}})?)(?![\d.]*[a-z_-])", _first),
        ("number", rf"\b({'|'.join(_WORDS[2:])})\b", _first),
        (
            "number",
            r"(?<!\bthe )(?<!\bno )(?<!\bany )(?<!this )(?<!each )(?<!every )\b(one)(?= (?!of\b)[a-z])",
            _first,
        ),
        ("number", rf"({_WIDE}{{1,4}})(?=[{_MEASURES}])|(?<=[^\W\d_])(\d{{1,30}}(?:\.\d{{1,30}})?)", _first),
    )
)
