"""The parts of a Markdown file, and its statements: a list item, a turn or a paragraph each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.base.tuples import NamedTuple
from commonplace.types.data import cite


class Heading(NamedTuple):
    """A heading of a note: its level (1 to 6), its text and the 1-based line it stands on."""

    level: int
    text: str
    line: int


CONVERSATIONS = "conversations#"  # the key of the metadata of a transcript; no front matter has it


class ConversationInfo(NamedTuple):
    """A conversation of a transcript, and its lines in the note; `first` is 0 where it is the whole file.

    `size` is that of its text in bytes, `ended` the time of its last message in seconds; 0 where not known.
    """

    first: int
    last: int
    title: str
    day: str
    turns: int
    size: int = 0
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed Markdown file, as it may be indexed: redacted, private parts blanked.

    `lines` has one entry a line of the file, so that line numbers are the file's own. `fences` holds the
    1-based inclusive line ranges of code fences, `front_matter` that of the YAML block, if any. `days`
    are first line, last line and day (ISO) of chats.
    """

    path: str
    title: str
    date: str | None
    kind: str  # long-term, daily, note or session
    lines: tuple[str, ...]
    headings: tuple[Heading, ...] = ()
    fences: tuple[tuple[int, int], ...] = ()
    front_matter: tuple[int, int] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    annotations: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    days: tuple[tuple[int, int, str], ...] = ()


class Section(NamedTuple):
    """A stretch of a note under one heading path; lines are 1-based and inclusive.

    `turns` says how much it reads like a conversation, 0..1 (see `markdown.structure`).
    """

    headings: tuple[str, ...]
    start_line: int
    end_line: int
    turns: float = 0.0


class Passage(NamedTuple):
    """A few lines of one section, which are embedded and ranked; lines are 1-based and inclusive.

    `annotations` are those of these lines (see `markdown.comments`), `speakers` who says them, `shown` what
    is shown with them (see `markdown.shown`).
    """

    section: int
    start_line: int
    end_line: int
    text: str
    annotations: Mapping[str, str] | None = None
    speakers: tuple[str, ...] = ()
    shown: tuple[int, int, Sequence[tuple[int, int]], str] | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a note; lines are 1-based and inclusive.

    `first` to `last` are its own lines, without the items nested in it, which are statements of their own and
    reach to `end`. `text` is what it says, its lines joined by newlines: without the mark of a list, the hour
    of writing, comments, and the marks that strike it. `said` is what the note says of it (`since`, `until`,
    `from`, `pinned`, `status`, `by` …), headings and front matter included. `struck` says that all of it is
    struck out. `item` is the mark of the list with what stands before it ("- ", "  1. ", "> - "), blanks and
    quotation marks alone for a paragraph; `hour` the time of writing, as in the text.
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
        return cite(self.path, self.first, self.last)

    @property
    def is_item(self) -> bool:
        """Tell whether it is a list item."""
        return "[" not in self.item and self.item.strip(" \t>") != ""


@dataclass(frozen=True, slots=True)
class Cited:
    """The text of a statement and its citation."""

    citation: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of one note as `get` shows them; private parts are blanked, secrets redacted."""

    path: str
    start_line: int
    lines: tuple[str, ...]
    total_lines: int
    docid: str

    JSON = "path docid start_line end_line total_lines lines"

    @property
    def end_line(self) -> int:
        """1-based last line shown."""
        return self.start_line + len(self.lines) - 1
