"""Which statements somebody means: by where they stand, or by their words; never guessed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from commonplace.base.errors import ConfigError, NoteNotFound
from commonplace.edit.corpus import Corpus
from commonplace.language import compare, sentences, similarity
from commonplace.markdown import references, statements, struck
from commonplace.types.notes import Cited, Statement

MOST_NEAR = 5  # near misses that are told
NOWHERE = "no statement of the notes says that"
_STEM = 4  # characters of a word that every form of it has
_ALONE = 3  # words behind a name and a colon that are a statement without it
_SUBJECT = 4  # words, CJK characters counting half, that name a subject rather than lean on a heading
# What opens a statement about whoever the heading or the speaker is.
_BARE = re.compile(
    r"(?:i|my|me|we|our|us|he|his|she|her|they|their|it|its|this|that|these|those|prefers?|likes?|loves?|hates?"
    r"|dislikes?|lives?|works?|runs?|uses?|has|have|is|are|was|were|owns?|wants?|needs?|plays?|speaks?|drinks?"
    r"|eats?|drives?|stud(?:y|ies)|teach(?:es)?|leads?|manages?|maintains?|handles?|supports?|requires?|listens?"
    r"|knows?|reports?|born|married|based|located|moved|allergic|responsible|not|never|no|always|usually)\b"
    r"|[我你您他她它咱]|本人|自己|喜欢|偏好|讨厌|住在|使用|用|是|在|有|爱|想|要|会|不|没|负责|需要|位于|从不|总是",
    re.IGNORECASE,
)
_LONGEST = 200  # characters of a near miss
_BASE, _MODULUS = 1_000_003, (1 << 61) - 1  # of sums over words
_MOST_ROWS = 20  # rows of sentences that are read to see whether they say what their sums do


class StatementNotFound(NoteNotFound):
    """No statement that can be changed where one was named; `near` is what may have been meant."""

    def __init__(self, named: str, reason: str, near: Sequence[Cited] = ()) -> None:
        shown = " ".join(named.split())
        super().__init__(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…", reason=reason)
        self.reason = reason
        self.near = tuple(near)


class Match(NamedTuple):
    """A statement that is meant, and the stretch of its text; an empty one for all of it."""

    statement: Statement
    part: str = ""

    @property
    def text(self) -> str:
        """What is meant of it."""
        return self.part or self.statement.text


class Words(NamedTuple):
    """A text as it is looked for; `stems` is the beginning of each of its words."""

    text: str
    said: compare.Wording
    stems: tuple[str, ...]

    def may_stand_in(self, text: str) -> bool:
        """Whether a text holds most of these words somewhere: all that says the same does, and few others.

        Four of five words in a row must be shared (`wording.same`), so that at least half of them are.
        """
        there = similarity.within(text)
        return 2 * len([stem for stem in self.stems if stem in there]) >= len(self.stems)

    @classmethod
    def of(cls, text: str) -> Words:
        """Read a text, without the mark of a list, the box of a task and marks that strike it."""
        text = struck.STRUCK.sub(r"\1", text.strip())
        said = compare.read(text[struck.lead(text, turn=False) :])
        return cls(text, said, tuple(token[:_STEM] for token in said.words))


def find(corpus: Corpus, named: str, *, owner: bool, but: Words | None = None) -> list[Match]:
    """Return the statements that are meant and say one thing, those of MEMORY.md first.

    `named` is a reference as `get` takes them, or words; what says the same elsewhere is meant as well, but
    not what says `but`. Only the owner means what is pinned. Raises StatementNotFound, with near misses, and
    ConfigError where what is named says `but`.
    """
    if not named.strip():
        raise StatementNotFound(named, "say which statement: its place (MEMORY.md#L12) or its words")
    wanted = _referred(corpus, named.strip())
    found = _meant(corpus, named, wanted)
    if not found:
        raise _nothing(corpus, named)
    if but is not None:
        found = _without(found, but, wanted, named)
    free = [match for match in found if owner or not statements.is_pinned(match.statement.said)]
    if not free or (wanted and free[0].statement != wanted):
        raise StatementNotFound(named, "is pinned: only its owner changes it", cited(found))
    if not wanted and not all(agree(free[0], match) for match in free[1:]):
        told = "is said of more than one thing; name one by its place"
        raise StatementNotFound(named, told, cited(free, MOST_NEAR * 4))
    return _outermost(free)


def _meant(corpus: Corpus, named: str, wanted: Statement | None) -> list[Match]:
    """What says what is named: the statement of a reference first, then those that agree with it."""
    found = saying(corpus, Words.of(wanted.text if wanted else named))
    if wanted is None:
        return found
    copies = [match for match in found if match.statement != wanted and agree(match, Match(wanted))]
    return [Match(wanted), *copies]


def _without(found: Sequence[Match], but: Words, wanted: Statement | None, named: str) -> list[Match]:
    """Those that do not say a text; the one that is meant may not. Raises ConfigError."""
    rest = [match for match in found if _wording(match.text) != but.said.tokens]
    same = wanted is None and Words.of(named).said.tokens == but.said.tokens
    if same or not rest or (wanted and rest[0].statement != wanted):
        raise ConfigError("new", "says the same as the old one")
    return rest


def saying(corpus: Corpus, words: Words) -> list[Match]:
    """Return what says the same as some words and stands, whole statements or whole sentences of them."""
    likely = [s for s in corpus.like(words.text) if not s.struck]
    return [match for statement in likely if (match := matched(statement, words)) is not None]


def matched(statement: Statement, words: Words) -> Match | None:
    """The part of a statement that says the same as some words; None where no whole sentence does."""
    text = statement.text
    tokens = words.said.tokens
    if not tokens or not words.may_stand_in(text):
        return None
    if _wording(text) == tokens:
        return Match(statement)
    body = text[struck.lead(text, turn=True) :]
    alone = compare.read(body)
    if compare.weight(alone.tokens) >= _ALONE and alone.tokens == tokens:
        return Match(statement)
    if alone.words.issuperset(tokens) and (part := _run(body, tokens)):
        return Match(statement, part)
    if compare.same(compare.read(text[struck.lead(text, turn=False) :]), words.said):
        return Match(statement)
    return None


def near(corpus: Corpus, named: str, passages: Sequence[Cited] = ()) -> list[Cited]:
    """Return the statements that stand and come nearest to some words, best first.

    With `passages` of an index it is those in them, which need share no word with what is named. A passage
    of a file that is none of these notes is taken as it is.
    """
    likely = corpus.like(named, 0.3) if not passages else []
    others: list[Cited] = []
    for passage in passages:
        place = references.parse_reference(passage.citation)
        if place.path in corpus.paths:
            last = place.last or place.first
            likely += [s for s in corpus.statements(place.path) if s.first <= last and s.last >= place.first]
        else:
            others.append(passage)
    shares = [(similarity.share(named, statement.text), statement) for statement in likely]
    standing = [pair for pair in shares if not pair[1].struck and (pair[0] or passages)]
    best = sorted(standing, key=lambda pair: -pair[0])
    return [*cited([Match(statement) for _, statement in best]), *others][:MOST_NEAR]


def cited(matches: Sequence[Match], most: int = MOST_NEAR) -> list[Cited]:
    """Say where statements stand, and the beginning of what they say."""
    return [Cited(m.statement.citation, shortened(m.statement.text)) for m in matches[:most]]


def shortened(text: str) -> str:
    """A text on one line, its beginning where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _nothing(corpus: Corpus, named: str) -> StatementNotFound:
    """Say why nothing was found: it is struck already, less than a sentence, or nowhere."""
    words = Words.of(named)
    likely = corpus.like(words.text)
    gone = [Match(s) for s in likely if s.struck and matched(s, words)]
    if gone:
        return StatementNotFound(named, "is struck already", cited(gone))
    said = f" {' '.join(words.said.tokens)} "
    standing = [s for s in likely if not s.struck and said.strip()]
    # The words that are struck part those around them.
    inside = [
        Match(s) for s in standing if said in f" {' '.join(_wording(struck.STRUCK.sub(' … ', s.text)))} "
    ]
    if inside:
        why = "is less than a sentence of what is said; name the whole sentence, or its place"
        return StatementNotFound(named, why, cited(inside))
    return StatementNotFound(named, NOWHERE, near(corpus, named))


