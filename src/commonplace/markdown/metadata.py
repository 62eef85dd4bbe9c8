"""Kind and day of a note from its path, and its front matter, read within bounds; never an error.

Front matter that is too large, too deep or has too many aliases is ordinary text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from posixpath import basename, splitext

from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.language import composed, fold, rules
from commonplace.markdown import conflicts

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

MOST_LINES = 500  # more than this is a document that starts with a rule
MOST_BYTES = 64 << 10
DEEPEST = 50  # collections within each other: libyaml builds them by recursion; 40,000 end the process
MOST_ALIASES = 50  # each may repeat all the text before
_LONGEST_NUMBER = 100  # characters
_LONGEST_PROPERTY = 5_000  # characters
_DAMAGED = object()
_KEY = lazy(r"(?P<key>[^\s:#\-?\[\]{},&*!|>%@`][^:\n]{0,99}?)[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_PROPERTY = lazy(r"(?:[-*] |[ \t]+)?(?P<key>[\w-]{1,100}):: (?P<value>[^\n]*)$")
_CONSTANTS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
# A list in brackets on one line of front matter.
FLOW = lazy(r"(?P<key>[^\[\]#]*:\s*)\[(?P<inner>[^\[\]]*)\](?P<rest>\s*)")
_OPENERS = "[{-?:"  # every collection begins with one of these
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
    if path in _LONG_TERM:
        return "long-term"
    daily = _DAILY.fullmatch(path) if path.startswith("memory/") else None
    return "daily" if daily and date_of(path) == daily[1] else "note"


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
    """Return the reason why front matter is too large to be read, empty if it is not.

    Bounds are looked at before anything is built; a few counts tell that nearly all are within them.
    """
    text = "\n".join(lines)
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        return message("front.large", "larger than {n:,} KB", n=MOST_BYTES >> 10)
    if sum(map(text.count, _OPENERS)) <= DEEPEST and text.count("*") <= MOST_ALIASES:
        return ""
    import yaml

    depth = aliases = 0
    nested = message("front.nested", "nested more than {n} times", n=DEEPEST)
    try:
        for event in yaml.parse(text, Loader=_loader()):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            aliases += isinstance(event, yaml.AliasEvent)
            if depth > DEEPEST:
                return nested
            if aliases > MOST_ALIASES:
                return message("front.aliases", "of more than {n} aliases", n=MOST_ALIASES)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # LibYAML reads ahead, and since PyYAML 6.0.4 no further than a depth of its own; whatever else ends
        # the reading is damage, which `read` finds as well.
        return nested if "nesting depth" in str(error) else ""
    return ""


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
        found |= {match["key"]: _plain(value)} if match["key"] in ("title", "alias", "tags") and value else {}
    return found


def read(lines: Sequence[str]) -> Settings:
    """Read the lines between the marks; return no settings for front matter beyond the bounds.

    Of damaged YAML each key is read by itself, and what it says as it is written where it is the damage.
    """
    if excess(lines):
        return Settings()
    loaded = _load("\n".join(lines))
    if loaded is not _DAMAGED:
        return _settings(loaded)
    found, faulty = Settings(), list[int]()
    keys = [at for at, line in enumerate(lines) if _KEY.match(line)]
    for first, last in zip([0, *keys], [*keys, len(lines)], strict=True):
        loaded, end = _sound(lines, first, last)
        if loaded is _DAMAGED and (match := _KEY.match(lines[first])):
            loaded = {match["key"].strip("\"' "): _written(match["value"] or "", lines[first + 1 : last])}
        if end < last:
            faulty.append(end)
        found.update(_settings(loaded))
    found.faulty = tuple(faulty)
    return found


def _sound(lines: Sequence[str], first: int, last: int) -> tuple[object, int]:
    """Return what the lines of a key say, and their end, without damaged lines below it; else _DAMAGED."""
    below = range(first + 1, last)
    stray = next((at for at in below if lines[at].strip() and lines[at][0] not in " #"), last)
    is_empty = not lines[first].partition(":")[2].strip()
    is_list = is_empty and all(lines[at].lstrip()[:1] in "-" for at in below)
    for end in (last,) if is_list else (last, stray, last - 1, first + 1):
        loaded = _load("\n".join(lines[first:end]))
        is_whole = isinstance(loaded, Mapping) and any(value is not None for value in loaded.values())
        if is_whole or (end == last and (loaded is None or isinstance(loaded, Mapping))):
            return loaded, end
    return _DAMAGED, first


def _settings(loaded: object) -> Settings:
    rows = loaded.items() if isinstance(loaded, Mapping) else ()
    return Settings({composed(str(key)): _plain(value) for key, value in rows})


def _load(text: str) -> object:
    """Read YAML; return _DAMAGED for invalid text."""
    import yaml  # 25 ms, and most notes have no front matter

    try:
        return yaml.load(text, Loader=_loader())  # noqa: S506 - it makes texts alone
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return _DAMAGED


def _written(value: str, below: Sequence[str]) -> object:
    """A value as somebody meant it who knows no YAML: a list in brackets or line by line, else text."""
    items = [line.strip() for line in below if line.strip()]
    if not value.strip() and items and all(item.startswith("-") for item in items):
        return [item.lstrip("- ").strip("\"'") for item in items]
    text = " ".join([value.strip(), *items]).strip()
    if text[:1] == "[" and text[-1:] == "]" and text[:2] != "[[":
        return [item for part in text[1:-1].split(",") if (item := part.strip("\"' \t"))]
    return text.strip("\"'") if text[:1] in "\"'" and text[:1] not in text[1:-1] else text


@cache
def _loader() -> Any:  # noqa: ANN401 - PyYAML's loaders share no type
    """PyYAML's loader of texts, with the types of YAML 1.2; tags and merges are not followed."""
    import yaml

    base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    def scalar(loader: Any, node: Any) -> object:  # noqa: ANN401 - as above
        text: str = base.construct_scalar(loader, node)
        if node.tag[:1] == "!":  # `!important`, as people write it
            return f"{node.tag} {text}".strip()
        return text if node.style else _typed(text)

    return type("_Loader", (base,), {"construct_scalar": scalar})


def _typed(text: str) -> object:
    """Return the value of an unquoted scalar; of numbers those that are written as Python does are numbers.

    `yes`, `12:30`, `01234` and days are text.
    """
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    for kind in (int, float) if text[-1].isdigit() and len(text) <= _LONGEST_NUMBER else ():
        with suppress(ValueError):
            if str(kind(text)) == text:
                return kind(text)
    return _CONSTANTS.get(text, text)


def _plain(value: object) -> object:
    """Reduce a YAML value to text, numbers, booleans and flat lists of text; of the nested the beginning.

    A link without quotation marks, which YAML takes for a list in a list, is the text that it was.
    """
    if link := _link(value):
        return link
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_short(item) for item in value[:100] if item is not None]
    return _short(value)


def _link(value: object) -> str:
    """Return the link that a list of one list of one text was written as; empty for another value."""
    match value:
        case [[str(name)]]:
            return f"[[{name}]]"[:1000]
        case _:
            return ""


def _short(value: object) -> str:
    if link := _link(value):
        return link
    if not isinstance(value, list | tuple | dict):
        return value if isinstance(value, str) else str(value)[:1000]
    from reprlib import Repr  # a few aliases stand for gigabytes

    short = Repr()
    short.maxlevel, short.maxlist, short.maxtuple, short.maxset, short.maxdict = 3, 20, 20, 20, 20
    short.maxstring = short.maxother = short.maxlong = 200
    return short.repr(value)[:1000]
