"""Passages whose text says that they replace another: "Supersedes D-004", 取代 11 月 16 日的决定."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace import language
from commonplace.language import compare, rules
from commonplace.search.ranking import Ranked

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date

    from commonplace.index.base import Candidate

COMPARED = 20  # candidates
SHARED = 2  # words that both must hold
NEAR = 60  # characters behind the verb in which the replaced passage is named
_NUMBER = re.compile(r"\b[A-Z]{1,6}-\d{1,6}\b")  # of a decision or a ticket


def superseded(ranked: Sequence[Ranked], now: date | None) -> dict[int, tuple[int, str]]:
    """Map passages to the one that replaces each, with its day (ISO, or empty).

    Of the best candidates those are replaced that share words with it and have the day, or a heading with the
    number, that it names.
    """
    found: dict[int, tuple[int, str]] = {}
    head = [item.candidate for item in ranked[:COMPARED] if item.candidate.until is None]
    for new in head:
        text = language.fold_cases(language.fold(new.text))
        verb = rules.pattern("supersedes", rules.spoken(text)).search(text.lower())
        if verb is None:
            continue
        from datetime import date

        from commonplace.language import dates

        today, words = now or date.today(), _words(new)
        named = re.split(r"[.。;；\n](?!\d)", new.text[verb.end() : verb.end() + NEAR])[0]
        numbers = set(_NUMBER.findall(named))
        day = _own_day(new.source.date, new.source.headings, today)
        days = {str(span.first) for span in dates.spans(named, day) if span.names_a_day}
        for old in head:
            heading = " ".join(old.source.headings[-1:])
            is_named = numbers & {*_NUMBER.findall(heading)} - {
                *_NUMBER.findall(" ".join(new.source.headings))
            }
            its_day = str(_own_day(old.source.date, old.source.headings, today))
            is_other = old.id != new.id and len(words & _words(old)) >= SHARED
            if is_other and (is_named or (its_day in days and its_day < str(day))):
                found[old.id] = new.id, "" if day == today else str(day)
    return found


def _words(passage: Candidate) -> set[str]:
    return compare.content(compare.read(passage.text).tokens)


def _own_day(day: str | None, headings: Sequence[str], today: date) -> date:
    """The day of a passage, else that of its heading, else today."""
    from datetime import date

    from commonplace.language import dates

    if day:
        return date.fromisoformat(day)
    return next((one.first for one in dates.spans(" ".join(headings[-1:]), today) if one.names_a_day), today)
