"""The values in a sentence, by kind, each written one way: 9:30 am, 09:30 and 上午九点半 are one time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import rules

# The number of each character.
FIGURES = {figure: number for number, figure in enumerate(rules.listed("zh", "digits"))} | {"〇": 0, "两": 2}
KINDS = ("address", "version", "percent", "money", "clock", "date", "day", "year", "number")
_WIDE = "[零〇一二两三四五六七八九十百]"

_Row = tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]


class Valued(NamedTuple):
    """The values of a sentence by kind, and the rest of the sentence."""

    values: Mapping[str, frozenset[str]]
    rest: str


def read(sentence: str) -> Valued:
    """Take the values out of a folded sentence; each has the first kind whose expression matches."""
    rest, values = sentence, dict[str, frozenset[str]]()
    for kind, pattern, written in _rows(rules.spoken(sentence)):
        # A repeated value is another one: in "shelf 3 from depot 3" two would change at once.
        times: Counter[str] = Counter()
        each = []
        for match in pattern.finditer(rest):
            value = written(match)
            each.append(f"{value}, {times[value]}" if times[value] and kind != "named" else value)
            times[value] += 1
        if each:
            values[kind] = values.get(kind, frozenset()) | set(each)
            rest = pattern.sub(" ", rest)
    return Valued(values, rest)


@cache
def _rows(languages: rules.Languages) -> list[_Row]:
    """The rows of `rules/values.txt` for some languages: kind, expression, and what writes a match."""
    months, week = rules.short_numbers("months", languages), rules.numbers("week", languages)
    cardinals = rules.numbers("cardinals", languages)
    lists = {
        "numbered": rules.expression("numbered", languages), "cardinals": "|".join(cardinals),
        "counted": "|".join([*cardinals][2:]), "months": "|".join(months), "week": "|".join(week),
        "measures": "".join(rules.listed("zh", "measures")), "wide": _WIDE,
        "count": rf"(?:\d{{1,9}}|{_WIDE}{{1,4}})",
    }  # fmt: skip

    number = partial(_number, cardinals=cardinals)

    def of(table: Mapping[str, int], text: str) -> int:
        return table[language.fold_cases(text).lower()]

    writers: dict[str, Callable[[re.Match[str]], str]] = {
        "joined": lambda match: "".join(match[0].split()),
        "number": lambda match: number(next(filter(None, match.groups()), match[0])),
        "numbers": lambda match: "-".join(map(number, match.groups())),
        "month first": lambda match: f"{of(months, match[1])}-{int(match[2])}",
        "day first": lambda match: f"{of(months, match[2])}-{int(match[1])}",
        "weekday": lambda match: str(of(week, match[1])),
        "wide weekday": lambda match: "7" if match[1] in "日天" else number(match[1]),
        "clock": _clock,
        "wide clock": _wide_clock,
    }
    rows = []
    for line in rules.lines("values.txt"):
        if line[0] != "#" and line.partition("\t")[0] in ("", *languages):
            _, kind, writer, text = line.split("\t")
            text = re.sub(r"<(\w+)>", lambda name: lists[name[1]] or "(?!)", text)
            rows.append((kind, re.compile(text, re.IGNORECASE), writers[writer]))
    return rows


def _number(text: str, cardinals: Mapping[str, int]) -> str:
    """Return a number in figures, as words or in characters as plain figures."""
    text = text.strip(",. ").replace(",", "").lower()
    if text in cardinals:
        return str(cardinals[text] - 1)  # from zero
    if text and FIGURES.keys() | set("十百") >= set(text):
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


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1])
    if half := (match[3] or "").lower():
        hour = hour % 12 + 12 * (half == "p")
    return f"{hour}:{int(match[2] or 0):02}"


def _wide_clock(match: re.Match[str]) -> str:
    hour, part = int(_number(match[2], {})), match[1] or ""
    if part in ("下午", "晚上") and hour < 12:
        hour += 12
    minute = "30" if match[3] == "半" else _number((match[3] or "0").rstrip("分"), {})
    return f"{hour}:{int(minute):02}"
