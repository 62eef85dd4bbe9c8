"""Generated changes of notes: what they change, who made them, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RunKind = Literal["consolidate", "rollup", "correct", "confirm", "forget", "write", "undo"]
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
