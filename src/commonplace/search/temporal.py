"""What the dates in a question mean for the passages of dated notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.language import stopwords

if TYPE_CHECKING:
    from datetime import date

    from commonplace.language.dates import Span
    from commonplace.search.query import Query

# A note counts half for every so many days that lie between it and the span, and nothing beyond so many: an
# evening is often written down the day after.
HALF_DAYS = 2.0
NEAR_DAYS = 7
# Whether a question may hold a date is told by its words alone, before anything that reads dates is loaded.
_WORDS = frozenset(
    """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    monday tuesday wednesday thursday friday saturday sunday
    today yesterday tomorrow tonight night morning afternoon evening ago back now
    week month quarter year weekend day days weeks months quarters years fortnight
    """.split()
)
_WIDE = "年月日号天周晚早昨今明夜期礼"
# What is asked of a day itself: with nothing else in the question, the day is the whole answer.
_ASKING = frozenset(
    "happen happened happens do done going write wrote written note notes log record entry".split()
)
_ASKING_WIDE = frozenset("做作干发生写记录事情笔日志过件") | stopwords.CHINESE_CHARACTERS


class Dated(NamedTuple):
    """The days that a question names, and whether it asks for nothing else."""

    spans: tuple[Span, ...]
    alone: bool


def read(query: Query, now: date | None) -> Dated | None:
    """The days of a question as seen from `now` (default: today), or None if it names none."""
    if not _may_be(query):
        return None
    from datetime import date

    from commonplace.language import dates

    found = dates.spans(query.text, now or date.today())
    return Dated(found, _is_alone(query, found)) if found else None


def closeness(day: str | None, spans: Sequence[Span]) -> float:
    """How near a note of this day (YYYY-MM-DD) lies to the nearest span: 1 inside, 0 far away or undated."""
    if not day:
        return 0.0
    from datetime import date

    own = date.fromisoformat(day)
    away = min(max((span.first - own).days, (own - span.last).days, 0) for span in spans)
    return float(0.5 ** (away / HALF_DAYS)) if away <= NEAR_DAYS else 0.0


def _may_be(query: Query) -> bool:
    text = query.text
    if any(character.isdigit() for character in text) or not query.spoken.isdisjoint(_WORDS):
        return True
    return not text.isascii() and any(sign in text for sign in _WIDE)


def _is_alone(query: Query, spans: Sequence[Span]) -> bool:
    """Whether nothing that says something is left of a question without its dates."""
    if query.required or query.prefixes:
        return False
    rest = query.text
    for span in spans:
        rest = rest.replace(span.text, " ")
    words = re.findall(r"[^\W_]+", rest.lower())
    return all(
        word in stopwords.ENGLISH or word in _ASKING or all(c in _ASKING_WIDE for c in word) for word in words
    )
