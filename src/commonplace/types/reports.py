"""Results of reading, writing, syncing, the record of use, and examinations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from commonplace.types.data import Cites
from commonplace.types.results import Hit, Level

if TYPE_CHECKING:
    from commonplace.types.notes import Cited, Excerpt


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a language model from recalled passages, which it cites as `[1]`."""

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


@dataclass(frozen=True, slots=True)
class Written(Cites):
    """The place of an entry that `remember` wrote."""

    path: str
    start_line: int
    end_line: int
    redacted: tuple[str, ...] = ()
    near: tuple[Cited, ...] = ()
    warnings: tuple[str, ...] = ()
    run: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file that a sync could not read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The result of a sync: counts of files and of vectors."""

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

    JSON: ClassVar = (
        "added changed moved removed unchanged failed embedded reused pending rebuilt warnings seconds:3"
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated work of a sync: texts to embed, those in the cache, tokens of the others.

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
    weight: str = "own"
    by_default: bool = True

    JSON: ClassVar = "name root globs ignore notes passages weight include_by_default=by_default"


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
    syncing: bool = False
    others: tuple[str, ...] = ()
    long_term: int = 0
    long_term_budget: int = 0


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """A note as a listing shows it, or one conversation of a transcript; `size` is in bytes.

    `number` counts the conversations of a file from 1, 0 for a whole file; `written` is the time of the last
    message in seconds, 0 if unknown.
    """

    path: str
    collection: str
    title: str
    date: str | None
    size: int
    lines: int
    docid: str
    days: tuple[str, ...] = ()
    turns: int = 0
    number: int = 0
    written: float = 0.0

    JSON: ClassVar = "path collection title date size lines docid days turns"

    @property
    def file(self) -> str:
        """The path of its file."""
        return self.path.removesuffix(f"#{self.number}")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Several notes read at once, and those that were not, with reasons; `unfit` lacked room."""

    excerpts: tuple[Excerpt, ...]
    left_out: tuple[FileFailure, ...] = ()
    unfit: frozenset[str] = frozenset()

    JSON: ClassVar = "excerpts left_out"


@dataclass(frozen=True, slots=True)
class Moment(Cites):
    """A passage of a dated note; `is_anchor` for the requested passage, `labels` as those of a hit."""

    path: str
    start_line: int
    end_line: int
    date: str
    headings: tuple[str, ...]
    text: str
    docid: str
    is_anchor: bool = False
    labels: tuple[str, ...] = ()

    JSON: ClassVar = "path start_line end_line date headings labels text docid is_anchor citation"


@dataclass(frozen=True, slots=True)
class Timeline:
    """Passages around an anchor, by date and place."""

    anchor: str
    moments: tuple[Moment, ...]
    stale: int = 0
    warnings: tuple[str, ...] = ()

    JSON: ClassVar = "anchor stale warnings moments"


@dataclass(frozen=True, slots=True)
class UsageDay:
    """Questions, reads and tokens of one day (YYYY-MM-DD, local time); see `Usage`."""

    date: str
    searches: int = 0
    recalls: int = 0
    gets: int = 0
    tokens: int = 0
    all_tokens: int = 0


@dataclass(frozen=True, slots=True)
class NoteUse:
    """How many questions found a note, and how many of those were followed by a `get` of it."""

    path: str
    found: int
    opened: int = 0


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question without hits (secrets and private parts removed): its count, and its last day."""

    question: str
    times: int
    last: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The record of use of a workspace over some days."""

    recording: bool
    store: str
    since: str | None = None
    days: tuple[UsageDay, ...] = ()
    answered: int = 0
    opened: int = 0
    median_ms: float = 0.0
    tokens: int = 0
    all_tokens: int = 0
    most_found: tuple[NoteUse, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    never_found: tuple[NoteInfo, ...] = ()
    late: int = 0
    given: int = 0
    used: int = 0

    JSON: ClassVar = (
        "recording store since days answered opened median_ms tokens all_tokens"
        " most_found unanswered never_found late given used questions"
    )

    @property
    def questions(self) -> int:
        """How many searches and recalls there were."""
        return sum(day.searches + day.recalls for day in self.days)


State = Literal["ok", "warning", "wrong", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one check, `group.name`; `told` and `remedy` are one line each, or empty."""

    check: str
    state: State
    told: str
    remedy: str = ""

    @property
    def group(self) -> str:
        """The group that the check belongs to."""
        return self.check.partition(".")[0]
