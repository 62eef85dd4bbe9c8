"""Whether one source can say what a statement says: what holds in every language, and no model decides.

A sentence of a statement is laid beside one source, which is the cited text below its context (headings,
speaker, day). Names, numbers, units, dates, identifiers and signs must stand there, and most of the other
words. Words may stand in another order as long as no two change places around what stays between them;
negations, modals and conditions agree. The rest (does *left* mean *retired*?) a model says, see `verify`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from commonplace import language
from commonplace.language import dates, lexicon, rules, sentences, stopwords
from commonplace.language.lexicon import stem
from commonplace.language.reading import (
    Sentence,
    Token,
    in_full,
    is_within,
    read,
)

SHARE = 0.7  # of what a sentence says, by weight, that its source must say in its words
_HARD = ("name", "number", "date", "code", "sign")
_WEIGHT = {"word": 10, "name": 10, "code": 10, "number": 10, "date": 10, "sign": 3, "wide": 5}
_CLOSE = 4  # for a word whose neighbour is that of the source as well: of two readings the closer one
_MOST_TOKENS = 3000  # of a source
_MOST_MOVED, _MOST_TRIED = 40, 8  # words of a sentence that stand elsewhere, places that are tried for one
_PUNCTUATION = frozenset("，。、；：？！（）【】《》「」『』“”‘’…–—·•￥€£°±×≤≥≠→")
# What restricts a sentence from any of its clauses; the other groups count in the clauses that are used.
_AHEAD = frozenset(("nearly", "failed", "intended", "instead"))  # restrict only what stands behind them
_DOUBTS = frozenset(("possible", "said", "if", "unless", "intended", "nearly"))
_TO_COME, _OVER = frozenset(("future", "necessary", "able")), frozenset(("not", "failed"))
_FAR = frozenset(("possible", "said", "if", "unless", "but"))


@dataclass(frozen=True, slots=True)
class Said:
    """What a note says: the text, its day, the headings above it below the day's, and who speaks."""

    text: str
    day: date | None = None
    headings: tuple[str, ...] = ()
    speaker: str = ""


def missing(statement: str, sources: Sequence[Said], *, share: float = SHARE) -> str:
    """Return why no source can say what a statement says; empty where each sentence has one that can."""
    if strange := _strange_character(statement, sources):
        return strange
    readings = [(read(statement, source.day), _ground(source)) for source in sources]
    count = max((len(known) for known, _ in readings), default=0)
    for at in range(count):
        reasons = [_unsupported(some[at], at, ground, share) for some, ground in readings if at < len(some)]
        if all(reasons):
            return min(reasons, key=len)
    return "" if count else "says nothing that could be supported"


def _strange_character(statement: str, sources: Sequence[Said]) -> str:
    """What is wrong with the characters of a statement: hidden ones, and letters of no source."""
    known = set("".join("".join((one.text, *one.headings, one.speaker)) for one in sources)) | _PUNCTUATION
    for character in statement:
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"):
            return "holds hidden characters"
        if character not in known and not (character.isascii() or re.fullmatch(lexicon.CJK_RUN, character)):
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
    ground = _ground(source)
    return any(not _unsupported(one, at, ground, SHARE) for at, one in enumerate(read(text, source.day)))


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
    return frozenset(single | _pairs(tokens))


def says(text: str, other: str) -> bool:
    """Whether a text says all that another says, as far as words tell: denied by both or by neither."""
    one, two = keys(text), keys(other)
    return bool(two) and two <= one and ("not" in one) == ("not" in two)


