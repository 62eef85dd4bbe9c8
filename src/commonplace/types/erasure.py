"""What is to be forgotten, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from commonplace.types.revisions import Run

SelectionKind = Literal["note", "lines", "text", "person", "session"]
Where = Literal[
    "notes",
    "links",
    "transcripts",
    "spool",
    "history",
    "usage",
    "answers",
    "vectors",
    "index",
    "marks",
    "logs",
    "leftovers",
    "foreign",
    "requests",
    "copies",
]


@dataclass(frozen=True, slots=True)
class Selection:
    """One thing to forget.

    `value` is a path or `#docid` (note), `path#L3-L9` or `path:3` (lines), words (text), a name (person, with
    further names in `also`), an id (session). `lines` are the lines of a note as they were seen, without
    their ends: where others stand there by now, these are looked for.
    """

    kind: SelectionKind
    value: str
    also: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Erased:
    """One place that goes, or went: which store, which file, its lines (0: all of it, or none), its words.

    Of its words private parts are blank and secrets redacted, as where notes are read.
    Of a link among notes `text` is the file that it leads to. In stores that are not read line by line
    `count` says how many records of them it is, and `text` is empty.
    """

    where: Where
    path: str
    first: int = 0
    last: int = 0
    text: str = ""
    count: int = 1

    @property
    def citation(self) -> str:
        """Where it stands, as hits cite it."""
        if not self.first:
            return self.path
        lines = f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"
        return f"{self.path}#{lines}"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A copy that is not ours to remove, or cannot be looked into from here, and what the owner may do."""

    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A file in which the byte scan still found something, how often, and what is to be done.

    `count` is 0 for what could not be looked into; `remedy` then says why.
    """

    path: str
    count: int
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What a forgetting removes (`dry_run`) or has removed, what it cannot reach, and what is still found.

    `run` is its entry in the record of generated changes, None where no note changed. `basis` is what
    `Memory.forget` reads of a preview that it is given: exactly what was shown, as JSON. It holds the words.
    """

    places: tuple[Erased, ...]
    unreachable: tuple[Unreachable, ...] = ()
    left: tuple[Trace, ...] = ()
    run: Run | None = None
    dry_run: bool = False
    basis: bytes = field(default=b"", repr=False)

    @property
    def complete(self) -> bool:
        """Whether nothing is still found where it could be removed."""
        return not self.left
