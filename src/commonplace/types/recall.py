"""Results of a recall, apart from `reports`: a hook waits for each dataclass that is imported."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.types.results import HasHits, Hit, Level


@dataclass(frozen=True, slots=True)
class Recall(HasHits):
    """A block of text for a prompt: grouped by file, dated and cited, inside a token budget."""

    query: str
    text: str
    tokens: int
    budget: int
    hits: tuple[Hit, ...]
    level: Level
    left_out: int = 0
    stale: int = 0
    warnings: tuple[str, ...] = ()
    all_tokens: int = 0
    repeated: int = 0
    weak: bool = False
    listing: bool = False
    tentative: int = 0
    confidence: float | None = None
