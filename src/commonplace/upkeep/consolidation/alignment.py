"""A sentence laid beside one source: where its words stand there, and why the source may not say it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import chain, groupby, pairwise

from commonplace.base.tuples import NamedTuple
from commonplace.language import reading, rules, stopwords
from commonplace.language.lexicon import stem
from commonplace.language.reading import Kind, Sentence, Token, is_within, read

HARD: tuple[Kind, ...] = ("name", "number", "date", "code", "sign")
WEIGHT = {"word": 10, "name": 10, "code": 10, "number": 10, "date": 10, "sign": 3, "wide": 5}
LAPSED = "makes what was into what is"
_CLOSE = 4  # for a word whose neighbour is that of the source as well: of two readings the closer one
_MOST_TOKENS = 3000  # of a source
_MOST_MOVED, _MOST_TRIED = 40, 8  # words of a sentence that stand elsewhere, places that are tried for one
# What restricts a sentence from any of its clauses; the other groups count in the clauses that are used.
_FAR = frozenset(("possible", "said", "if", "unless", "but"))
_AHEAD = frozenset(("nearly", "failed", "intended", "instead"))  # restrict only what stands behind them


@dataclass(frozen=True, slots=True)
class Said:
    """What a note says: the text, its day, the headings above it below the day's, and who speaks."""

    text: str
    day: date | None = None
    headings: tuple[str, ...] = ()
    speaker: str = ""

    @property
    def name(self) -> str:
        """The name in the headings, where there is but one."""
        names = set().union(*map(reading.names, self.headings))
        return names.pop() if len(names) == 1 else ""


class Ground(NamedTuple):
    """A source as sentences are laid beside it: what of `tokens` is context, and the sentence of each."""

    tokens: tuple[Token, ...]
    context: int
    sentence: tuple[int, ...]
    sentences: tuple[Sentence, ...]
    times: frozenset[str]
    is_timed_once: bool
    named: str  # the only name in the headings
    where: Mapping[str, Sequence[int]]  # the places of each key
    pairs: frozenset[str]  # of CJK characters

    def clauses(self, places: Iterable[int]) -> set[int]:
        """Return the clauses of some places."""
        return {self.tokens[place].clause for place in places}

    def are_together(self, place: int, other: int) -> bool:
        """Whether two places are of one clause."""
        return self.tokens[place].clause == self.tokens[other].clause


@lru_cache(1024)
def ground(source: Said) -> Ground:
    """Put the context before the text; clauses count on, so that none reaches into another."""
    sentences = read(source.text, source.day)
    tokens: list[Token] = []
    places: list[int] = []
    for number, sentence in (*((-1, above) for above in _context(source)), *enumerate(sentences)):
        base = tokens[-1].clause + 1 if tokens else 0
        tokens += [token._replace(clause=token.clause + base) for token in sentence.tokens]
        places += [number] * len(sentence.tokens)
    context = places.count(-1)
    times = sum(is_date for is_date, _ in groupby(token.kind == "date" for token in tokens[context:]))
    where: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(tokens[:_MOST_TOKENS]):
        where[token.key].append(place)
    return Ground(
        tuple(tokens[:_MOST_TOKENS]), context, tuple(places), sentences, _times(tokens, source.day),
        times <= 1, stem(source.name.casefold()), dict(where), pairs(tokens[:_MOST_TOKENS]),
    )  # fmt: skip


def _context(source: Said) -> Iterator[Sentence]:
    """Yield what stands above a source: its headings, and who speaks."""
    first = rules.words("first_person")
    people = [source.speaker] if source.speaker else []
    spoken = {word for one in read(source.text, source.day) for word in (one.opening, *one.keys_of())}
    if not spoken.isdisjoint({*first, *map(stem, first)}) or source.speaker in rules.words("people"):
        people += sorted(rules.words("owner"))
    for text in (*source.headings, *people):
        yield from read(text, source.day)


def _times(tokens: Sequence[Token], day: date | None) -> frozenset[str]:
    """The dates that a source says, with its own; a day of the week may be one of three."""
    times = {token.key for token in tokens if token.kind == "date"}
    if day:
        times |= {day.isoformat()}
        for key in [key for key in times if key.startswith("weekday ")]:
            ahead = (int(key[8:]) - day.weekday()) % 7
            times |= {f"{day + timedelta(ahead + more)}" for more in (-7, 0, 7)}
    return frozenset(times)


