"""Which statements somebody means: by where they stand, or by their words; never guessed.

They are looked for in the workspace's own notes as they stand on disk, each read once. What stands near some
words is named to the writer of a new statement, and to who corrects an old one.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache, lru_cache, partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError, ConfigError, NoteNotFound
from commonplace.base.lines import recent
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings
from commonplace.index.reading import content_hash
from commonplace.language import compare, sentences, similarity
from commonplace.markdown import conflicts, metadata, references, statements, struck, structure, turns
from commonplace.markdown.document import Document, decode, parse
from commonplace.markdown.references import Reference
from commonplace.notes import scan
from commonplace.redaction import masks
from commonplace.search.references import near as near_paths
from commonplace.search.request import Request
from commonplace.storage.transaction import Read
from commonplace.types import Cited, Statement, cite

if TYPE_CHECKING:
    from commonplace.search.answering import Answerer
    from commonplace.types import Hit, Note, Written

STRUCK = message("statement.struck", "is struck already")
NOWHERE = message("statement.nowhere", "no statement of the notes says that")
_FILES = (".md", ".jsonl")  # endings by which a place in a file is recognised
MOST_NEAR = 5  # near misses that are named
_MOST_STANDING = 3  # statements that are named with a new one
_LOOKED_AT, _LOOKED_AT_ELSEWHERE = 10, 20  # hits
_MOST_WORDS = 40  # of a text, in a query to the index
_UNINDEXED = 30  # newest lines of a note, which no index may hold yet
_NEAR = 0.5  # share of the words of the shorter one
_LONGEST = 200  # characters of a near miss
_LARGEST, _LARGEST_NOTE = 200_000, 4_000_000  # bytes of a note that is read for a hit; that is looked through
_REMEMBERED = 32_000  # bytes of a note that is kept for the next entry
_MOST_READ = 100  # notes that are read for near misses: those that hold most of the words
_START = 3  # characters of a word that every form of it has
_SHARED = 0.75  # share of its words that every text has that says the same
_ALONE = 3  # words behind a name and a colon that are a statement without it
_SUBJECT = 4  # words, CJK characters counting half, that name a subject rather than lean on a heading
_MOST_ROWS = 20  # rows of sentences that are compared with what is looked for


class Corpus:
    """The notes of a workspace, without collections and transcripts, which are never changed."""

    def __init__(self, workspace: paths.Workspace, settings: Settings, read: Read) -> None:
        """Bind to a reader; the files are listed at once, and read on demand."""
        own, *self._collections = scan.sources(os.fspath(workspace.root), settings)
        files = [s for s in scan.scan([own]) if s.path.lower().endswith(".md") and s.size]
        states = {s.path: s for s in files}
        # Copies that a sync program left, by their paths: no correction changes them.
        self.copies = conflicts.copies(states, lambda path: decode(states[path].read()))
        files = [s for s in files if s.path not in self.copies]
        reason = f"has more than {_LARGEST_NOTE:,} bytes, so it was not looked through"
        self.unreadable = [f"{paths.shown(s.path)}: {reason}" for s in files if s.size > _LARGEST_NOTE]
        self._files = {s.path: s for s in files if s.size <= _LARGEST_NOTE}
        self.paths = sorted(self._files, key=lambda path: (not metadata.is_curated(path), path))
        self._root, self._read = workspace.files, read
        self._data: dict[str, bytes | None] = {}
        self._documents: dict[str, Document] = {}
        self._glances: dict[str, bytes] = {}
        self._folds: dict[str, str] = {}

    def data(self, path: str) -> bytes | None:
        """The bytes of a note; None for one that is not there, or cannot be read."""
        if path not in self._data:
            try:
                self._data[path] = self._read(path)
            except CommonplaceError as error:
                self._data[path] = None
                self.unreadable.append(str(error))
        return self._data[path]

    def glance(self, path: str) -> bytes:
        """The bytes of a note as they lie there, to see whether it is worth reading; none if it cannot be."""
        if not self._glances:
            every = self._root.each(sorted(self.paths))
            self._glances = {path: data for path, data in every if data is not None}
        if path not in self._glances:
            try:
                with self._files[path].open() as file:
                    self._glances[path] = file.read(_LARGEST_NOTE)
            except OSError as error:
                self._glances[path] = b""
                self.unreadable.append(f"{paths.shown(path)}: {paths.reason(error)}")
        return self._glances[path]

    def document(self, path: str) -> Document:
        """A note as it is written back, with what is private in it."""
        if path not in self._documents:
            self._documents[path] = Document.read(self.data(path) or b"", path)
        return self._documents[path]

    def statements(self, path: str) -> list[Statement]:
        """Return the statements of a note, redacted."""
        return self.document(path).statements

    def like(
        self, words: str, least: float = 0.5, said: Words | None = None, most: int | None = None
    ) -> Iterator[Statement]:
        """Yield the statements of notes that hold at least this much of the words of a text; MEMORY.md first.

        Leave out notes that cannot say the same as `said`. With `most`, so many notes that hold most words.
        """
        holding = self._holding(words, least, said)
        for path, _ in sorted(holding, key=lambda pair: -pair[1])[:most] if most else holding:
            yield from self.statements(path)

    def silent(self, words: Words) -> Cited | None:
        """Return the first line with some words that is no statement, such as a row of a table."""
        phrase = f" {' '.join(words.said.tokens)} ".replace("| ", "")
        for path, _ in self._holding(words.text, 1.0) if words.said.tokens else ():
            stated = {n for one in self.statements(path) for n in range(one.first, one.last + 1)}
            for number, line in enumerate(self.document(path).note.lines, 1):
                said = f" {' '.join(compare.read(line).tokens)} ".replace("| ", "")
                if number not in stated and phrase in said:
                    return Cited(cite(path, number, number), shortened(line))
        return None

    def _holding(self, words: str, least: float, said: Words | None = None) -> Iterator[tuple[str, float]]:
        """Yield the notes that hold at least this much of some words, and may say the same; with how much."""
        rated = similarity.weights(words)
        need = least * sum(rated.values())
        digits = r"(?<!\d)%s(?!\d)"
        signs = said.said.signs if said else ()
        holds = [re.compile(digits % sign if sign.isdecimal() else re.escape(sign)) for sign in signs]
        for path in self.paths:
            if path not in self._folds:
                data = self.glance(path)
                self._folds[path] = similarity.within(data.decode() if data.isascii() else decode(data))
            text = self._folds[path]
            held = sum([weight for word, weight in rated.items() if word in text])
            may_say = held >= need and (said is None or said.may_stand_in(text))
            if may_say and all(sign.search(text) for sign in holds):
                yield path, held

    def beyond(self, path: str) -> str:
        """Return the file of a collection by its cited path; empty for an unknown path."""
        folders = ((one.root, path.removeprefix(f"{one.name}/")) for one in self._collections)
        files = (os.path.join(root, inner) for root, inner in folders if inner != path)
        return next(filter(os.path.isfile, files), "")

    def curated(self) -> list[Statement]:
        """The statements of MEMORY.md."""
        return [one for path in filter(metadata.is_curated, self.paths) for one in self.statements(path)]

    def named(self, reference: Reference) -> list[str]:
        """The notes that a reference names: by its path, or by the beginning of their content hash."""
        start = reference.docid
        paths = self.paths if start else [path for path in self.paths if path == reference.path]
        return [path for path in paths if not start or content_hash(self.glance(path)).startswith(start)]


class StatementNotFound(NoteNotFound):
    """No statement that can be changed where one was named; `near` is what may have been meant."""

    def __init__(self, named: str, reason: str, near: Sequence[Cited] = ()) -> None:
        shown = " ".join(named.split())
        super().__init__(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…", reason=reason)
        self.reason = reason
        self.near = tuple(near)


class Match(NamedTuple):
    """A statement that is meant, or some of its sentences, `part`."""

    statement: Statement
    part: str = ""

    @property
    def text(self) -> str:
        """The matched text."""
        return self.part or self.statement.text


class Words(NamedTuple):
    """A text as it is looked for; `starts` is the beginning of each of its words."""

    text: str
    said: compare.Wording
    starts: tuple[str, ...]

    def may_stand_in(self, text: str) -> bool:
        """Tell whether a text holds most of these words, as every equal statement does.

        Four of five words must be shared (`compare.same`), in any form.
        """
        there = similarity.within(text)
        return len([start for start in self.starts if start in there]) >= _SHARED * len(self.starts)

    @classmethod
    def of(cls, text: str) -> Words:
        """Read a text, without the mark of a list, the box of a task and marks that strike it."""
        text = struck.STRUCK.sub(r"\1", structure.unnamed(text.strip())[0])
        said = compare.read(text[struck.lead(text, turn=False) :])
        return cls(text, said, tuple(token[:_START] for token in said.tokens if token[0].isalnum()))


# --- what is meant --------------------------------------------------------------------------------------


def find(corpus: Corpus, named: str, *, owner: bool, but: Words | None = None) -> list[Match]:
    """Return the statements that are meant and say one thing, those of MEMORY.md first.

    `named` is a reference as `get` takes them, or words; what says the same elsewhere is meant as well, but
    not what says `but`. Only the owner means what is pinned. Raises StatementNotFound, with near misses, and
    ConfigError where what is named says `but`.
    """
    place = _referred(corpus, named.strip())
    if place and place.struck:
        raise StatementNotFound(named, STRUCK, cited([Match(place)]))
    matches = _meant(corpus, named, place, but)
    free = [match for match in matches if owner or not statements.is_pinned(match.statement.said)]
    if not free or (place and free[0].statement != place):
        reason = message("statement.pinned", "is pinned: only its owner changes it")
        raise StatementNotFound(named, reason, cited(matches))
    if not place and not all(agree(free[0], match) for match in free[1:]):
        reason = message("statement.several", "is said of more than one thing; name one by its place")
        raise StatementNotFound(named, reason, cited(free, MOST_NEAR * 4))
    return free


def _meant(corpus: Corpus, named: str, place: Statement | None, but: Words | None) -> list[Match]:
    """Return the statements that say the named text and not `but`, that of a reference first.

    Raises StatementNotFound without a match, ConfigError where the named text says `but`.
    """
    matches = saying(corpus, Words.of(place.text if place else named))
    if place:
        agreeing = (match for match in matches if match.statement != place and agree(match, Match(place)))
        matches = [Match(place), *agreeing]
    if not matches:
        raise _nothing(corpus, named)
    return matches if but is None else _without(matches, but, place, named)


def _without(matches: Sequence[Match], but: Words, place: Statement | None, named: str) -> list[Match]:
    """Return the matches that do not say a text. Raises ConfigError where the named one does."""
    rest = [match for match in matches if _wording(match.text) != but.said.tokens]
    same = place is None and Words.of(named).said.tokens == but.said.tokens
    if same or not rest or (place and rest[0].statement != place):
        raise ConfigError("new", message("statement.same", "says the same as the old one"))
    return rest


def saying(corpus: Corpus, words: Words) -> list[Match]:
    """Return what says the same as some words and stands, whole statements or whole sentences of them."""
    likely = (s for s in corpus.like(words.text, said=words) if not s.struck)
    return [match for statement in likely if (match := matched(statement, words)) is not None]


def matched(statement: Statement, words: Words) -> Match | None:
    """The part of a statement that says the same as some words; None where no whole sentence does."""
    text, tokens = statement.text, words.said.tokens
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
    of any other file is returned as it is.
    """
    likely = list(corpus.like(named, 0.3, most=_MOST_READ)) if not passages else []
    others: list[Cited] = []
    for passage in passages:
        place = references.parse_reference(passage.citation)
        if place.path in corpus.paths:
            likely += _on(corpus.statements(place.path), place.first, place.end)
        else:
            others.append(passage)
    standing = (statement for statement in likely if not statement.struck)
    shares = [(similarity.share(named, statement.text), statement) for statement in standing]
    best = sorted(shares, key=lambda pair: -pair[0])
    return [*cited([Match(statement) for share, statement in best if share or passages]), *others][:MOST_NEAR]


