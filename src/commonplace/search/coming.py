"""Passages that name days: found by how months and days of the week are written, then read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from commonplace.index.base import Days, Either, Index, Matches, Not, Scope
from commonplace.language import dates, lexicon, rules

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.language.dates import Span

DATED, UNDATED = 200, 50  # passages that are read, the newest of each
BEFORE_DAYS = 45  # as long before a day it may be called Friday, or next month
YEARLESS_DAYS = 31 * (dates.AHEAD_MONTHS + 1)  # as long before a day it may be written without a year
_IN_WIDE = re.compile(r"(?<=\d)\s(?=月)")


def naming(index: Index, covered: Scope, spans: Sequence[Span], *, struck: bool = False) -> dict[int, Span]:
    """Return the passages whose text names days of some spans, each with the earliest.

    A text is read as of its own day, or of the last change of its note.
    """
    words = sorted(rules.words("names_days"))
    found: dict[int, Span] = {}
    for span in spans:
        months, last = (*dates.months(span.first, span.last), span.text.lower()), span.last.isoformat()
        written = Matches(lexicon.any_of([*months, f"{span.first:%Y %m}"]))
        years = Matches(lexicon.any_of([f"{span.first:%Y}", f"{span.last:%Y}"]))
        starts = (span.first - timedelta(count) for count in (YEARLESS_DAYS, BEFORE_DAYS))
        yearless, lately = (Days(start.isoformat(), last) for start in starts)
        each = (written, years, Days("", last)), (yearless, written), (lately, Matches(lexicon.any_of(words)))
        ids = index.select(covered & Either(tuple(map(Scope, each))), DATED, struck=struck, newest=True)
        ids += index.select(covered & Not(Scope((Days(),))) & written, UNDATED, struck=struck, newest=True)
        hint = re.compile("|".join(map(re.escape, [*months, f"{span.first:%Y-%m}", *words])))
        for row in index.passages(ids):
            lines = filter(hint.search, _IN_WIDE.sub("", row.text.lower()).split("\n"))
            own = row.source.date or datetime.fromtimestamp(row.source.mtime_ns / 1e9, UTC).date().isoformat()
            named = dates.named("\n".join(lines), span, date.fromisoformat(own))
            if named is not None and named.written != row.source.date:
                found.setdefault(row.id, named)
    return found


def holds(day: str, text: str) -> bool:
    """Tell whether a text holds a day as `naming` read it."""
    return day in _IN_WIDE.sub("", text.lower())
