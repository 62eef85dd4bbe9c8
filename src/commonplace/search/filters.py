"""Filters in a question: `in:` `path:` `type:` `after:` `before:` `on:`, and the front matter of notes.

`as-of:` covers nothing by itself: it asks for what held at the end of a day or of a longer time.
`by:`, `agent:` and `session:` tell single entries apart, by what they say of who wrote them, and so does
`status:` with a word of ours (`status:tentative`); with any other it is of front matter. `task:` keeps to the
passages that hold such a task.
A filter is a key, a sign and a value without a blank between them, `-` or NOT before it for the opposite.
The same filter twice means either, unless AND stands between; different ones must all hold, and so must dates
and comparisons always.
What only looks like one (`http://x`, `12:30`, `std::vector`, a key that no note has) is left in the question
as words. The keys that the pages name (`KEYS`) are filters before a colon, whether or not a note has them.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache

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
_NO_NUMBER = lazy(r"[-+]?0\d")  # what begins with a nought is a code, as those of the post are
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq,
}  # fmt: skip
_FILTER = lazy(
    r'"[^"]*+"?'  # what is quoted holds no filters
    r"|(?<![^\s(])(?P<not>-|NOT\s{1,3})?(?P<key>[^\W\d][\w-]*+)(?P<sign>>=|<=|[:：><=])"
    r'(?:"(?P<quoted>[^"]*+)"|“(?P<curly>[^”]*+)”|(?P<plain>[^\s"()“](?:[^\s"()]|\([^\s"()]*+\))*))'
)
_SIGNS = frozenset(":：<>=")
_JOINED = lazy(r"[\s()]+(AND|OR)[\s()]+")  # what may stand between two filters
_NO_VALUES = ("//", "\\", ":")  # with which an address, a folder of Windows and a name in C++ go on


class Filter(NamedTuple):
    """What every passage must come from, or must not.

    `sign` is `:` for filters of ours, `=` or a comparison for front matter. Those of one key that must all
    hold have different groups.
    """

    key: str
    value: str
    sign: str = ":"
    negative: bool = False
    group: int = 0


def split(text: str, keys: frozenset[str] = frozenset()) -> tuple[str, tuple[Filter, ...]]:
    """Take the filters out of a question; `keys` are those of front matter, in lower case."""
    filters: list[Filter] = []
    rest, end = "", 0
    for match in _matches(text):
        item = _filter(match, keys)
        if item is None:
            continue
        between = text[end : match.start()]
        if filters and _is_same(filters[-1], item) and (joined := _JOINED.fullmatch(between)):
            is_further = joined[1] == "AND"
            item = item._replace(group=filters[-1].group + is_further)
            between = between.replace(joined[1], " ")
        rest += f"{between} "
        end = match.end()
        filters.append(item)
    return (rest + text[end:], tuple(dict.fromkeys(filters))) if filters else (text, ())


def _is_same(one: Filter, other: Filter) -> bool:
    """Whether either of two filters may hold: not of dates and comparisons, nor of what must not be."""
    if one.negative or one.sign not in (":", "=") or (one.sign == ":" and one.key in (*DATES, AS_OF)):
        return False
    return one == other._replace(value=one.value, group=one.group)


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Find what may be filters; most questions have no sign of one, and to compile takes 1 ms."""
    if not _SIGNS.isdisjoint(text):
        yield from (match for match in _FILTER.finditer(text) if match["key"])


def may_name_keys(text: str) -> bool:
    """Tell whether a question holds what would be a filter if some note had such a key."""
    return any(_built_in(match) is None for match in _matches(text))


def warnings(index: Index, filters: Sequence[Filter]) -> list[str]:
    """Say which filters have a key that no note has, or a path at which none lies."""
    named = {item.key: item for item in filters if item.key in KEYS}
    keys = facts.keys(index) if named else frozenset()
    quoted = 'no note has the key "{key}"; "{key}:{value}" in quotation marks looks for these words'
    paths = [item for item in filters if (item.key, item.sign) == ("path", ":")]
    known = facts.facts(index) if paths else ()
    nowhere = [item.value for item in paths if not any(_in_path(fact, item) for fact in known)]
    nothing = "no note lies under path:{path}"
    found: list[str] = [message("search.no_path", nothing, path=path) for path in nowhere]
    return found + [
        message("search.no_key", quoted, key=key, value=item.value)
        for key, item in named.items()
        if keys.isdisjoint((*TAGS, TAGS_IN_TEXT) if key in TAGS else (key,))
    ]


