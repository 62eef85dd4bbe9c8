"""Prompts measured: the tokens of a block beside long-term memory with seven days, and its evidence."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from commonplace.agent import chunks
from commonplace.agent.context import Context, ContextBuilder
from commonplace.base import tokens as estimates
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.root import read_named
from commonplace.markdown.document import decode
from commonplace.memory import Memory

DAYS = 7  # of notes that a host without a search loads into every prompt


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of a note, one of those that answer a question."""

    path: str
    contains: str


@dataclass(frozen=True, slots=True)
class Question:
    """A message, the language it is counted under, and the evidence of which any is enough."""

    text: str
    language: str
    expected: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """A file of questions; `today` is the day they are asked on, None for the day of the measurement."""

    questions: tuple[Question, ...]
    today: date | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question: tokens and milliseconds of its block, and whether the evidence is there.

    `loaded` says whether the notes of the comparison hold it.
    """

    question: Question
    tokens: int
    found: bool
    loaded: bool
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """All questions with the tokens of the comparison: long-term memory and the last seven days."""

    answers: tuple[Answer, ...]
    loaded_tokens: int
    budget: int

    @property
    def mean_tokens(self) -> float:
        """Tokens of a block, on average."""
        return statistics.mean(answer.tokens for answer in self.answers)

    @property
    def saved(self) -> float:
        """The share of the comparison's tokens that the blocks do without."""
        return 1 - self.mean_tokens / max(1, self.loaded_tokens)

    @property
    def found(self) -> int:
        """How many blocks hold the evidence."""
        return sum(answer.found for answer in self.answers)


def read(path: Path) -> Questions:
    """Read questions with their evidence from a TOML file. Raises ConfigError."""
    import tomllib

    try:
        data = tomllib.loads(read_named(path).decode("utf-8-sig"))
        today = data.get("today")
        if today is not None and (not isinstance(today, date) or hasattr(today, "hour")):
            raise ConfigError(str(path), "today must be a day, written as 2026-02-13 without quotes")
        questions = tuple(map(_question, data.get("question", [])))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(str(path), f"cannot be read: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        told = "every [[question]] needs text and expect = [{ path = …, contains = … }]"
        raise ConfigError(str(path), told) from error
    if not questions:
        raise ConfigError(str(path), "holds no [[question]]")
    return Questions(questions, today)


def _question(entry: Mapping[str, Any]) -> Question:
    expected = tuple(Evidence(str(one["path"]), str(one["contains"])) for one in entry["expect"])
    if not expected:
        raise KeyError("expect")
    return Question(str(entry["text"]), str(entry.get("language", "")), expected)


def measure(memory: Memory, asked: Questions, budget: int | None = None) -> Measured:
    """Build the block for each question, in a session of its own, and look for its evidence."""
    today = asked.today or date.today()
    builder = ContextBuilder(memory)
    loaded = load(memory, today)
    answers: list[Answer] = []
    for question in asked.questions:
        started = time.perf_counter()
        context = builder.compose(question.text, now=today, budget=budget)
        spent = (time.perf_counter() - started) * 1000
        in_notes = any(one.contains in loaded.get(one.path, "") for one in question.expected)
        answers.append(Answer(question, context.tokens, _holds(context, question), in_notes, spent))
    tokens = sum(map(estimates.about, loaded.values()))
    return Measured(tuple(answers), tokens, builder.settings.budget if budget is None else budget)


def load(memory: Memory, today: date) -> dict[str, str]:
    """Load what a prompt without a search loads: MEMORY.md and the notes of seven days, whole, by path."""
    from commonplace.base import paths

    workspace = memory.workspace
    wanted = [workspace.memory_file.relative_to(workspace.root).as_posix()]
    for back in range(DAYS):
        wanted += chunks.daily_notes(memory, today - timedelta(days=back))
    loaded: dict[str, str] = {}
    for path in wanted:
        try:
            loaded[path] = decode(paths.read_contained(Path(path), [workspace.root]))
        except CommonplaceError:  # what is missing is not loaded
            continue
    return loaded


def _holds(context: Context, question: Question) -> bool:
    """Whether some lines of the block, cited from the right note, hold the words of one evidence."""
    return any(
        part.citation.partition("#")[0] == one.path and one.contains in part.text
        for part in context.parts
        for one in question.expected
    )


def as_text(found: Measured) -> str:
    """Return the figures for a reader, and every question whose evidence is missing."""
    answers = found.answers
    tokens = [answer.tokens for answer in answers]
    lines = [
        f"{len(answers)} questions, budget {found.budget:,} tokens",
        f"a block             {found.mean_tokens:,.0f} tokens on average "
        f"(median {statistics.median(tokens):,.0f}, most {max(tokens):,})",
        f"MEMORY.md + {DAYS} days  {found.loaded_tokens:,} tokens: a block has {found.saved:.1%} fewer",
        f"evidence            in {_counted(answers)} blocks; "
        f"MEMORY.md + {DAYS} days hold that of {sum(a.loaded for a in answers)}",
        f"time                {statistics.median(a.milliseconds for a in answers):.0f} ms a block (median)",
    ]
    lines += [f"missing             {answer.question.text}" for answer in answers if not answer.found]
    return "\n".join(lines)


def _counted(answers: Sequence[Answer]) -> str:
    """`28 of 30 (en 14 of 15, zh 14 of 15)`."""
    languages = sorted({answer.question.language for answer in answers} - {""})
    groups = [(name, [a for a in answers if a.question.language == name]) for name in languages]
    told = ", ".join(f"{name} {sum(a.found for a in own)} of {len(own)}" for name, own in groups)
    total = f"{sum(answer.found for answer in answers)} of {len(answers)}"
    return f"{total} ({told})" if told else total


def as_record(found: Measured) -> dict[str, object]:
    """Return the figures for a program."""
    return {
        "budget": found.budget,
        "questions": len(found.answers),
        "mean_tokens": round(found.mean_tokens, 1),
        "loaded_tokens": found.loaded_tokens,
        "saved": round(found.saved, 4),
        "found": found.found,
        "answers": [
            {
                "text": answer.question.text,
                "language": answer.question.language,
                "tokens": answer.tokens,
                "found": answer.found,
                "loaded": answer.loaded,
                "ms": round(answer.milliseconds, 1),
            }
            for answer in found.answers
        ],
    }
