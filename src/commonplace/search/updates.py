"""Newer statements before older ones, where a question asks how things stand.

Of two statements on one matter the one that says what changed often has fewer words of the question
("recently improved to 78%", "moved to Groningen"). It is lifted where both share words with it and

- the question is for a value (*how many*, *what is the deadline*), and it has another one of that kind;
- or the question is short and asks for the present state (*now*);
- or question and statements are short, and the newer one speaks of a change.

A question for what once was leaves the order as it is. Of 40 such pairs 35 stand in the right order, without
this 0 to 5.
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

COMPARED = 20  # candidates
OLDER = 2  # of them, those at the top that something newer may go before
# The newer statement may lie this much lower: it shares fewer words with the question. With .35 two of 18
# updates are missed, with .55 nothing more is found.
GAP = 0.45
# Share of the words of the shorter one that both must hold, where a value is asked for; of a Chinese one half
# of it, as its words are pairs of characters, and some of these are of two words.
SHARED = 0.2
ASKED = 0.3  # of the question's words that the older one holds, the newer one must hold this share
ALIKE = 0.5  # the same share, and the share of the older one's relevance, where no value is asked for
SHORT = 200  # characters of a question, and of a statement that speaks of one thing
LONGEST = 1200  # characters of a passage that are compared: a statement is shorter
ANY_KIND = 4  # kinds of value that a question asks for, from which any other answer will do as well
STEP = 1e-4  # puts it right before the older one
_NAME = lazy(r"(?<=\s)[A-Z][a-z][\w'-]*")  # the first word of a question is large in any case
# What a question says of the kind of its value: the first list that matches decides, else any will do.
_ASKED_KINDS = {
    "asks_percent": ("percent",),
    "asks_clock": ("clock", "day"),
    "asks_date": ("date", "day", "clock"),
    "asks_money": ("money", "number", "percent"),
    "asks_number": ("number", "percent"),
}


class _Asked:
    """What a question asks of two statements; what needs expressions is read when it is asked for."""

    def __init__(self, query: Query) -> None:
        self.words = _words(query.words)
        self.names = _words(" ".join(_NAME.findall(query.words)))  # of its words those of names
        self._text = language.fold(query.text)
        self.is_short = len(self._text) <= SHORT  # a question and not a story

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the value that it asks for; none where it asks for no value."""
        from commonplace.language import values

        if not rules.holds(self._text, "value_questions") or rules.holds(self._text, "spans_of_time"):
            return ()
        known = (each for name, each in _ASKED_KINDS.items() if rules.holds(self._text, name))
        return next(known, values.KINDS)

    @cached_property
    def is_present(self) -> bool:
        """Whether it asks how things stand now."""
        return rules.holds(self._text, "presently")


class _Statement(NamedTuple):
    """A candidate with what is compared of it; the place is day, note and line."""

    item: Ranked
    text: str
    place: tuple[str, int, int]
    dated: bool

    @property
    def changes(self) -> bool:
        """Whether it speaks of a change."""
        return _changes(self.text)

    def is_later(self, old: _Statement) -> bool:
        """Later by day, or further down in the same note; of two notes of one day neither came first.

        Where something that says since when it holds stands in its note tells nothing. What has no day is
        older than what speaks of a change on some day: long-term memory follows the days.
        """
        (day, note, line), (old_day, old_note, old_line) = self.place, old.place
        if note == old_note and not (self.dated or old.dated):
            return line > old_line
        return day > old_day and (bool(old_day) or self.changes)

    def updates(self, old: _Statement, asked: _Asked) -> bool:
        """Whether it is a later statement on what another says, with something of its own."""
        words, former = _words(self.text), _words(old.text)
        common, known = len(words & asked.words), len(former & asked.words)
        if old.item.score - self.item.score > GAP or not common or not self.is_later(old):
            return False
        if former & asked.names - words:
            return False  # of Breda, where Delft is asked about
        if not (self.changes or asked.is_present):
            return False
        least = SHARED / 2 if has_han(old.text) else SHARED
        shared = len(words & former) >= least * max(1, min(len(words), len(former)))
        now, before = (_values(self.text), _values(old.text)) if asked.kinds else ({}, {})
        if valued := [kind for kind in asked.kinds if before.get(kind)]:
            other = any(now.get(kind, frozenset()) - before[kind] for kind in valued)
            if other and shared and self.changes and common >= ASKED * known:
                return True
            if len(asked.kinds) < ANY_KIND:
                return False
        short = shared and max(len(self.text), len(old.text)) <= SHORT
        alike = known and common >= ALIKE * known and self.item.relevance >= ALIKE * old.item.relevance
        is_other = bool(words - former - asked.words)
        return asked.is_short and bool(alike) and (asked.is_present or short) and is_other


