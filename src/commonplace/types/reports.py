"""What the other calls give back: recall, reading, writing, keeping up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.types.results import Hit, Level

if TYPE_CHECKING:
    from commonplace.types.statements import Cited


@dataclass(frozen=True, slots=True)
class Recall:
    """A block of text for a prompt: grouped by file, dated and cited, inside a token budget.

    `layers` says how much of each hit stands in it: `full`, `snippet`, or `index` for a row without text.
    `left_out` counts passages that did not fit, `repeated` those not shown, or not in full, because the
    block says already what they say. `all_tokens` is what reading every note would take, about.
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


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of one note as `get` shows them; private parts are blanked, secrets redacted."""

    path: str
    start_line: int
    lines: tuple[str, ...]
    total_lines: int
    docid: str

    @property
    def end_line(self) -> int:
        """1-based last line shown."""
        return self.start_line + len(self.lines) - 1


@dataclass(frozen=True, slots=True)
class Written:
    """Where `remember` put an entry, and which kinds of secrets were redacted from it.

    `contradicts` is what the notes say otherwise of the same thing; nothing was changed for it. `warnings`
    say which lines another program has overwritten since the last write, and where the copies are.
    """

    path: str
    start_line: int
    end_line: int
    redacted: tuple[str, ...] = ()
    contradicts: tuple[Cited, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file that a sync could not read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did; `embedded` vectors were computed, `reused` came from the index, `pending` are left."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: tuple[FileFailure, ...] = ()
    embedded: int = 0
    reused: int = 0
    pending: int = 0
    rebuilt: str | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a sync would take: texts to embed, those that the cache knows, tokens of the others, about.

    `dollars` is None where no price is known; `local` says that the model runs in this process and costs time
    alone.
    """

    model: str
    texts: int
    known: int = 0
    tokens: int = 0
    dollars: float | None = None
    local: bool = False
    batched: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection and what the index holds of it."""

    name: str
    root: str
    globs: tuple[str, ...]
    ignore: tuple[str, ...]
    notes: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a workspace and its index."""

    workspace: str
    index: str
    level: Level
    collections: tuple[CollectionInfo, ...]
    notes: int
    sections: int
    passages: int
    vectors: int
    pending: int
    stale: int
    index_bytes: int
    model: str
    warnings: tuple[str, ...] = ()
