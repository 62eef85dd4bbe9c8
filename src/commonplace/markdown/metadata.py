"""Kind and day of a note from its path, and its front matter, read within bounds; never an error.

Front matter is read a key at a time, without a parser of YAML: values are what is written, and a line that is
no YAML takes no other along.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from itertools import pairwise
from posixpath import basename, splitext

from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.language import composed, fold, rules
from commonplace.markdown import conflicts

MOST_LINES = 500  # more than this is a document that starts with a rule
MOST_BYTES = 64 << 10
_MOST_ITEMS = 100  # of a list
_LONGEST_NUMBER = 100  # characters
_LONGEST_PROPERTY = 5_000  # characters
_KEY = lazy(r"(?P<key>[^\s:#\-?\[\]{},&*!|>%@`][^:\n]{0,99}?)[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_PROPERTY = lazy(r"(?:[-*] |[ \t]+)?(?P<key>[\w-]{1,100}):: (?P<value>[^\n]*)$")
_CONSTANTS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
# A list in brackets on one line of front matter.
FLOW = lazy(r"(?P<key>[^\[\]#]*:\s*)\[(?P<inner>[^\[\]]*)\](?P<rest>\s*)")
_COMMENT, _PAIR = lazy(r"(?<!\S)#(?:\s.*)?$"), lazy(r"[^\s\"'\[{][^:]*:\s")
_ITEM = lazy(r"\[\[[^\[\]]*\]\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^,\s][^,]*")
_ENDS = {"[": "]", '"': '"', "'": "'"}
# Values that YAML does not take without quotation marks.
_INVALID = lazy(r"[@`%*]|\{\{|\[\s*#|[^\"'\[{].*:\s|\"[^\"]*$|'[^']*$")
_DAILY = lazy(r"(?:.*/)?memory/(?:.*/)?(\d{4}-\d{2}-\d{2})(?:[-_ ][^/]*)?\.md", re.IGNORECASE)
_MONTHLY = lazy(r"memory/(\d{4}-(?:0[1-9]|1[0-2]))\.md")
_LONG_TERM = frozenset({"MEMORY.md", "memory/MEMORY.md"})
# 2026-02-13, 2026_02_13, 2026.02.13, 20260213 (with or without a time after it), 2026年2月13日
_DAY = lazy(
    r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})"
    r"(?:[T_ -]?(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?)?(?!\d)"
)
_CHINESE_DAY = lazy(r"(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日")
_YEAR = lazy(r"(?<!\d)(?:19|20|21)\d\d(?!\d)")
_LONGEST_DAY = 40  # characters of a heading that is one
YEARS = range(1900, 2200)  # other eight-digit runs are numbers


def kind_of(path: str) -> str:
    """Tell what a note is from its posix path, relative to the workspace."""
    daily = _DAILY.fullmatch(path) if path.startswith("memory/") and path not in _LONG_TERM else None
    kind = "long-term" if path in _LONG_TERM else "note"
    return "daily" if daily and date_of(path) == daily[1] else kind


def is_curated(path: str) -> bool:
    """Tell whether a note is MEMORY.md, the long-term memory."""
    return kind_of(path) == "long-term"


def month_of(path: str) -> str:
    """Return the month (YYYY-MM) that a note is of, `memory/2026-01.md`; empty for any other note."""
    month = _MONTHLY.fullmatch(path) if path.startswith("memory/") else None
    return month[1] if month else ""


def date_of(path: str) -> str | None:
    """Return the first real day in a file's name as YYYY-MM-DD, or None; a month alone is not a day."""
    name = basename(conflicts.original(path) or path)  # the day of a conflict is not that of the note
    days = [match.group(1, 3, 4) for match in _DAY.finditer(name)]
    for parts in [*days, *_CHINESE_DAY.findall(name)]:
        try:
            day = date(*map(int, parts))
        except ValueError:
            continue
        if day.year in YEARS:
            return day.isoformat()
    return None


def name_of(path: str) -> str:
    """Return the name of a note as people write it: Logseq keeps `a/b:c` in `a___b%3Ac.md`."""
    name = splitext(basename(path))[0]
    if "___" not in name and "%" not in name:
        return name
    from urllib.parse import unquote

    meant = unquote(name.replace("___", "/"))
    return meant if meant.isprintable() else name


def year_of(text: str) -> int | None:
    """Return the last year that a path or a heading names, if it names one."""
    years = [year for year in map(int, _YEAR.findall(text)) if year in YEARS]
    return years[-1] if years else None


def day_said(text: str, year: int | None = None) -> str | None:
    """Return the day that a text is, as YYYY-MM-DD: it begins with an ISO day, or says a day and no more.

    It may have a weekday. Without a year it is of `year`, if that is given.
    """
    text = fold(text.strip())
    if len(text) > _LONGEST_DAY or not any(map(str.isdecimal, text)):
        return None
    if (iso := date_of(text[:10])) is not None and text.startswith(iso):
        return iso
    lower = text.lower()
    if not any(map(lower.__contains__, _months())):
        return None
    from commonplace.language import dates  # most notes have no such heading

    spans = dates.spans(text, date(year or YEARS[0], 12, 31))
    if not spans or spans[0].first != spans[0].last or (spans[0].relative and year is None):
        return None
    rest = re.sub(r"[^\w]|\d+:\d\d", " ", text.replace(spans[0].text, " ")).lower().split()
    return None if set(rest) - rules.words("beside_days", rules.spoken(text)) else spans[0].first.isoformat()


