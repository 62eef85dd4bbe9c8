"""Filters in a question: `in:` `path:` `type:` `after:` `before:` `on:` `as-of:`, and keys of front matter.

A filter is a key, a sign and a value without a blank between them, `-` or NOT before it for the opposite.
The same filter twice means either, unless AND stands between; different ones must all hold, and so must dates
and comparisons always. `by:`, `agent:`, `session:`, `project:`, `task:` and `status:tentative` or
`status:superseded` keep to single passages. Whatever else looks like a filter (`http://x`, `12:30`,
`std::vector`, a key that no note has) is left in the question as words.
"""

from __future__ import annotations

import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import product

from commonplace.base.errors import ConfigError
from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import facts
from commonplace.index.base import ALL, Days, Either, In, Not, Scope
from commonplace.index.facts import NoteFacts
from commonplace.language import caseless
from commonplace.markdown.comments import FILTERS, STATUSES, TAGS_IN_TEXT, TASKS_IN_TEXT
from commonplace.search import spelling

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Literal

    from commonplace.index.base import Index
    from commonplace.notes.scan import Globs

DATES = ("after", "before", "on")
AS_OF, STATUS = "as-of", "status"
BUILT_IN = frozenset({"in", "path", "type", AS_OF, *DATES})
TYPES = ("daily", "long-term", "session", "observation", "summary", "note")
TAGS = ("tags", "tag")
KEYS = frozenset({*FILTERS, *TAGS, TASKS_IN_TEXT, "project"})
_FIELDS: Mapping[str, Literal["collection", "kind"]] = {"in": "collection", "type": "kind"}
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq,
}  # fmt: skip
_FILTER = lazy(
    r'"[^"]*+"?'  # what is quoted holds no filters
    r"|(?<![^\s(])(?P<not>-|NOT\s{1,3})?(?P<key>[^\W\d][\w-]*+)(?P<sign>>=|<=|[:：><=])"
    r'(?:"(?P<quoted>[^"]*+)"|“(?P<curly>[^”]*+)”|(?P<plain>[^\s"()“](?:[^\s"()]|\([^\s"()]*+\))*))'
)
_NO_NUMBER = lazy(r"[-+]?0\d")  # what begins with a nought is a code, as those of the post are
_MAY_BE_KEY = lazy(r"(?<!\S)([^\W\d]\w{2,})[:：](?=\w)")
_SIGNS = frozenset(":：<>=")
_JOINED = lazy(r"[\s()]+(AND|OR)[\s()]+")  # what may stand between two filters
_NO_VALUES = ("//", "\\", ":")  # with which an address, a folder of Windows and a name in C++ go on


class Filter(NamedTuple):
    """A condition on the source of every passage, or its opposite.

    `sign` is `:` for built-in filters, `=` or a comparison for front matter. Filters of one key that must all
    hold have different groups.
    """

    key: str
    value: str
    sign: str = ":"
    negative: bool = False
    group: int = 0

    @property
    def is_date(self) -> bool:
        """True for a filter of days; each of several has to hold."""
        return self.sign == ":" and self.key in DATES

    @property
    def is_as_of(self) -> bool:
        """True for a question into the past."""
        return self.sign == ":" and self.key == AS_OF


# --- taken out of a question ----------------------------------------------------------------------------


def split(text: str, keys: Callable[[], Collection[str]] = tuple) -> tuple[str, tuple[Filter, ...]]:
    """Take the filters out of a question; `keys` looks up those of front matter, in lower case."""
    filters: list[Filter] = []
    rest, end = "", 0
    # Most questions have no sign of a filter, and to compile the expression takes 1 ms.
    for match in () if _SIGNS.isdisjoint(text) else _FILTER.finditer(text):
        item = _filter(match, keys) if match["key"] else None
        if item is None:
            continue
        between = text[end : match.start()]
        joined = _JOINED.fullmatch(between) if filters else None
        if joined and filters[-1]._replace(value="", group=0) == item._replace(value=""):
            item = item._replace(group=filters[-1].group + (joined[1] == "AND"))
            between = " "
        rest += f"{between} "
        end = match.end()
        filters.append(item)
    return (rest + text[end:], tuple(dict.fromkeys(filters))) if filters else (text, ())


def _filter(match: re.Match[str], keys: Callable[[], Collection[str]]) -> Filter | None:
    """Read a built-in filter, or one of front matter; `type:` with an unknown kind is of front matter."""
    written = match["key"]
    key, sign, negative = written.lower(), match["sign"].replace("：", ":"), bool(match["not"])
    value = next(v for v in (match["quoted"], match["curly"], match["plain"]) if v is not None).strip()
    if sign == ":" and written in BUILT_IN and (written != "type" or value in TYPES or key not in keys()):
        return Filter(written, value, ":", negative)
    is_ours = sign == ":" and (key in KEYS or (key == STATUS and value.lower() in STATUSES))
    if not (is_ours or key in keys()) or (sign == ":" and value.startswith(_NO_VALUES)):
        return None
    if sign == ":":  # the value may begin with a comparison
        signs = () if value in _COMPARED else (one for one in _COMPARED if value.startswith(one))
        sign = next(iter(signs), "")
        value = value.removeprefix(sign)
    return Filter(key, value.strip(), sign or "=", negative)


