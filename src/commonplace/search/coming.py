"""Passages that name days: found by how months and days of the week are written, then read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from commonplace.index.base import Days, Either, Index, Matches, Scope
from commonplace.language import dates, lexicon, rules

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.language.dates import Span

PASSAGES = 400  # at most that are read, the newest first
BEFORE_DAYS = 45  # as long before a day it may be called Friday, or next month


def naming(index: Index, covered: Scope, spans: Sequence[Span], *, struck: bool = False) -> dict[int, Span]:
    """Return the passages whose text names days of some spans, each with the earliest.

    A text is read as of its own day, or of the last change of its note.
    """
    words = rules.words("names_days")
    found: dict[int, Span] = {}
    for span in spans:
        months = (*dates.months(span.first, span.last), span.text.lower(), f"{span.first:%Y %m}")
        since = (span.first - timedelta(BEFORE_DAYS)).isoformat()
        lately = Scope((Matches(lexicon.any_of(sorted(words))), Days(since, span.last.isoformat())))
        scope = covered & Either((Scope((Matches(lexicon.any_of(months)),)), lately))
        ids = index.select(scope, PASSAGES, struck=struck, newest=True)
        for row in index.passages(ids):
            own = row.source.date or datetime.fromtimestamp(row.source.mtime_ns / 1e9, UTC).date().isoformat()
            named = dates.named(row.text, span, date.fromisoformat(own))
            if named is not None and named.written != row.source.date:
                found.setdefault(row.id, named)
    return found
