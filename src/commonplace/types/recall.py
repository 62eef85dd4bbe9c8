"""What a recall gives back: a hook waits for it, and would wait for every dataclass of `reports` as well."""

from __future__ import annotations

from commonplace.base.values import dataclass
from commonplace.types.results import Hit, Level


@dataclass(frozen=True, slots=True)
class Recall:
    """A block of text for a prompt: grouped by file, dated and cited, inside a token budget.

    `layers` says how much of each hit stands in it: `full`, `snippet`, or `index` for a row without text.
    `left_out` counts passages that did not fit, `repeated` those not shown, or not in full, because the
    block says already what they say. `all_tokens` is what reading every note would take, about. It is `weak`
    where nothing clearly answers, and a `listing` where the question is filters or days alone. `tentative`
    counts guesses that answer as well as what stands in the block, and are left out for being guesses.
    `confidence` is that of the search.
    """

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
    layers: tuple[str, ...] = ()
    repeated: int = 0
    weak: bool = False
    listing: bool = False
    tentative: int = 0
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that a language model wrote from what was recalled.

    `text` cites passages as `[1]`, which is the first of `citations`; it is empty where nothing was recalled,
    and no model was asked, or where the passages do not say it. `invented` are numbers that the model cited
    and was not given: they do not stand in the text. `given` counts the passages that it read; `tokens_in`
    and `tokens_out` are what the call took, 0 where none was made. It is `weak` as the recall is.
    """

    query: str
    text: str
    citations: tuple[Hit, ...] = ()
    model: str = ""
    given: int = 0
    invented: tuple[int, ...] = ()
    weak: bool = False
    stale: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    warnings: tuple[str, ...] = ()
