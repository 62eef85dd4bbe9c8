"""Entries, their writers, and the changes and erasures of notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from commonplace.types.data import Cites

if TYPE_CHECKING:
    from commonplace.types.notes import Cited

Writer = Literal["owner", "agent", "tool", "untrusted"]
UNNAMED: Writer = "agent"  # what an agent is called that does not say its name
# Names of kinds of writers, which no agent may use as its name.
NO_AGENT = frozenset("owner agent tool untrusted user you me 你 您 我 本人 主人 所有者 用户".split())


@dataclass(frozen=True, slots=True)
class Provenance:
    """The writer of an entry: kind, name of the agent, session, and time (ISO 8601, to the second)."""

    by: Writer
    agent: str = ""
    session: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """Redacted text for the note of a day, or with `long_term` for MEMORY.md."""

    text: str
    at: datetime
    heading: str = ""
    provenance: Provenance | None = None
    long_term: bool = False
    tentative: bool = False


RunKind = Literal[
    "consolidate", "rollup", "correct", "confirm", "forget", "import", "write", "remember", "undo", "merge"
]
RunState = Literal["begun", "done", "partial"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it was read and as it is to be; None stands for no file.

    `path` is posix, relative to the workspace. `mode` are the permissions of a new
    file; 0: for its owner alone.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0


@dataclass(frozen=True, slots=True)
class About:
    """The kind and the author of a run: `title` is one line, `why` its reason.

    `title` is also the subject of a commit: "commonplace: TITLE". `undoes` is the run that it takes back.
    """

    kind: RunKind
    title: str
    why: str = ""
    by: str = "owner"
    agent: str = ""
    session: str = ""
    undoes: str = ""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a run changed: SHA-256 of its bytes before and after, empty for no file.

    `left` says why it was not changed after all, where somebody else had changed it when a run that was
    killed was carried on; `added` and `removed` count lines. `mode` are its permissions, as it was before or
    was made; 0 where they are not known.
    """

    path: str
    before: str
    after: str
    left: str = ""
    added: int = 0
    removed: int = 0
    mode: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One generated change, as it is kept; `id` sorts by time, `at` is ISO 8601 to the second."""

    id: str
    about: About
    at: str
    files: tuple[ChangedFile, ...]
    state: RunState = "begun"
    kept: bool = True
    undone: str = ""
    commit: str = ""
    uncommitted: str = ""


@dataclass(frozen=True, slots=True)
class Corrected:
    """The result of a correction, or with `dry_run` its preview; citations are valid for the notes after it.

    `said` is how each struck statement begins, `digest` tells what changed from everything else.
    """

    run: str
    struck: tuple[str, ...]
    written: str = ""
    similar: tuple[Cited, ...] = ()
    redacted: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    diff: str = ""
    said: tuple[str, ...] = ()
    digest: str = ""

    JSON: ClassVar = "run struck written similar redacted warnings diff"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Tentative statements that hold from now on, or were struck as rejected; see `Corrected`."""

    run: str
    statements: tuple[str, ...]
    rejected: bool = False
    diff: str = ""
    said: tuple[str, ...] = ()
    digest: str = ""

    JSON: ClassVar = "run statements rejected diff"


SelectionKind = Literal["note", "lines", "text", "person", "session"]
Where = Literal[
    "notes", "transcripts", "spool", "history", "usage", "answers", "vectors", "index", "marks",
    "logs", "leftovers", "requests", "copies",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """One thing to forget.

    `value` is a path or `#docid` (note), `path#L3-L9` or `path:3` (lines), words (text), a name (person, with
    further names in `also`), an id (session). `lines` are the lines of a note as they were seen, without
    their ends: where the note has changed since, these are searched.
    """

    kind: SelectionKind
    value: str
    also: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Erased(Cites):
    """One erased place: its store, file, lines (0: the whole file, or a store without lines) and text.

    Of its words private parts are blank and secrets redacted, as where notes are read. `rest` is what is left
    of a line that loses words alone, empty where lines go whole.
    Of a link among notes `text` is the file that it leads to. In stores that are not read line by line
    `count` says how many records of them it is, and `text` is empty.
    """

    where: Where
    path: str
    start_line: int = 0
    end_line: int = 0
    text: str = ""
    count: int = 1
    rest: str = ""

    JSON: ClassVar = "where path start_line end_line text rest count citation"


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo, or with `dry_run` its preview.

    `basis` is what `Memory.undo` reads of a preview that it is given.
    """

    runs: tuple[Run, ...]
    diff: str
    dry_run: bool = False
    withdrawn: tuple[tuple[str, str], ...] = ()
    lacking: int = 0
    skipped: tuple[str, ...] = ()
    basis: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    JSON: ClassVar = "dry_run runs diff withdrawn lacking skipped"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A copy that is not ours to remove, or cannot be looked into from here, and what the owner may do.

    `kind` says what sort of copy it is, where that is a common one.
    """

    what: str
    remedy: str
    kind: Literal["", "backups", "batches", "collection", "git", "providers"] = ""


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
    """The result of a forgetting, or with `dry_run` its preview: erased, unreachable and remaining places.

    `run` is its entry in the record of generated changes, None where no note changed. `basis` is what
    `Memory.forget` reads of a preview that it is given: exactly what was shown, as JSON. It holds the words.
    """

    places: tuple[Erased, ...]
    unreachable: tuple[Unreachable, ...] = ()
    left: tuple[Trace, ...] = ()
    run: Run | None = None
    dry_run: bool = False
    basis: bytes = field(default=b"", repr=False)

    JSON: ClassVar = "dry_run complete run=run_id places unreachable left"

    @property
    def run_id(self) -> str | None:
        """The id of that entry."""
        return self.run.id if self.run else None

    @property
    def complete(self) -> bool:
        """Tell whether no trace remains in places that can be erased."""
        return not self.left