# --- what they say --------------------------------------------------------------------------------------


def check(filters: Sequence[Filter], collections: Sequence[str], now: date) -> None:
    """Raise ConfigError for a filter with a value that no note can satisfy."""
    for item in filters:
        match item:
            case Filter("in", name, ":") if name not in collections:
                raise ConfigError("in", f"unknown collection {name!r}; known: {', '.join(collections)}")
            case Filter("type", kind, ":") if kind not in TYPES:
                raise ConfigError("type", f"{kind!r} is not allowed; it must be one of {', '.join(TYPES)}")
            case Filter("path", "", ":"):
                raise ConfigError("path", "a path or a pattern such as memory/**/*.md is missing")
            case _ if item.is_date or item.is_as_of:
                _span(item.key, item.value, now)
        if item.is_as_of and item.negative:
            raise ConfigError(AS_OF, "there is no opposite of a day; leave out the - before it")


def warnings(index: Index, filters: Sequence[Filter], rest: str = "") -> list[str]:
    """Warn of keys, values and paths that no note has, and of misspelt keys in the `rest` of a question."""
    quoted, none, unknown = (
        'no note has the key "{key}"; "{key}:{value}" in quotation marks looks for these words',
        "no note has {key}:{value}; did you mean {near}?",
        '"{key}:" is no filter; did you mean {near}:?',
    )
    found: dict[str, str] = {}
    for item in filters:
        of_notes = (*TAGS, TAGS_IN_TEXT) if item.key in TAGS else (item.key,)
        if item.key == "path" and item.sign == ":":
            if not _notes(index, [item]).values:
                no_path = message("search.no_path", "no note lies under path:{path}", path=item.value)
                found[item.value] = no_path
        elif item.key in KEYS and facts.keys(index).isdisjoint(of_notes):
            found[item.key] = message("search.no_key", quoted, key=item.key, value=item.value)
        elif item.sign == "=" and (near := _nearest(index, item, of_notes)):
            found[item.value] = message("search.no_value", none, key=item.key, value=item.value, near=near)
    for key, near in product(_MAY_BE_KEY.findall(rest), sorted({*BUILT_IN, *KEYS, STATUS})):
        if spelling.distance(key.lower(), near) == 1:
            found[key] = message("search.no_filter", unknown, key=key, near=near)
    return list(found.values())


def _nearest(index: Index, item: Filter, keys: Sequence[str]) -> str:
    """Return the nearest value as a filter, with its count in notes; empty if the value itself occurs."""
    from difflib import get_close_matches

    every, asked = list(facts.facts(index)), caseless(item.value)
    entries = (json.loads(text) for _, text in facts.annotated(index, FILTERS.get(item.key, item.key)))
    values = (own.get(key) for own in (*(fact.metadata for fact in every), *entries) for key in keys)
    lists = (value if isinstance(value, list) else [value] for value in values if value is not None)
    counts = Counter(caseless(str(value)).removeprefix("#") for each in lists for value in each)
    is_there = asked in counts or any(_in_front_matter(fact, item) for fact in every)
    nearest = [] if is_there else get_close_matches(asked, counts, 1)
    return "".join(f"{item.key}:{near} ({counts[near]})" for near in nearest)


def as_of(filters: Sequence[Filter], now: date) -> date | None:
    """The last day of the time that a question asks about, the earliest of several; None for now."""
    return min((day(item.value, now) for item in filters if item.is_as_of), default=None)


def day(text: str, now: date) -> date:
    """The last day of a date as filters take it. Raises ConfigError."""
    return _span(AS_OF, text, now)[1]


def one_day(text: str, now: date) -> date:
    """The day that a text names. Raises ConfigError for several days and for an unknown date."""
    first, last = _span("on", text, now)
    if first != last:
        raise ConfigError("on", message("date.several", "{value!r} is more than one day", value=text))
    return first


def _span(key: str, value: str, now: date) -> tuple[date, date]:
    """First and last day of a filter's value."""
    from commonplace.language import dates

    span = dates.read(value, now)
    if span is None:
        told = (
            "{value!r} is no date that is understood;"
            ' write 2026-02-13, 2026-02, 2025, yesterday, 上周三 or, quoted, "last Monday"'
        )
        raise ConfigError(key, message("date.unknown", told, value=value))
    return span.first, span.last


# --- what they cover ------------------------------------------------------------------------------------