def turns(text: str, other: str) -> str:
    """Return why a text turns what another says in words of its own; empty where it does not.

    For two texts that are to say the same: their words may not change places, nor one alone be denied.
    """
    ground, past, present = _ground(Said(other)), rules.words("past"), rules.words("present")
    is_voice_turned = _is_passive(text) != _is_passive(other)  # then the order is turned as well
    for sentence in read(text):
        if sentence in ground.sentences:
            continue
        laid = _laid(sentence, ground)
        order = laid.reordered()
        if is_voice_turned:
            order = "" if order else "turns who does it into whom it is done to"
        if reason := order or laid.turned():
            return reason
        if laid.lapsed(either=True):
            return "makes what is into what was"
        forms = frozenset[str]().union(*(one.forms for one in ground.sentences))
        if sentence.forms & past and not sentence.forms & present and forms & present - past:
            return "makes what was into what is"
    return ""


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
    read_ = read(text)
    asked = frozenset(("asked",) if any(sentence.asks for sentence in read_) else ())
    return asked | _DOUBTS & {token.key for sentence in read_ for token in sentence.tokens}


def ends(text: str, day: date) -> bool:
    """Whether a sentence of a text says that something is over on `day`: it is not to come, nor left open."""
    return any(_ends(text[start:end], day) for start, end in sentences.spans(text))


def _ends(sentence: str, day: date) -> bool:
    tokens = [token for one in read(sentence, day) for token in one.tokens]
    turns = {token.key for token in tokens if token.kind == "turn"}
    days = [
        token.key for token in tokens if token.kind == "date" and token.key[0].isdigit() and "-" in token.key
    ]
    if doubts(sentence) or turns & _TO_COME or (days and min(days)[:10] > day.isoformat()):
        return False
    return bool(turns & _OVER) or rules.pattern("over").search(sentence) is not None


def subject(text: str) -> str:
    """Return what a text begins with: its first word that says something, or two CJK characters."""
    tokens = [token for sentence in read(text) for token in sentence.tokens if token.counts]
    pair = len(tokens) > 1 and tokens[0].kind == tokens[1].kind == "wide"
    return "".join(token.key for token in tokens[: 1 + pair])


def values(text: str, day: date | None = None) -> frozenset[str]:
    """Return the names, numbers, dates, identifiers and signs of a text, and what turns it."""
    return frozenset(t.key for s in read(text, day) for t in s.tokens if t.kind in (*_HARD, "turn"))


def measured(text: str) -> frozenset[str]:
    """Return the numbers, dates and times of a text."""
    return frozenset(t.key for s in read(text) for t in s.tokens if t.kind in ("number", "date"))


def weight(text: str) -> float:
    """Return how many words of a text say something; a CJK character counts half."""
    return sum(_WEIGHT[t.kind] for s in read(text) for t in s.tokens if t.counts) / 10


# --- beside a source ----------------------------------------------------------------------------------------


class _Ground(NamedTuple):
    """A source as it is laid beside a statement: what of `tokens` is context, and the sentence of each."""

    tokens: tuple[Token, ...]
    context: int
    sentence: tuple[int, ...]
    sentences: tuple[Sentence, ...]
    times: frozenset[str]
    is_timed_once: bool
    named: str  # the only name in the headings


@lru_cache(1024)
def _ground(source: Said) -> _Ground:
    """Put the context before the text; clauses count on, so that none reaches into another."""
    sentences = read(source.text, source.day)
    first = rules.words("first_person")
    spoken = {word for s in sentences for word in (s.opening, *(t.key for t in s.tokens))}
    people = [source.speaker] if source.speaker else []
    if not spoken.isdisjoint({*first, *map(stem, first)}) or source.speaker in rules.words("people"):
        people += rules.words("owner")
    above = [(-1, s) for text in (*source.headings, *people) for s in read(text, source.day)]
    tokens: list[Token] = []
    places: list[int] = []
    for number, sentence in (*above, *enumerate(sentences)):
        base = tokens[-1].clause + 1 if tokens else 0
        tokens += [token._replace(clause=token.clause + base) for token in sentence.tokens]
        places += [number] * len(sentence.tokens)
    context = places.count(-1)
    timed = [token.kind == "date" for token in tokens[context:]]
    groups = sum(now and not before for before, now in zip([False, *timed], timed, strict=False))
    return _Ground(
        tuple(tokens[:_MOST_TOKENS]), context, tuple(places), sentences, _times(tokens, source.day),
        groups <= 1, stem(only_name(source).casefold()),
    )  # fmt: skip


