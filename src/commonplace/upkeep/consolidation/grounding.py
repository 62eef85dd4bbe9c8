"""Whether one source can say what a statement says: what holds in every language, and no model decides.

A sentence of a statement is laid beside one source, which is the cited text below its context (headings,
speaker, day). Names, numbers, units, dates, identifiers and signs must stand there, and most of the other
words. Words may stand in another order as long as no two change places around what stays between them;
negations, modals and conditions agree. The rest (does *left* mean *retired*?) a model says, see `verify`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from commonplace import language
from commonplace.language import dates, lexicon, rules, stopwords
from commonplace.language import values as figures
from commonplace.language.lexicon import stem

Kind = Literal["word", "wide", "name", "number", "date", "code", "sign", "own", "turn"]

SHARE = 0.7  # of what a sentence says, by weight, that its source must say in its words
_HARD = ("name", "number", "date", "code", "sign")
_WEIGHT = {"word": 10, "name": 10, "code": 10, "number": 10, "date": 10, "sign": 3, "wide": 5}
_CLOSE = 4  # for a word whose neighbour is that of the source as well: of two readings the closer one
_MOST_TOKENS = 3000  # of a source
_PUNCTUATION = frozenset("，。、；：？！（）【】《》「」『』“”‘’…–—·•￥€£°±×≤≥≠→")
# What restricts a sentence from any of its clauses; the other groups count in the clauses that are used.
_FAR = frozenset(("possible", "said", "if", "unless", "but"))


@dataclass(frozen=True, slots=True)
class Said:
    """What a note says: the text, its day, the headings above it below the day's, and who speaks."""

    text: str
    day: date | None = None
    headings: tuple[str, ...] = ()
    speaker: str = ""