def asks_for_newest(query: Query, days: Dated | None = None) -> bool:
    """Tell whether a question may be answered by what was said last: not for a day, nor for what once was."""
    is_dated = days is not None and days.named and not any(span.relative for span in days.spans)
    return not is_dated and not rules.holds(language.fold(query.text), "formerly")


def lift(
    ranked: Sequence[Ranked], query: Query, dates: Mapping[int, str | None], days: Dated | None = None
) -> list[Ranked]:
    """Put newer statements right before the older ones at the top; `dates` of the head, by passage.

    In a conversation with an assistant only the owner's statements count: the answers repeat what was asked.
    """
    head, asked = ranked[:COMPARED], _Asked(query)
    statements = _statements(head, asked, dates)
    top = {item.candidate.id for item in head[:OLDER]}
    ahead: dict[int, float] = {}  # what each newer statement gets, by passage
    for at, old in enumerate(statements):
        if old.item.candidate.id not in top:
            break
        if newer := [new for new in statements[at + 1 :] if new.updates(old, asked)]:
            # The first of them; of those that follow something without a day the last that was said.
            latest = newer[0] if old.place[0] else max(newer, key=lambda new: new.place)
            passage, lead = latest.item.candidate.id, old.item.score + STEP - latest.item.score
            ahead[passage] = max(lead, ahead.get(passage, lead))
    if not ahead or not asks_for_newest(query, days):
        return list(ranked)
    lifted = [adjusted(item, "update", ahead.get(item.candidate.id, 0.0)) for item in head]
    return [*sorted(lifted, key=lambda item: -item.score), *ranked[COMPARED:]]


def _statements(head: Sequence[Ranked], asked: _Asked, dates: Mapping[int, str | None]) -> list[_Statement]:
    """What is said in the head by those whose word counts, in its order.

    Of a list it is the items that hold most words of the question.
    """
    speakers = {item.candidate.id: item.candidate.traits.speakers.partition("\n")[0] for item in head}
    owned = any(label in turns.OWNER for label in speakers.values())
    if not owned and sum(item.candidate.turns > 0 for item in head) > len(head) / 2:
        return []  # people among themselves: none of them speaks for the others
    statements = []
    for item in head:
        own, text = item.candidate, item.candidate.text[:LONGEST]
        if not owned or speakers[own.id] in turns.OWNER:
            place = (dates.get(own.id) or "", own.note_id, own.start_line)
            lines = text.split("\n")
            if len(lines) > 1 and all(map(structure.ITEM.match, lines)):
                shares = [len(_words(line) & asked.words) for line in lines]
                text = "\n".join(
                    line for line, share in zip(lines, shares, strict=True) if share == max(shares)
                )
            statements.append(_Statement(item, text, place, not own.turns and "since" in said(own)))
    return statements


@lru_cache(1024)
def _changes(text: str) -> bool:
    return rules.holds(text, "changes")


# Each of a head is compared with those at its top, and few get as far as to be read for it.
@lru_cache(1024)
def _values(text: str) -> Mapping[str, frozenset[str]]:
    """The values of a statement by kind, without the hours at which items of a list were written."""
    from commonplace.language import values
    from commonplace.markdown.statements import leading_time

    text = "\n".join(
        leading_time(line)[1] if structure.ITEM.match(line) else line for line in text.split("\n")
    )
    return values.read(language.fold(text).lower()).values


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    """Words that say something, without their commonest endings, and pairs of CJK characters."""
    folded = language.fold(text).lower()
    latin = (word for word in re.findall(r"[a-z][a-z'-]+", folded) if word not in stopwords.ENGLISH)
    wide = stopwords.meaningful(pair for run in lexicon.cjk_runs(folded) for pair in lexicon.bigrams(run))
    return frozenset([*(re.sub(r"(?:ing|ed|es|s|ly)$", "", word) for word in latin), *wide])
