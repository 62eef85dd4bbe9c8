"""The contents of another memory, as its reader yields them, and the result of their import."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from commonplace.types.changes import Writer
from commonplace.types.reports import FileFailure

# of a file: `new`, `changed`; `same` as before; `edited` here since, and another at the source by now;
# `gone` from here since, and another at the source; `taken` by a note that no import wrote
Outcome = Literal["new", "changed", "same", "edited", "gone", "taken"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that another memory knows, which goes to the note of its day.

    `origin` names it at its source, the same at every import. Without a moment it goes to a note of its kind.
    """

    origin: str
    text: str
    at: datetime | None = None
    heading: str = ""
    session: str = ""
    by: Writer = "agent"
    by_agent: str = ""  # whose words they are; otherwise those of the memory that is imported


@dataclass(frozen=True, slots=True)
class Page:
    """A note of another memory, taken whole: its bytes, and the path that it gets in the workspace.

    `origin` names it at its source, as of a `Fact`; `place` is where it lies. `instead` is its path where a
    note of the owner's has the first one already. `is_curated` says that it is long-term memory or about the
    user: it gets no front matter, and may replace a note that holds a bare title. `is_own` says that the
    owner exported it from a memory of this program: it is written as it is.
    """

    origin: str
    path: str
    data: bytes
    instead: str
    place: str
    is_curated: bool = False
    day: str = ""  # of the note, where neither its name nor its front matter says one
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder whose files stay where they lie and are searched as a collection; `format` of transcripts."""

    name: str
    path: str
    globs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: str = ""
    by_default: bool = True
    weight: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a folder, shown with hits: `folder` as in `Folder`; empty for all."""

    folder: str
    prefix: str
    text: str


Part = Fact | Page | Folder | Description | FileFailure | str  # a text: about content that is not imported


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A note of the workspace that an import wrote, or would write.

    `added`, `updated` and `removed` count entries, `differs` those that are others at the source by now and
    were left.
    """

    path: str
    outcome: Outcome
    added: int = 0
    updated: int = 0
    differs: int = 0
    removed: int = 0

    JSON: ClassVar = "path outcome added updated removed differs"


@dataclass(frozen=True, slots=True)
class ImportedSetting:
    """A collection or a context: `name` is the collection's name or the context's prefix."""

    kind: Literal["collection", "context"]
    name: str
    value: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Import:
    """The result of an import, or with `dry_run` its preview.

    `run` is its entry in the record of generated changes, empty where no note changed. `left_out` names what
    could not be read, with the reason; `redacted` are kinds of secrets; `diff` is what changed, where it was
    asked for.
    """

    source: str
    files: tuple[ImportedFile, ...] = ()
    settings: tuple[ImportedSetting, ...] = ()
    left_out: tuple[FileFailure, ...] = ()
    remarks: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    run: str = ""
    dry_run: bool = False
    diff: str = ""

    JSON: ClassVar = "source dry_run run files settings left_out remarks redacted diff"

    @property
    def is_empty(self) -> bool:
        """Tell whether the source had no readable content."""
        return not (self.files or self.settings)
