"""The tour through the workspace that ships: what it asks, what came back, what that cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.base import tokens
from commonplace.demo import TourQuestion, notes, questions
from commonplace.memory import Memory
from commonplace.types import Hit, SearchResult

SHOWN_HITS = 3
BUDGET = 500  # tokens of a recall: what a prompt spares for memory without noticing


@dataclass(frozen=True, slots=True)
class Stop:
    """A question with its answer, and the tokens that a recall for it takes."""

    question: TourQuestion
    result: SearchResult
    tokens: int

    @property
    def rank(self) -> int | None:
        """Which of the hits, from 1, is a passage that was expected; None if none of them is."""
        ranks = (number for number, hit in enumerate(self.result.hits, 1) if answers(hit, self.question))
        return next(ranks, None)


def answers(hit: Hit, question: TourQuestion) -> bool:
    """Tell whether a hit is one of the passages that answer a question."""
    return any(one.path == hit.path and one.contains in hit.text for one in question.expected)


def walk(memory: Memory) -> Iterator[Stop]:
    """Ask every question of the tour."""
    for question in questions():
        result = memory.search(question.text, limit=SHOWN_HITS)
        yield Stop(question, result, memory.recall(question.text, budget=BUDGET).tokens)


def everything(folder: Path) -> int:
    """Count the tokens that loading every note would take."""
    return sum(map(tokens.about, notes(folder)))
