"""Count the tokens of blocks for prompts against loading MEMORY.md and seven days, and their evidence.

    python tools/measure_prompts.py [WORKSPACE --questions FILE] [--budget N] [--json]

Without a workspace the demo's is asked thirty questions, in a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from commonplace.agent.chunks import daily_notes
from commonplace.agent.context import ContextBuilder
from commonplace.base import tokens as estimates
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.root import read_named
from commonplace.demo import unpack
from commonplace.markdown.document import decode
from commonplace.memory import Memory
from commonplace.render import count

QUESTIONS = Path(__file__).with_name("prompt_questions.toml")
DAYS = 7  # of notes that a host without a search loads into every prompt
NEEDS = "every [[question]] needs text and expect = [{ path = …, contains = … }]"


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
        questions = tuple(map(_question, data.get("question", [])))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(str(path), f"cannot be read: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(str(path), NEEDS) from error
    today = data.get("today")
    if today is not None and (not isinstance(today, date) or hasattr(today, "hour")):
        raise ConfigError(str(path), "today must be a day, written as 2026-02-13 without quotes")
    if not questions:
        raise ConfigError(str(path), "holds no [[question]]")
    return Questions(questions, today)


def _question(entry: Mapping[str, Any]) -> Question:
    """Read one `[[question]]`. Raises KeyError, TypeError or AttributeError for one that lacks something."""
    expected = tuple(Evidence(str(one["path"]), str(one["contains"])) for one in entry["expect"])
    if not expected:
        raise KeyError("expect")
    return Question(str(entry["text"]), str(entry.get("language", "")), expected)


def measure(memory: Memory, asked: Questions, budget: int | None = None) -> Measured:
    """Build the block for each question, in a session of its own, and look for its evidence.

    A block holds it where some of its lines are cited from the right note and hold the words.
    """
    today = asked.today or date.today()
    builder = ContextBuilder(memory)
    notes = load(memory, today)
    answers: list[Answer] = []
    for question in asked.questions:
        started = time.perf_counter()
        context = builder.compose(question.text, now=today, budget=budget)
        took_ms = (time.perf_counter() - started) * 1000
        texts = [(part.citation.partition("#")[0], part.text) for part in context.parts]
        found, loaded = (
            any(one.path == path and one.contains in text for path, text in held for one in question.expected)
            for held in (texts, notes.items())
        )
        answers.append(Answer(question, context.tokens, found, loaded, took_ms))
    tokens = sum(map(estimates.about, notes.values()))
    return Measured(tuple(answers), tokens, builder.settings.budget if budget is None else budget)


def load(memory: Memory, today: date) -> dict[str, str]:
    """Load what a prompt without a search loads: MEMORY.md and the notes of seven days, whole, by path."""
    from commonplace.base import paths

    workspace = memory.workspace
    wanted = [workspace.memory_file.relative_to(workspace.root).as_posix()]
    for back in range(DAYS):
        wanted += daily_notes(memory, today - timedelta(days=back))
    loaded: dict[str, str] = {}
    for path in wanted:
        try:
            loaded[path] = decode(paths.read_contained(Path(path), [workspace.root]))
        except CommonplaceError:  # what is missing is not loaded
            continue
    return loaded


def as_text(measured: Measured) -> str:
    """Return the figures for a reader, and every question whose evidence is missing."""
    answers = measured.answers
    tokens = [answer.tokens for answer in answers]
    asked = Counter(answer.question.language for answer in answers)
    found = Counter(answer.question.language for answer in answers if answer.found)
    counts = [f"{name} {found[name]} of {asked[name]}" for name in sorted(asked) if name]
    languages = f" ({', '.join(counts)})" if counts else ""
    lines = [
        f"{count(len(answers), 'question')}, budget {measured.budget:,} tokens",
        f"a block             {measured.mean_tokens:,.0f} tokens on average "
        f"(median {statistics.median(tokens):,.0f}, most {max(tokens):,})",
        f"MEMORY.md + {DAYS} days  {measured.loaded_tokens:,} tokens: a block has "
        f"{abs(measured.saved):.1%} {'fewer' if measured.saved >= 0 else 'more'}",
        f"evidence            in {measured.found} of {len(answers)}{languages} blocks; "
        f"MEMORY.md + {DAYS} days hold that of {sum(answer.loaded for answer in answers)}",
        f"time                {statistics.median(a.milliseconds for a in answers):.0f} ms a block (median)",
    ]
    lines += [f"missing             {answer.question.text}" for answer in answers if not answer.found]
    return "\n".join(lines)


def as_record(measured: Measured) -> dict[str, object]:
    """Return the figures for a program."""
    return {
        "budget": measured.budget,
        "questions": len(measured.answers),
        "mean_tokens": round(measured.mean_tokens, 1),
        "loaded_tokens": measured.loaded_tokens,
        "saved": round(measured.saved, 4),
        "found": measured.found,
        "answers": [
            {
                "text": answer.question.text,
                "language": answer.question.language,
                "tokens": answer.tokens,
                "found": answer.found,
                "loaded": answer.loaded,
                "ms": round(answer.milliseconds, 1),
            }
            for answer in measured.answers
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workspace", nargs="?", type=Path)
    parser.add_argument("--questions", type=Path, help="questions with their evidence (TOML)")
    parser.add_argument("--budget", type=int, help="most tokens a block; otherwise prompt.budget")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if (given.workspace is None) != (given.questions is None):
        parser.error("a workspace goes with --questions about it")
    try:
        with tempfile.TemporaryDirectory(prefix="commonplace-demo-") as folder:
            root = given.workspace or Path(folder, "notes")
            if given.workspace is None:
                unpack(root)
            with Memory.open(root, overrides={"usage.record": False}) as memory:
                memory.sync()
                measured = measure(memory, read(given.questions or QUESTIONS), given.budget)
    except CommonplaceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(as_record(measured), ensure_ascii=False) if given.json else as_text(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
