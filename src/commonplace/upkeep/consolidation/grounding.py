"""Whether one source can say what a statement says: what holds in every language, and no model decides.

A sentence of a statement is laid beside one source, which is the cited text below its context (headings,
speaker, day). Names, numbers, units, dates, identifiers and signs must stand there, and most of the other
words. Words may stand in another order as long as no two change places around what stays between them;
negations, modals and conditions agree. The rest (does *left* mean *retired*?) a model says, see `verify`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import date
from functools import cache, lru_cache

from commonplace import language
from commonplace.language import compare, dates, reading, rules, sentences
from commonplace.language.reading import Sentence, read
from commonplace.upkeep.consolidation import alignment
from commonplace.upkeep.consolidation.alignment import HARD, LAPSED, WEIGHT, Ground, Said, leads, unsupported

SHARE = 0.7  # of what a sentence says, by weight, that its source must say in its words
_PUNCTUATION = frozenset("，。、；：？！（）【】《》「」『』“”‘’…–—·•￥€£°±×≤≥≠→")
_DOUBTS = frozenset(("possible", "said", "if", "unless", "intended", "nearly"))
_TO_COME, _OVER = frozenset(("future", "necessary", "able")), frozenset(("not", "failed"))


def missing(statement: str, sources: Sequence[Said], *, share: float = SHARE) -> str:
    """Return why no source can say what a statement says; empty where each sentence has one that can."""
    if strange := _strange_character(statement, sources):
        return strange
    readings = [(read(statement, source.day), source) for source in sources]
    count = max((len(known) for known, _ in readings), default=0)
    checked: set[tuple[object, ...]] = set()  # a sentence that is said again is supported as it was before
    for at in range(count):
        key = (not at, *(some[at] if at < len(some) else None for some, _ in readings))
        if key in checked:
            continue
        checked.add(key)
        reasons = [unsupported(some[at], at, source, share) for some, source in readings if at < len(some)]
        if all(reasons):
            return min(reasons, key=len)
    return "" if count else "says nothing that could be supported"


def _strange_character(statement: str, sources: Sequence[Said]) -> str:
    """What is wrong with the characters of a statement: hidden ones, and letters of no source."""
    known = set("".join("".join((one.text, *one.headings, one.speaker)) for one in sources)) | _PUNCTUATION
    for character in statement:
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"):
            return "holds hidden characters"
        if character not in known and not (character.isascii() or compare.is_wide(character)):
            return f"holds a character that no source has: {character}"
    return ""


def is_literal(statement: str, sources: Sequence[Said]) -> bool:
    """Whether each sentence of a statement is one of a source's, whole or up to a pause, led in or not.

    A heading or a day that code put before it, and a day told in full, make no difference.
    """
    readings = [(read(statement, source.day), source) for source in sources]
    count = max((len(known) for known, _ in readings), default=0)
    return count > 0 and all(
        any(
            _is_whole(sentences[at], said, source)
            for sentences, source in readings
            if at < len(sentences)
            for said in read(source.text, source.day)
        )
        for at in range(count)
    )


def carries(source: Said, text: str) -> bool:
    """Whether a source can say any sentence of a text."""
    return any(not unsupported(one, at, source, SHARE) for at, one in enumerate(read(text, source.day)))


def stands_first(statement: str, source: Said) -> bool:
    """Whether a statement begins with the first sentence of its source: it needs nothing before it."""
    sentences, said = read(statement, source.day), read(source.text, source.day)
    if not sentences or not said or sentences[0].opening in rules.words("pronouns"):
        return False
    return _is_whole(sentences[0], said[0], source)


@lru_cache(4096)
def keys(text: str) -> frozenset[str]:
    """Return what a text says, in whatever order: words without endings, numbers, dates, pairs of CJK."""
    tokens = [token for sentence in read(text) for token in sentence.tokens]
    single = {t.key for t in tokens if t.kind == "turn" or (t.counts and t.kind != "wide")}
    return frozenset(single | alignment.pairs(tokens))


def says(text: str, other: str) -> bool:
    """Whether a text says all that another says, as far as words tell: denied by both or by neither."""
    one, two = keys(text), keys(other)
    return bool(two) and two <= one and ("not" in one) == ("not" in two)


def turns(text: str, other: str) -> str:
    """Return why a text turns what another says in words of its own; empty where it does not.

    For two texts that are to say the same: their words may not change places, nor one alone be denied.
    """
    ground = alignment.ground(Said(other))
    reasons = (_turn(one, ground, _is_passive(text) != _is_passive(other)) for one in read(text))
    return next(filter(None, reasons), "")


def _turn(sentence: Sentence, ground: Ground, is_voice_turned: bool) -> str:
    """Why a sentence turns what a text says that is to say the same: one of the two in the passive voice."""
    if sentence in ground.sentences:
        return ""
    laid = alignment.lay(sentence, ground)
    order = laid.reordered()
    if is_voice_turned:  # then the order is turned as well
        order = "" if order else "turns who does it into whom it is done to"
    if reason := order or next(laid.turned(), ""):
        return reason
    if laid.lapsed(either=True):
        return "makes what is into what was"
    is_now = any(one.forms & rules.words("present") for one in ground.sentences)
    return LAPSED if reading.was([sentence]) and is_now else ""


def _is_passive(text: str) -> bool:
    """Whether a text says by whom something is done."""
    words = set(text.casefold().split())
    return ("by" in words and not words.isdisjoint(rules.words("passive"))) or "被" in text or "由" in text


def particles(text: str) -> frozenset[str]:
    """Return the words that say nothing by themselves and change what others say: up, without, again."""
    idle = rules.words("idle")
    return frozenset(t.key for s in read(text) for t in s.tokens if t.light and t.key not in idle)


def continues(text: str, other: str) -> bool:
    """Whether a text says what another says, and that it goes on."""
    folded = text.casefold()
    goes_on = any(
        word in (folded.split() if word.isascii() else folded) for word in rules.words("continuing")
    )
    return goes_on and says(text, other)


def doubts(text: str) -> frozenset[str]:
    """Return what a text leaves open: it asks, supposes, intends, or tells what somebody says."""
    asked = any(sentence.asks for sentence in read(text))
    return _DOUBTS & _turns(text) | ({"asked"} if asked else set())


def _turns(text: str) -> frozenset[str]:
    """What turns the sentences of a text."""
    return frozenset(key for sentence in read(text) for key in sentence.keys_of("turn"))


def ends(text: str, day: date) -> bool:
    """Whether a sentence of a text says that something is over on `day`: it is not to come, nor left open."""
    return any(_ends(text[start:end], day) for start, end in sentences.spans(text))


def _ends(sentence: str, day: date) -> bool:
    """Whether one sentence does."""
    times = (key for one in read(sentence, day) for key in one.keys_of("date"))
    days = [key[:10] for key in times if key[4:5] == "-"]
    if doubts(sentence) or _turns(sentence) & _TO_COME or min(days, default="") > day.isoformat():
        return False
    return bool(_turns(sentence) & _OVER) or rules.holds(sentence, "over")


def subject(text: str) -> str:
    """Return what a text begins with: its first word that says something, or two CJK characters."""
    tokens = [token for sentence in read(text) for token in sentence.tokens if token.counts]
    pair = len(tokens) > 1 and tokens[0].kind == tokens[1].kind == "wide"
    return "".join(token.key for token in tokens[: 1 + pair])


def values(text: str, day: date | None = None) -> frozenset[str]:
    """Return the names, numbers, dates, identifiers and signs of a text, and what turns it."""
    return frozenset(key for sentence in read(text, day) for key in sentence.keys_of(*HARD, "turn"))


def measured(text: str) -> frozenset[str]:
    """Return the numbers, dates and times of a text."""
    return frozenset(key for sentence in read(text) for key in sentence.keys_of("number", "date"))


def weight(text: str) -> float:
    """Return how many words of a text say something; a CJK character counts half."""
    return sum(WEIGHT[t.kind] for s in read(text) for t in s.tokens if t.counts) / 10


def _is_whole(sentence: Sentence, said: Sentence, source: Said) -> bool:
    """Whether a sentence is one of a source's, from its beginning up to its end or to a pause."""
    text = said.keys_of()
    own = _without_context(sentence.keys_of(), text, source)
    start = next((n for n in range(len(text)) if text[n : n + len(own)] == own), -1)
    if not own or start < 0:
        return False
    is_led = all(token.kind == "date" or token.key in _lead_keys() for token in said.tokens[:start])
    rest = said.tokens[start + len(own) :]
    at_pause = not rest or rest[0].clause != said.tokens[start + len(own) - 1].clause
    asks = said.asks and not sentence.asks
    return is_led and at_pause and not asks and "turn" not in {token.kind for token in rest}


