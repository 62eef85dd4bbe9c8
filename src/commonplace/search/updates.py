"""Newer statements before older ones, where a question asks how things stand.

Of two statements on one matter the one that says what changed often has fewer words of the question
("recently improved to 78%", "moved to Groningen"). It is lifted where both share words with it and

- the question is for a value (*how many*, *what is the deadline*), and it has another one of that kind;
- or the question is short and asks for the present state (*now*);
- or question and statements are short, and the newer one speaks of a change.

A question for what once was leaves the order as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from commonplace import language
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.language import lexicon, rules, stopwords
from commonplace.language.scripts import has_han
from commonplace.markdown import structure, turns
from commonplace.search.query import Dated, Query
from commonplace.search.ranking import Ranked, adjusted, said

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date

COMPARED = 20  # candidates
OLDER = 2  # of them, those at the top that something newer may go before
# The newer statement may lie this much lower: it shares fewer words with the question. With .35 two of 18
# updates are missed, with .55 no more are found.
GAP = 0.45
# Share of the words of the shorter one that both must hold, for a question for a value and for others; of a
# Chinese one half of it, as its words are pairs of characters, and some of these are of two words.
SHARED, CLOSE = 0.2, 0.33
ASKED = 0.3  # of the question's words that the older one holds, the newer one must hold this share
ALIKE = 0.5  # the same share, and the share of the older one's relevance, unless the question is for a value
SHORT = 200  # characters of a question, and of a statement that speaks of one thing
LONGEST = 1200  # characters of a passage that are compared: a statement is shorter
ANY_KIND = 4  # kinds of value that a question asks for, from which any other answer will do as well
STEP = 1e-4  # puts it right before the older one
SHARED_WORDS = 2  # words that a passage and what it replaces both hold
NEAR = 60  # characters behind the verb in which the replaced passage is named
_NUMBER = lazy(r"\b[A-Z]{1,6}-\d{1,6}\b")  # of a decision or a ticket
_NAME = lazy(r"(?<=\s)[A-Z][a-z][\w'-]*")  # the first word of a question is large in any case
# Rules for the kind of value that a question asks for: the first list that matches decides, else any will do.
_ASKED_KINDS = {
    "asks_percent": ("percent",),
    "asks_clock": ("clock", "day"),
    "asks_date": ("date", "day", "clock"),
    "asks_money": ("money", "number", "percent"),
    "asks_number": ("number", "percent"),
}


class _Asked:
    """The features of a question that two statements are compared by."""

    def __init__(self, query: Query) -> None:
        self.words = words(query.words)
        self.names = words(" ".join(_NAME.findall(query.words)))
        self._text = language.fold(query.text)
        self.is_short = len(self._text) <= SHORT  # a question and not a story

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the value that it asks for; empty for a question without a value."""
        from commonplace.language import values

        if not rules.holds(self._text, "value_questions") or rules.holds(self._text, "spans_of_time"):
            return ()
        known = (each for name, each in _ASKED_KINDS.items() if rules.holds(self._text, name))
        return next(known, values.KINDS)

    @cached_property
    def is_present(self) -> bool:
        """Tell whether the question is about the present."""
        return rules.holds(self._text, "presently")


class _Statement(NamedTuple):
    """A candidate with what is compared of it; the place is day, note and line."""

    item: Ranked
    text: str
    place: tuple[str, int, int]
    dated: bool

    def is_later(self, old: _Statement) -> bool:
        """Tell whether it is later by day, or further down in the same note; notes of one day have no order.

        For a statement with a `since` the place in its note does not count. An undated one that names no
        later day, as in long-term memory, is older than one that speaks of a change on some day.
        """
        (day, note, line), (old_day, old_note, old_line) = self.place, old.place
        if note == old_note and not (self.dated or old.dated):
            return line > old_line
        if old_day or not day:
            return day > old_day
        return _changes(self.text) and day > _latest(old.text, day)

    def updates(self, old: _Statement, asked: _Asked) -> bool:
        """Tell whether it is a later statement on the same matter, with words of its own.

        Of statements in two languages only names are alike. One that lacks a name of the question that the
        other has is about something else.
        """
        own, former = words(self.text), words(old.text)
        common, known = len(own & asked.words), len(former & asked.words)
        far = old.item.score - self.item.score > GAP
        if far or not common or not (_changes(self.text) or asked.is_present):
            return False
        changes, is_wide = _changes(self.text), has_han(old.text)
        shared = (1 + is_wide) * len(own & former) / max(1, min(len(own), len(former)))
        may_be = has_han(self.text) is is_wide and not former & asked.names - own
        if not may_be or not (asked.is_present or shared >= SHARED):
            return False
        now, before = (_values(self.text), _values(old.text)) if asked.kinds else ({}, {})
        if valued := [kind for kind in asked.kinds if before.get(kind)]:
            other = any(now.get(kind, frozenset()) - before[kind] for kind in valued)
            if other and changes and common >= ASKED * known:
                return self.is_later(old)
            if len(asked.kinds) < ANY_KIND:
                return False
        is_near = asked.is_present or (shared >= CLOSE and max(len(self.text), len(old.text)) <= SHORT)
        alike = known and common >= ALIKE * known and self.item.relevance >= ALIKE * old.item.relevance
        return bool(
            asked.is_short and is_near and alike and own - former - asked.words and self.is_later(old)
        )


def asks_for_newest(query: Query, days: Dated | None = None) -> bool:
    """Tell whether the newest statement may answer a question: not one for a day, or for former times."""
    is_dated = days is not None and days.named and not any(span.relative for span in days.spans)
    return not is_dated and not rules.holds(language.fold(query.text), "formerly")