@cache
def _months() -> frozenset[str]:
    """Return the words of which a day in words holds at least one."""
    return frozenset(rules.short_numbers("months")) | rules.words("month_marks")


def front_matter(lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the first and last line (1-based) of a YAML block that opens a note."""
    if not lines or lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:MOST_LINES], 2):
        if line.rstrip() in ("---", "..."):
            return (1, number)
    return None


def without_blanks(line: str) -> str:
    """Return a line of front matter whose list lost elements without the commas of these."""
    return re.sub(r"(?<=\[)\s*,[\s,]*|,\s*(?=[,\]])", "", line)


def excess(lines: Sequence[str]) -> str:
    """Return the reason why front matter is too large to be read, empty if it is not."""
    size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
    return message("front.large", "larger than {n:,} KB", n=MOST_BYTES >> 10) if size > MOST_BYTES else ""


class Settings(dict[str, object]):
    """Front matter by key; `faulty` are the lines (from 0) that are invalid YAML."""

    faulty: tuple[int, ...] = ()


def properties(lines: Sequence[str]) -> Settings:
    """Read the names and tags that open a page of Logseq, a line each: `tags:: boats, [[Osprey]]`.

    Its other properties are text: only front matter can name the writer of a note.
    """
    found = Settings()
    for line in lines[:MOST_LINES]:
        match = _PROPERTY.match(line[:_LONGEST_PROPERTY])
        if match is None:
            break
        listed = [item.strip().strip("#[]") for item in match["value"].split(",")]
        value = match["value"].strip() if match["key"] == "title" else list(filter(None, listed))
        found |= {match["key"]: value} if match["key"] in ("title", "alias", "tags") and value else {}
    return found


def read(lines: Sequence[str]) -> Settings:
    """Read the lines between the marks; return no settings for front matter beyond the bounds.

    A key has a text, a number, a flag, or a list of texts; what is nested deeper is text as it is written.
    """
    found, faulty = Settings(), list[int]()
    if excess(lines):
        return found
    keys = [at for at, line in enumerate(lines) if _KEY.match(line)]
    faulty += [
        at for at, line in enumerate(lines[: keys[0] if keys else None]) if line.strip() and line[0] != "#"
    ][:1]
    for first, end in pairwise([*keys, len(lines)]):
        if match := _KEY.match(lines[first]):
            value, fault = _value((match["value"] or "").strip(), lines[first + 1 : end])
            found[composed(match["key"].strip("\"' "))] = value
            faulty += [] if fault is None else [first + fault]
    found.faulty = tuple(faulty)
    return found


def _value(text: str, below: Sequence[str]) -> tuple[object, int | None]:
    """Return what a key says, and the first of its lines, from 0, that is invalid YAML."""
    if text[:1] in ("|", ">") and len(text) < 4:  # lines as they are, or folded
        return ("\n" if text[0] == "|" else " ").join(map(str.strip, below)).strip(), None
    if text[:1] in _ENDS:
        text, below = _closed(text, below)
    else:
        text = _COMMENT.sub("", text).rstrip()
    faulty, items = [0] if _INVALID.match(text) else [], list[str]()
    margin, is_nested = 0, not text
    for number, line in enumerate(below, 1):
        bare = _COMMENT.sub("", line.strip()).rstrip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip())
        is_item = not text and bare[:2] in ("- ", "-")
        goes_on = line[0] == " " and (indent > margin if items else is_nested or not _PAIR.match(bare))
        if is_item:
            margin = margin or indent
            items.append(bare[2:].strip())
        elif goes_on and items:
            items[-1] += f" {bare}"
        elif goes_on:
            text = f"{text} {bare}".strip()
        if line[0] == "\t" or not (is_item or goes_on):
            faulty.append(0 if is_item else number)
    if text[:1] == "[" and text[:2] != "[[":
        items = [item.strip() for item in _ITEM.findall(text.strip("[]"))]
        faulty += [0] if text[-1] != "]" else []
        text = "" if text[-1] == "]" else text
    listed = [_unquoted(item) for item in items[:_MOST_ITEMS]] or None
    return _typed(text) if text else listed, min(faulty, default=None)


def _closed(text: str, below: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return a list in brackets or a quotation with the lines in which it goes on, and what is left below."""
    if text[-1] == _ENDS[text[0]] and len(text) > 1:
        return text, below
    whole = " ".join(filter(None, [text, *map(str.strip, below)]))
    return re.sub(r"(?<=[\]\"'])\s+#[^\]\"']*$", "", whole), ()


def _unquoted(text: str) -> str:
    """Return a text without the quotation marks around all of it."""
    mark = text[:1]
    if mark not in ("'", '"') or mark in text[1:-1].replace("''" if mark == "'" else '\\"', ""):
        return text
    if mark == '"':
        with suppress(ValueError):
            return str(json.loads(text, strict=False)).encode("utf-8", "replace").decode()
    return text.strip(mark).replace("''", "'")


def _typed(text: str) -> object:
    """Return the value of a scalar; of numbers those that are written as Python does are numbers.

    `yes`, `12:30`, `01234` and days are text.
    """
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    for kind in (int, float) if text[-1].isdigit() and len(text) <= _LONGEST_NUMBER else ():
        with suppress(ValueError):
            if str(kind(text)) == text:
                return kind(text)
    return _CONSTANTS.get(text, _unquoted(text))