def _times(tokens: Sequence[Token], day: date | None) -> frozenset[str]:
    """The dates that a source says, with its own; a day of the week may be one of three."""
    times = {token.key for token in tokens if token.kind == "date"}
    if day:
        times |= {day.isoformat()}
        for key in [key for key in times if key.startswith("weekday ")]:
            ahead = (int(key[8:]) - day.weekday()) % 7
            times |= {f"{day + timedelta(ahead + more)}" for more in (-7, 0, 7)}
    return frozenset(times)


def only_name(source: Said) -> str:
    """Return the name in the headings of a source, where there is but one."""
    words = re.findall(r"\b[A-Z]\w+(?:[ -][A-Z]\w+)*", "\n".join(source.headings))
    names = {word for word in words if word.casefold() not in stopwords.ENGLISH}
    names |= {heading for heading in source.headings if re.fullmatch(rf"[{lexicon.CJK}]{{2,4}}", heading)}
    return names.pop() if len(names) == 1 else ""


def _unsupported(sentence: Sentence, at: int, ground: _Ground, share: float) -> str:
    """Why a source cannot say what a sentence says; empty where it can."""
    if not any(token.counts for token in sentence.tokens):
        return "says nothing that could be supported"
    if sentence.opening in rules.words("pronouns") and not at:
        return "does not say who or what"
    for token in sentence.tokens:
        if token.kind == "date" and not is_within(token.key, ground.times):
            return f"says {token.key}, which the source does not"
    laid = _laid(sentence, ground)
    return laid.reordered() or laid.unknown(share) or laid.stitched() or laid.turned() or laid.shortened()


def _laid(sentence: Sentence, ground: _Ground) -> _Laid:
    """Lay a sentence beside a source; a day that the source names alone may stand anywhere."""
    free = ("date",) if ground.is_timed_once else ()
    words = [n for n, t in enumerate(sentence.tokens) if t.counts and t.kind not in free]
    said = [n for n, t in enumerate(ground.tokens) if t.counts and t.kind not in free]
    aligned = _aligned([sentence.tokens[n] for n in words], [ground.tokens[n] for n in said])
    strand = {words[n]: said[other] for n, other in aligned.items()}
    return _Laid(sentence, words, ground, strand, dict(strand))