def _wording(text: str) -> tuple[str, ...]:
    return compare.read(text[struck.lead(text, turn=False) :]).tokens


def _run(text: str, tokens: Sequence[str]) -> str:
    """The whole sentences of a text, as few as can be but not all, that say these words and no others.

    Every sentence is read once: a row of them says what each does, but that what opens a line (an hour, the
    mark of a list) is no word there. Rows are compared by sums of their words, and read as one in the end.
    """
    spans = sentences.spans(text)
    opening = [compare.read(text[start:end]).tokens for start, end in spans]
    inside = [
        first if "\n" in text[before:start] else compare.read(f"x {text[start:end]}").tokens[1:]
        for first, (start, end), before in zip(opening, spans, [0, *(end for _, end in spans)], strict=False)
    ]
    counts = [0, *accumulate(map(len, inside))]
    sums = _sums(token for words in inside for token in words)
    wanted = _sums(tokens)
    rows: list[tuple[int, int]] = []  # how many sentences, from which on
    for first, words in enumerate(opening):
        if tuple(tokens[: len(words)]) != words:
            continue
        last = bisect_left(counts, counts[first + 1] + len(tokens) - len(words), first + 1)
        if last == len(counts) or last - first == len(spans):
            continue
        there = _difference(sums, counts[first + 1], counts[last])
        if there == _difference(wanted, len(words), len(tokens)):
            rows.append((last - first, first))
    for size, first in sorted(rows)[:_MOST_ROWS]:
        row = text[spans[first][0] : spans[first + size - 1][1]]
        if compare.read(row).tokens == tokens:
            return row
    return ""