def pairs(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the pairs of CJK characters that stand beside each other."""
    wide = ((a, b) for a, b in pairwise(tokens) if a.kind == b.kind == "wide" and not (a.light and b.light))
    return frozenset(a.key + b.key for a, b in wide)


def unsupported(sentence: Sentence, at: int, source: Said, share: float) -> str:
    """Return why a source cannot say what a sentence says, the `at`-th of its text; empty where it can."""
    if not any(token.counts for token in sentence.tokens):
        return "says nothing that could be supported"
    if sentence.opening in rules.words("pronouns") and not at:
        return "does not say who or what"
    beside = ground(source)
    for key in sentence.keys_of("date"):
        if not is_within(key, beside.times):
            return f"says {key}, which the source does not"
    laid = lay(sentence, beside)
    faults = laid.reordered() or laid.unknown(share) or laid.stitched()
    return faults or next(chain(laid.turned(), laid.shortened()), "")


def lay(sentence: Sentence, beside: Ground) -> Alignment:
    """Lay a sentence beside a source; a day that the source names alone may stand anywhere."""

    def counting(tokens: Sequence[Token]) -> list[int]:
        free = "date" if beside.is_timed_once else ""
        return [number for number, token in enumerate(tokens) if token.counts and token.kind != free]

    words, places = counting(sentence.tokens), counting(beside.tokens)
    aligned = _aligned([sentence.tokens[n] for n in words], [beside.tokens[n] for n in places])
    strand = {words[n]: places[other] for n, other in aligned}
    return Alignment(sentence, words, beside, strand, dict(strand))


def _aligned(words: Sequence[Token], said: Sequence[Token]) -> list[tuple[int, int]]:
    """Lay words beside others: which of them stands where, all in one order, the closest such."""
    best, ends = _scores(words, said)
    matches: list[tuple[int, int]] = []
    i, j = len(words), len(said)
    close = False
    while i and j:
        if ends[i][j] and (close or ends[i][j] == best[i][j]):
            matches.append((i - 1, j - 1))
            gain = ends[i][j] - WEIGHT[words[i - 1].kind]
            close = bool(ends[i - 1][j - 1]) and gain == ends[i - 1][j - 1] + _CLOSE
            i, j = i - 1, j - 1
        elif best[i - 1][j] == best[i][j]:
            i -= 1
        else:
            j -= 1
    return matches[::-1]


def _scores(words: Sequence[Token], said: Sequence[Token]) -> tuple[list[list[int]], list[list[int]]]:
    """What the first so many words and the first so many of the others have in common, at best.

    The second table tells it of those that both end with the same word.
    """
    best = [[0] * (len(said) + 1) for _ in range(len(words) + 1)]
    ends = [[0] * (len(said) + 1) for _ in range(len(words) + 1)]
    for i, token in enumerate(words, 1):
        for j, other in enumerate(said, 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1])
            if token.key == other.key:
                close = ends[i - 1][j - 1] + _CLOSE if ends[i - 1][j - 1] else 0
                ends[i][j] = WEIGHT[token.kind] + max(best[i - 1][j - 1], close)
                best[i][j] = max(best[i][j], ends[i][j])
    return best, ends


@dataclass(slots=True)
class Alignment:
    """A sentence beside a source: where its words stand there, and those of them that are in its order."""

    sentence: Sentence
    words: list[int]
    ground: Ground
    strand: Mapping[int, int]
    places: dict[int, int]

    def reordered(self) -> str:
        """Find the words that stand elsewhere in the source, and why one may not be moved there."""
        apart = [number for number in self.words if number not in self.places]
        for number in filter(self._may_be_moved, apart):
            token = self.sentence.tokens[number]
            places = self.ground.where.get(token.key, ())
            free = sorted({*places}.difference(self.places.values()))
            straight = [place for place in free[:_MOST_TRIED] if not self._is_swapped(number, place)]
            if straight and len(self.places) - len(self.strand) < _MOST_MOVED:
                self.places[number] = straight[0]
            elif free or (places and token.kind in HARD):
                return f"turns the order of the source: {token.key}"
        return ""

    def _may_be_moved(self, number: int) -> bool:
        """Whether a word may be one of the source; a CJK character is one with its neighbour."""
        tokens, token = self.sentence.tokens, self.sentence.tokens[number]
        around = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
        wide = [t.key for t in around if t.kind == "wide" and t.clause == token.clause]
        beside = {pair for key in wide for pair in (key + token.key, token.key + key)}
        return token.kind != "wide" or not wide or not beside.isdisjoint(self.ground.pairs)

    def _is_swapped(self, number: int, place: int) -> bool:
        """Whether two words change places around what stays between them: Mira pays Lin, mail to calls."""
        for other, there in self.places.items():
            if (other < number) == (there < place):
                continue
            near = self.ground.are_together(place, there)
            for token in self.sentence.tokens[min(number, other) + 1 : max(number, other)]:
                stands = self.ground.where.get(token.key, ())
                after = bisect_right(stands, min(place, there))
                between = after < len(stands) and stands[after] < max(place, there)
                if between and token.kind not in ("own", "turn") and (near or not token.light):
                    return True
        return False

    def unknown(self, share: float) -> str:
        """Return why what a sentence says in words of its own is more than the source may have meant."""
        tokens, alone = self.sentence.tokens, self._alone()
        if reason := next(self._foreign(), ""):
            return reason
        if put := self._replaced() or self._particle():
            return f"puts {put} in the place of what the source says"
        known = self.places.keys() - alone
        if any(tokens[number].kind == "wide" and number not in known for number in self.words[:1]):
            return f"begins with what the source does not say: {tokens[self.words[0]].key}"
        days = WEIGHT["date"] * len(self.sentence.keys_of("date")) if self.ground.is_timed_once else 0
        whole = sum(WEIGHT[tokens[number].kind] for number in self.words)
        covered = sum(WEIGHT[tokens[number].kind] for number in known)
        is_enough = days + covered >= share * (days + whole)
        return "" if is_enough else "says too much that is not in the source's words"

    def _foreign(self) -> Iterator[str]:
        """Yield the words that a source would have to say in the same way, and does not."""
        tokens = self.sentence.tokens
        for before, number in pairwise([-1, *self.words]):
            token = tokens[number]
            if number in self.places:
                continue
            if token.kind in HARD or token.capital:
                yield f"says {token.key}, which the source does not"
            elif self._is_unit(before, token):
                yield f"says {tokens[before].key} of something else: {token.key}"

    def _alone(self) -> set[int]:
        """The CJK characters without a neighbour of the source: one by itself stands in many words."""
        near = {
            number
            for pair in pairwise(self.words)
            if all(n in self.places for n in pair) and abs(self.places[pair[0]] - self.places[pair[1]]) <= 2
            for number in pair
        }
        return {n for n in self.places if self.sentence.tokens[n].kind == "wide" and n not in near}

    def _is_unit(self, before: int, token: Token) -> bool:
        """Whether a word that the source lacks says of what a number is one."""
        if before not in self.places or self.sentence.tokens[before].kind != "number":
            return False
        at = self.places[before]
        is_said = at + 1 < len(self.ground.tokens) and self.ground.are_together(at, at + 1)
        return is_said or token.key in rules.words("measures")

    def _replaced(self) -> str:
        """The CJK characters where the source has others: no capital tells of a name."""
        tokens, said = self.sentence.tokens, self.ground.tokens
        idle: set[int] = set()
        for number, (token, other) in enumerate(pairwise(tokens)):
            idle |= {number, number + 1} if token.key + other.key in stopwords.CHINESE else set()
        for before, number in pairwise([*sorted(self.places), len(tokens)]):
            own = (n for n in self.words[bisect_right(self.words, before) :] if n < number and n not in idle)
            put = "".join(tokens[n].key for n in own if tokens[n].kind == "wide")
            at, end = self.places[before], self.places.get(number, len(said))
            if put and any(token.kind == "wide" and token.counts for token in self._behind(at, end)):
                return put
        return ""

    def _behind(self, place: int, end: int) -> Iterator[Token]:
        """Yield the words of the source behind one, up to an end, that are of its clause."""
        for token in self.ground.tokens[place + 1 : end]:
            if token.clause == self.ground.tokens[place].clause:
                yield token

    def _particle(self) -> str:
        """The particle where the source has another: what went down went up."""
        tokens, said = self.sentence.tokens, self.ground.tokens
        stays = rules.words("idle") | rules.words("light")
        for (before, at), (number, end) in pairwise([*sorted(self.strand.items()), (len(tokens), len(said))]):
            if end < len(said) and not self.ground.are_together(at, end):
                continue
            gaps = tokens[before + 1 : number], tuple(self._behind(at, end))
            own, others = ({token.key for token in gap} - stays for gap in gaps)
            if all(token.light for token in chain(*gaps)) and own and others and own.isdisjoint(others):
                return min(own)
        return ""

    def stitched(self) -> str:
        """Return why what a sentence leaves out of the source makes it another one."""
        first, clauses = self.ground.context, self.ground.clauses(self.strand.values())
        moved = {self.places[number] for number in self.places.keys() - self.strand.keys()}
        moved -= set(range(first))
        if any(self.ground.tokens[place].clause not in clauses and self._lost(place) for place in moved):
            return "joins what stands apart in the source"
        rest = ((number, place) for number, place in sorted(self.places.items()) if place not in moved)
        for (_, before), (number, place) in pairwise([(-1, -1), *rest]):
            reason = self._begins(number, place) if before < first else self._skips(before, place)
            if place >= first and reason:
                return reason
        return "takes a part of a heading" if self._is_in_part() else ""

    def _is_in_part(self) -> bool:
        """Whether a heading is used, and neither whole nor by its only name: who of "Marta and Lin"?"""
        above = self.ground.tokens[: self.ground.context]
        used = {place for place in self.places.values() if place < len(above)}
        clauses = self.ground.clauses(used)
        left = any(t.clause in clauses and n not in used and t.counts for n, t in enumerate(above))
        return left and {above[place].key for place in used} != {self.ground.named}

    def _begins(self, number: int, place: int) -> str:
        """Why a sentence may not begin where it does in the source."""
        tokens, own = self.ground.tokens, self.sentence.tokens
        if place == self.ground.context:
            return ""
        if tokens[place - 1].kind == "own" and not self._is_owned(number, place):
            return "leaves out whose it is"
        # "For every release …": what stands before such a word is not who it is about.
        is_led = number > 0 and not own[number - 1].counts and own[number - 1].key == tokens[place - 1].key
        lost = "" if is_led else self._lost(place, starts=True)
        return f"leaves out what the source begins with: {lost}" if lost else ""

    def _is_owned(self, number: int, place: int) -> bool:
        """Whether the words that say whose it is stand right behind it: the phone of Mira."""
        owner = self.places.get(next((word for word in self.words if word > number), -1), place)
        return owner < place and not self._unused(range(owner, place - 1))

    def _skips(self, before: int, place: int) -> str:
        """Why a sentence may not pass from one place of the source to another."""
        tokens, skipped = self.ground.tokens, self._unused(range(before + 1, place))
        if len(skipped) > 1 and tokens[before + 1].kind == "own":
            return "leaves out whose it is"
        is_number = tokens[place].kind == "number"
        if self.ground.are_together(before, place):
            kinds = {"name", "code", "sign"} | ({"number"} if is_number else set())
            apart = any(token.kind in kinds for token in skipped)
        else:
            starts = self.ground.sentence[before] != self.ground.sentence[place]
            # What names a number may go, where no other number is left out before it.
            is_value = is_number and {token.kind for token in skipped} <= {"wide", "own"}
            apart = bool(self._lost(place, starts=starts or is_value))
        return "joins what stands apart in the source" if apart else ""

    def _unused(self, places: Iterable[int]) -> list[Token]:
        """The words of the source at some places that the sentence does not use."""
        used = set(self.places.values())
        return [self.ground.tokens[place] for place in places if place not in used]

    def _lost(self, place: int, *, starts: bool = False) -> str:
        """What of its clause stands before a place and may not be left out: more than who tells.

        Where a sentence `starts`, CJK characters and numbers may: when it was, for whom.
        """
        before = self._unused(range(self.ground.context, place))
        early = [token for token in before if token.clause == self.ground.tokens[place].clause]
        free = {"wide", "date"} | ({"number"} if starts else set())
        words = [token.key for token in early if token.counts and token.kind not in free]
        if starts or not leads().issuperset(words):
            return next((word for word in words if word not in leads()), "")
        return _without_leads("".join(token.key for token in early if token.kind == "wide"))

    def shortened(self) -> Iterator[str]:
        """Yield what a sentence leaves out of the words that it uses: what stands between two of them.

        What a clause opens or ends with counts where it says nothing by itself: some of, for now.
        """
        said, used = self.ground.tokens, set(self.places.values())
        keys = set(self.sentence.keys_of())
        yield from self._left_between()
        text = range(self.ground.context, len(said))
        for clause in (list(group) for _, group in groupby(text, key=lambda place: said[place].clause)):
            if not (places := used.intersection(clause)):
                continue
            opening, end = range(clause[0], min(places)), range(max(places) + 1, clause[-1] + 1)
            lost = self._left(opening)
            if lost and not any(said[place].counts for place in opening):
                yield f"leaves out what the source begins with: {lost[0].key}"
            if len(end) > 1 and all(said[place].light and said[place].key not in keys for place in end):
                yield f"leaves out what the source ends with: {said[end[0]].key}"

    def _left_between(self) -> Iterator[str]:
        """Yield what is left out between words, unless the sentence has words of its own there."""
        tokens, said = self.sentence.tokens, self.ground.tokens
        strand = [pair for pair in sorted(self.strand.items()) if pair[1] >= self.ground.context]
        for (before, start), (number, end) in pairwise(strand):
            if not self.ground.are_together(start, end):
                continue
            own = sum(n not in self.places and _says(tokens[n]) for n in range(before + 1, number))
            lost = self._left(range(start + 1, end))
            # One of two things may go, and of what something is.
            if len(lost) > 2 * own and said[end - 1].key != "and" and said[start + 1].key != "of":
                yield f"leaves out what the source says between: {lost[0].key}"

    def _left(self, places: Iterable[int]) -> list[Token]:
        """The words of the source at some places that say something, and do not stand in the sentence."""
        keys = self.sentence.keys_of()
        return [token for token in self._unused(places) if _says(token) and token.key not in keys]

    def turned(self) -> Iterator[str]:
        """Yield why a sentence is denied, certain, conditional or asked where its source is not."""
        own = self.sentence.keys_of("turn")
        near, far = self._turns()
        around = far.union(near)
        yield from self._mood()
        if more := own.count("not") - near.count("not"):
            yield "denies what the source says" if more > 0 else "leaves out a denial"
        yield from (f"leaves out what restricts it ({key})" for key in sorted(around.difference(own)))
        if self.lapsed():
            yield LAPSED
        yield from (f"turns the order of the source: {key}" for key in ("not", "only") if self._is_moved(key))
        clauses = self.ground.clauses(self.places.values())
        # "The train stopped": nothing stands behind it.
        there = {t.key for t in self.ground.tokens if t.kind == "turn" and t.clause in clauses}
        yield from (f"adds what restricts it ({key})" for key in sorted(set(own) - around - there))

    def lapsed(self, *, either: bool = False) -> bool:
        """Whether a word of the source ends as what was does and here does not, or `either` of the two."""
        forms = [(self.sentence.tokens[n].past, self.ground.tokens[p].past) for n, p in self.strand.items()]
        return any(before != now and (before or either) for now, before in forms)

    def _is_moved(self, key: str) -> bool:
        """Whether what turns others stands elsewhere among them: nobody told her, and she told nobody."""
        clauses = self.ground.clauses(self.strand.values())
        turn = key, "turn"
        there = [n for n, t in enumerate(self.ground.tokens) if t[:2] == turn and t.clause in clauses]
        here = [n for n, t in enumerate(self.sentence.tokens) if t[:2] == turn]
        rows = zip(here, there, strict=False) if len(here) == len(there) else ()
        strand = self.strand.items()
        return any((word < at) != (place < other) for at, other in rows for word, place in strand)

    def _mood(self) -> Iterator[str]:
        """Yield why a sentence states what its source asks, or holds what was."""
        used = {self.ground.sentence[place] for place in self.places.values()} - {-1}
        said = [self.ground.sentences[number] for number in used]
        if any(one.asks for one in said) and not self.sentence.asks:
            yield "is only asked"
        if reading.was(said) and self.sentence.forms & rules.words("present"):
            yield LAPSED

    def _turns(self) -> tuple[list[str], set[str]]:
        """What turns the clauses that are used, and what turns their sentences from afar."""
        used = {self.ground.sentence[place] for place in self.places.values()}
        # The last place that is used, by clause.
        last = {self.ground.tokens[place].clause: place for place in sorted(self.places.values())}
        near: list[str] = []
        far: set[str] = set()
        tokens = zip(self.ground.tokens, self.ground.sentence, strict=False)
        for place, (token, sentence) in enumerate(tokens):
            if token.kind != "turn":
                continue
            if token.clause in last:
                near += [token.key] if place < last[token.clause] or token.key not in _AHEAD else []
            elif sentence in used and token.key in _FAR:
                far.add(token.key)
        return near, far


def _says(token: Token) -> bool:
    """Whether a word changes what those around it say: no filler, nor what is compared elsewhere."""
    return token.kind not in ("own", "turn", "date", "number") and token.key not in _fillers()


@cache
def _fillers() -> frozenset[str]:
    """What may be left out between words that stay, as it stands in tokens."""
    words = rules.words("idle") | rules.words("light") | rules.words("fillers")
    return words | set(map(stem, words))


@cache
def leads() -> frozenset[str]:
    """Return what may stand before what is said: who tells, and that it is a decision, a lesson, a note."""
    return rules.words("leads") | {stem(word) for word in rules.words("leads")}


def _without_leads(characters: str) -> str:
    """The CJK characters that say more than who tells."""
    for word in sorted(leads(), key=len, reverse=True):
        characters = characters.replace(word, "")
    return characters.translate(dict.fromkeys(map(ord, stopwords.CHINESE_CHARACTERS)))
