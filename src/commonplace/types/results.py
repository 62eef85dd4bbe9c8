"""Results of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from commonplace.base import tokens as estimates
from commonplace.base.tuples import NamedTuple
from commonplace.types.data import Cites, cite

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Literal

    Level = Literal[0, 1, 2, 3]
    Mode = Literal["hybrid", "lexical", "semantic"]
else:
    Level, Mode = int, str

MODES: tuple[Mode, ...] = ("hybrid", "lexical", "semantic")
WEAK = "weak"  # the label of hits without a clear answer
WEAKLY = "nothing clearly answers"
NO_NOTE_OF = "no note is of {day}"  # the days of a question, or of a timeline
LEVEL_NAMES: Mapping[int, str] = {
    0: "vectors + full text",
    1: "vectors (numpy) + full text",
    2: "full text only",
    3: "files scanned, no index",
}
LISTING = "listing"


def answered_by(level: int, mode: Mode = "hybrid", *, listing: bool = False) -> str:
    """Name the parts that answered a search: of a search by meaning the vectors alone."""
    if listing:
        return LISTING
    if mode != "semantic" or level == 3:
        return LEVEL_NAMES[level]
    return "no vectors" if level == 2 else LEVEL_NAMES[level].removesuffix(" + full text")


@dataclass(frozen=True, slots=True)
class Factor:
    """One named contribution to a hit's score, with the words that explain it."""

    name: str
    value: float
    note: str = ""


class Place(NamedTuple):
    """Where else it stands what a hit says, and of which day that note is; `path` as in `Hit`."""

    path: str
    start_line: int
    end_line: int
    date: str | None

    @property
    def citation(self) -> str:
        """`path#L12-L18`, or `path#L12` for a single line."""
        return cite(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class Hit(Cites):
    """A ranked passage with its place, text and score (0..1).

    `lead` counts the lines at the top of the text that are taken from further up, such as a table's header.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    score: float
    title: str
    headings: tuple[str, ...]
    date: str | None
    collection: str
    docid: str
    factors: tuple[Factor, ...] = ()
    contexts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    others: tuple[Place, ...] = ()
    until: str | None = None
    lead: int = 0
    workspace: str = ""

    JSON = (
        "path start_line end_line score:4 title headings date collection docid citation contexts"
        " labels until tokens text others=shown_others"
    )

    @property
    def shown_others(self) -> list[dict[str, object]]:
        """The other places with their citations."""
        return [{**place._asdict(), "citation": place.citation} for place in self.others]

    @property
    def is_listed(self) -> bool:
        """Tell whether it belongs to a listing, which has no scores."""
        return not (self.score or self.factors)

    @property
    def tokens(self) -> int:
        """About how many tokens the text is."""
        return estimates.about(self.text)

    @property
    def standing(self) -> tuple[str, ...]:
        """The labels, `struck` with the day on which that was."""
        return tuple(f"{one} {self.until}" if self.until and one == "struck" else one for one in self.labels)


class HasHits:
    """Mixin: the length of a result, its items and its truth are those of its `hits`."""

    __slots__ = ()
    hits: tuple[Hit, ...]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, number: int) -> Hit:
        return self.hits[number]


@dataclass(frozen=True, slots=True)
class SearchResult(HasHits):
    """Hits, best first, with the level that answered and warnings."""

    query: str
    hits: tuple[Hit, ...]
    level: Level
    stale: int = 0
    warnings: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    all_tokens: int = 0
    expanded: tuple[str, ...] = ()
    confidence: float | None = None
    weak: bool = False
    listing: bool = False
    mode: Mode = "hybrid"
    engine: str = ""

    @property
    def tokens(self) -> int:
        """About how many tokens the text of the hits is."""
        return sum(hit.tokens for hit in self.hits)
