"""Stores: whatever keeps words of notes, questions or conversations, and forgets them itself.

Each is a function `sweep(site, targets, *, change)` in the package that writes its files: it returns the
places of targets, and removes them to `change`. `edit.forget.stores` lists them all. Raises NoteUnreadable.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from commonplace.base import paths
from commonplace.base.tuples import NamedTuple


class Known(NamedTuple):
    """A note that was changed: SHA-256 of its bytes before and after."""

    path: str
    before: str
    after: str


class Targets(Protocol):
    """The targets of a forgetting for a store; implemented by `edit.forget.targets.Targets`."""

    @property
    def notes(self) -> Sequence[str]:
        """The paths of notes that go whole."""

    @property
    def sessions(self) -> Sequence[str]:
        """The ids of sessions that go whole."""

    @property
    def session_names(self) -> Set[str]:
        """The same ids, with the forms that comments of notes have."""

    @property
    def known(self) -> Sequence[Known]:
        """The notes that are changed."""

    def matches(self, text: str) -> bool:
        """Tell whether a text has a target, also in the escapes of JSON."""

    def takes_whole(self, text: str) -> bool:
        """Tell whether a text mentions a target that takes whole statements with it, such as a person."""

    def owns(self, path: str) -> bool:
        """Tell whether a note goes whole, by its name or by request."""

    def cut(self, text: str) -> str:
        """Return a text without the words that are cut out."""

    def mask(self, text: str) -> str:
        """Return a text with a mark in the place of all of it."""

    def clean(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON value with marks in the texts that hold any of it."""

    def edit(self, path: str, data: bytes) -> bytes | None:
        """Return the bytes of a note without it; None where no note is left."""


@dataclass(frozen=True, slots=True)
class Site:
    """The workspace whose stores forget; its index and its record of use may lie outside of it."""

    workspace: paths.Workspace
    index: Path
    usage: Path

    def shown(self, path: Path) -> str:
        """Return a path as people read it: below the workspace, its state or its index (`status --paths`)."""
        named = (("", self.workspace.root), ("STATE/", self.workspace.state), ("INDEX/", self.index.parent))
        for name, folder in named:
            if (inner := str(path).removeprefix(f"{folder}/")) != str(path):
                return name + inner
        return paths.shown(path)
