"""The values in a sentence, by kind, each written one way: 9:30 am, 09:30 and 上午九点半 are one time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import rules

# The number of each character.
FIGURES = {figure: number for number, figure in enumerate(rules.listed("zh", "digits"))} | {"〇": 0, "两": 2}
_WIDE = "[零〇一二两三四五六七八九十百]"
# Numbers have an upper bound, and runs are matched from their start: time stays linear in the text.
_DIGITS = r"\d[\d,]{0,30}"
_COUNT = rf"(?:\d{{1,9}}|{_WIDE}{{1,4}})"
_MEASURES = "".join(rules.listed("zh", "measures"))


_Row = tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]


class Valued(NamedTuple):
    """The values of a sentence by kind, and the rest of the sentence."""

    values: Mapping[str, frozenset[str]]
    rest: str


def read(sentence: str) -> Valued:
    """Take the values out of a folded sentence; each has the first kind whose expression matches."""
    expression, rows = _compiled(rules.spoken(sentence))
    names = ["".join(name[0].split()) for name in expression.finditer(sentence)]
    rest = expression.sub(" ", sentence)
    values: dict[str, frozenset[str]] = {}
    for kind, pattern, written in rows:
        # A repeated value is another one: in "shelf 3 from depot 3" two would change at once.
        times: Counter[str] = Counter()
        each = []
        for match in pattern.finditer(rest):
            value = written(match)
            each.append(f"{value}, {times[value]}" if times[value] else value)
            times[value] += 1
        if each:
            values[kind] = values.get(kind, frozenset()) | set(each)
            rest = pattern.sub(" ", rest)
    if names:
        values["named"] = frozenset(names)
    return Valued(values, rest)


@cache
def _compiled(languages: rules.Languages) -> tuple[re.Pattern[str], list[_Row]]:
    # A number that names one of many is no value: room 12, PR #13, 第三章.
    cardinals = "|".join(rules.numbers("cardinals", languages)) or "(?!)"
    named = re.compile(
        rf"(?i)(?:\b(?:{rules.expression('numbered', languages) or '(?!)'})[ -]?#?|#)(\d[\w.]*)"
        rf"|\b(?:number|no\.|nr\.?) ?(?:\d[\w.]*|(?:{cardinals})\b)"
        rf"|在\d+[行页层]|第{_COUNT}[章节步期阶页行条季轮批组个次]|\d{{1,9}}号[楼线机会]"
    )
    return named, [
        (kind, re.compile(text, re.IGNORECASE), written) for kind, text, written in _rows(languages)
    ]


def number(text: str) -> str:
    """Return a number in figures, as words or in characters as plain figures."""
    text = text.strip(",. ").replace(",", "").lower()
    if text in rules.numbers("cardinals", rules.LANGUAGES):
        return str(rules.numbers("cardinals", rules.LANGUAGES)[text] - 1)  # from zero
    if text and all(character in FIGURES or character in "十百" for character in text):
        return str(wide_number(text))
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return text


def wide_number(text: str) -> int:
    """Read a number below a thousand that is written in characters."""
    total = digit = 0
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        else:
            digit = digit * 10 + FIGURES[character]
    return total + digit


def _first(match: re.Match[str]) -> str:
    return number(next(filter(None, match.groups()), match[0]))


def _clock(match: re.Match[str]) -> str:
    hour, half = int(match[1]), (match[3] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return f"{hour}:{int(match[2] or 0):02}"


def _wide_clock(match: re.Match[str]) -> str:
    hour, part = int(number(match[2])), match[1] or ""
    if part in ("下午", "晚上") and hour < 12:
        hour += 12
    minute = "30" if match[3] == "半" else number((match[3] or "0").rstrip("分"))
    return f"{hour}:{int(minute):02}"


_ADDRESS = r"\bhttps?://[^\s，。；]+|(?<![\w.+-])[\w.+-]++@[\w-]++\.\w[\w.]*+|\b\d{1,3}(?:\.\d{1,3}){3}\b"
_MONEY = r"[$€£¥]\s?(\d[\d.,]{0,30}[km]?)|(?<![\d.])(\d[\d.,]{0,30})\s?(?:元|块|dollars\b|euros\b)"
_ONE = r"(?<!\bthe )(?<!\bno )(?<!\bany )(?<!this )(?<!each )(?<!every )\b(one)(?= (?!of\b)[a-z])"


def _rows(languages: rules.Languages) -> tuple[tuple[str, str, Callable[[re.Match[str]], str]], ...]:
    """The kinds of values in their order: an expression each, and how a match is written."""
    months, week = rules.short_numbers("months", languages), rules.numbers("week", languages)
    month = rf"\b({'|'.join(months) or '(?!)'})(?:[a-z]{{0,6}})\.?"
    counted = "|".join(list(rules.numbers("cardinals", languages))[2:]) or "(?!)"

    def named_date(month: int, day: int) -> Callable[[re.Match[str]], str]:
        return lambda match: f"{months[language.fold_cases(match[month]).lower()]}-{int(match[day])}"

    return (
        ("address", _ADDRESS, _first),
        ("version", r"\bv?(\d{1,30}(?:\.\d{1,30}){2,30})\b|\bv(\d{1,30}(?:\.\d{1,30})?)\b", _first),
        ("percent", rf"(?<![\d.])(\d[\d.,]{{0,30}})\s?(?:%|percent\b)|百分之({_COUNT})", _first),
        ("money", _MONEY, _first),
        ("clock", r"(?<![\d.:])(\d{1,2})(?::(\d\d))?\s?([ap])\.?m\b", _clock),
        ("clock", r"(?<![\d.:])(\d{1,2}):(\d\d)(?!\d)()", _clock),
        ("clock", rf"(上午|早上|中午|下午|晚上)?({_COUNT})点(半|{_COUNT}分)?(?!钟头|儿)", _wide_clock),
        ("date", r"(?<!\d)\d{4}-(\d{1,2})-(\d{1,2})(?!\d)", lambda match: f"{int(match[1])}-{int(match[2])}"),
        ("date", rf"{month} (\d{{1,2}})(?:st|nd|rd|th)?\b", named_date(1, 2)),
        ("date", rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {month}", named_date(2, 1)),
        ("date", r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)\b", _first),
        ("date", rf"({_COUNT})月({_COUNT})[日号]", lambda match: f"{number(match[1])}-{number(match[2])}"),
        (
            "day",
            rf"\b({'|'.join(week) or '(?!)'})s?\b",
            lambda match: str(week[language.fold_cases(match[1]).lower()]),
        ),
        (
            "day",
            r"(?:周|星期|礼拜)([一二三四五六日天])",
            lambda day: "7" if day[1] in "日天" else number(day[1]),
        ),
        ("year", r"(?<![\d.-])((?:19|20)\d\d)(?![\d.]|\s?(?:元|块|[a-z]))", _first),
        ("number", rf"(?<![\w.-])({_DIGITS}(?:\.\d{{1,30}})?)(?![\d.]*[a-z_-])", _first),
        ("number", rf"\b({counted})\b", _first),
        ("number", _ONE, _first),
        ("number", rf"({_WIDE}{{1,4}})(?=[{_MEASURES}])|(?<=[^\W\d_])(\d{{1,30}}(?:\.\d{{1,30}})?)", _first),
    )


KINDS = ("address", "version", "percent", "money", "clock", "date", "day", "year", "number")