def _on(stated: Iterable[Statement], first: int, last: int) -> list[Statement]:
    """Those of some statements that stand on some lines."""
    return [statement for statement in stated if statement.first <= last and statement.last >= first]


def cited(matches: Sequence[Match], most: int = MOST_NEAR) -> list[Cited]:
    """Say where statements stand, and the beginning of what they say."""
    return [Cited(m.statement.citation, shortened(m.statement.text)) for m in matches[:most]]


def shortened(text: str) -> str:
    """A text on one line, its beginning where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _nothing(corpus: Corpus, named: str) -> StatementNotFound:
    """Return the reason of a missing match: struck already, less than a sentence, or nowhere."""
    words = Words.of(named)
    likely = list(corpus.like(words.text, said=words)) if words.said.tokens else []
    if gone := [Match(s) for s in likely if s.struck and matched(s, words)]:
        return StatementNotFound(named, STRUCK, cited(gone))
    phrase = f" {' '.join(words.said.tokens)} "

    standing = (s for s in likely if not s.struck)
    if inside := [Match(s) for s in standing if phrase in f" {' '.join(_wording(s.text))} "]:
        less = "is less than a sentence of what is said; name the whole sentence, or its place"
        why = message("statement.less", less)
        return StatementNotFound(named, why, cited(inside))
    match = references.REFERENCE.fullmatch(named.strip())
    if match and match["path"].lower().endswith(_FILES):
        return foreign(corpus, named)
    if silent := corpus.silent(words):
        remedy = remedies.say("edit.by_hand", silent.citation, silent.citation)
        told = "stands there, but tables, properties, headings and code cannot be struck; {remedy}"
        why = message("statement.by_hand", told, remedy=remedy)
        return StatementNotFound(named, why, [silent])
    return StatementNotFound(named, NOWHERE, near(corpus, named))


def foreign(corpus: Corpus, named: str, citation: str = "", near: Sequence[Cited] = ()) -> StatementNotFound:
    """Say that what is named stands beyond the notes that are changed, and which file its owner edits."""
    place = references.parse_reference(citation or named)
    file = corpus.beyond(place.path)
    where = f"stands in {citation}, which is" if citation else "is"
    # A conversation is never edited.
    remedy = file and not scan.written_as(file).lower().endswith(scan.TRANSCRIPTS)
    by_hand = f"; {remedies.say('edit.by_hand', paths.shown(file), place.path)}" if remedy else ""
    told = "{where} none of the workspace's own notes; nothing else is ever changed{by_hand}"
    reason = message("statement.foreign", told, where=where, by_hand=by_hand)
    return StatementNotFound(named, reason, near)


def _wording(text: str) -> tuple[str, ...]:
    return compare.read(text[struck.lead(text, turn=False) :]).tokens


def _run(text: str, tokens: Sequence[str]) -> str:
    """Return the fewest whole sentences of a text, but not all, that say these words and no others.

    Only rows of sentences with the first words and the number of words are read, the shortest 20. What opens
    a line (an hour, the mark of a list) is no word there.
    """
    spans = sentences.spans(text)
    opening = [compare.read(text[start:end]).tokens for start, end in spans]
    befores = [0, *(end for _, end in spans)]
    inside = [
        len(first) if "\n" in text[before:start] else len(compare.read(f"x {text[start:end]}").tokens) - 1
        for first, (start, end), before in zip(opening, spans, befores, strict=False)
    ]
    counts = [0, *accumulate(inside)]
    rows = []
    for first, words in enumerate(opening):
        if tuple(tokens[: len(words)]) == words:
            end = bisect_left(counts, counts[first + 1] + len(tokens) - len(words), first + 1)
            if end < len(counts) and end - first < len(spans):
                rows.append((end - first, text[spans[first][0] : spans[end - 1][1]]))
    return next((row for _, row in sorted(rows)[:_MOST_ROWS] if compare.read(row).tokens == tokens), "")


def is_verbatim(statement: Statement, words: Words) -> bool:
    """Tell whether a statement says some words and no others."""
    return _wording(statement.text) == words.said.tokens


def agree(one: Match, other: Match) -> bool:
    """Tell whether two statements of the same words have the same subject.

    Headings and speakers tell them apart within a note, and wherever the words name no subject.
    """
    if one.statement.path != other.statement.path and all(_names_its_subject(m.text) for m in (one, other)):
        return True
    return compare.agree(_about(one.statement), _about(other.statement), compare.read(one.text))


def _names_its_subject(text: str) -> bool:
    """Tell whether a statement is long enough, and begins as one that says what it is about."""
    start = struck.lead(text, turn=True)
    tokens = compare.read(text[start:]).tokens
    size = sum(0.5 if compare.is_wide(token) else 1.0 for token in tokens)
    return size >= _SUBJECT and not sentences.leans(text[start:])


def _about(statement: Statement) -> tuple[str, ...]:
    text = statement.text
    label = text[struck.lead(text, turn=False) : struck.lead(text, turn=True)]
    return (*statement.headings, label) if label else statement.headings


def _referred(corpus: Corpus, named: str) -> Statement | None:
    """Return the statement of a reference; None for other text."""
    if not named:
        reason = message("statement.unnamed", "say which statement: its place (MEMORY.md#L12) or its words")
        raise StatementNotFound(named, reason)
    match = references.REFERENCE.fullmatch(named)
    path = match["path"] if match else named
    is_path = match is not None and " " not in path and path.lower().endswith(_FILES)
    is_known = path.removeprefix("./") in corpus.paths or bool(corpus.beyond(path.removeprefix("./")))
    if not (is_path or references.DOCID.fullmatch(path) or is_known):
        return None
    place = references.parse_reference(named)
    holders = corpus.named(place)
    if len(holders) > 1:
        raise StatementNotFound(named, message("statement.notes", "several notes have it"))
    if not holders:
        likely = near_paths(place.path, [] if corpus.beyond(place.path) else corpus.paths)
        there = (_on(corpus.statements(path), place.first, place.end) for path in likely)
        raise foreign(corpus, named, near=cited([*map(Match, chain.from_iterable(there))]))
    if match is None:
        reason = message("statement.whole", "names a whole note; add the line, as in MEMORY.md#L12")
        raise StatementNotFound(named, reason)
    return _alone(_on(corpus.statements(holders[0]), place.first, place.end), named)


def located(corpus: Corpus, named: str, seen: str) -> tuple[str, int, int] | None:
    """Return where lines stand that were read at a place: there, or where alone they stand by now.

    They are lines of a note as it is shown, with its comments or without, or the words of a statement. What
    names no lines of a note is None. Raises StatementNotFound where the lines have other text now.
    """
    place = references.parse_reference(named)
    holders = corpus.named(place) if place.last is not None else []
    if len(holders) != 1:
        return None
    path, lines, words = holders[0], seen.split("\n"), shortened(seen)
    stated = corpus.statements(path)
    starts = _starts(corpus.document(path), lines)
    if place.first in starts or words in [shortened(one.text) for one in _on(stated, place.first, place.end)]:
        return path, place.first, place.end
    found = [(path, first, first + len(lines) - 1) for first in starts] or [
        (path, one.first, one.last) for one in stated if not one.struck and shortened(one.text) == words
    ]
    if len(found) == 1:
        return found[0]
    reason = message("statement.changed", "says something else by now, so nothing was done; look again")
    raise StatementNotFound(named, reason, [Cited(cite(*one), words) for one in found[:MOST_NEAR]])


def _starts(document: Document, lines: Sequence[str]) -> list[int]:
    """Return the first lines at which a note has some lines, with or without its comments."""
    note, masked = document.note.lines, masks.mask(document.text).text.removesuffix("\n").split("\n")
    texts = (note, masked) if len(note) == len(masked) else (note,)  # else marks stand for several lines
    sought = [line.rstrip() for line in lines]
    starts: set[int] = set()
    for text in texts:
        shown = [line.rstrip() for line in text]
        starts |= {at + 1 for at in range(len(shown)) if shown[at : at + len(sought)] == sought}
    return sorted(starts)


def _alone(hit: Sequence[Statement], named: str) -> Statement:
    """The one statement of some lines, with what is nested in it."""
    if not hit:
        told = "states nothing, as tables, properties, headings, code and blank lines do; {remedy}"
        by_hand = remedies.say("edit.by_hand", named, named)
        raise StatementNotFound(named, message("statement.nothing", told, remedy=by_hand))
    if any(other.first > hit[0].end for other in hit):
        reason = message("statement.more", "is more than one statement; name one")
        raise StatementNotFound(named, reason, cited([*map(Match, hit)]))
    return hit[0]


# --- what it replaced -----------------------------------------------------------------------------------


def versions(corpus: Corpus, named: str) -> list[Statement]:
    """Return a statement, which may be struck, with those that were struck for it, the newest first.

    Raises StatementNotFound.
    """
    place, words = _referred(corpus, named.strip()), Words.of(named)
    found = [place] if place else [one for one in corpus.like(words.text, said=words) if matched(one, words)]
    if not found:
        raise _nothing(corpus, named)
    one = min(found, key=lambda one: one.struck)
    if one.said.get("superseded-by"):
        to = references.parse_reference(one.said["superseded-by"])
        one = next(iter(_on(corpus.statements(to.path), to.first, to.end)), one)
    chain = [other for other in corpus.statements(one.path) if other.headings == one.headings]
    first = last = chain.index(one)
    while first and _follows(*chain[first - 1 : first + 1]):
        first -= 1
    while last + 1 < len(chain) and _follows(*chain[last : last + 2]):
        last += 1
    return chain[first : last + 1][::-1]


def _follows(former: Statement, later: Statement) -> bool:
    """Tell whether a struck statement stands above what it was struck for."""
    return former.struck and former.said.get("until", "~") <= later.said.get("since", "")


# --- what stands near -----------------------------------------------------------------------------------


def said_already(workspace: paths.Workspace, path: str, text: str) -> Written | None:
    """Return the place of an equal entry in a note, None without one."""
    known, words = _known(workspace, path), compare.read(text)
    for statement in known.stated if known else ():
        if not (statement.struck or statement.said.get("status")) and compare.read(statement.text) == words:
            from commonplace.types import Written

            return Written(path, statement.first, statement.last, again=True)
    return None


def standing(
    workspace: paths.Workspace, answerer: Answerer | None, text: str, written: Written, today: date
) -> tuple[Cited, ...]:
    """Return the statements of the own notes that share most words with what was written, nearest first.

    Figures and days aside; of equals the newest first. Whether they still hold is for the writer to say.
    Unreadable notes and a failing index are passed over, since the entry is written in any case. The newest
    lines of the note, of today's and of MEMORY.md are read, since no index may hold them.
    """
    words = _matter(text)
    near: dict[tuple[str, int], tuple[float, float, str, Statement]] = {}
    known = cache(partial(_known, workspace))  # several hits may be of one note
    hits = filter(_is_own, _hits(answerer, text, "lexical", _LOOKED_AT)) if answerer else ()
    found = [(hit.path, hit.start_line, hit.end_line) for hit in hits]
    day = workspace.daily(today).relative_to(workspace.root).as_posix()
    for path in dict.fromkeys((written.path, day, workspace.memory_file.name)):
        if note_there := known(path):
            last = len(note_there.note.lines)
            found.append((path, max(1, last - _UNINDEXED), last))
    for path, first_line, last_line in found:
        for statement, note in _stated(known(path), first_line, last_line):
            lines = range(written.start_line, written.end_line + 1)
            is_new = statement.path == written.path and statement.first in lines
            if is_new or not _holds(statement, today):
                continue
            matter = _matter(statement.text)
            shared = words & matter
            # Headings name its subject, which counts where more than a word is shared.
            is_told = compare.weight(shared) >= similarity.LEAST
            about = words & _matter(" ".join((note.title, *statement.headings))) if is_told else frozenset()
            most = min(map(compare.weight, (words, matter | about)))
            share = compare.weight(shared | about) / max(1.0, most)
            if share >= _NEAR:
                since = statement.said.get("since") or note.date or ""
                near[statement.path, statement.first] = (compare.weight(shared), share, since, statement)
    nearest = sorted(near.values(), key=lambda one: one[:3], reverse=True)
    return tuple(cited([Match(statement) for *_, statement in nearest], _MOST_STANDING))


@lru_cache(1024)
def _matter(text: str) -> frozenset[str]:
    """The stems of a text without figures and days: what it is about, whatever it says of it."""
    words = compare.timeless(compare.read(text).tokens)
    return frozenset(similarity.stem(word) for word in words if not any(map(str.isdigit, word)))


class _ReadNote(NamedTuple):
    """A note, its statements, and the lines of its conversations."""

    note: Note
    stated: Sequence[Statement]
    chats: Sequence[tuple[int, int]]


def _known(workspace: paths.Workspace, path: str) -> _ReadNote | None:
    """Read a note; None of one that cannot be read."""
    try:
        data = workspace.files.read(path, limit=_LARGEST)
    except OSError:
        return None
    return (_recent if len(data) <= _REMEMBERED else _read)(data, path)


def _read(data: bytes, path: str) -> _ReadNote:
    note = parse(decode(data), path)
    share, parts = turns.read(note.lines).share, structure.sections(note)
    spans = ((part.start_line, part.end_line) for part in parts)
    talk = [span for span in spans if share(range(span[0], span[1] + 1))]
    return _ReadNote(note, statements.read(note), talk)


_recent = recent(32, _read)  # the next entry is often near to the same notes


def _stated(known: _ReadNote | None, first: int, last: int) -> Iterator[tuple[Statement, Note]]:
    """The statements of some lines, with their note.

    In a conversation only the turns of the owner count: those of others are not corrected.
    """
    if known is None:
        return
    for statement in _on(known.stated, first, last):
        is_turn = any(start <= statement.first <= end for start, end in known.chats)
        if not is_turn or turns.speaker(statement.text, chat=True) in turns.OWNER:
            yield statement, known.note


def _holds(statement: Statement, today: date) -> bool:
    said = statement.said
    until = min(filter(None, (said.get("until"), said.get("valid-until"))), default="")
    past = bool(until) and until < today.isoformat()
    return not (statement.struck or past or "status" in said or "superseded-by" in said)


def elsewhere(answerer: Answerer, text: str, *, own: bool = False) -> list[Cited]:
    """Return passages of other sources that hold nearly all a text says; with `own` what is near anywhere.

    Other sources are collections and transcripts, which are never changed. Nothing where the index cannot be
    asked: this only adds to what is found in the notes.
    """
    hits = _hits(answerer, text, "hybrid" if own else "lexical", _LOOKED_AT_ELSEWHERE)
    if own:
        hits = hits[:MOST_NEAR]
    else:
        hits = [h for h in hits if not _is_own(h) and similarity.share(text, h.text) >= similarity.SAID]
    # Of each passage the line that shares most words with the text.
    near = [max(h.text.splitlines(), key=lambda line: similarity.share(text, line), default="") for h in hits]
    return [Cited(hit.citation, shortened(line)) for hit, line in zip(hits, near, strict=True)]


def _hits(answerer: Answerer, text: str, mode: Literal["hybrid", "lexical"], count: int) -> list[Hit]:
    """Search for the words of a text, as plain words, without a model."""
    try:
        words = " ".join(re.findall(r"\w+", text)[:_MOST_WORDS])
        request = Request(words, count, mode, rerank="off", expand=False, complete=False)
        return list(answerer.answer(request).hits)
    except CommonplaceError:
        return []


def _is_own(hit: Hit) -> bool:
    return hit.collection == WORKSPACE_COLLECTION and not hit.path.endswith(scan.TRANSCRIPTS)
