"""Results of a recall, apart from `reports`: a hook waits for each dataclass that is imported."""

from __future__ import annotations

from commonplace.base.values import dataclass
from commonplace.types.results import Hit, Level


@dataclass(frozen=True, slots=True)
class Recall:
    """A block of text for a prompt: grouped by file, dated and cited, inside a token budget.

    `layers` has the form of each hit: `full`, `snippet`, or `index` for a row without text. `left_out` counts
    passages that did not fit, `repeated` passages left out or cut because the block has their content
    already. `all_tokens` estimates the tokens of all notes. It is `weak` without a clear answer, and a
    `listing` where the question is filters or days alone. `tentative` counts guesses with the rank of shown
    passages that were left out. `confidence` is that of the search.
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

    `text` cites passages as `[1]`, the first of `citations`; it is empty without recalled passages (then no
    model was called), or where the passages have no answer. `invented` are cited numbers without a passage;
    they are removed from the text. `given` counts the passages in the prompt; `tokens_in` and `tokens_out`
    are those of the call, or 0. It is `weak` as the recall is.
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
