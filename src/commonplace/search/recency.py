"""Newer statements before older ones: of two passages that give a value for the same thing, the later one.

A question for a value (*how many*, *what is the deadline*, 多少) is answered by what was said last. The older
statement often stands higher, as it introduced the matter in all its words, and the newer one says only what
has changed ("recently improved to 78%"). What is lifted here is a later passage that speaks of a change, has
another value of the kind that is asked for, and shares words with question and older passage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from commonplace import language
from commonplace.language import lexicon, stopwords
from commonplace.markdown import structure
from commonplace.search import factors
from commonplace.search.query import Query
from commonplace.search.ranking import OWNER, Ranked

HEAD = 20  # candidates that are compared
OLDER = 2  # of them, those at the top that something newer may go before
# The newer statement may lie this much lower: it shares fewer words with the question. With .35 two of 18
# updates are missed, with .55 nothing more is found.
GAP = 0.45
SHARED = 0.2  # share of the words of the shorter passage that both must hold
ASKED = 0.3  # of the question's words that the older one holds, the newer one must hold this share
LONGEST = (
    1200  # characters of a passage that are compared: a statement is shorter, and a file may hold anything
)
STEP = 1e-4  # puts it right before the older one

# What asks for a value that may have changed; a span of time between two events does not change.
_VALUE = re.compile(
    r"\b(?:how (?:many|much|long|often|old|far|large|big|high)|when|what(?:'s| is| was| are)"
    r"|what (?:time|date|day|percentage|deadline|version|number|share)|which (?:day|date|month|version))\b"
    r"|多少|几[个点次天号位岁]|多[久大长]|何时|什么时候|哪[天年月]|是什么",
    re.IGNORECASE,
)
_SPAN = re.compile(r"\b(?:between|passed|elapsed|until|since)\b|之间|相隔|过了|直到", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:updat\w*|new(?:ly)?|now|recent(?:ly)?|current(?:ly)?|latest|increas\w+|decreas\w+|improv\w+|reduc\w+"
    r"|grew|grow\w*|rose|risen|rais\w+|lower\w*|extend\w*|adjust\w*|chang\w+|mov(?:ed|ing)|reschedul\w*"
    r"|postpon\w*|switch\w*|replac\w*|no longer|instead|reach\w*|expand\w*|revis\w*|correct\w*|anymore"
    r"|add(?:ed|ing)|actually)\b"
    r"|更新|改[为成到在]|现在|目前|如今|新的|增[加至长]|减[少至]|[降提]到|提[高升前]"
    r"|推迟|延期|调整|换成|升级|达到|最近|不再|已经",
    re.IGNORECASE,
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_KINDS = {
    "percent": re.compile(
        r"(?<![\d.,])\d[\d.,]*+\s?(?:%|percent)|百分之[\d一二三四五六七八九十]+", re.IGNORECASE
    ),
    "clock": re.compile(
        r"\b\d{1,2}(?::\d\d)?\s?(?:am|pm)\b|\b\d{1,2}:\d\d\b|(?<![\d一二三四五六七八九十])[\d一二三四五六七八九十]{1,3}点半?",
        re.IGNORECASE,
    ),
    "date": re.compile(
        rf"\b(?:{_MONTHS})[a-z]*\.? \d{{1,2}}\b|\b\d{{1,2}} (?:{_MONTHS})[a-z]*\b|\d{{4}}-\d\d-\d\d"
        r"|\d{1,2}月(?:\d{1,2}[日号])?|\d{1,2}[日号]",
        re.IGNORECASE,
    ),
    "money": re.compile(r"[$€£¥]\s?\d[\d.,]*|(?<![\d.,])\d[\d.,]*+\s?[元块]"),
    "version": re.compile(r"\bv?\d+\.\d+(?:\.\d+)+\b"),
    "number": re.compile(r"\d[\d,]*(?:\.\d+)?"),
}
# What a question says of the kind of its value; the first that matches decides, otherwise any kind will do.
_ASKED_KINDS = (
    (re.compile(r"percent|accuracy|coverage|\brate\b|百分|比例|率", re.IGNORECASE), ("percent",)),
    (re.compile(r"what time|几点", re.IGNORECASE), ("clock",)),
    (
        re.compile(r"\bwhen\b|deadline|what (?:date|day)|何时|什么时候|哪天|几号|截止", re.IGNORECASE),
        ("date", "clock"),
    ),
    (re.compile(r"how much|多少钱|价格", re.IGNORECASE), ("money", "number", "percent")),
    (
        re.compile(r"how (?:many|long|often)|number of|多少|几[个次天位岁]", re.IGNORECASE),
        ("number", "percent"),
    ),
)


class _Statement(NamedTuple):
    """A candidate with what is compared of it."""

    item: Ranked
    words: frozenset[str]
    values: Mapping[str, frozenset[str]]
    place: tuple[str, int, int]  # day, note, line
    changes: bool
    dated: bool = False


def asks_for_value(query: Query) -> bool:
    """Whether the question asks for a value that may have been updated."""
    text = language.fold(query.text)
    return _VALUE.search(text) is not None and _SPAN.search(text) is None


def lift(ranked: Sequence[Ranked], query: Query, days: Mapping[int, str | None]) -> list[Ranked]:
    """Put newer statements right before the older ones at the top; `days` of the head, by passage.

    In a conversation with an assistant only the owner's statements count: the answers repeat what was asked.
    """
    head, tail = list(ranked[:HEAD]), ranked[HEAD:]
    statements = _statements(head, days)
    asked, kinds = _words(query.words), _asked_kinds(query.text)
    place = {statement.item.candidate.id: i for i, statement in enumerate(statements)}
    older = [s for s in (head[i].candidate.id for i in range(min(OLDER, len(head)))) if s in place]
    lifted: dict[int, Ranked] = {}
    for id_ in older:
        old = statements[place[id_]]
        newer = [new for new in statements[place[id_] + 1 :] if _updates(new, old, asked, kinds)]
        if newer:
            item = newer[0].item
            ahead = old.item.score + STEP - item.score
            known = lifted.get(item.candidate.id)
            if known is None or known.parts["update"] < ahead:
                lifted[item.candidate.id] = item._replace(
                    score=item.score + ahead, parts={**item.parts, "update": ahead}
                )
    head = [lifted.get(item.candidate.id, item) for item in head]
    return [*sorted(head, key=lambda item: -item.score), *tail]


def _statements(head: Sequence[Ranked], days: Mapping[int, str | None]) -> list[_Statement]:
    """What is said in the head by those whose word counts, in its order."""
    labels = {item.candidate.id: structure.speaker(item.candidate.text) for item in head}
    spoken = any(label in OWNER for label in labels.values())
    if not spoken and sum(item.candidate.turns > 0 for item in head) > len(head) / 2:
        return []  # people among themselves: none of them speaks for the others
    kept = [item for item in head if not spoken or labels[item.candidate.id] in OWNER]
    return [_statement(item, days.get(item.candidate.id)) for item in kept]


def _statement(item: Ranked, day: str | None) -> _Statement:
    text = item.candidate.text[:LONGEST]
    place = (day or "", item.candidate.note_id, item.candidate.start_line)
    dated = "since" in factors.said(item.candidate)
    return _Statement(item, _words(text), _values(text), place, _CHANGE.search(text) is not None, dated)


def _updates(new: _Statement, old: _Statement, asked: frozenset[str], kinds: Sequence[str]) -> bool:
    """Whether one statement is a later one on what another says, with a value of its own."""
    if not new.changes or old.item.score - new.item.score > GAP or not _is_later(new, old):
        return False
    if not any(
        old.values.get(kind) and new.values.get(kind, frozenset()) - old.values[kind] for kind in kinds
    ):
        return False
    if len(new.words & asked) < max(1.0, ASKED * len(old.words & asked)):
        return False
    shorter = max(1, min(len(new.words), len(old.words)))
    return len(new.words & old.words) / shorter >= SHARED


def _is_later(new: _Statement, old: _Statement) -> bool:
    """Later by day, or further down in the same note; of two notes of one day neither came first.

    Where something that says since when it holds stands in its note tells nothing.
    """
    if new.place[1] == old.place[1] and not (new.dated or old.dated):
        return new.place[2] > old.place[2]
    return bool(old.place[0]) and new.place[0] > old.place[0]


def _words(text: str) -> frozenset[str]:
    """Words that say something, without their commonest endings, and pairs of CJK characters."""
    folded = language.fold(text).lower()
    latin = (word for word in re.findall(r"[a-z][a-z'-]+", folded) if word not in stopwords.ENGLISH)
    wide = stopwords.meaningful(pair for run in lexicon.cjk_runs(folded) for pair in lexicon.bigrams(run))
    return frozenset([*(re.sub(r"(?:ing|ed|es|s|ly)$", "", word) for word in latin), *wide])


def _values(text: str) -> dict[str, frozenset[str]]:
    """The values in a text by kind; each counts for the first kind that it is of."""
    rest, found = language.fold(text).lower(), {}
    for kind, pattern in _KINDS.items():
        if values := frozenset(pattern.findall(rest)):
            found[kind] = values
            rest = pattern.sub(" ", rest)
    return found


def _asked_kinds(question: str) -> Sequence[str]:
    folded = language.fold(question)
    return next((kinds for pattern, kinds in _ASKED_KINDS if pattern.search(folded)), tuple(_KINDS))