@dataclass(slots=True)
class _Laid:
    """A sentence beside a source: where its words stand there, and those of them that are in its order."""

    sentence: Sentence
    words: list[int]
    ground: _Ground
    strand: Mapping[int, int]
    places: dict[int, int]

    def reordered(self) -> str:
        """Find the words that stand elsewhere in the source, and why one may not be moved there."""
        tokens, ground = self.sentence.tokens, self.ground
        where: dict[str, list[int]] = {}
        for place, token in enumerate(ground.tokens):
            where.setdefault(token.key, []).append(place)
        known = _pairs(ground.tokens)
        for number in [n for n in self.words if n not in self.places and self._may_be_moved(n, known)]:
            token = tokens[number]
            free = [place for place in where.get(token.key, ()) if place not in self.places.values()]
            place = next((p for p in free[:_MOST_TRIED] if not self._is_swapped(number, p, where)), -1)
            if place >= 0 and len(self.places) - len(self.strand) < _MOST_MOVED:
                self.places[number] = place
            elif free or (token.key in where and token.kind in _HARD):
                return f"turns the order of the source: {token.key}"
        return ""

    def _may_be_moved(self, number: int, known: set[str]) -> bool:
        """Whether a word may be one of the source; a CJK character is one with its neighbour."""
        tokens, token = self.sentence.tokens, self.sentence.tokens[number]
        around = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
        wide = [t.key for t in around if t.kind == "wide" and t.clause == token.clause]
        pairs = {pair for one in wide for pair in (one + token.key, token.key + one)}
        return token.kind != "wide" or not wide or not pairs.isdisjoint(known)

    def _is_swapped(self, number: int, place: int, where: Mapping[str, list[int]]) -> bool:
        """Whether two words change places around what stays between them: Mira pays Lin, mail to calls."""
        for other, there in self.places.items():
            if (other < number) == (there < place):
                continue
            near = self.ground.tokens[place].clause == self.ground.tokens[there].clause
            for token in self.sentence.tokens[min(number, other) + 1 : max(number, other)]:
                stands = where.get(token.key, [])
                after = bisect_right(stands, min(place, there))
                between = after < len(stands) and stands[after] < max(place, there)
                if between and token.kind not in ("own", "turn") and (near or not token.light):
                    return True
        return False

    def unknown(self, share: float) -> str:
        """Why what a sentence says in words of its own is more than the source may have meant."""
        tokens, words, alone = self.sentence.tokens, self.words, self._alone()
        whole = covered = 10 * sum(t.kind == "date" and n not in words for n, t in enumerate(tokens))
        for before, number in zip([-1, *words], words, strict=False):
            token = tokens[number]
            whole += _WEIGHT[token.kind]
            if number in self.places:
                covered += _WEIGHT[token.kind] if number not in alone else 0
            elif token.kind in _HARD or token.capital:
                return f"says {token.key}, which the source does not"
            elif self._is_unit(before, token):
                return f"says {tokens[before].key} of something else: {token.key}"
        if put := self._replaced():
            return f"puts {put} in the place of what the source says"
        if words and tokens[words[0]].kind == "wide" and (words[0] not in self.places or words[0] in alone):
            return f"begins with what the source does not say: {tokens[words[0]].key}"
        return "" if covered >= share * whole else "says too much that is not in the source's words"

    def _alone(self) -> set[int]:
        """The CJK characters without a neighbour of the source: one by itself stands in many words."""
        wide = [n for n in self.words if n in self.places and self.sentence.tokens[n].kind == "wide"]
        order = {number: at for at, number in enumerate(self.words)}

        def is_beside(number: int, step: int) -> bool:
            at = order[number] + step
            other = self.places.get(self.words[at]) if 0 <= at < len(self.words) else None
            return other is not None and abs(other - self.places[number]) <= 2

        return {number for number in wide if not (is_beside(number, -1) or is_beside(number, 1))}

    def _is_unit(self, before: int, token: Token) -> bool:
        """Whether a word that the source lacks says of what a number is one."""
        if before not in self.places or self.sentence.tokens[before].kind != "number":
            return False
        at = self.places[before]
        behind = self.ground.tokens[at + 1 : at + 2]
        is_said = bool(behind) and behind[0].clause == self.ground.tokens[at].clause
        return is_said or token.key in rules.words("measures")

    def _replaced(self) -> str:
        """The CJK characters, or the particle, where the source has others: no capital tells of a name."""
        tokens, said = self.sentence.tokens, self.ground.tokens
        idle: set[int] = set()
        for number, (one, other) in enumerate(pairwise(tokens)):
            idle |= {number, number + 1} if one.key + other.key in stopwords.CHINESE else set()
        put, before = "", -1
        for number in [*self.words, -1]:
            if number >= 0 and number not in self.places:
                put += tokens[number].key if tokens[number].kind == "wide" and number not in idle else ""
                continue
            gap = said[before + 1 : self.places.get(number, len(said))] if put and before >= 0 else ()
            if any(t.kind == "wide" and not t.light and t.clause == said[before].clause for t in gap):
                return put
            put, before = "", self.places.get(number, -1)
        return self._particle()

    def _particle(self) -> str:
        """The particle where the source has another: what went down went up."""
        tokens, said = self.sentence.tokens, self.ground.tokens
        stays = rules.words("idle") | rules.words("light")
        for before, number in pairwise([*sorted(self.strand), len(tokens)]):
            at = self.strand[before]
            end = self.strand.get(number, len(said))
            near = [t for t in said[at + 1 : end] if t.clause == said[at].clause]
            gaps = tokens[before + 1 : number], near
            apart = end < len(said) and said[end].clause != said[at].clause
            if not apart and all(t.light for gap in gaps for t in gap):
                own, others = ({t.key for t in gap} - stays for gap in gaps)
                if own and others and own.isdisjoint(others):
                    return min(own)
        return ""

    def stitched(self) -> str:
        """Why what a sentence leaves out of the source makes it another one."""
        tokens, first = self.ground.tokens, self.ground.context
        clauses = {tokens[place].clause for place in self.strand.values()}
        before, reason = -1, ""
        for number, place in sorted(self.places.items()):
            if place >= first and number not in self.strand:
                if tokens[place].clause not in clauses and self._lost(place):
                    return "joins what stands apart in the source"
                continue
            if place >= first:
                reason = self._begins(number, place) if before < first else self._skips(before, place)
            if reason:
                return reason
            before = place
        return "takes a part of a heading" if self._is_in_part() else ""

    def _is_in_part(self) -> bool:
        """Whether a heading is used, and neither whole nor by its only name: who of "Marta and Lin"?"""
        above = self.ground.tokens[: self.ground.context]
        used = {place for place in self.places.values() if place < len(above)}
        clauses = {above[place].clause for place in used}
        left = any(t.clause in clauses and n not in used and t.counts for n, t in enumerate(above))
        return left and {above[place].key for place in used} != {self.ground.named}

    def _begins(self, number: int, place: int) -> str:
        """Why a sentence may not begin where it does in the source."""
        tokens, own = self.ground.tokens, self.sentence.tokens
        if (
            place > self.ground.context
            and tokens[place - 1].kind == "own"
            and not self._is_owned(number, place)
        ):
            return "leaves out whose it is"
        # "For every release …": what stands before such a word is not who it is about.
        is_led = number > 0 and not own[number - 1].counts and own[number - 1].key == tokens[place - 1].key
        lost = "" if is_led and place > self.ground.context else self._lost(place, starts=True)
        return f"leaves out what the source begins with: {lost}" if lost else ""

    def _is_owned(self, number: int, place: int) -> bool:
        """Whether the words that say whose it is stand right behind it: the phone of Mira."""
        owner = self.places.get(next((word for word in self.words if word > number), -1), -1)
        return (
            owner >= 0 and all(n in self.places.values() for n in range(owner, place - 1)) and owner < place
        )

    def _skips(self, before: int, place: int) -> str:
        """Why a sentence may not pass from one place of the source to another."""
        tokens, used = self.ground.tokens, set(self.places.values())
        skipped = [tokens[n] for n in range(before + 1, place) if n not in used]
        if len(skipped) > 1 and tokens[before + 1].kind == "own":
            return "leaves out whose it is"
        is_number = tokens[place].kind == "number"
        if tokens[before].clause == tokens[place].clause:
            apart = any(
                t.kind in ("name", "code", "sign") or (is_number and t.kind == "number") for t in skipped
            )
        else:
            starts = self.ground.sentence[before] != self.ground.sentence[place]
            # What names a number may go, where no other number is left out before it.
            is_value = is_number and all(t.kind in ("wide", "own") for t in skipped)
            apart = bool(self._lost(place, starts=starts or is_value))
        return "joins what stands apart in the source" if apart else ""

    def _lost(self, place: int, *, starts: bool = False) -> str:
        """What of its clause stands before a place and may not be left out: more than who tells.

        Where a sentence `starts`, CJK characters and numbers may: when it was, for whom.
        """
        tokens, leads, used = self.ground.tokens, _leads(), set(self.places.values())
        before = (tokens[n] for n in range(self.ground.context, place) if n not in used)
        early = [token for token in before if token.clause == tokens[place].clause]
        kinds = ("wide", "date", "number") if starts else ("wide", "date")
        for token in early:
            if token.counts and token.kind not in kinds and token.key not in leads:
                return token.key
        written = "" if starts else "".join(token.key for token in early if token.kind == "wide")
        for word in sorted(leads, key=len, reverse=True):
            written = written.replace(word, "")
        return written.translate(dict.fromkeys(map(ord, stopwords.CHINESE_CHARACTERS)))

    def shortened(self) -> str:
        """Why a sentence leaves out words that belong to those it uses: what stands between two of them.

        What a clause opens or ends with counts where it says nothing by itself: some of, for now.
        """
        strand = [number for number in sorted(self.strand) if self.strand[number] >= self.ground.context]
        return next(chain(self._left_between(strand), self._left_around()), "")

    def _left_between(self, strand: Sequence[int]) -> Iterator[str]:
        """Yield what is left out between words, unless the sentence has words of its own there."""
        tokens, said = self.sentence.tokens, self.ground.tokens
        for before, number in pairwise(strand):
            start, end = self.strand[before], self.strand[number]
            own = sum(n not in self.places and _says(tokens[n]) for n in range(before + 1, number))
            lost = self._left(range(start + 1, end)) if said[start].clause == said[end].clause else []
            # One of two things may go, and of what something is.
            is_apart = said[end - 1].key == "and" or said[start + 1].key == "of"
            if len(lost) > 2 * own and not is_apart:
                yield f"leaves out what the source says between: {lost[0].key}"

    def _left_around(self) -> Iterator[str]:
        """Yield what is left out of a clause before its first word that is used, and behind its last."""
        said, used = self.ground.tokens, set(self.places.values())
        own = {token.key for token in self.sentence.tokens}
        for _, group in groupby(range(self.ground.context, len(said)), key=lambda place: said[place].clause):
            clause = list(group)
            if not (places := used.intersection(clause)):
                continue
            opening, end = range(clause[0], min(places)), range(max(places) + 1, clause[-1] + 1)
            if not any(said[n].counts for n in opening) and (lost := self._left(opening)):
                yield f"leaves out what the source begins with: {lost[0].key}"
            if len(end) > 1 and all(said[n].light and said[n].key not in own for n in end):
                yield f"leaves out what the source ends with: {said[end[0]].key}"

    def _left(self, places: Iterable[int]) -> list[Token]:
        """The words of the source at some places that say something, and do not stand in the sentence."""
        used, keys = set(self.places.values()), {token.key for token in self.sentence.tokens}
        tokens = (self.ground.tokens[place] for place in places if place not in used)
        return [token for token in tokens if token.key not in keys and _says(token)]

    def turned(self) -> str:
        """Why a sentence is denied, certain, conditional or asked where its source is not."""
        used = {self.ground.sentence[place] for place in self.places.values()}
        own = [t.key for t in self.sentence.tokens if t.kind == "turn"]
        near, around = self._turns(used)
        if reason := self._mood([self.ground.sentences[n] for n in used if n >= 0]):
            return reason
        if more := own.count("not") - near.count("not"):
            return "denies what the source says" if more > 0 else "leaves out a denial"
        if lost := sorted(around - set(own)):
            return f"leaves out what restricts it ({lost[0]})"
        if self.lapsed():
            return "makes what was into what is"
        if turn := self._turn_moved():
            return f"turns the order of the source: {turn}"
        clauses = {self.ground.tokens[place].clause for place in self.places.values()}
        there = {t.key for t in self.ground.tokens if t.kind == "turn" and t.clause in clauses}
        added = sorted(set(own) - around - there)  # "The train stopped": nothing stands behind it
        return f"adds what restricts it ({added[0]})" if added else ""

    def lapsed(self, *, either: bool = False) -> bool:
        """Whether a word of the source ends as what was does and here does not, or `either` of the two."""
        pairs = [(self.sentence.tokens[n].past, self.ground.tokens[p].past) for n, p in self.strand.items()]
        return any(before != now and (before or either) for now, before in pairs)

    def _turn_moved(self) -> str:
        """What stands elsewhere among the words of the source: nobody told her, and she told nobody."""
        clauses = {self.ground.tokens[place].clause for place in self.strand.values()}
        there = [
            (n, t.key) for n, t in enumerate(self.ground.tokens) if t.kind == "turn" and t.clause in clauses
        ]
        here = [(n, t.key) for n, t in enumerate(self.sentence.tokens) if t.kind == "turn"]
        for turn in ("not", "only"):
            at, before = ([n for n, key in rows if key == turn] for rows in (here, there))
            pairs = zip(at, before, strict=False) if len(at) == len(before) else ()
            if any(
                (word < one) != (place < other) for one, other in pairs for word, place in self.strand.items()
            ):
                return turn
        return ""

    def _mood(self, said: Sequence[Sentence]) -> str:
        """Why a sentence states what its source asks, or holds what was."""
        if any(one.asks for one in said) and not self.sentence.asks:
            return "is only asked"
        forms, present = frozenset[str]().union(*(one.forms for one in said)), rules.words("present")
        is_past = bool(forms & rules.words("past")) and not forms & present
        return "makes what was into what is" if is_past and self.sentence.forms & present else ""

    def _turns(self, used: set[int]) -> tuple[list[str], set[str]]:
        """What turns the clauses that are used, and with it what turns their sentences from afar."""
        last: dict[int, int] = {}  # the last place that is used, by clause
        for place in self.places.values():
            clause = self.ground.tokens[place].clause
            last[clause] = max(place, last.get(clause, 0))
        near: list[str] = []
        far: set[str] = set()
        tokens = zip(self.ground.tokens, self.ground.sentence, strict=False)
        for place, (token, sentence) in enumerate(tokens):
            if token.kind == "turn" and token.clause in last:
                if place < last[token.clause] or token.key not in _AHEAD:
                    near.append(token.key)
            elif token.kind == "turn" and sentence in used and token.key in _FAR:
                far.add(token.key)
        return near, far | set(near)