class Token(NamedTuple):
    """One thing said, in the clause of a number; `light` words say nothing of their own.

    `capital` says that it may be a name though it opens its sentence.
    """

    key: str
    kind: Kind
    clause: int
    light: bool = False
    capital: bool = False

    @property
    def counts(self) -> bool:
        """Whether it says something by itself."""
        return not self.light and self.kind not in ("own", "turn")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its tokens in order, whether it asks, its forms of *be*, and the word it opens with."""

    tokens: tuple[Token, ...]
    asks: bool = False
    forms: frozenset[str] = frozenset()
    opening: str = ""


def missing(statement: str, sources: Sequence[Said], *, share: float = SHARE) -> str:
    """Return why no source can say what a statement says; empty where each sentence has one that can."""
    known = set("".join("".join((one.text, *one.headings, one.speaker)) for one in sources))
    for character in statement:
        if character.isascii() and character.isprintable():
            continue
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"):
            return "holds hidden characters"
        wide = re.fullmatch(lexicon.CJK_RUN, character) is not None
        if character not in known and character not in _PUNCTUATION and not wide:
            return f"holds a character that no source has: {character}"
    readings = [(read(statement, source.day), _ground(source)) for source in sources]
    count = max((len(sentences) for sentences, _ in readings), default=0)
    for at in range(count):
        reasons = [_unsupported(some[at], at, ground, share) for some, ground in readings if at < len(some)]
        if all(reasons):
            return min(reasons, key=len)
    return "" if count else "says nothing that could be supported"


def is_literal(statement: str, sources: Sequence[Said]) -> bool:
    """Whether each sentence of a statement is one of a source's, whole or up to a pause, led in or not.

    A heading or a day that code put before it, and a day told in full, make no difference.
    """
    readings = [(read(statement, source.day), source) for source in sources]
    count = max((len(sentences) for sentences, _ in readings), default=0)
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
    timed = [token.kind == "date" for token, number in zip(tokens, places, strict=True) if number >= 0]
    groups = sum(now and not before for before, now in zip([False, *timed], timed, strict=False))
    times = {token.key for token in tokens if token.kind == "date"}
    if source.day:
        times |= {source.day.isoformat()}
        for key in [key for key in times if key.startswith("weekday ")]:
            ahead = (int(key[8:]) - source.day.weekday()) % 7
            times |= {f"{source.day + timedelta(ahead + more)}" for more in (-7, 0, 7)}
    return _Ground(
        tuple(tokens[:_MOST_TOKENS]), places.count(-1), tuple(places), sentences, frozenset(times),
        groups <= 1, stem(only_name(source).casefold()),
    )  # fmt: skip


def only_name(source: Said) -> str:
    """Return the name in the headings of a source, where there is but one."""
    words = re.findall(r"\b[A-Z]\w+", " ".join(source.headings))
    names = {word for word in words if word.casefold() not in stopwords.ENGLISH}
    return names.pop() if len(names) == 1 else ""


def _unsupported(sentence: Sentence, at: int, ground: _Ground, share: float) -> str:
    """Why a source cannot say what a sentence says; empty where it can."""
    if not any(token.counts for token in sentence.tokens):
        return "says nothing that could be supported"
    if sentence.opening in rules.words("pronouns") and not at:
        return "does not say who or what"
    for token in sentence.tokens:
        if token.kind == "date" and not _is_within(token.key, ground.times):
            return f"says {token.key}, which the source does not"
    # A day that the source names alone may stand anywhere.
    free = ("date",) if ground.is_timed_once else ()
    words = [n for n, t in enumerate(sentence.tokens) if t.counts and t.kind not in free]
    said = [n for n, t in enumerate(ground.tokens) if t.counts and t.kind not in free]
    aligned = _aligned([sentence.tokens[n] for n in words], [ground.tokens[n] for n in said])
    places = {words[n]: said[other] for n, other in aligned.items()}
    strand = dict(places)
    return (
        _reordered(sentence.tokens, words, places, ground)
        or _unknown(sentence.tokens, words, places, ground, share)
        or _stitched(sentence, places, strand, ground)
        or _turned(sentence, {ground.sentence[n] for n in places.values()}, places, ground)
    )


def _reordered(tokens: Sequence[Token], words: Sequence[int], places: dict[int, int], ground: _Ground) -> str:
    """Find the words that stand elsewhere in the source, and why one may not be moved there.

    Two that change places around what stays between them are swapped: Mira pays Lin, mail to calls.
    """
    where: dict[str, list[int]] = {}
    for place, token in enumerate(ground.tokens):
        where.setdefault(token.key, []).append(place)
    known = _pairs(ground.tokens)

    def is_swapped(number: int, place: int) -> bool:
        for other, there in places.items():
            between = tokens[min(number, other) + 1 : max(number, other)]
            apart = ground.tokens[min(place, there) + 1 : max(place, there)]
            near = ground.tokens[place].clause == ground.tokens[there].clause
            kept = {t.key for t in between if t.kind not in ("own", "turn") and (near or not t.light)}
            if (other < number) != (there < place) and not kept.isdisjoint(t.key for t in apart):
                return True
        return False

    for number in [n for n in words if n not in places]:
        token = tokens[number]
        if token.kind == "wide":  # one character stands in many words
            around = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
            wide = [t.key for t in around if t.kind == "wide" and t.clause == token.clause]
            if wide and not any({one + token.key, token.key + one} & known for one in wide):
                continue
        free = [place for place in where.get(token.key, ()) if place not in places.values()]
        if unswapped := [place for place in free if not is_swapped(number, place)]:
            places[number] = unswapped[0]
        elif free or (token.key in where and token.kind in _HARD):
            return f"turns the order of the source: {token.key}"
    return ""


def _unknown(
    tokens: Sequence[Token], words: Sequence[int], places: Mapping[int, int], ground: _Ground, share: float
) -> str:
    """Why what a sentence says in words of its own is more than the source may have meant."""
    units = rules.words("measures")
    # A CJK character counts with its neighbour: one alone stands in many words.
    alone = {
        n
        for before, n, after in zip([-1, *words], words, [*words[1:], -1], strict=False)
        if n in places
        and tokens[n].kind == "wide"
        and not any(m in places and abs(places[m] - places[n]) <= 2 for m in (before, after))
    }
    whole = covered = 0
    for before, number in zip([-1, *words], words, strict=False):
        token = tokens[number]
        whole += _WEIGHT[token.kind]
        if number in places:
            covered += _WEIGHT[token.kind] if number not in alone else 0
            continue
        if token.kind in _HARD or token.capital:
            return f"says {token.key}, which the source does not"
        if before in places and tokens[before].kind == "number":
            behind = ground.tokens[places[before] + 1 : places[before] + 2]
            if token.key in units or any(t.clause == ground.tokens[places[before]].clause for t in behind):
                return f"says {tokens[before].key} of something else: {token.key}"
    timed = 10 * sum(t.kind == "date" and n not in words for n, t in enumerate(tokens))
    if put := _replaced(tokens, words, places, ground):
        return f"puts {put} in the place of what the source says"
    first = words[0] if words else -1
    if words and tokens[first].kind == "wide" and (first not in places or first in alone):
        return f"begins with what the source does not say: {tokens[first].key}"
    return (
        ""
        if covered + timed >= share * (whole + timed)
        else "says too much that is not in the source's words"
    )


def _replaced(
    tokens: Sequence[Token], words: Sequence[int], places: Mapping[int, int], ground: _Ground
) -> str:
    """The CJK characters where the source has others: no capital tells which of them are a name."""
    put, before = "", None
    pairs = ((n, n + 1) for n, (a, b) in enumerate(pairwise(tokens)) if a.key + b.key in stopwords.CHINESE)
    idle = {number for pair in pairs for number in pair}
    for number in [*words, -1]:
        if number >= 0 and number not in places:
            put += tokens[number].key if tokens[number].kind == "wide" and number not in idle else ""
            continue
        if put and before is not None:
            place = places.get(number, len(ground.tokens))
            gap = [t for t in ground.tokens[before + 1 : place] if t.clause == ground.tokens[before].clause]
            if any(t.kind == "wide" and not t.light for t in gap):
                return put
        put, before = "", places.get(number)
    return ""


def _stitched(
    sentence: Sentence, places: Mapping[int, int], strand: Mapping[int, int], ground: _Ground
) -> str:
    """Why what a sentence leaves out of the source makes it another one."""
    tokens, used, first = ground.tokens, set(places.values()), ground.context
    clauses = {tokens[place].clause for place in strand.values()}
    before = -1
    for number, place in sorted(places.items()):
        if place < first:
            before = place
        elif number not in strand:
            if tokens[place].clause not in clauses and _lost(ground, place, used):
                return "joins what stands apart in the source"
        elif before < first:
            own = place > first and tokens[place - 1].kind == "own"
            # "For every release …": what stands before such a word is not who it is about.
            led = number and not sentence.tokens[number - 1].counts and place > first
            is_led = led and sentence.tokens[number - 1].key == tokens[place - 1].key
            if own or (not is_led and (lost := _lost(ground, place, used, starts=True))):
                return "leaves out whose it is" if own else f"leaves out what the source begins with: {lost}"
            before = place
        else:
            skipped = [t for n, t in enumerate(tokens[before + 1 : place], before + 1) if n not in used]
            if skipped and tokens[before + 1].kind == "own" and len(skipped) > 1:
                return "leaves out whose it is"
            if tokens[before].clause != tokens[place].clause:
                starts = ground.sentence[before] != ground.sentence[place]
                # What names a number may go, where no other number is left out before it.
                is_value = tokens[place].kind == "number" and all(t.kind in ("wide", "own") for t in skipped)
                apart = bool(_lost(ground, place, used, starts=starts or is_value))
            else:
                kinds = ("name", "code", "sign", *(("number",) if tokens[place].kind == "number" else ()))
                apart = any(t.kind in kinds for t in skipped)
            if apart:
                return "joins what stands apart in the source"
            before = place
    # A heading is used whole, or its only name: of "Marta and Lin" nobody knows who is meant.
    above = {tokens[n].clause for n in used if n < first}
    left = any(t.clause in above and n not in used and t.counts for n, t in enumerate(tokens[:first]))
    named = {tokens[n].key for n in used if n < first}
    return "takes a part of a heading" if left and named != {ground.named} else ""


def _lost(ground: _Ground, place: int, used: set[int], *, starts: bool = False) -> str:
    """What of its clause stands before a place and may not be left out: more than who tells.

    Where a sentence `starts`, CJK characters and numbers may: when it was, for whom.
    """
    clause, leads = ground.tokens[place].clause, _leads()
    early = [t for n, t in enumerate(ground.tokens[ground.context : place], ground.context)
             if t.clause == clause and n not in used]  # fmt: skip
    kinds = ("wide", "date", "number") if starts else ("wide", "date")
    rest = [t.key for t in early if t.counts and t.kind not in kinds and t.key not in leads]
    written = "" if starts else "".join(t.key for t in early if t.kind == "wide")
    for word in sorted(leads, key=len, reverse=True):
        written = written.replace(word, "") if not word.isascii() else written
    return rest[0] if rest else "".join(c for c in written if c not in stopwords.CHINESE_CHARACTERS)


@cache
def _leads() -> frozenset[str]:
    """What may stand before what is said: who tells, and that it is a decision, a lesson, a note."""
    return rules.words("leads") | {stem(word) for word in rules.words("leads")}


def _turned(sentence: Sentence, used: set[int], places: Mapping[int, int], ground: _Ground) -> str:
    """Why a sentence is denied, certain, conditional or asked where its source is not."""
    said = [ground.sentences[n] for n in used if n >= 0]
    if any(one.asks for one in said) and not sentence.asks:
        return "is only asked"
    clauses = {ground.tokens[n].clause for n in places.values()}
    own = [t.key for t in sentence.tokens if t.kind == "turn"]
    turns = [(n, t) for n, t in enumerate(ground.tokens) if t.kind == "turn"]
    near = [t.key for _, t in turns if t.clause in clauses]
    far = {t.key for n, t in turns if ground.sentence[n] in used and t.key in _FAR}
    if own.count("not") != near.count("not"):
        more = own.count("not") > near.count("not")
        return "denies what the source says" if more else "leaves out a denial"
    if lost := sorted((set(near) | far) - set(own)):
        return f"leaves out what restricts it ({lost[0]})"
    if added := sorted(set(own) - set(near) - far):
        return f"adds what restricts it ({added[0]})"
    forms = frozenset(form for one in said for form in one.forms)
    present, past = rules.words("present"), rules.words("past")
    if sentence.forms & present and forms & past and not forms & present:
        return "makes what was into what is"
    return ""


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
    own, text = [t.key for t in sentence.tokens], [t.key for t in said.tokens]
    for heading in source.headings:
        above = [t.key for s in read(heading, source.day) for t in s.tokens]
        if above and own[: len(above)] == above and len(own) > len(above):
            own = own[len(above) :]
            break
    dated = source.day.isoformat() if source.day else ""
    while own and own[0] == dated and text[:1] != [dated]:
        own = own[1:]
    leads = _leads() | {character for word in _leads() if not word.isascii() for character in word}
    for start, token in enumerate(said.tokens if own else ()):
        end = start + len(own)
        if text[start:end] == own:
            rest = said.tokens[end:]
            at_pause = not rest or rest[0].clause != said.tokens[end - 1].clause
            return at_pause and sentence.asks >= said.asks and not any(t.kind == "turn" for t in rest)
        if token.kind != "date" and token.key not in leads:
            return False
    return False


def _pairs(tokens: Sequence[Token]) -> set[str]:
    """The pairs of CJK characters that stand beside each other."""
    wide = ((a, b) for a, b in pairwise(tokens) if a.kind == b.kind == "wide" and not (a.light and b.light))
    return {a.key + b.key for a, b in wide}


# --- what a text says, word by word -------------------------------------------------------------------------

_PIECE = re.compile(
    rf"\x01(?P<date>\d+)\x01|`(?P<code>[^`]+)`|(?P<day>(?:周|星期|礼拜)[一二三四五六日天])|(?P<turn>\x02\w+\x02)"
    rf"|(?P<figure>[零〇一二两三四五六七八九十百千万]+(?![起些样直般定切致旦律边])(?<!一个))|(?P<wide>[{lexicon.CJK}])"
    r"|(?P<number>(?<![^\W\d_])(?:(?<![\w)])[-−+])?\d+(?:[.,:/-]\d+)*%?)"
    r"|(?P<word>[^\W\d_](?:[\w]|['’.@/:#+-](?=\w))*|\w+)"
    r"|(?P<stop>[.!?;。！？；…\n]+)|(?P<pause>[(（\[【)）\]】,:，：、–—|]|\s-\s)"
    r"|(?P<sign>[^\s\w\"'“”‘’「」『』《》〈〉*_`~#·•\\/-]|~(?!~)(?<!~~))"
)
_CONTRACTED = re.compile(r"\b(can|won|shan|\w+?)(?:n't|nt(?<=cant))\b", re.IGNORECASE)
_WORD_DATE = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|Q[1-4])\.?",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"\d{4}|[去前今明后]年|上一年|\b(?:last|this|next) year\b|[〇零一二]{1}[〇零一二三四五六七八九]{3}年",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"[\d一二三四五六七八九十]")
_NAMED = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|ago|last|next|past|this|previous|current)\b"
    r"|[昨今明前后]|[上下这本]|之前|以前|最近|过去",
    re.IGNORECASE,
)
_PLAN_DAYS = 20  # of a plan that is over with them


@lru_cache(4096)
def read(text: str, day: date | None = None) -> tuple[Sentence, ...]:
    """Return the sentences of a text; relative dates are told from `day`, and stay words without one."""
    text, days = _with_dates(re.sub(r"~~|\*+", "", language.fold_width(text)), day)
    text = _CONTRACTED.sub(
        lambda m: {"ca": "can", "wo": "will", "sha": "shall"}.get(m[1].lower(), m[1]) + " not",
        language.fold(text).replace("’", "'"),
    )
    idle, groups = rules.load("zh")["idle"], _turn_groups()
    text = _wide_turns().sub(
        lambda m: "" if m[0] in idle else f"\x02{groups[m[0]]}\x02" if m[0] in groups else m[0], text
    )
    sentences: list[Sentence] = []
    tokens: list[Token] = []
    forms: set[str] = set()
    clause, opening = 0, ""
    be = rules.words("present") | rules.words("past")
    for piece in (*_PIECE.finditer(text), None):
        if piece is None or piece["stop"]:
            asks = piece is not None and bool({"?", "？"} & set(piece[0]))
            sentences += [Sentence(tuple(tokens), asks, frozenset(forms), opening)] if tokens else []
            tokens, forms, clause, opening = [], set(), 0, ""
        elif piece["pause"]:
            clause += 1
        else:
            opening = opening or piece[0].casefold()
            forms |= {piece[0].casefold()} & be
            tokens += _tokens(piece, days, clause, starts=not tokens)
    return tuple(sentences)


def _tokens(  # noqa: C901 - one row for each kind of piece
    piece: re.Match[str], days: list[str], clause: int, *, starts: bool
) -> Iterator[Token]:
    """What a piece of text says: nothing, one thing, or a word and the mark of what is its own."""
    text = piece[0]
    match piece.lastgroup:
        case "date":
            yield Token(days[int(piece["date"])], "date", clause)
        case "day":
            yield Token(f"weekday {'一二三四五六日'.index(text[-1].replace('天', '日'))}", "date", clause)
        case "code":
            yield from (Token(stem(part.casefold()), "code", clause) for part in piece["code"].split())
        case "turn":
            yield Token(text.strip("\x02"), "turn", clause)
        case "figure":
            tens = set(text) & {"十", "百"}
            plain = set(text) - {*figures.FIGURES, "十", "百"} or (len(text) > 1 and not tens)
            yield Token(text if plain else str(figures.wide_number(text)), "number", clause)
        case "number":
            kind: Kind = "date" if re.fullmatch(r"\d{1,2}:\d\d", text) else "number"
            text = text.replace("−", "-").lstrip("+")
            grouped = re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?", text)
            yield Token(text.replace(",", "") if grouped else text, kind, clause)
        case "wide" if text == "的":
            yield Token(text, "own", clause)
        case "wide" if text not in rules.words("light"):
            yield Token(text, "wide", clause, text in stopwords.CHINESE_CHARACTERS)
        case "sign":
            yield Token(text, "sign", clause)
        case "word":
            yield from _word(text, clause, starts=starts)


def _word(text: str, clause: int, *, starts: bool) -> Iterator[Token]:
    word = text.casefold()
    own = word.endswith("'s") and word not in ("it's", "that's", "there's", "let's")
    word = word.removesuffix("'s")
    numbers: Mapping[str, int] = rules.load("en")["numbers"]
    weekdays: Sequence[str] = rules.load("en")["weekdays"]
    if word in numbers:
        yield Token(str(numbers[word]), "number", clause)
    elif word == "one":  # a number, or nobody in particular
        yield Token("1", "word", clause)
    elif word.removesuffix("s") in weekdays:
        yield Token(f"weekday {weekdays.index(word.removesuffix('s'))}", "date", clause)
    elif group := _turn_groups().get(word):
        yield Token(group, "turn", clause)
    elif word not in rules.words("light"):
        light = word in stopwords.ENGLISH or word in rules.words("idle")
        odd = not word.isalpha() or any(c.isupper() for c in text[1:])
        named = not light and (odd or (text[0].isupper() and not starts))
        capital = not light and text[0].isupper()
        yield Token(stem(word), "name" if named else "word", clause, light, capital)
    if own:
        yield Token("'s", "own", clause)


@cache
def _turn_groups() -> Mapping[str, str]:
    """What turns a statement, by its group, in all languages."""
    tables = (rules.load(name)["turns"] for name in rules.LANGUAGES)
    return {word: group for turns in tables for group, words in turns.items() for word in words}


@cache
def _wide_turns() -> re.Pattern[str]:
    """Finds Chinese words that turn a statement or are idle, and those that only look so."""
    table = rules.load("zh")
    words = [*table["apart"], *table["idle"], *(w for w in _turn_groups() if not w.isascii())]
    return re.compile("|".join(sorted(words, key=len, reverse=True)))


def _with_dates(text: str, day: date | None) -> tuple[str, list[str]]:
    """Put marks in place of dates; return the text, and the days that the marks stand for."""
    days: list[str] = []
    done, at = "", 0
    text = text.replace("\x01", " ").replace("\x02", " ")
    for span in dates.spans(text, day or date(2000, 1, 1)):
        key, start = _key(span, day), text.find(span.text, at)
        if not key or start < 0:
            continue
        done += f"{text[at:start]} \x01{len(days)}\x01 "
        days.append(key)
        at = start + len(span.text)
    return done + text[at:], days


def _key(span: dates.Span, day: date | None) -> str:
    """The days of a date; empty for what is told by words: a day of the week, a month."""
    said = span.text.strip()
    has_figures = _FIGURE.search(said) is not None
    first, last = span.first, span.last
    if _WORD_DATE.fullmatch(said):
        return ""
    if not span.relative or (_YEAR.search(said) and has_figures) or _NAMED.search(said) or not has_figures:
        if span.relative and not day:
            return ""
    elif not day:
        return f"{first:%m-%d}/{last:%m-%d}"
    else:
        try:  # a date without a year, in the year that brings it nearest: notes tell of what comes as well
            later = first.replace(year=first.year + 1), last.replace(year=last.year + 1)
            first, last = min((first, last), later, key=lambda days: abs(days[0] - day))
        except ValueError:
            pass
    return first.isoformat() if first == last else f"{first}/{last}"


def _is_within(key: str, times: frozenset[str]) -> bool:
    """Whether a date is said, or one within it: the month of a day that is said is true as well."""
    if key in times or "/" not in key:
        return key in times
    first, last = key.split("/")
    return any(
        first <= time.partition("/")[0] and time.rpartition("/")[2] <= last for time in times if "-" in time
    )


# --- days told in full --------------------------------------------------------------------------------------


def resolved(text: str, sources: Sequence[Said]) -> str:
    """Return a text in which every date is told in full, as seen from the day of the note that says it."""
    folded = language.fold_width(text)
    days = [source for source in sources if source.day is not None]
    done, at = "", 0
    for seen in dates.spans(folded, days[0].day) if days and days[0].day else ():
        source = next((one for one in days if seen.text in language.fold_width(one.text)), days[0])
        own = (span for span in dates.spans(folded, source.day or seen.first) if span.text == seen.text)
        span = next(own, seen)
        said = span.text.rstrip(".")
        key, start = _key(span, source.day), folded.find(said, at)
        if not key or start < 0 or not span.relative:
            continue
        first, _, last = key.partition("/")
        after = date.fromisoformat(last) + timedelta(1) if last else None
        if after and first[:7] == last[:7] and first.endswith("-01") and after.day == 1:
            first, last = first[:7], ""  # a month
        elif last and not _NAMED.search(said) and not any(c.isdigit() for c in said):
            continue  # a quarter stays one
        joint = " 至 " if re.search(lexicon.CJK_RUN, said) else " to "
        done += text[at:start] + first + (joint + last if last else "")
        at = start + len(said)
    return done + text[at:]


def on_next_day(text: str, day: date) -> str:
    """Return a text in which a day of the week is the next one after `day`, where no date stands by it."""
    bare: set[int] = set()
    for sentence in read(text, day):
        timed = [token for token in sentence.tokens if token.kind == "date" and ":" not in token.key]
        dated = [token.clause for token in timed if token.key[0].isdigit()]
        alone = (t for t in timed if t.key[:1] == "w" and all(abs(t.clause - clause) > 1 for clause in dated))
        bare |= {int(token.key[8:]) for token in alone}
    done, at = "", 0
    for span in dates.spans(language.fold_width(text), day):
        start = text.find(span.text, at)
        is_day = _WORD_DATE.fullmatch(span.text.strip()) is not None and span.first == span.last
        if is_day and start >= 0 and span.first.weekday() in bare:
            ahead = (span.first.weekday() - day.weekday()) % 7 or 7
            done += f"{text[at:start]}{day + timedelta(ahead)}"
            at = start + len(span.text)
    return done + text[at:]


def named(text: str, sources: Sequence[Said]) -> str:
    """Return a text that opens with the only name of its headings where it opened with a pronoun."""
    names = {only_name(source) for source in sources} - {""}
    opening = next((sentence.opening for sentence in read(text)), "")
    if len(names) != 1 or opening not in rules.words("pronouns") or not text.casefold().startswith(opening):
        return text
    return f"{names.pop()}{'' if opening.isascii() else ' '}{text[len(opening) :]}"


def last_day(text: str, day: date) -> str:
    """Return the last day that a statement speaks of and after which it is over; empty for one that lasts."""
    folded = language.fold_width(text)
    latest, at = "", 0
    for span in dates.spans(folded, day):
        at = folded.find(span.text, at)
        before, after = folded[:at].split()[-1:], folded[at + len(span.text) :]
        onwards = rules.words("onwards")
        opens = bool(before) and (before[0].casefold() in onwards or before[0][-1] in onwards)
        if span.first <= day or (span.last - span.first).days > _PLAN_DAYS:
            continue  # past, of now, or no day: a month, a quarter
        if opens or any(after.lstrip().startswith(word) for word in onwards if not word.isascii()):
            return ""
        latest = max(latest, span.last.isoformat())
    return latest
