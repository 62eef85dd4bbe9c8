"""What differs between the files on disk and the index, by size and time of change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from commonplace.chunking.settings import ChunkSettings
from commonplace.index import lexicon, schema
from commonplace.index.sqlite import Key, Known
from commonplace.notes.scan import FileState


class Difference(NamedTuple):
    """Files on disk against the index: never seen, to be compared by hash, and gone."""

    fresh: list[FileState]
    suspect: list[FileState]
    gone: list[Key]
    unchanged: int = 0

    @property
    def stale(self) -> int:
        """How many files the index may be wrong about."""
        return len(self.fresh) + len(self.suspect) + len(self.gone)


def identity(chunk: ChunkSettings) -> dict[str, str]:
    """What the content of an index depends on, besides the notes; any difference means a rebuild."""
    return {
        "schema": schema.VERSION,
        "tokenizer": f"{lexicon.VERSION}:{lexicon.TOKENIZER}",
        "chunking": chunk.fingerprint,
    }


def compare(states: Iterable[FileState], manifest: Mapping[Key, Known]) -> Difference:
    """Compare files by size and time of change."""
    fresh: list[FileState] = []
    suspect: list[FileState] = []
    seen: set[Key] = set()
    for state in states:
        known = manifest.get(state.key)
        seen.add(state.key)
        if known is None:
            fresh.append(state)
        elif known.mtime_ns != state.mtime_ns or known.size != state.size:
            suspect.append(state)
    unchanged = len(seen) - len(fresh) - len(suspect)
    gone = [] if len(seen) - len(fresh) == len(manifest) else [k for k in manifest if k not in seen]
    return Difference(fresh, suspect, gone, unchanged)