def _sums(tokens: Iterable[str]) -> list[int]:
    """Sums over the first, the first two … of some words, which tell a stretch of them by its two ends."""
    sums = [0]
    for token in tokens:
        sums.append((sums[-1] * _BASE + hash(token)) % _MODULUS)
    return sums


def _difference(sums: Sequence[int], first: int, last: int) -> int:
    """The sum over a stretch alone (Rabin and Karp, 1987)."""
    return (sums[last] - sums[first] * pow(_BASE, last - first, _MODULUS)) % _MODULUS


def is_verbatim(statement: Statement, words: Words) -> bool:
    """Whether a statement says some words and no others."""
    return _wording(statement.text) == words.said.tokens


def agree(one: Match, other: Match) -> bool:
    """Whether two statements of the same words are said of the same.

    Headings and speakers tell them apart within a note, and wherever the words name no subject.
    """
    if one.statement.path != other.statement.path and all(_names_its_subject(m.text) for m in (one, other)):
        return True
    return compare.agree(_about(one.statement), _about(other.statement), compare.read(one.text))


def _names_its_subject(text: str) -> bool:
    """Whether a statement is long enough, and begins as one that says what it is about."""
    tokens = compare.read(text[struck.lead(text, turn=True) :]).tokens
    size = sum(0.5 if compare.is_wide(token) else 1.0 for token in tokens)
    return size >= _SUBJECT and _BARE.match(text, struck.lead(text, turn=True)) is None


def _about(statement: Statement) -> tuple[str, ...]:
    text = statement.text
    label = text[struck.lead(text, turn=False) : struck.lead(text, turn=True)]
    return (*statement.headings, label) if label else statement.headings


def _outermost(matches: Sequence[Match]) -> list[Match]:
    """Leave out what is nested in another match, which goes with it."""
    ends: dict[str, list[tuple[int, int]]] = {}  # where statements begin; where they and those before end
    whole = (match.statement for match in matches if not match.part)
    for path, first, end in sorted((one.path, one.first, one.end) for one in whole):
        own = ends.setdefault(path, [])
        own.append((first, max(end, own[-1][1] if own else 0)))

    def is_nested(statement: Statement) -> bool:
        own = ends.get(statement.path, [])
        place = bisect_left(own, (statement.first, 0))
        return place > 0 and statement.first <= own[place - 1][1]

    return [match for match in matches if not is_nested(match.statement)]


def _referred(corpus: Corpus, named: str) -> Statement | None:
    """The statement that a reference names; None where the text is no reference."""
    found = references.REFERENCE.fullmatch(named)
    path = found["path"] if found else named
    is_path = found is not None and " " not in path and path.lower().endswith((".md", ".jsonl"))
    if not (is_path or references.DOCID.fullmatch(path) or path.removeprefix("./") in corpus.paths):
        return None
    wanted = references.parse_reference(named)
    holders = corpus.hashed(wanted.docid) if wanted.docid else [wanted.path]
    if len(holders) != 1 or holders[0] not in corpus.paths:
        why = "is none of the workspace's own notes; nothing else is ever changed"
        raise StatementNotFound(named, "several notes have it" if len(holders) > 1 else why)
    if found is None:
        raise StatementNotFound(named, "names a whole note; add the line, as in MEMORY.md#L12")
    last = wanted.last if wanted.last is not None else wanted.first
    return _standing_at(corpus.statements(holders[0]), named, wanted.first, last)


def _standing_at(stated: Sequence[Statement], named: str, first: int, last: int) -> Statement:
    """The one statement of some lines, with what is nested in it."""
    hit = [s for s in stated if s.first <= last and s.last >= first]
    if not hit:
        raise StatementNotFound(named, "states nothing, as headings, tables, code and blank lines do")
    if any(s.first > hit[0].end for s in hit):
        raise StatementNotFound(named, "is more than one statement; name one", cited([*map(Match, hit)]))
    if hit[0].struck:
        raise StatementNotFound(named, "is struck already", cited([Match(hit[0])]))
    return hit[0]