def _says(token: Token) -> bool:
    """Whether a word changes what those around it say: no filler, nor what is compared elsewhere."""
    return token.kind not in ("own", "turn", "date", "number") and token.key not in _fillers()


@cache
def _fillers() -> frozenset[str]:
    """What may be left out between words that stay, as it stands in tokens."""
    words = rules.words("idle") | rules.words("light") | rules.words("fillers")
    return words | set(map(stem, words))


@cache
def _leads() -> frozenset[str]:
    """What may stand before what is said: who tells, and that it is a decision, a lesson, a note."""
    return rules.words("leads") | {stem(word) for word in rules.words("leads")}


def _aligned(wanted: Sequence[Token], said: Sequence[Token]) -> dict[int, int]:
    """Lay a sentence beside a source: which of its words stands where, all in one order, the closest such."""
    best = [[0] * (len(said) + 1) for _ in range(len(wanted) + 1)]
    ends = [[0] * (len(said) + 1) for _ in range(len(wanted) + 1)]  # where both end with the same word
    for i, token in enumerate(wanted, 1):
        for j, other in enumerate(said, 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1])
            if token.key == other.key:
                close = ends[i - 1][j - 1] + _CLOSE if ends[i - 1][j - 1] else 0
                ends[i][j] = _WEIGHT[token.kind] + max(best[i - 1][j - 1], close)
                best[i][j] = max(best[i][j], ends[i][j])
    pairs: dict[int, int] = {}
    i, j = len(wanted), len(said)
    close = False
    while i and j:
        if ends[i][j] and (close or ends[i][j] == best[i][j]):
            pairs[i - 1] = j - 1
            gain = ends[i][j] - _WEIGHT[wanted[i - 1].kind]
            close = bool(ends[i - 1][j - 1]) and gain == ends[i - 1][j - 1] + _CLOSE
            i, j = i - 1, j - 1
        elif best[i - 1][j] == best[i][j]:
            i -= 1
        else:
            j -= 1
    return dict(sorted(pairs.items()))


