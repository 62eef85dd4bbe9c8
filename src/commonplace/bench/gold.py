"""A first question set from somebody's own notes, for them to look through.

Without a language model a question is two words of a line, and not its rarest: as little as people remember
of what they look for. Whole sentences with a blank are found nearly always, headings by their own words; of
all ways tried, two words come nearest to questions that people wrote (`docs/measuring.md`). Notes are read as
the index reads them, so private parts are never asked about; nor is a line in which a secret was redacted,
nor what a search leaves out unless it is asked for: struck text and excluded collections. The same
notes, the same seed, the same questions. Where a language model is set, it writes questions about single
passages, which are checked before they count.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace import config
from commonplace.base.errors import BudgetExceeded, ConfigError, NoteUnreadable, ProviderError
from commonplace.base.paths import shown
from commonplace.base.records import translated
from commonplace.base.tuples import NamedTuple
from commonplace.bench import questions
from commonplace.bench.metrics import Span
from commonplace.bench.questions import SELF
from commonplace.chunking import passages
from commonplace.index.reading import note_of
from commonplace.language.lexicon import CJK
from commonplace.language.stopwords import ENGLISH
from commonplace.markdown import struck, structure
from commonplace.notes import scan
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Message, Schema
from commonplace.redaction.redact import MARK, holds_secret
from commonplace.search.query import terms
from commonplace.types import Note, Section
from commonplace.types.progress import Progress, silent

if TYPE_CHECKING:
    from commonplace.config.settings import Settings
    from commonplace.providers.llm.client import Client

WORDS = "words"  # the category of questions that no model wrote
ASKED = 2  # words of such a question
LEAST_WORDS = 4  # of a line that says something by which it may be asked for
RAREST = 3  # one in so many words of a line, the rarest, is not asked by
# Measured on twelve question sets (`docs/measuring.md`).
CAVEAT = (
    "questions of two words compare one setting with another: their r@2000c is about .07 above that of what"
    " people ask, up to .26 in one memory"
)
LEAST_TERMS = 3  # words (for CJK: pairs of characters) that a question of a model says something with
LEAST_TERMS_CJK = 4
_Member = TypeVar("_Member")


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that nobody has looked at, and the lines that answer it."""

    question: str
    answer: str
    category: str
    evidence: Span

    def as_record(self) -> dict[str, Any]:
        """Return it in the form of a question set; `review` says that somebody must look at it."""
        identity = f"{self.evidence}\0{self.question}".encode()
        return {
            "id": f"gold-{hashlib.sha256(identity).hexdigest()[:10]}",
            "workspace": SELF,
            "question": self.question,
            "category": self.category,
            "evidence": [self.evidence._asdict()],
            "answer": self.answer,
            "review": True,
        }


def says_enough(question: str) -> bool:
    """Whether there are words enough to look for."""
    left = [term for term in terms(question) if term not in ENGLISH]
    wide = sum(not term.isascii() for term in left)
    return wide >= LEAST_TERMS_CJK or len(left) - wide >= LEAST_TERMS or (bool(wide) and len(left) > wide + 1)


def read_notes(root: Path, settings: Settings) -> Iterator[Note]:
    """Yield the notes of a workspace and its collections by path, as a search that names none finds them.

    They are parsed as the index has them, without struck text. A note's path is the one that a hit shows.
    What cannot be read is left out, as a sync leaves it out.
    """
    sources = scan.sources(os.fspath(root), settings)
    names = config.by_default(settings)
    for state in sorted(scan.scan([one for one in sources if not names or one.name in names])):
        path = state.path if state.collection == sources[0].name else f"{state.collection}/{state.path}"
        try:
            note = note_of(state.read(), path, state.format)
        except OSError:  # gone since, or not ours to read
            continue
        yield struck.rest(note, struck.of_note(note))