def _without_context(own: list[str], text: list[str], source: Said) -> list[str]:
    """The keys of a sentence without the heading and the day that code put before it."""
    for heading in source.headings:
        above = [key for one in read(heading, source.day) for key in one.keys_of()]
        if above and own[: len(above)] == above and len(own) > len(above):
            own = own[len(above) :]
            break
    dated = source.day.isoformat() if source.day else ""
    while own[:1] == [dated] != text[:1]:
        own = own[1:]
    return own


@cache
def _lead_keys() -> frozenset[str]:
    """The keys of what may stand before a sentence: CJK words character by character."""
    return leads() | {character for word in leads() if not word.isascii() for character in word}


# --- days told in full --------------------------------------------------------------------------------------


def resolved(text: str, sources: Sequence[Said]) -> str:
    """Return a text in which every date is told in full, as seen from the day of the note that says it."""
    days = [source for source in sources if source.day is not None]
    if not days:
        return text
    is_past = reading.was(read(text))
    seen_from: dict[date | None, tuple[dates.Span, ...]] = {}

    def spans(day: date | None) -> tuple[dates.Span, ...]:
        if day not in seen_from:
            seen_from[day] = dates.spans(language.fold_width(text), day or date.min)
        return seen_from[day]

    def full(seen: dates.Span) -> str:
        source = next((one for one in days if seen.text in language.fold_width(one.text)), days[0])
        span = next((span for span in spans(source.day) if span.text == seen.text), seen)
        written = reading.in_full(span, source.day)
        is_guess = is_past and span.relative and written > f"{source.day}"  # of what is over: in which year?
        return "" if is_guess else written

    told = ((span.text.rstrip("."), full(span)) for span in spans(days[0].day))
    return reading.rewritten(text, told)


