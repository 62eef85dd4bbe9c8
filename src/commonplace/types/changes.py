"""What is written into notes, by whom, and what changes or removes it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from commonplace.types.data import cite

if TYPE_CHECKING:
    from commonplace.types.notes import Cited

Writer = Literal["owner", "agent", "tool", "untrusted"]
UNNAMED: Writer = "agent"  # what an agent is called that does not say its name
# What says who somebody is, and not which agent.
NO_AGENT = frozenset("owner agent tool untrusted user you me 你 您 我 本人 主人 所有者 用户".split())


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who wrote an entry, as which agent, in which session, and when (ISO 8601, to the second)."""

    by: Writer
    agent: str = ""
    session: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be appended to the note of a day, redacted already; `at` says which day and what time.

    With `long_term` it goes into MEMORY.md, below the section `heading`; `tentative` marks it as a guess.
    """

    text: str
    at: datetime
    heading: str = ""
    provenance: Provenance | None = None
    long_term: bool = False
    tentative: bool = False


RunKind = Literal[
    "consolidate", "rollup", "correct", "confirm", "forget", "import", "write", "remember", "undo"
]
RunState = Literal["begun", "done", "partial"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it was read and as it is to be; None stands for no file.

    `path` is posix, relative to the workspace. `mode` are the permissions that a file gets which was none
    before; 0 stands for those of its owner alone.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0


@dataclass(frozen=True, slots=True)
class About:
    """What a run is and whose: `title` names it in one line, `why` gives its reason.

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
    """One generated change, as it is kept: `id` sorts by time, `at` is ISO 8601 to the second.

    `kept` says whether the bytes before and after are kept, so that it can be shown and undone; `undone` is
    the run that took it back, `commit` that of git, both empty where there is none; `uncommitted` says why
    git was to keep it and did not.
    """

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
    """What a correction did; citations are those of the notes as they are after it.

    `run` is empty where nothing was written yet (`dry_run`). `struck` are the statements that were struck,
    `written` is where the new one stands, empty for none; `similar` say nearly the same and still stand.
    `redacted` are the kinds of secrets that the new one lost, `diff` is what changed as it may be shown.
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
    "notes", "links", "transcripts", "spool", "history", "usage", "answers", "vectors", "index", "marks",
    "logs", "leftovers", "foreign", "requests", "copies",
]  # fmt: skip


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

    @property
    def citation(self) -> str:
        """Where it stands, as hits cite it."""
        if not self.start_line:
            return self.path
        return cite(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo takes back (`dry_run`), or has taken back.

    `runs` are the changes that are to be taken back, or, where it is done, those that took them back. `diff`
    is what that changes, as it may be shown. `withdrawn` names the collections and contexts of an import that
    went with it, by kind and name; `lacking` counts those that doing an import again does not bring back.
    `skipped` are newer changes that cannot be undone, with the reason. `basis` is what `Memory.undo` reads of
    a preview that it is given.
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
    kind: Literal["", "backups", "batches", "collection", "git", "providers", "staged"] = ""


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

    JSON: ClassVar = "dry_run complete run=run_id places unreachable left"

    @property
    def run_id(self) -> str | None:
        """The id of that entry."""
        return self.run.id if self.run else None

    @property
    def complete(self) -> bool:
        """Whether nothing is still found where it could be removed."""
        return not self.left
