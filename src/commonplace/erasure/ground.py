"""Where things are forgotten: one workspace with its files, its index and what the user's caches hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace import paths
from commonplace.config.settings import Settings
from commonplace.history import applying
from commonplace.notes.scan import Source

if TYPE_CHECKING:
    from commonplace.erasure.composing import Shift
    from commonplace.index.store import Store


class Ground(NamedTuple):
    """A workspace: its sources, what opens its index by a connection of its own, where its usage is noted.

    `shift` moves references with their lines (`revision.references.shifted`).
    """

    workspace: paths.Workspace
    settings: Settings
    sources: Sequence[Source]
    index: Path  # type: ignore[assignment]  # hides a method of tuples that nobody misses
    open_store: Callable[[], Store]
    usage: Path
    shift: Shift

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file of the workspace, None for none. Raises OutsideRoots, NoteUnreadable."""
        return applying.read(self.workspace, path)

    def shown(self, path: Path) -> str:
        """A file as it is named to people: relative to the workspace where it lies in it."""
        try:
            return path.relative_to(self.workspace.root).as_posix()
        except ValueError:
            return paths.shown(path)

    @property
    def lock(self) -> Path:
        """The lock that every writer of notes takes."""
        return paths.lock_file(self.workspace, "notes")

    @property
    def indexes(self) -> list[Path]:
        """The index, and the one in the user's cache that served while nothing could be written here."""
        return [self.index, paths.fallback_index(self.workspace.root)]