def _is_whole(sentence: Sentence, said: Sentence, source: Said) -> bool:
    """Whether a sentence is one of a source's, from its beginning up to its end or to a pause."""
    text = [token.key for token in said.tokens]
    own = _without_context([token.key for token in sentence.tokens], text, source)
    start = 0
    while start < len(text) and text[start : start + len(own)] != own:
        if said.tokens[start].kind != "date" and text[start] not in _lead_keys():
            return False
        start += 1
    rest = said.tokens[start + len(own) :]
    at_pause = not rest or rest[0].clause != said.tokens[start + len(own) - 1].clause
    if not own or start == len(text) or not at_pause:
        return False
    return sentence.asks >= said.asks and all(token.kind != "turn" for token in rest)


def _without_context(own: list[str], text: list[str], source: Said) -> list[str]:
    """The keys of a sentence without the heading and the day that code put before it."""
    for heading in source.headings:
        above = [token.key for one in read(heading, source.day) for token in one.tokens]
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
    return _leads() | {character for word in _leads() if not word.isascii() for character in word}


def _pairs(tokens: Sequence[Token]) -> set[str]:
    """The pairs of CJK characters that stand beside each other."""
    wide = ((a, b) for a, b in pairwise(tokens) if a.kind == b.kind == "wide" and not (a.light and b.light))
    return {a.key + b.key for a, b in wide}