def named(text: str, sources: Sequence[Said]) -> str:
    """Return a text that opens with a name where it opened with a pronoun or a Chinese *I*.

    The name is the only one in the headings, or that of who speaks.
    """
    opening = next((sentence.opening for sentence in read(text)), "")
    names = _subjects(opening, sources) if not text.startswith("我们") else set()
    if len(names) != 1 or not text.casefold().startswith(opening):
        return text
    (name,) = names
    own = "'s" if opening in rules.words("possessives") else ""
    apart = " " if name.isascii() and not opening.isascii() else ""
    return f"{name}{own}{apart}{text[len(opening) :]}"


def _subjects(opening: str, sources: Sequence[Said]) -> set[str]:
    """Whom the word may mean that a text opens with; English verbs would change their form with *I*."""
    if opening in rules.words("pronouns"):
        return set(filter(_may_be_a_name, (source.name for source in sources)))
    if opening in rules.words("first_person") and not opening.isascii():
        return {source.speaker for source in sources} - rules.words("people") - {""}
    return set()


def _may_be_a_name(name: str) -> bool:
    """Whether a heading may name somebody, rather than what the lines below it are about."""
    if name.isascii():
        return bool(name) and rules.words("topics").isdisjoint(name.casefold().split())
    return name[:1] in rules.words("surnames")