def cover(index: Index, filters: Sequence[Filter], now: date) -> Scope:
    """The passages that satisfy all filters."""
    groups: dict[Filter, list[Filter]] = {}
    for item in filters:
        if not item.is_as_of:
            groups.setdefault(item if item.is_date else item._replace(value=""), []).append(item)
    covered = ALL
    for group, items in groups.items():
        scope = _scope(index, group, items, now)
        covered &= Not(scope) if group.negative else scope
    return covered


def _scope(index: Index, group: Filter, items: Sequence[Filter], now: date) -> Scope:
    """The passages that satisfy one of some filters, which differ in their value alone."""
    key = group.key
    if group.is_date:  # both ends belong to it; undated notes satisfy neither
        first, last = (day.isoformat() for day in _span(key, group.value, now))
        return Scope((Days("" if key == "before" else first, "" if key == "after" else last),))
    if group.sign == ":" and key in _FIELDS:
        return Scope((In(_FIELDS[key], frozenset(item.value for item in items)),))
    if key in FILTERS or (key == STATUS and any(item.value.lower() in STATUSES for item in items)):
        return _said(index, items)
    return _with_task(index, items) if key == TASKS_IN_TEXT else Scope((_notes(index, items),))


def without_session(index: Index, session: str) -> Scope:
    """The passages of all sessions but one."""
    return Scope((Not(_said(index, [Filter("session", session, "=")])),))


def _notes(index: Index, items: Sequence[Filter]) -> In:
    """The notes whose path or front matter satisfies one of some filters."""
    satisfies = _in_path if items[0].key == "path" and items[0].sign == ":" else _in_front_matter
    notes = (fact.id for fact in facts.facts(index) if any(satisfies(fact, item) for item in items))
    return In("note", frozenset(notes))


def _said(index: Index, items: Sequence[Filter]) -> Scope:
    """The passages whose annotations satisfy a filter; front matter counts for passages without the key."""
    key = items[0].key
    own = {
        passage: annotations[key]
        for passage, text in facts.annotated(index, FILTERS.get(key, key))
        if key in (annotations := json.loads(text))
    }
    said = (passage for passage, value in own.items() if any(_compare(value, item) for item in items))
    others = Scope((_notes(index, items), Not(Scope((In("passage", frozenset(own)),)))))
    return _either(said, others)


def _with_task(index: Index, items: Sequence[Filter]) -> Scope:
    """The passages that hold such a task; all of a note of which front matter alone says so."""
    from commonplace.markdown import wiki

    notes = _notes(index, items)
    rows = index.passages(index.select(Scope((notes,)), struck=True))
    tasks = {row.id: set(filter(None, map(wiki.task, row.text.splitlines()))) for row in rows}
    telling = {row.note_id for row in rows if tasks[row.id]}
    held = (id_ for id_, states in tasks.items() if any(_compare(s, item) for s in states for item in items))
    return _either(held, Scope((In("note", notes.values - telling),)))


def _either(passages: Iterable[int], others: Scope) -> Scope:
    return Scope((Either((Scope((In("passage", frozenset(passages)),)), others)),))


def _in_path(fact: NoteFacts, item: Filter) -> bool:
    """Tell if a glob covers a note: by its path as hits show it, or inside its collection."""
    covers = _globs(item.value.removeprefix("./").rstrip("/"))
    own = fact.collection == WORKSPACE_COLLECTION
    return covers(fact.path) or (not own and covers(f"{fact.collection}/{fact.path}"))


@lru_cache(maxsize=64)
def _globs(plain: str) -> Globs:
    from commonplace.notes.scan import Globs

    return Globs((plain, f"{plain}/"))


def _in_front_matter(fact: NoteFacts, item: Filter) -> bool:
    if item.key in TAGS:
        above = caseless(item.value.removeprefix("#"))
        tags = [tag for key in (*TAGS, TAGS_IN_TEXT) for tag in _tags(fact.metadata.get(key))]
        nested = item.sign == "=" and above and any(caseless(tag).startswith(f"{above}/") for tag in tags)
        if nested or any(_compare(tag, item) for tag in tags):
            return True
    value = fact.metadata.get(item.key)
    return any(_compare(one, item) for one in (value if isinstance(value, list) else [value]))


def _tags(value: object) -> list[str]:
    """Tags as a list, or in one line with commas or blanks between them; without the # before them."""
    if isinstance(value, str):
        value = re.split(r"[\s,，、]+", value)
    return [str(tag).removeprefix("#") for tag in value] if isinstance(value, list) else []


def _compare(value: object, item: Filter) -> bool:
    """Compare as numbers where both are, otherwise as text in any case; what is not set is never equal."""
    if value is None:
        return False
    wanted = item.value.removeprefix("#") if item.key in TAGS else item.value
    compare, number, other = _COMPARED[item.sign], _number(value), _number(wanted)
    if number is not None and other is not None:
        return compare(number, other)
    if item.sign != "=" and (number is not None or other is not None):
        return False
    return compare(caseless(str(value).strip()), caseless(wanted))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and _NO_NUMBER.match(value):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