# --- what a text says, word by word -------------------------------------------------------------------------


# --- days told in full --------------------------------------------------------------------------------------


def resolved(text: str, sources: Sequence[Said]) -> str:
    """Return a text in which every date is told in full, as seen from the day of the note that says it."""
    folded = language.fold_width(text)
    days = [source for source in sources if source.day is not None]
    forms = frozenset[str]().union(*(sentence.forms for sentence in read(text)))
    is_past = bool(forms & rules.words("past")) and not forms & rules.words("present")
    done, at = "", 0
    for seen in dates.spans(folded, days[0].day) if days and days[0].day else ():
        source = next((one for one in days if seen.text in language.fold_width(one.text)), days[0])
        own = (span for span in dates.spans(folded, source.day or seen.first) if span.text == seen.text)
        span = next(own, seen)
        said = span.text.rstrip(".")
        full, start = in_full(span, source.day), folded.find(said, at)
        is_guess = is_past and span.relative and full > f"{source.day}"  # of what is over: in which year?
        if full and start >= 0 and not is_guess:
            done += text[at:start] + full
            at = start + len(said)
    return done + text[at:]


def named(text: str, sources: Sequence[Said]) -> str:
    """Return a text that opens with a name where it opened with a pronoun or a Chinese *I*.

    The name is the only one in the headings, or that of who speaks.
    """
    opening = next((sentence.opening for sentence in read(text)), "")
    if not text.casefold().startswith(opening):
        return text
    if opening in rules.words("first_person"):
        speakers = {source.speaker for source in sources} - rules.words("people")
        names = set() if opening.isascii() or text.startswith("我们") else speakers
    elif opening in rules.words("pronouns"):
        names = set(filter(_may_be_a_name, map(only_name, sources)))
    else:
        return text
    names -= {""}
    if len(names) != 1:
        return text
    name = names.pop()
    own = "'s" if opening in rules.words("possessives") else ""
    apart = " " if name.isascii() and not opening.isascii() else ""
    return f"{name}{own}{apart}{text[len(opening) :]}"


def _may_be_a_name(name: str) -> bool:
    """Whether a heading may name somebody, rather than what the lines below it are about."""
    if name.isascii():
        return rules.words("topics").isdisjoint(name.casefold().split())
    return name[:1] in rules.words("surnames")
