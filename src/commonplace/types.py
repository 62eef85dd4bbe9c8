"""The values that travel between layers: frozen, slotted, no behaviour beyond derived attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NoteKind = Literal["long-term", "daily", "note"]
Level = Literal[0, 1, 2, 3]
Mode = Literal["hybrid", "lexical", "semantic"]
LEVEL_NAMES: Mapping[int, str] = {
    0: "vectors + full text",
    1: "vectors (numpy) + full text",
    2: "full text only",
    3: "files scanned, no index",
}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a note: its level (1 to 6), its text and the 1-based line it stands on."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed Markdown file, as it may be indexed: redacted, private parts blanked.

    `lines` has one entry a line of the file, so that line numbers are the file's own. `fences` holds the
    1-based inclusive line ranges of code fences, `front_matter` that of the YAML block, if any.
    """

    path: str
    title: str
    date: str | None
    kind: NoteKind
    lines: tuple[str, ...]
    headings: tuple[Heading, ...] = ()
    fences: tuple[tuple[int, int], ...] = ()
    front_matter: tuple[int, int] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    annotations: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a note under one heading path; lines are 1-based and inclusive.

    `turns` says how much it reads like a conversation, 0..1 (see `chunking.turns`).
    """

    headings: tuple[str, ...]
    start_line: int
    end_line: int
    turns: float = 0.0


@dataclass(frozen=True, slots=True)
class Passage:
    """What is embedded and ranked: a few lines of one section; lines are 1-based and inclusive."""

    section: int
    start_line: int
    end_line: int
    text: str
    importance: int | None = None


@dataclass(frozen=True, slots=True)
class Factor:
    """One named contribution to a hit's score, with the words that explain it."""

    name: str
    value: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked passage: where it stands, what it says, why it was found.

    `path` is relative to the workspace, or starts with the collection's name; `score` lies in 0..1.
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

    @property
    def citation(self) -> str:
        """`path#L12-L18`, or `path#L12` for a single line."""
        last = f"-L{self.end_line}" if self.end_line != self.start_line else ""
        return f"{self.path}#L{self.start_line}{last}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, with the level that answered and anything the reader should know.

    `stale` counts files changed since they were indexed and not re-read in this call. `timings_ms` names
    the stages in order.
    """

    query: str
    hits: tuple[Hit, ...]
    level: Level
    stale: int = 0
    warnings: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recall:
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
    """Where `remember` put an entry, and which kinds of secrets were redacted from it."""

    path: str
    start_line: int
    end_line: int
    redacted: tuple[str, ...] = ()


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
