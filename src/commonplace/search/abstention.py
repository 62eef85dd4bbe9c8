"""Whether anything found answers a question, told by what is asked and what is found.

One threshold cannot do it. What somebody likes answers "which hotel should I take?" while sharing hardly a
word with it, and so does any small talk; a conversation among friends is near to all that friends talk about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from commonplace.language import rules, sentences, stopwords
from commonplace.search.query import DIALOGUE_CHARACTERS, Query
from commonplace.search.ranking import OWNER, Evidence, Ranked, speakers

# Relevance that the best candidate must reach, or the question is refused: measured on questions that the
# dev sets answer and on nonsense. Statements of the owner share few words with a question about what to do,
# and a whole dialogue has no single match, so those get a lower one; a question of which no term is known
# can only be answered by meaning, so it must be near.
GATE, GATE_LOOSE, GATE_UNKNOWN = 0.30, 0.16, 0.36
GATE_DIALOGUE = 0.20
GATE_WORDS, GATE_WORDS_LONG = 0.14, 0.11  # where words decide alone
DIALOGUE_TERMS, LONG_TERMS = 12, 24
# The best of n unrelated cosines grows with the square root of ln n (extreme values of a normal variable), so
# a small memory needs a lower gate than one of this many passages, for which they were measured.
GATE_PASSAGES = 2000
GATE_LEAST = 2 / 3

HEAD = 20  # candidates that are looked at
# A question about somebody or something by a name that the memory does not hold is answered by nothing less
# relevant than this.
STRANGER = 0.5
# The score that the best hit of a conversation among named people must have, read again or not: what answers
# there has neighbours and a section about the matter, and most of its words are found in them.
TALK, TALK_UNREAD = 0.60, 0.51
# The score that other text must have, where no statement of the owner allows for less relevance.
PROSE = 0.36


def gate(evidence: Evidence, *, loose: bool = False) -> float:
    """The relevance below which nothing is an answer; `loose` for what the owner's statements answer."""
    query, terms = evidence.query, evidence.terms
    by_words = GATE_WORDS_LONG if terms.asked > LONG_TERMS else GATE_WORDS
    if not evidence.semantic:
        return by_words
    by_meaning = GATE if terms.known else GATE_UNKNOWN
    if terms.asked > DIALOGUE_TERMS:  # as long as what somebody tells, rather than asks
        by_meaning = GATE_DIALOGUE
    if loose:
        by_meaning = GATE_LOOSE
    return (1 - query.wide) * by_meaning * gate_size(terms.passages) + query.wide * by_words


def gate_size(passages: int) -> float:
    """What a gate is multiplied with in a memory of so many passages, 2/3 to 1."""
    size = math.sqrt(math.log(max(2, passages)) / math.log(GATE_PASSAGES))
    return min(1.0, max(GATE_LEAST, size))


def refuses(ranked: Sequence[Ranked], evidence: Evidence, *, plain: bool) -> bool:
    """Tell whether the best candidates, as they stand at last, are no answer.

    Only to a `plain` question in Latin script that vectors were asked more than relevance is looked at.
    """
    best = max((item.relevance for item in ranked), default=0.0)
    if not plain or not evidence.semantic or evidence.query.wide > 0.5:
        return best < gate(evidence)
    if best < STRANGER and _is_about_strangers(evidence):
        return True
    head, size = ranked[:HEAD], gate_size(evidence.terms.passages)
    owned, own = _of_owner(head)
    loose = _is_preference(own, evidence.query, GATE_LOOSE * size)
    if best < gate(evidence, loose=loose):
        return True
    if any("reranking" in item.parts for item in head):  # another scale
        return False
    return max((item.score for item in head), default=0.0) < _least_score(head, evidence, owned, loose) * size


def _least_score(head: Sequence[Ranked], evidence: Evidence, owned: bool, loose: bool) -> float:
    """The score that the best hit must have beside its relevance, in a large memory."""
    if sum(item.candidate.turns > 0 for item in head) * 2 > len(head) and not owned:  # among named people
        return TALK if any("late interaction" in item.parts for item in head) else TALK_UNREAD
    return -math.inf if loose or evidence.terms.asked > DIALOGUE_TERMS else PROSE


def _of_owner(head: Sequence[Ranked]) -> tuple[bool, list[Ranked]]:
    """Whether the owner speaks in some candidates, and which are theirs: those, or else what nobody says."""
    spoken_by = [frozenset(speakers(item.candidate)) for item in head]
    theirs = [item for item, labels in zip(head, spoken_by, strict=True) if labels & OWNER]
    by_nobody = [item for item, labels in zip(head, spoken_by, strict=True) if not labels]
    return bool(theirs), theirs or by_nobody


def _is_preference(own: Sequence[Ranked], query: Query, least: float) -> bool:
    """Whether it is for the owner to say, and something of their own says what they like or need."""
    if not query.first_person and not rules.pattern("advice").search(query.text):
        return False
    says = rules.pattern("preferences").search
    return any(item.relevance >= least and says(item.candidate.text) for item in own)


def _is_about_strangers(evidence: Evidence) -> bool:
    """Whether the question is about names of which the memory holds none."""
    text = evidence.query.text
    if len(text) > DIALOGUE_CHARACTERS:
        return False
    known = rules.words("months") | rules.words("week") | {"today", "tomorrow", "yesterday"}
    names = {name.lower() for name in sentences.subjects(text)} - stopwords.ENGLISH - known
    return bool(names) and names <= evidence.terms.missing
