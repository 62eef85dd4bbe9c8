"""Whether one source can say what a statement says: what holds in every language, and no model decides.

A sentence of a statement is laid beside one source, which is the cited text below its context (headings,
speaker, day). Names, numbers, units, dates, identifiers and signs must stand there; most of the other words
as well; in the order of the source, so that nothing is swapped; negations, modals and conditions agree. The
rest (does *left* mean *retired*?) is asked of a model, see `verify`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from commonplace import language
from commonplace.language import dates, lexicon, rules, stopwords

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

    `passive` says that a form of *be* stands before it.
    """

    key: str
    kind: Kind
    clause: int
    light: bool = False
    passive: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its tokens in order, whether it asks, its forms of *be*, and the word it opens with."""

    tokens: tuple[Token, ...]
    asks: bool = False
    forms: frozenset[str] = frozenset()
    opening: str = ""


def missing(statement: str, sources: Sequence[Said], *, share: float = SHARE) -> str:
    """Return why no source can say what a statement says; empty where each sentence has one that can."""
    if strange := strange_characters(statement, "".join(map(_all_of, sources))):
        return strange
    grounds = [(read(statement, source.day), _ground(source)) for source in sources]
    count = max((len(told) for told, _ in grounds), default=0)
    for place in range(count):
        each = [_unsupported(told, place, ground, share) for told, ground in grounds if place < len(told)]
        if all(each):
            return min(each, key=len)
    return "" if count else "says nothing that could be supported"


def is_literal(statement: str, sources: Sequence[Said]) -> bool:
    """Whether each sentence of a statement is one of a source's, whole or up to a pause, led in or not.

    A heading or a day that code put before it, and a day told in full, make no difference.
    """
    grounds = [(read(statement, source.day), source) for source in sources]
    count = max((len(told) for told, _ in grounds), default=0)
    return count > 0 and all(
        any(
            place < len(told)
            and any(_is_whole(told[place], said, source) for said in read(source.text, source.day))
            for told, source in grounds
        )
        for place in range(count)
    )


def carries(source: Said, text: str) -> bool:
    """Whether a source can say any sentence of a text."""
    told, ground = read(text, source.day), _ground(source)
    return any(not _unsupported(told, place, ground, SHARE) for place in range(len(told)))


def stands_first(statement: str, source: Said) -> bool:
    """Whether a statement begins with the first sentence of its source: it needs nothing before it."""
    told, said = read(statement, source.day), read(source.text, source.day)
    if not told or not said or told[0].opening in rules.words("pronouns"):
        return False
    return _is_whole(told[0], said[0], source)


def strange_characters(statement: str, sources: str) -> str:
    """Return what is wrong with the characters of a statement: hidden ones, and letters of no source."""
    known = set(sources)
    for character in statement:
        if character.isascii() and character.isprintable():
            continue
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"):
            return "holds hidden characters"
        wide = re.fullmatch(lexicon.CJK_RUN, character) is not None
        if character not in known and character not in _PUNCTUATION and not wide:
            return f"holds a character that no source has: {character}"
    return ""


@lru_cache(4096)
def keys(text: str) -> frozenset[str]:
    """Return what a text says, in whatever order: words without endings, numbers, dates, pairs of CJK."""
    tokens = [token for sentence in read(text) for token in sentence.tokens]
    pairs = {one.key + two.key for one, two in _neighbours(tokens)}
    turns = {token.key for token in tokens if token.kind == "turn"}
    return frozenset(
        {token.key for token in tokens if not token.light and token.kind not in ("wide", "own")}
        | pairs
        | turns
    )


def says(text: str, other: str) -> bool:
    """Whether a text says all that another says, as far as words tell: denied by both or by neither."""
    one, two = keys(text), keys(other)
    return bool(two) and two <= one and ("not" in one) == ("not" in two)


def subject(text: str) -> str:
    """Return what a text begins with: its first word that says something, or two CJK characters."""
    tokens = [token for sentence in read(text) for token in sentence.tokens if _counts(token)]
    if not tokens:
        return ""
    pair = len(tokens) > 1 and tokens[0].kind == tokens[1].kind == "wide"
    return tokens[0].key + (tokens[1].key if pair else "")


def values(text: str, day: date | None = None) -> frozenset[str]:
    """Return the names, numbers, dates, identifiers and signs of a text, and what turns it."""
    found = [token for sentence in read(text, day) for token in sentence.tokens]
    return frozenset(token.key for token in found if token.kind in (*_HARD, "turn"))


def measured(text: str) -> frozenset[str]:
    """Return the numbers, dates and times of a text."""
    return frozenset(t.key for s in read(text) for t in s.tokens if t.kind in ("number", "date"))


def weight(text: str) -> float:
    """Return how many words of a text say something; a CJK character counts half."""
    return sum(_WEIGHT[t.kind] for s in read(text) for t in s.tokens if _counts(t)) / 10


# --- beside a source ----------------------------------------------------------------------------------------


class _Ground(NamedTuple):
    """A source as it is laid beside a statement: what of `tokens` is context, and the sentence of each."""

    tokens: tuple[Token, ...]
    context: int
    sentence: tuple[int, ...]
    sentences: tuple[Sentence, ...]
    times: frozenset[str]
    is_timed_once: bool
    named: frozenset[str]  # the name in the headings, where there is but one


@lru_cache(1024)
def _ground(source: Said) -> _Ground:
    """Put the context before the text; clauses count on, so that none reaches into another."""
    context: list[Token] = []
    first = rules.words("first_person")
    sentences = read(source.text, source.day)
    spoken = {word for s in sentences for word in (s.opening, *(t.key for t in s.tokens))}
    people = [source.speaker] if source.speaker else []
    if not spoken.isdisjoint({*first, *map(stem, first)}) or source.speaker in rules.words("people"):
        people += rules.words("owner")
    for text in (*source.headings, *people):
        for sentence in read(text, source.day):
            base = context[-1].clause + 1 if context else 0
            context += [token._replace(clause=token.clause + base) for token in sentence.tokens]
    tokens, place, times = list(context), [-1] * len(context), set()
    for number, sentence in enumerate(sentences):
        base = tokens[-1].clause + 1 if tokens else 0
        own = [token._replace(clause=token.clause + base) for token in sentence.tokens]
        tokens += own
        place += [number] * len(own)
    words = re.findall(r"\b[A-Z]\w+", " ".join(source.headings))
    names = {stem(word.casefold()) for word in words if word.casefold() not in stopwords.ENGLISH}
    timed = [token.kind == "date" for token in tokens[len(context) :]]
    groups = sum(now and not before for before, now in zip([False, *timed], timed, strict=False))
    times = {token.key for token in tokens if token.kind == "date"}
    if source.day:
        times |= {source.day.isoformat()}
        times |= {day for key in times for day in _days_of(key, source.day)}
    return _Ground(
        tuple(tokens[:_MOST_TOKENS]),
        len(context),
        tuple(place),
        sentences,
        frozenset(times),
        groups <= 1,
        frozenset(names if len(names) == 1 else ()),
    )


def _unsupported(told: Sequence[Sentence], at: int, ground: _Ground, share: float) -> str:
    """Why a source cannot say what a sentence says; empty where it can."""
    sentence = told[at]
    tokens = [t for t in sentence.tokens if _counts(t)]
    if not tokens:
        return "says nothing that could be supported"
    if sentence.opening in rules.words("pronouns") and not at:
        return "does not say who or what"
    for token in tokens:
        if token.kind == "date" and not _is_within(token.key, ground.times):
            return f"says {token.key}, which the source does not"
    free = ground.is_timed_once
    wanted = [t for t in tokens if not (free and t.kind == "date")]
    said = [n for n, t in enumerate(ground.tokens) if _counts(t) and not (free and t.kind == "date")]
    matched = _aligned(wanted, [ground.tokens[n] for n in said])
    pairs = {(at, said[other]) for at, other in matched.items()}
    places = dict(sorted(pairs))
    # "Sent the letter" is "the letter was sent": what a clause begins with may stand behind a form of "be".
    openings = {
        token.key
        for place, token in enumerate(ground.tokens)
        if token.kind == "word" and place >= ground.context and not _lost(ground, place)
    }
    moved = {token.key for n, token in enumerate(wanted) if n not in places and token.passive} & openings
    return (
        _unmatched(wanted, places, ground, share, len(tokens) - len(wanted), moved)
        or _stitched(places, ground, moved)
        or _turned(sentence, {ground.sentence[n] for n in places.values()}, places, ground)
    )


def _unmatched(
    wanted: Sequence[Token],
    places: Mapping[int, int],
    ground: _Ground,
    share: float,
    timed: int,
    moved: Collection[str],
) -> str:
    """Why what a sentence says does not stand in the source: in its words, in its order."""
    known = {token.key for token in ground.tokens}
    known_pairs = {one.key + two.key for one, two in _neighbours(ground.tokens)}
    # A CJK character counts with its neighbour: one alone stands in many words.
    alone = {
        n
        for n in places
        if wanted[n].kind == "wide"
        and not any(m in places and abs(places[m] - places[n]) <= 2 for m in (n - 1, n + 1))
    }
    covered = timed * 10 + sum(
        _WEIGHT[t.kind] for n, t in enumerate(wanted) if (n in places and n not in alone) or t.key in moved
    )
    for number, token in enumerate(wanted):
        if number in places or token.key in moved:
            continue
        there = token.key in known
        if token.kind in _HARD:
            return (
                f"turns the order of the source: {token.key}"
                if there
                else f"says {token.key}, which the source does not"
            )
        if number and wanted[number - 1].kind == "number" and token.kind in ("word", "wide"):
            return f"says {wanted[number - 1].key} of something else: {token.key}"
        pair = (
            number + 1 < len(wanted)
            and number + 1 not in places
            and token.key + wanted[number + 1].key in known_pairs
        )
        if (token.kind == "word" and there) or (token.kind == "wide" and pair):
            return f"turns the order of the source: {token.key}"
    if put := _replaced(wanted, places, ground):
        return f"puts {put} in the place of what the source says"
    if wanted and (0 not in places or 0 in alone):
        return f"begins with what the source does not say: {wanted[0].key}"
    whole = timed * 10 + sum(_WEIGHT[token.kind] for token in wanted)
    return "" if covered >= share * whole else "says too much that is not in the source's words"


def _replaced(wanted: Sequence[Token], places: Mapping[int, int], ground: _Ground) -> str:
    """The CJK characters where the source has others: no capital tells which of them are a name."""
    found, before = "", None
    for number, token in enumerate([*wanted, None]):
        if token is not None and number not in places:
            found += token.key if token.kind == "wide" else ""
            continue
        if found and before is not None:
            place = places.get(number, len(ground.tokens))
            gap = [t for t in ground.tokens[before + 1 : place] if t.clause == ground.tokens[before].clause]
            if any(t.kind == "wide" and not t.light for t in gap):
                return found
        found, before = "", places.get(number)
    return ""


def _stitched(places: Mapping[int, int], ground: _Ground, moved: Collection[str]) -> str:
    """Why what a sentence leaves out of the source makes it another one."""
    tokens = ground.tokens
    before: tuple[int, int] | None = None
    for number, place in places.items():
        own = place >= ground.context
        if before is None or (own and before[1] < ground.context):
            if own and (lost := _lost(ground, place, moved, places.values())):
                return f"leaves out what the source begins with: {lost}"
        elif (skipped := tokens[before[1] + 1 : place]) and own:
            if skipped[0].kind == "own" and len(skipped) > 1:
                return "leaves out whose it is"
            if tokens[before[1]].clause == tokens[place].clause:
                if any(t.kind in ("name", "number", "code", "sign") for t in skipped):
                    return "joins what stands apart in the source"
            elif _lost(ground, place, moved, places.values()):
                return "joins what stands apart in the source"
        before = number, place
    # A heading is used whole, or its only name: of "Marta and Lin" nobody knows who is meant.
    context = {tokens[n].clause for n in places.values() if n < ground.context}
    used = set(places.values())
    left = [
        n
        for n, t in enumerate(tokens[: ground.context])
        if t.clause in context and n not in used and _counts(t)
    ]
    named = {tokens[n].key for n in used if n < ground.context}
    return "takes a part of a heading" if left and not named <= ground.named else ""


def _lost(ground: _Ground, place: int, moved: Collection[str] = (), used: Collection[int] = ()) -> str:
    """What of its clause stands before a place and may not be left out: more than who tells."""
    token = ground.tokens[place]
    leads = rules.words("leads") | {stem(word) for word in rules.words("leads")}
    early = [t for t in ground.tokens[ground.context : place] if t.clause == token.clause]
    written = "".join(t.key for t in early if t.kind == "wide")
    for word in sorted(leads, key=len, reverse=True):
        written = written.replace(word, "") if not word.isascii() else written
    rest = [
        t
        for t in early
        if _counts(t) and t.kind not in ("wide", "date") and t.key not in leads and t.key not in moved
    ]
    return rest[0].key if rest else written


def _turned(sentence: Sentence, used: set[int], places: Mapping[int, int], ground: _Ground) -> str:
    """Why a sentence is denied, certain, conditional or asked where its source is not."""
    said = [ground.sentences[n] for n in used if n >= 0]
    if any(one.asks for one in said) and not sentence.asks:
        return "is only asked"
    clauses = {ground.tokens[n].clause for n in places.values()}
    own = [t.key for t in sentence.tokens if t.kind == "turn"]
    near = [t.key for t in ground.tokens if t.kind == "turn" and t.clause in clauses]
    far = {
        t.key
        for n, t in enumerate(ground.tokens)
        if t.kind == "turn" and ground.sentence[n] in used and t.key in _FAR
    }
    if own.count("not") != near.count("not"):
        return (
            "denies what the source says" if own.count("not") > near.count("not") else "leaves out a denial"
        )
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
    found: dict[int, int] = {}
    i, j = len(wanted), len(said)
    close = False
    while i and j:
        if ends[i][j] and (close or ends[i][j] == best[i][j]):
            found[i - 1] = j - 1
            gain = ends[i][j] - _WEIGHT[wanted[i - 1].kind]
            close = bool(ends[i - 1][j - 1]) and gain == ends[i - 1][j - 1] + _CLOSE
            i, j = i - 1, j - 1
        elif best[i - 1][j] == best[i][j]:
            i -= 1
        else:
            j -= 1
    return dict(sorted(found.items()))


def _is_whole(told: Sentence, said: Sentence, source: Said) -> bool:
    """Whether a sentence is one of a source, from its beginning up to its end or to a pause."""
    keys_ = [t.key for t in told.tokens]
    for heading in source.headings:
        above = [t.key for s in read(heading, source.day) for t in s.tokens]
        if above and keys_[: len(above)] == above and len(keys_) > len(above):
            keys_ = keys_[len(above) :]
            break
    start = 0
    dated = source.day.isoformat() if source.day else ""
    while keys_ and keys_[0] == dated and said.tokens and said.tokens[0].key != dated:
        keys_ = keys_[1:]
    while keys_ and start < len(said.tokens):
        end = start + len(keys_)
        if [t.key for t in said.tokens[start:end]] == keys_:
            rest = said.tokens[end:]
            at_pause = not rest or rest[0].clause != said.tokens[end - 1].clause
            return at_pause and told.asks >= said.asks and not any(t.kind == "turn" for t in rest)
        if said.tokens[start].kind != "date" and said.tokens[start].key not in _lead_keys():
            return False
        start += 1
    return False


@cache
def _lead_keys() -> frozenset[str]:
    leads = rules.words("leads")
    return leads | {stem(word) for word in leads} | {c for word in leads if not word.isascii() for c in word}


def _all_of(source: Said) -> str:
    return "".join((source.text, *source.headings, source.speaker))


def _counts(token: Token) -> bool:
    return not token.light and token.kind not in ("own", "turn")


def _neighbours(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    for one, two in pairwise(tokens):
        if one.kind == two.kind == "wide" and not (one.light and two.light):
            yield one, two


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
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_PLAN_DAYS = 20  # of a plan that is over with them


@lru_cache(4096)
def read(text: str, day: date | None = None) -> tuple[Sentence, ...]:
    """Return the sentences of a text; relative dates are told from `day`, and stay words without one."""
    text = re.sub(r"~~|\*+", "", language.fold_width(text))
    text, found = _with_dates(text, day)
    text = language.fold(text)
    text = _CONTRACTED.sub(
        lambda m: {"ca": "can", "wo": "will", "sha": "shall"}.get(m[1].lower(), m[1]) + " not",
        text.replace("’", "'"),
    )
    text = _wide_turns().sub(lambda m: _marked(m[0]), text)
    return tuple(sentence for sentence in _sentences(text, found) if sentence.tokens)


def _sentences(text: str, found: list[str]) -> Iterator[Sentence]:
    tokens: list[Token] = []
    forms: set[str] = set()
    clause, opening, before = 0, "", ""
    be = rules.words("present") | rules.words("past")
    for piece in _PIECE.finditer(text):
        if piece["stop"]:
            yield Sentence(tuple(tokens), bool({"?", "？"} & set(piece[0])), frozenset(forms), opening)
            tokens, forms, clause, opening = [], set(), 0, ""
        elif piece["pause"]:
            clause += 1
        else:
            opening = opening or piece[0].casefold()
            forms |= {piece[0].casefold()} & be
            own = _tokens(piece, found, clause, starts=not tokens)
            passive = before in rules.words("passive")
            tokens += (token._replace(passive=True) for token in own) if passive else own
            before = piece[0].casefold()
    yield Sentence(tuple(tokens), False, frozenset(forms), opening)


def _tokens(  # noqa: C901 - one row for each kind of piece
    piece: re.Match[str], found: list[str], clause: int, *, starts: bool
) -> Iterator[Token]:
    """What a piece of text says: nothing, one thing, or a word and the mark of what is its own."""
    text = piece[0]
    if piece["date"]:
        yield Token(found[int(piece["date"])], "date", clause)
    elif piece["day"]:
        yield Token("weekday " + str("一二三四五六日".index(text[-1].replace("天", "日"))), "date", clause)
    elif piece["code"]:
        for part in piece["code"].split():
            yield Token(stem(part.casefold()), "code", clause)
    elif piece["turn"]:
        yield Token(text.strip("\x02"), "turn", clause)
    elif piece["figure"]:
        yield Token(_figure(text), "number", clause)
    elif piece["number"]:
        kind: Kind = "date" if _CLOCK.fullmatch(text) else "number"
        yield Token(_number(text), kind, clause)
    elif piece["wide"]:
        if text == "的":
            yield Token(text, "own", clause)
        elif text not in rules.words("light"):
            yield Token(text, "wide", clause, text in stopwords.CHINESE_CHARACTERS)
    elif piece["sign"]:
        yield Token(text, "sign", clause)
    else:
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
        named = odd or (text[0].isupper() and not starts)
        yield Token(stem(word), "name" if named and not light else "word", clause, light)
    if own:
        yield Token("'s", "own", clause)


def stem(word: str) -> str:
    """Return a word without its ending."""
    if not (word.isascii() and word.isalpha()):
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


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


def _marked(word: str) -> str:
    if word in rules.load("zh")["idle"]:
        return ""
    return f"\x02{_turn_groups()[word]}\x02" if word in _turn_groups() else word


def _number(text: str) -> str:
    text = text.replace("−", "-").lstrip("+")
    return text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?", text) else text


def _figure(text: str) -> str:
    """Return a number written in Chinese characters in figures, as far as it is below a thousand."""
    figures = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
    if not set(text) <= {*figures, "十", "百"} or (len(text) > 1 and not set(text) & {"十", "百"}):
        return text
    total = digit = 0
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        else:
            digit = figures[character]
    return str(total + digit)


def _with_dates(text: str, day: date | None) -> tuple[str, list[str]]:
    """Put marks in place of dates; return the text, and the days that the marks stand for."""
    found: list[str] = []
    done, at = "", 0
    text = text.replace("\x01", " ").replace("\x02", " ")
    for span in dates.spans(text, day or date(2000, 1, 1)):
        key = _key(span, day)
        start = text.find(span.text, at)
        if not key or start < 0:
            continue
        done += f"{text[at:start]} \x01{len(found)}\x01 "
        found.append(key)
        at = start + len(span.text)
    return done + text[at:], found


def _key(span: dates.Span, day: date | None) -> str:
    """The days of a date; empty for what is told by words: a day of the week, a month."""
    said = span.text.strip()
    if _WORD_DATE.fullmatch(said):
        return ""
    figures = _FIGURE.search(said)
    if not span.relative or (_YEAR.search(said) and figures):
        return _days(span.first, span.last) if day or not span.relative else ""
    if _NAMED.search(said) or not figures:
        return _days(span.first, span.last) if day else ""
    return _days(*_nearest(span, day)) if day else f"{span.first:%m-%d}/{span.last:%m-%d}"


def _nearest(span: dates.Span, day: date) -> tuple[date, date]:
    """A date without a year, in the year that brings it nearest: notes tell of what comes as well."""
    best = span.first, span.last
    for years in (0, 1):
        try:
            moved = (
                span.first.replace(year=span.first.year + years),
                span.last.replace(year=span.last.year + years),
            )
        except ValueError:
            continue
        if abs(moved[0] - day) < abs(best[0] - day):
            best = moved
    return best


def _days(first: date, last: date) -> str:
    return first.isoformat() if first == last else f"{first}/{last}"


def _days_of(key: str, day: date) -> Iterator[str]:
    """The days that a day of the week may mean in a note of a day."""
    if key.startswith("weekday "):
        ahead = (int(key[8:]) - day.weekday()) % 7
        yield from (f"{day + timedelta(ahead + more)}" for more in (-7, 0, 7))


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
        if last and (month := _month(first, last)):
            first, last = month, ""
        elif last and not _NAMED.search(said) and not any(c.isdigit() for c in said):
            continue  # a quarter stays one
        joint = " 至 " if re.search(lexicon.CJK_RUN, said) else " to "
        done += text[at:start] + first + (joint + last if last else "")
        at = start + len(said)
    return done + text[at:]


def _month(first: str, last: str) -> str:
    """The month that two days are the first and the last of; empty for any other two."""
    after = date.fromisoformat(last) + timedelta(1)
    return first[:7] if first[:7] == last[:7] and first[8:] == "01" and after.day == 1 else ""


def last_day(text: str, day: date) -> str:
    """Return the last day that a statement speaks of and after which it is over; empty for one that lasts."""
    folded = language.fold_width(text)
    found, at = "", 0
    for span in dates.spans(folded, day):
        at = folded.find(span.text, at)
        before, after = folded[:at].split()[-1:], folded[at + len(span.text) :]
        onwards = rules.words("onwards")
        opens = bool(before) and (before[0].casefold() in onwards or before[0][-1] in onwards)
        if span.first <= day or (span.last - span.first).days > _PLAN_DAYS:
            continue  # past, of now, or no day: a month, a quarter
        if opens or any(after.lstrip().startswith(word) for word in onwards if not word.isascii()):
            return ""
        found = max(found, span.last.isoformat())
    return found
