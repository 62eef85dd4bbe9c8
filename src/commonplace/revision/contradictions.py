"""Statements that speak of the same thing and say something else of it; found without a model."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.search import wording
from commonplace.types.statements import Statement


def between(text: str, others: Iterable[Statement]) -> list[Statement]:
    """Return those of the statements that a text contradicts, in their order."""
    return [other for other in others if not other.struck and _contradict(text, other.text)]


def _contradict(one: str, other: str) -> bool:
    first, second = wording.read(one), wording.read(other)
    shared = wording.content(first.tokens) & wording.content(second.tokens)
    apart = wording.content(first.tokens) ^ wording.content(second.tokens)
    return first.signs != second.signs and wording.weight(shared) >= 3 * max(1, wording.weight(apart)) / 2