def lift(ranked: Sequence[Ranked], query: Query, days: Dated | None = None) -> list[Ranked]:
    """Put newer statements right before the older ones at the top; `days` are those of the question.

    In a conversation with an assistant only the owner's statements count: the answers repeat the questions.
    """
    head, asked = ranked[:COMPARED], _Asked(query)
    statements = _statements(head, asked)
    top = {item.candidate.id for item in head[:OLDER]}
    ahead: dict[int, float] = {}  # what each newer statement gets, by passage
    for at, old in enumerate(one for one in statements if one.item.candidate.id in top):
        if newer := [new for new in statements[at + 1 :] if new.updates(old, asked)]:
            # The first of them; of those that follow an undated statement, the latest.
            latest = newer[0] if old.place[0] else max(newer, key=lambda new: new.place)
            passage, lead = latest.item.candidate.id, old.item.score + STEP - latest.item.score
            ahead[passage] = max(lead, ahead.get(passage, lead))
    if not ahead or not asks_for_newest(query, days):
        return list(ranked)
    lifted = [adjusted(item, "update", ahead.get(item.candidate.id, 0.0)) for item in head]
    return [*sorted(lifted, key=lambda item: -item.score), *ranked[COMPARED:]]


def _statements(head: Sequence[Ranked], asked: _Asked) -> list[_Statement]:
    """Return the statements in the head by authors who count, in its order.

    Of a list only the items with the most words of the question are compared.
    """
    speakers = {item.candidate.id: item.candidate.traits.speakers.partition("\n")[0] for item in head}
    owned = any(label in turns.OWNER for label in speakers.values())
    if not owned and sum(item.candidate.turns > 0 for item in head) > len(head) / 2:
        return []  # people among themselves: each speaks only for himself
    statements = []
    for item in head:
        own, text = item.candidate, item.candidate.text[:LONGEST]
        if not owned or speakers[own.id] in turns.OWNER:
            lines = text.split("\n")
            if len(lines) > 1 and all(map(structure.ITEM.match, lines)):
                most = max(len(words(line) & asked.words) for line in lines)
                text = "\n".join(line for line in lines if len(words(line) & asked.words) == most)
            place = (own.source.date or "", own.note_id, own.start_line)
            statements.append(_Statement(item, text, place, not own.turns and "since" in said(own)))
    return statements


def superseded(ranked: Sequence[Ranked], now: date | None) -> dict[int, tuple[int, str]]:
    """Map passages to the one whose text says that it replaces them, with its day (ISO, or empty).

    "Supersedes D-004", 取代 11 月 16 日的决定: of the best candidates those are replaced that share words
    with it and have the day, or a heading with the number, that it names.
    """
    found: dict[int, tuple[int, str]] = {}
    head = [item.candidate for item in ranked[:COMPARED] if item.candidate.until is None]
    for new in head:
        text = language.fold_cases(language.fold(new.text))
        if not (verb := rules.pattern("supersedes", rules.spoken(text)).search(text.lower())):
            continue
        from datetime import date

        from commonplace.language import dates

        today, told = now or date.today(), words(new.text)
        named = re.split(r"[.。;；\n](?!\d)", new.text[verb.end() : verb.end() + NEAR])[0]
        numbers, own_numbers = ({*_NUMBER.findall(one)} for one in (named, " ".join(new.source.headings)))
        day = _own_day(new.source.date, new.source.headings, today)
        days = {str(span.first) for span in dates.spans(named, day) if span.names_a_day}
        for old in head:
            others = {*_NUMBER.findall(" ".join(old.source.headings[-1:]))} - own_numbers
            its_day = str(_own_day(old.source.date, old.source.headings, today))
            shared = len(told & words(old.text)) if old.id != new.id else 0
            if shared >= SHARED_WORDS and (numbers & others or (its_day in days and its_day < str(day))):
                found[old.id] = new.id, "" if day == today else str(day)
    return found


def _own_day(day: str | None, headings: Sequence[str], today: date) -> date:
    """The day of a passage, else that of its heading, else today."""
    from datetime import date

    from commonplace.language import dates

    if day:
        return date.fromisoformat(day)
    return next((one.first for one in dates.spans(" ".join(headings[-1:]), today) if one.names_a_day), today)


@lru_cache(256)
def _latest(text: str, day: str) -> str:
    """Return the last day (ISO) named in an undated text, read as of `day`; empty without one."""
    from datetime import date

    from commonplace.language import dates

    named = (one for one in dates.spans(text, date.fromisoformat(day)) if one.names_a_day)
    return max((str(one.last) for one in named), default="")


@lru_cache(1024)
def _changes(text: str) -> bool:
    return rules.holds(text, "changes")


@lru_cache(1024)
def _values(text: str) -> Mapping[str, frozenset[str]]:
    """The values of a statement by kind, without the hours at which items of a list were written."""
    from commonplace.language import values
    from commonplace.markdown.statements import leading_time

    lines = text.split("\n")
    text = "\n".join(leading_time(line)[1] if structure.ITEM.match(line) else line for line in lines)
    return values.read(language.fold(text).lower()).values


@lru_cache(4096)
def words(text: str) -> frozenset[str]:
    """Words that say something, without their commonest endings, and pairs of CJK characters."""
    folded = language.fold(text).lower()
    latin = (word for word in re.findall(r"[a-z][a-z'-]+", folded) if word not in stopwords.ENGLISH)
    wide = stopwords.meaningful(pair for run in lexicon.cjk_runs(folded) for pair in lexicon.bigrams(run))
    return frozenset([*(re.sub(r"(?:ing|ed|es|'?s|ly)$", "", word) for word in latin), *wide])
