"""What differs between the files on disk and the index, and which of it a search need not read yet."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Key, Known
from commonplace.notes.scan import EMPTY, MISSING, Away, FileState, Listing, inode, transcript_name

_BLOCK = 1 << 16
# What a transcript must have grown by, in bytes or in lines, or how many seconds rested, to be read again.
Patience = tuple[int, int, float]
FOLDERS = "folders"  # where the index notes which folder stood at the place of each collection
FORMATS = "formats"  # where the index notes how the transcripts of its collections were read


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


class Kept(NamedTuple):
    """Files that the index knows below a place that cannot be looked at now: they stay as they are."""

    listing: Listing
    away: Away
    states: list[FileState]


def folders(noted: object) -> dict[str, int]:
    """Return the number of each collection's folder, by its path, as the index notes it."""
    with suppress(ValueError, TypeError):
        return dict(json.loads(noted)) if isinstance(noted, str) else {}
    return {}


def kept(
    listings: Iterable[Listing], manifest: Mapping[Key, Known], numbers: Mapping[str, int]
) -> list[Kept]:
    """Return what the index keeps of each place that is away.

    A collection that is missing, and what cannot be read, is returned with nothing kept as well. A single
    note that is gone was deleted, unless its folder is another one than before, by its number. A transcript
    that stands elsewhere in its collection, or under a later name, is not kept.
    """
    found = []
    for listing in listings:
        if not listing.away:
            continue
        source = listing.source
        known = {path: one for (name, path), one in manifest.items() if name == source.name}
        there = {transcript_name(state.path) for state in listing.states() if state.format}
        known = {path: one for path, one in known.items() if transcript_name(path) not in there}
        by_name = {transcript_name(path): path for path in known} if source.format else {}
        for away in listing.away:
            if away.path and not away.path.endswith("/"):  # a file
                earlier = by_name.get(transcript_name(away.path), "")
                paths = [path for path in (away.path, earlier) if path in known][:1]
            else:
                paths = [path for path in known if path.startswith(away.path)]
            if _is_away(listing, away, len(paths), numbers):
                states = [
                    FileState(
                        source.name, path, f"{listing.root}/{path}", *known[path][:2], source.format_of(path)
                    )
                    for path in paths
                ]
                found.append(Kept(listing, away, states))
    return found


def _is_away(listing: Listing, away: Away, known: int, numbers: Mapping[str, int]) -> bool:
    """Whether a place is to be spoken of, of which the index knows so many files."""
    if away.why == EMPTY and known == 1:
        return numbers.get(listing.root) not in (None, inode(listing.root))
    return known > 0 or away.why not in (MISSING, EMPTY) or (away.why == MISSING and not away.path)


def formats(states: Iterable[FileState]) -> str:
    """How the transcripts of each collection are read, as the index notes it; empty where there are none."""
    told = {state.collection: state.format for state in states if state.format}
    if not told:
        return ""
    from commonplace.transcripts.rendering import VERSION  # most workspaces hold no transcript

    return json.dumps({name: f"{VERSION} {told[name]}" for name in sorted(told)})


def reread(manifest: Mapping[Key, Known], states: Iterable[FileState], noted: object) -> list[Key]:
    """Transcripts in the index that are read in another way now than `noted` there."""
    states = [state for state in states if state.format]
    if not states or (now := formats(states)) == noted:
        return []
    after = json.loads(now)
    try:
        before = dict(json.loads(noted)) if isinstance(noted, str) else {}
    except (ValueError, TypeError):  # damaged: all of them are read again
        before = {}
    return [
        state.key
        for state in states
        if state.key in manifest and before.get(state.collection) != after[state.collection]
    ]


# --- transcripts that are being written -----------------------------------------------------------------


def patient(
    states: Iterable[FileState], manifest: Mapping[Key, Known], patience: Patience, now_s: float | None = None
) -> tuple[list[FileState], int]:
    """Show transcripts that have hardly grown as the index knows them; return all files, and how many waited.

    Archives, which are never written to, and what became shorter do not wait.
    """
    now = time.time() if now_s is None else now_s
    found, waiting = [], 0
    for state in states:
        known = manifest.get(state.key) if state.format else None
        if known is not None and _waits(state, known, patience, now):
            state = state._replace(mtime_ns=known.mtime_ns, size=known.size)
            waiting += 1
        found.append(state)
    return found, waiting


def _waits(state: FileState, known: Known, patience: Patience, now: float) -> bool:
    size, messages, idle_s = patience
    grown = state.size - known.size
    if (state.mtime_ns, grown) == (known.mtime_ns, 0) or not state.path.lower().endswith(".jsonl"):
        return False
    if grown < 0 or grown >= size or now - state.mtime_ns / 1e9 >= idle_s:
        return False
    return _lines(state, known.size) < messages


def _lines(state: FileState, start: int) -> int:
    """How many lines ended behind a place of a file; none where it cannot be read, which a sync will tell."""
    found, left = 0, state.size - start
    try:
        with state.open() as file:
            file.seek(start)
            while left > 0 and (data := file.read(min(_BLOCK, left))):
                found += data.count(b"\n")
                left -= len(data)
    except OSError:
        return 0
    return found
