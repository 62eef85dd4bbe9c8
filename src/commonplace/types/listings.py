"""What the notes are, one by one: listings, several read at once, and what surrounds a moment."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.types.reports import Excerpt, FileFailure


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """A note as a listing shows it; `size` is in bytes."""

    path: str
    collection: str
    title: str
    date: str | None
    size: int
    lines: int
    docid: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """Several notes read at once, and which were not, each with the reason; `unfit` lacked room alone."""

    excerpts: tuple[Excerpt, ...]
    left_out: tuple[FileFailure, ...] = ()
    unfit: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Moment:
    """A passage of a dated note; `is_anchor` where it is what was asked about."""

    path: str
    start_line: int
    end_line: int
    date: str
    headings: tuple[str, ...]
    text: str
    docid: str
    is_anchor: bool = False

    @property
    def citation(self) -> str:
        """`path#L12-L18`, or `path#L12` for a single line."""
        last = f"-L{self.end_line}" if self.end_line != self.start_line else ""
        return f"{self.path}#L{self.start_line}{last}"


@dataclass(frozen=True, slots=True)
class Timeline:
    """What surrounds an anchor in time, in order of date and place; `stale` as in a search."""

    anchor: str
    moments: tuple[Moment, ...]
    stale: int = 0
