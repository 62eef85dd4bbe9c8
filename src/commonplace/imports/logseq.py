"""Logseq: a graph, a folder with `logseq/config.edn` in it, becomes a collection and stays where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commonplace.base.errors import NoteUnreadable
from commonplace.types.imports import Folder, Part

KIND = "logseq"


def recognises(path: Path) -> bool:
    """Return True if a folder is a graph."""
    return (path / "logseq" / "config.edn").is_file()


def read(path: Path) -> Iterator[Part]:
    """Yield the graph as a folder. Raises NoteUnreadable if it is not a graph."""
    if not recognises(path):
        raise NoteUnreadable(str(path), "is no graph: it holds no logseq/config.edn")
    yield Folder(path.resolve().name or KIND, str(path), ("**/*.md",), ("logseq/**",), weight="own")
