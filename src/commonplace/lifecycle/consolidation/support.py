"""Whether sources say what a statement says: sentence by sentence, in their own words and order.

A sentence of the statement must be one of a source's from its beginning, up to its end or to a pause behind
which nothing restricts it. Left out may be who tells that it was decided, what stands in brackets and idle
words; added may be nothing. So no name, number, date or unit, no negation, no *may* and nobody's part in it
can be altered, swapped or dropped, and of two facts no third one can be made.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import date

from commonplace.index import lexicon
from commonplace.lifecycle.consolidation import words
from commonplace.lifecycle.consolidation.words import Sentence, Token

Source = tuple[str, date | None]  # what it says, and the day it says so

# What may stand before the matter: who tells, and that it is a decision, a lesson, a note.
_LEAD = frozenset(
    words.stem(word)
    for word in """
    i we team decided decision agreed agree noted note remember reminder lesson lessons learned learnt
    fact fyi finally also so then ok okay today monday tuesday wednesday thursday friday saturday sunday
    morning evening
    """.split()
) | frozenset("我们决定教训记住备注注意定商约学到结论：今")
_IDLE = frozenset(
    map(words.stem, "really very just finally also actually already quite simply please".split())
)
_WEEKDAYS = frozenset(map(words.stem, "monday tuesday wednesday thursday friday saturday sunday".split()))
# What, left out, would leave something else.
_TURNS = frozenset(
    map(
        words.stem,
        """
        not no never none nobody nothing nor neither without cannot except unless if until till only but
        however though although when whenever while maybe perhaps probably may might could should would will
        must possibly allegedly temporarily yet instead formerly previously unlikely doubt wrong false untrue
        joking unsure
        """.split(),
    )
) | frozenset("不没无非未别勿莫否除只若如果但可能或许暂吧吗假谣")
_REASONS = frozenset(map(words.stem, ("because", "so")))
_PRONOUNS = frozenset(map(words.stem, "he she they him her them his their you your".split())) | frozenset(
    "他她它你您"
)
_PUNCTUATION = frozenset("，。、；：？！（）【】《》「」『』“”‘’…–—·•￥€£°±×≤≥≠→")


def supports(statement: str, sources: Sequence[str], day: date | None) -> str:
    """Return why sources of a day do not support a statement; empty where they do."""
    return missing(statement, [(source, day) for source in sources])


def missing(statement: str, sources: Sequence[Source]) -> str:
    """Return why sources, each of its own day, do not support a statement; empty where they do."""
    if strange := strange_characters(statement, [*{text for text, _ in sources}]):
        return strange
    read = {day: words.read(statement, day) for day in {day for _, day in sources}}
    if not any(read.values()):
        return "says nothing that could be supported"
    told = [(day, words.read(text, day)) for text, day in dict.fromkeys(sources)]
    count = max(map(len, read.values()), default=0)
    for place in range(count):
        reasons = [
            _unsupported(read[day], place, sentences) for day, sentences in told if place < len(read[day])
        ]
        if all(reasons) or not reasons:
            return min(reasons, key=len, default="no source")
    return ""


def strange_characters(statement: str, sources: Sequence[str]) -> str:
    """Return what is wrong with the characters of a statement: hidden ones, and letters of no source."""
    known = set("".join(sources))
    for character in statement:
        if character.isascii() and character.isprintable():
            continue
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"):
            return "holds hidden characters"
        if character not in known and character not in _PUNCTUATION and not _is_wide(character):
            return f"holds a character that no source has: {character}"
    return ""


def _is_wide(character: str) -> bool:
    import re

    return re.fullmatch(lexicon.CJK_RUN, character) is not None


def _unsupported(statement: Sequence[Sentence], place: int, source: Sequence[Sentence]) -> str:
    """Why no sentence of a source says what one of the statement says; empty where one does."""
    wanted = statement[place]
    nearest = ""
    for number, said in enumerate(source):
        reason, reached = _compare(wanted, said)
        if (
            not reason
            and _hangs(wanted)
            and number
            and place
            and not _precedes(statement, place, source, number)
        ):
            reason = "does not say who"
        if not reason and _hangs(wanted) and number and not place:
            reason = "does not say who"
        if not reason:
            return ""
        if reached:
            nearest = nearest or reason
    return nearest or "is not what a source says"


def _hangs(sentence: Sentence) -> bool:
    return sentence.tokens[0].key in _PRONOUNS


def _precedes(statement: Sequence[Sentence], place: int, source: Sequence[Sentence], number: int) -> bool:
    """Whether the sentence before says who, in the statement as in the source."""
    return not _compare(statement[place - 1], source[number - 1])[0]


def _compare(wanted: Sentence, said: Sentence) -> tuple[str, bool]:
    """Why a sentence of a source does not say what is wanted, and whether it begins so."""
    tokens = said.tokens
    reason, reached = "is not what a source says", False
    for start in range(len(tokens)):
        if tokens[start].key == wanted.tokens[0].key:
            end = _match(wanted.tokens, tokens, start)
            if end > 0:
                return _rest(wanted, said, end), True
            reason, reached = "is altered", True
        if not _may_lead(tokens, start):
            break
    return reason, reached


def _may_lead(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    return token.kind == "date" or token.key in _LEAD


def _match(wanted: Sequence[Token], said: Sequence[Token], at: int) -> int:
    """Return where in a source the words of a statement end; 0 where they do not stand there in a row."""
    for token in wanted:
        while at < len(said) and said[at].key != token.key and _is_idle(said, at):
            at += 1
        if at == len(said) or said[at].key != token.key:
            return 0
        at += 1
    return at


def _is_idle(said: Sequence[Token], at: int) -> bool:
    """Whether a token may be left out in the middle: idle words, asides, the weekday of a date."""
    token = said[at]
    if token.key in _TURNS:
        return False
    beside = [said[n].kind for n in (at - 1, at + 1) if 0 <= n < len(said)]
    return token.aside or token.key in _IDLE or (token.key in _WEEKDAYS and "date" in beside)


def _rest(wanted: Sentence, said: Sentence, end: int) -> str:
    """Why what a source says beyond a statement, or how it says it, makes it another one."""
    rest = said.tokens[end:]
    if said.asks and not wanted.asks:
        return "is only asked"
    if any(token.key in _TURNS for token in rest):
        return "leaves out what restricts it"
    if rest and not (rest[0].after or rest[0].aside or rest[0].key in _REASONS):
        return "breaks off in the middle"
    now, then = {"is", "are", "am"}, {"was", "were"}
    if wanted.forms & now and not said.forms & now and said.forms & then:
        return "makes what was into what is"
    return ""


def says(wanted: Sentence, source: Sequence[Sentence]) -> bool:
    """Whether one of a source's sentences says what is wanted."""
    return any(not _compare(wanted, said)[0] for said in source)