def _filter(match: re.Match[str], keys: frozenset[str]) -> Filter | None:
    """A filter of ours, or one of front matter; `type:` is of front matter where it says what ours cannot."""
    if item := _built_in(match):
        return item
    key, sign, value = _parts(match)
    known = key in KEYS or (key == STATUS and value.lower() in STATUSES)
    if key not in keys and not (sign == ":" and known):
        return Filter(key, value) if match["key"] == "type" and sign == ":" else None
    if sign == ":" and value.startswith(_NO_VALUES):
        return None
    if sign == ":":  # the value may begin with a comparison
        signs = () if value in _COMPARED else (one for one in _COMPARED if value.startswith(one))
        sign = next(iter(signs), "")
        value = value.removeprefix(sign)
    return Filter(key, value.strip(), sign or "=", bool(match["not"]))


def _built_in(match: re.Match[str]) -> Filter | None:
    _, sign, value = _parts(match)
    key = match["key"]
    if key not in BUILT_IN or sign != ":" or (key == "type" and value not in TYPES):
        return None
    return Filter(key, value, ":", bool(match["not"]))


def _parts(match: re.Match[str]) -> tuple[str, str, str]:
    """Key in lower case, sign, and the value without quotation marks."""
    value = next(v for v in (match["quoted"], match["curly"], match["plain"]) if v is not None)
    return match["key"].lower(), match["sign"].replace("：", ":"), value.strip()


def check(filters: Sequence[Filter], collections: Sequence[str], now: date) -> None:
    """Raise ConfigError for a filter that nothing could satisfy, because its value means nothing."""
    for item in filters:
        match item:
            case Filter("in", name, ":") if name not in collections:
                raise ConfigError("in", f"unknown collection {name!r}; known: {', '.join(collections)}")
            case Filter("type", kind, ":") if kind not in TYPES:
                raise ConfigError("type", f"{kind!r} is not allowed; it must be one of {', '.join(TYPES)}")
            case Filter("path", "", ":"):
                raise ConfigError("path", "a path or a pattern such as memory/**/*.md is missing")
            case Filter(key, _, ":") if key in (*DATES, AS_OF):
                _span(item, now)
        if (item.key, item.sign, item.negative) == (AS_OF, ":", True):
            raise ConfigError(AS_OF, "there is no opposite of a day; leave out the - before it")


def cover(index: Index, filters: Sequence[Filter], now: date) -> Scope:
    """The notes that satisfy all filters."""
    covered = ALL
    groups: dict[tuple[str, str, bool, int], list[Filter]] = {}
    for item in filters:
        if item.key in DATES and item.sign == ":":
            covered &= _dated(item, now)
        elif (item.key, item.sign) != (AS_OF, ":"):
            groups.setdefault((item.key, item.sign, item.negative, item.group), []).append(item)
    of_notes: list[Sequence[Filter]] = []
    for (key, sign, negative, _), items in groups.items():
        if sign == ":" and key in _FIELDS:
            scope = Scope((In(_FIELDS[key], frozenset(item.value for item in items)),))
        elif key in FILTERS or (key == STATUS and any(item.value.lower() in STATUSES for item in items)):
            scope = _said(index, items)
        elif key == TASKS_IN_TEXT:
            scope = _with_task(index, items)
        else:
            of_notes.append(items)
            continue
        covered &= Not(scope) if negative else scope
    return covered & _of_notes(index, of_notes) if of_notes else covered


def without_session(index: Index, session: str) -> Scope:
    """Everything but what was noted of a session."""
    return Scope((Not(_said(index, [Filter("session", session, "=")])),))


def _of_notes(index: Index, groups: Sequence[Sequence[Filter]]) -> In:
    """The notes that satisfy filters on their paths and front matter, one of each group."""
    notes = (fact.id for fact in facts.facts(index) if all(_agrees(fact, items) for items in groups))
    return In("note", frozenset(notes))