def drafts(notes: Iterable[Note], seed: int = 0) -> list[Draft]:
    """Return a question for every line that says enough; lines that say the same have none."""
    said: dict[str, list[Span]] = {}
    for note in notes:
        for section in structure.sections(note):
            for number in usable_lines(note, section):
                said.setdefault(note.lines[number - 1].strip(), []).append(Span(note.path, number, number))
    words = {line: [word for word in terms(line) if not word.isdecimal()] for line in said}
    times = Counter(word for line, places in said.items() for word in words[line] * len(places))
    made = []
    for line, places in said.items():
        if len(places) == 1 and len(words[line]) >= LEAST_WORDS:
            rarest = sorted(words[line], key=lambda word: times[word])
            common = sorted(rarest[max(1, len(rarest) // RAREST) :])
            chance = Random(f"{seed} {line}")  # noqa: S311 - a sample, no secret
            question = " ".join(chance.sample(common, ASKED))
            made.append(Draft(question, line, WORDS, places[0]))
    asked = Counter(draft.question for draft in made)
    return [draft for draft in made if asked[draft.question] == 1]


def chosen(made: Sequence[Draft], count: int, seed: int) -> list[Draft]:
    """Choose `count` drafts spread over notes and languages, in the order of paths and lines."""
    taken = spread(made, count, seed, lambda one: (one.evidence.path, questions.language(one.question)))
    return sorted(taken, key=lambda one: (one.evidence, one.question))


def spread(
    members: Sequence[_Member], count: int, seed: int, group: Callable[[_Member], object]
) -> list[_Member]:
    """Take one of each group in turn; the order of groups and members depends on the seed alone."""
    chance = Random(seed)  # noqa: S311 - a sample, no secret
    groups: dict[object, list[_Member]] = {}
    for member in members:
        groups.setdefault(group(member), []).append(member)
    order = list(groups.values())
    chance.shuffle(order)
    for each in order:
        chance.shuffle(each)
    turns = zip_longest(*order)
    return [member for turn in turns for member in turn if member is not None][:count]


def check_free(path: Path) -> None:
    """Make sure, before a model is paid, that a question set can be written here: nothing is overwritten.

    Raises ConfigError where something is, NoteUnreadable where there is no such folder.
    """
    if os.path.lexists(path):
        raise ConfigError(shown(path), "is there already; name another with --out")
    if not os.access(path.absolute().parent, os.W_OK):
        raise NoteUnreadable(shown(path), "its folder cannot be written to")


def write(path: Path, drafts: Iterable[Draft]) -> None:
    """Write a question set that was not there. Raises ConfigError where there is one, NoteUnreadable."""
    text = "".join(json.dumps(draft.as_record(), ensure_ascii=False) + "\n" for draft in drafts)
    check_free(path)
    with translated(path), path.open("x", encoding="utf-8") as file:
        file.write(text)


def usable_lines(note: Note, section: Section) -> list[int]:
    """The lines of a section that may be asked about: text outside fences, without anything redacted."""
    if note.front_matter and section.start_line <= note.front_matter[1]:
        return []
    skipped = structure.heading_lines(note, section)

    def is_fenced(number: int) -> bool:
        place = bisect_right(note.fences, (number, len(note.lines))) - 1
        return place >= 0 and number <= note.fences[place][1]

    return [
        number
        for number in range(section.start_line, section.end_line + 1)
        if note.lines[number - 1].strip()
        and number not in skipped
        and MARK not in note.lines[number - 1]
        and not is_fenced(number)
    ]


# --- questions that a language model writes -------------------------------------------------------------

PROMPT = "gold"
PURPOSE = "eval init"
CATEGORY = "model"
TOKENS = 400  # of an answer, which is a question and a few words
FAILURES = 3  # in a row, after which a model is not asked further
MOST_ASKED = 2  # passages asked about for each question wanted: some hold nothing, some answers are refused
QUOTED, QUOTED_CJK = 5, 9  # words, or CJK characters, in a row that are a quotation
_WORD = re.compile(rf"[{CJK}]|[^\W_]+")
_LANGUAGES = {
    questions.CJK: "the language of the passage (Chinese, Japanese or Korean)",
    questions.OTHER: "the language of the passage",
}
_TEXT: Mapping[str, object] = {"type": "string", "maxLength": 400}
SCHEMA: Schema = {
    "type": "object",
    "properties": {"question": _TEXT, "answer": _TEXT},
    "required": ["question", "answer"],
    "additionalProperties": False,
}


class Piece(NamedTuple):
    """A passage to ask about, and its lines."""

    note: Note
    headings: tuple[str, ...]
    start_line: int
    end_line: int
    text: str


@dataclass(slots=True)
class Written:
    """What a model wrote: drafts, how often it was asked, and what was wrong with the rest, by reason."""

    drafts: list[Draft] = field(default_factory=list)
    asked: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    trouble: str = ""


def pieces(notes: Iterable[Note], count: int, seed: int) -> list[Piece]:
    """Choose passages that say something, spread over notes and languages.

    Their lines that are not to be asked about are left out.
    """
    read: list[Piece] = []
    for note in notes:
        sections, cut = passages.split(note)
        usable = [set(usable_lines(note, section)) for section in sections]
        for passage in cut:
            lines = sorted(usable[passage.section] & {*range(passage.start_line, passage.end_line + 1)})
            text = "\n".join(note.lines[number - 1] for number in lines)
            if says_enough(text):
                read.append(Piece(note, sections[passage.section].headings, lines[0], lines[-1], text))
    most = count * MOST_ASKED
    return spread(read, most, seed, lambda piece: (piece.note.path, questions.language(piece.text)))


def ask(llm: Client, passages: Sequence[Piece], count: int, progress: Progress = silent) -> Written:
    """Ask for a question about each passage until there are `count`; a cap or a failing model ends it.

    Raises ConfigError for a prompt of the owner's that cannot be used.
    """
    written, failures = Written(), 0
    for piece in passages:
        if len(written.drafts) >= count or failures >= FAILURES:
            break
        written.asked += 1
        try:
            data: Any = llm.complete(_messages(piece), SCHEMA, max_tokens=TOKENS, purpose=PURPOSE).data
        except (BudgetExceeded, ProviderError) as error:
            written.trouble = str(error)
            ended = isinstance(error, BudgetExceeded) or error.permanent
            failures = FAILURES if ended else failures + 1
            continue
        failures = 0
        draft = _draft(str(data["question"]).strip(), str(data["answer"]).strip(), piece)
        question = draft.question.casefold()
        wrong = problem(draft.question, draft.answer, piece.text)
        if not wrong and question in {former.question.casefold() for former in written.drafts}:
            wrong = "asked before"
        if wrong:
            written.refused[wrong] += 1
        else:
            written.drafts.append(draft)
        progress("questions", len(written.drafts), count)
    return written


def _draft(question: str, answer: str, piece: Piece) -> Draft:
    """A draft about the line that holds the answer, or the whole passage where not exactly one does."""
    numbers = range(piece.start_line, piece.end_line + 1)
    held = [n for n in numbers if _folded(answer) in _folded(piece.note.lines[n - 1])]
    ends = (held[0], held[0]) if len(held) == 1 else (piece.start_line, piece.end_line)
    return Draft(question, answer, CATEGORY, Span(piece.note.path, *ends))


def estimate(llm: Client, passages: Sequence[Piece], count: int) -> tuple[int, int, float | None]:
    """Say what `count` questions take at least: calls, tokens (in and out at most), dollars or None."""
    costs = [llm.estimate(_messages(piece), SCHEMA, max_tokens=TOKENS) for piece in passages[:count]]
    prices = [cost.dollars for cost in costs]
    dollars = None if None in prices else sum(filter(None, prices))
    tokens = sum(cost.tokens_in + cost.tokens_out for cost in costs)
    return sum(not cost.cached for cost in costs), tokens, dollars


def problem(question: str, answer: str, passage: str) -> str:
    """Return what is wrong with a question about a passage, or an empty text."""
    if not question or not answer:
        return "nothing to ask for"
    if _folded(answer) not in _folded(passage):
        return "the passage does not hold the answer"
    if _folded(answer) in _folded(question):
        return "the question names the answer"
    if quotes(question, passage):
        return "the question quotes the passage"
    if holds_secret(f"{question}\n{answer}"):
        return "a secret"
    return "" if says_enough(question) else "too few words to look for"


def quotes(question: str, passage: str) -> bool:
    """Whether a question repeats a stretch of the passage word for word."""
    words = _WORD.findall(question.casefold())
    length = QUOTED_CJK if sum(not word.isascii() for word in words) * 2 > len(words) else QUOTED
    runs = [
        {tuple(each[at : at + length]) for at in range(len(each) - length + 1)}
        for each in (words, _WORD.findall(passage.casefold()))
    ]
    return not runs[0].isdisjoint(runs[1])


def _messages(piece: Piece) -> tuple[Message, ...]:
    headings = " > ".join(dict.fromkeys((piece.note.title, *piece.headings)))
    return prompting.load(PROMPT).messages(
        passage=piece.text,
        headings="" if MARK in headings else headings,
        date=piece.note.date or "",
        language=_LANGUAGES[questions.language(piece.text)],
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
