"""What a note states, one by one: a list item, a turn, a paragraph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a note; lines are 1-based and inclusive.

    `first` to `last` are its own lines, without the items nested in it, which are statements of their own and
    reach to `end`. `text` is what it says, its lines joined by newlines: without the mark of a list, the hour
    of writing, comments, and the marks that strike it. `said` is what the note says of it (`since`, `until`,
    `from`, `pinned`, `status`, `by` …), headings and front matter included. `struck` says that all of it is
    struck out. `item` is the mark of the list with the blanks before it ("- ", "  1. "), those blanks alone
    for a paragraph; `hour` the time it was written at, as it stands there.
    """

    path: str
    first: int
    last: int
    end: int
    text: str
    headings: tuple[str, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    struck: bool = False
    item: str = ""
    hour: str = ""

    @property
    def citation(self) -> str:
        """Where it stands, as hits cite it."""
        lines = f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"
        return f"{self.path}#{lines}"


@dataclass(frozen=True, slots=True)
class Cited:
    """What a statement says, and where it stands, as hits cite it."""

    citation: str
    text: str