def _said(index: Index, items: Sequence[Filter]) -> Scope:
    """What entries say of themselves; front matter speaks for passages that do not say it."""
    key = items[0].key
    own = {
        passage: annotations[key]
        for passage, text in facts.annotated(index, FILTERS.get(key, key))
        if key in (annotations := json.loads(text))
    }
    said = frozenset(p for p, value in own.items() if any(_compare(value, item) for item in items))
    others = Scope((_of_notes(index, [[item._replace(negative=False) for item in items]]),))
    others &= Not(Scope((In("passage", frozenset(own)),)))
    return Scope((Either((Scope((In("passage", said),)), others)),))


def _with_task(index: Index, items: Sequence[Filter]) -> Scope:
    """The passages that hold such a task; all of a note of which front matter alone says so."""
    from commonplace.markdown import wiki

    notes = _of_notes(index, [[item._replace(negative=False) for item in items]])
    held: set[int] = set()
    telling: set[int] = set()
    for row in index.passages(index.select(Scope((notes,)), struck=True)):
        states = set(filter(None, map(wiki.task, row.text.splitlines())))
        if states:
            telling.add(row.note_id)
        if any(_compare(state, item) for state in states for item in items):
            held.add(row.id)
    others = Scope((In("note", notes.values - telling),))
    return Scope((Either((Scope((In("passage", frozenset(held)),)), others)),))


def _span(item: Filter, now: date) -> tuple[str, str]:
    """First and last day of a filter's value."""
    from commonplace.language import dates

    span = dates.read(item.value, now)
    if span is None:
        told = (
            "{value!r} is no date that is understood;"
            ' write 2026-02-13, 2026-02, 2025, yesterday, 上周三 or, quoted, "last Monday"'
        )
        raise ConfigError(item.key, message("date.unknown", told, value=item.value))
    return span.first.isoformat(), span.last.isoformat()


def as_of(filters: Sequence[Filter], now: date) -> date | None:
    """The last day of the time that a question asks about, the earliest of several; None for now."""
    from datetime import date

    days = [_span(item, now)[1] for item in filters if item.key == AS_OF and item.sign == ":"]
    return date.fromisoformat(min(days)) if days else None


def day(text: str, now: date) -> date:
    """The last day of a date as filters take it. Raises ConfigError."""
    from datetime import date

    return date.fromisoformat(_span(Filter(AS_OF, text), now)[1])


def one_day(text: str, now: date) -> date:
    """The day that a text names. Raises ConfigError for a time of several days, and for none."""
    from datetime import date

    first, last = _span(Filter("on", text), now)
    if first != last:
        raise ConfigError("on", message("date.several", "{value!r} is more than one day", value=text))
    return date.fromisoformat(first)


def _dated(item: Filter, now: date) -> Scope:
    """Both sides belong to it: from the first day on, up to the last day; undated notes satisfy neither."""
    first, last = _span(item, now)
    days = Days("" if item.key == "before" else first, "" if item.key == "after" else last)
    covered = Scope((days,))
    return Scope((Not(covered),)) if item.negative else covered


def _agrees(fact: NoteFacts, items: Sequence[Filter]) -> bool:
    """Whether a note satisfies one of these filters, or none of negative ones; all have one key."""
    wanted = _in_path if items[0].key == "path" and items[0].sign == ":" else _in_front_matter
    return any(wanted(fact, item) for item in items) is not items[0].negative


def _in_path(fact: NoteFacts, item: Filter) -> bool:
    """Whether a glob covers a note: by its path as hits show it, or inside its collection."""
    covers = _globs(item.value.removeprefix("./").rstrip("/"))
    own = fact.collection == WORKSPACE_COLLECTION
    return covers(fact.path) or (not own and covers(f"{fact.collection}/{fact.path}"))


@lru_cache(maxsize=64)
def _globs(plain: str) -> Globs:
    from commonplace.notes.scan import Globs

    return Globs((plain, f"{plain}/"))


def _in_front_matter(fact: NoteFacts, item: Filter) -> bool:
    if item.key in TAGS:
        tags = (tag for key in (*TAGS, TAGS_IN_TEXT) for tag in _tags(fact.metadata.get(key)))
        if any(_compare(tag, item) or _is_nested(tag, item) for tag in tags):
            return True
    value = fact.metadata.get(item.key)
    return any(_compare(one, item) for one in (value if isinstance(value, list) else [value]))


def _is_nested(tag: str, item: Filter) -> bool:
    """Whether a tag is one below another (`project/kestrel` below `project`)."""
    above = caseless(item.value.removeprefix("#"))
    return item.sign == "=" and bool(above) and caseless(tag).startswith(f"{above}/")


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
