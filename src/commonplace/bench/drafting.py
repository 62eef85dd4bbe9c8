"""Questions that a language model writes about single passages, and what is checked before they count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.bench import gold, questions
from commonplace.bench.gold import Draft, says_enough
from commonplace.bench.metrics import Span
from commonplace.chunking import passages
from commonplace.index.progress import Progress, silent
from commonplace.language.lexicon import CJK
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Message, Schema
from commonplace.redaction.redact import MARK, holds_secret
from commonplace.types import Note

if TYPE_CHECKING:
    from commonplace.providers.llm.client import Client

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
    """A passage to ask about, and where it stands."""

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
    refused: dict[str, int] = field(default_factory=dict)
    trouble: str = ""

    def refuse(self, reason: str) -> None:
        """Count a question that does not count."""
        self.refused[reason] = self.refused.get(reason, 0) + 1


def pieces(notes: Iterable[Note], count: int, seed: int) -> list[Piece]:
    """Choose passages that say something, spread over notes and languages."""
    found = [piece for note in notes for piece in _pieces(note)]
    return gold.spread(
        found,
        count * MOST_ASKED,
        seed,
        lambda piece: (piece.note.path, questions.language(piece.text)),
    )


def write(llm: Client, found: Sequence[Piece], count: int, progress: Progress = silent) -> Written:
    """Ask for a question about each passage until there are `count`; a cap or a failing model ends it.

    Raises ConfigError for a prompt of the owner's that cannot be used.
    """
    written, failures = Written(), 0
    for piece in found:
        if len(written.drafts) >= count or failures >= FAILURES:
            break
        written.asked += 1
        try:
            answer = llm.complete(_messages(piece), SCHEMA, max_tokens=TOKENS, purpose=PURPOSE)
        except BudgetExceeded as error:
            written.trouble = str(error)
            break
        except ProviderError as error:
            written.trouble = str(error)
            failures = FAILURES if error.permanent else failures + 1
            continue
        failures = 0
        _take(written, piece, answer.data)
        progress("questions", len(written.drafts), count)
    return written


def estimate(llm: Client, found: Sequence[Piece], count: int) -> tuple[int, int, float | None]:
    """Say what `count` questions take at least: calls, tokens (in and out at most), dollars or None."""
    expected = [llm.estimate(_messages(piece), SCHEMA, max_tokens=TOKENS) for piece in found[:count]]
    prices = [one.dollars for one in expected]
    tokens = sum(one.tokens_in + one.tokens_out for one in expected)
    dollars = None if None in prices else sum(filter(None, prices))
    return sum(not one.cached for one in expected), tokens, dollars


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
    asked, said = (_WORD.findall(text.casefold()) for text in (question, passage))
    wide = sum(not word.isascii() for word in asked) * 2 > len(asked)
    length = QUOTED_CJK if wide else QUOTED
    return not _runs(asked, length).isdisjoint(_runs(said, length))


def _take(written: Written, piece: Piece, data: Any) -> None:  # noqa: ANN401 - JSON that fits SCHEMA
    question, answer = (str(data[name]).strip() for name in ("question", "answer"))
    wrong = problem(question, answer, piece.text)
    if not wrong and any(question.casefold() == one.about for one in written.drafts):
        wrong = "asked before"
    if wrong:
        written.refuse(wrong)
        return
    span = Span(piece.note.path, *_lines_of(answer, piece))
    written.drafts.append(Draft(question, answer, CATEGORY, span, question.casefold()))


def _lines_of(answer: str, piece: Piece) -> tuple[int, int]:
    """The line that holds the answer, or the whole passage where it runs over several, or stands twice."""
    wanted = _folded(answer)
    numbers = range(piece.start_line, piece.end_line + 1)
    held = [number for number in numbers if wanted in _folded(piece.note.lines[number - 1])]
    return (held[0], held[0]) if len(held) == 1 else (piece.start_line, piece.end_line)


def _pieces(note: Note) -> Iterator[Piece]:
    """The passages of a note without their lines that are not to be asked about."""
    found, cut = passages.split(note)
    usable = [set(gold.usable_lines(note, section)) for section in found]
    for passage in cut:
        lines = sorted(usable[passage.section] & {*range(passage.start_line, passage.end_line + 1)})
        text = "\n".join(note.lines[number - 1] for number in lines)
        if says_enough(text):
            yield Piece(note, found[passage.section].headings, lines[0], lines[-1], text)


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


def _runs(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
