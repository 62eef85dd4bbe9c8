"""Differences between the files on disk and the index, and transcripts that may wait."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping

from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Key, Known
from commonplace.notes.scan import EMPTY, MISSING, Away, FileState, Listing, transcript_name

GROWN_BYTES, RESTED_S = 50_000, 600.0  # from either on, a search reads a transcript again
FORMATS = "formats"  # where the index notes how the transcripts of its collections were read


class Difference(NamedTuple):
    """Files on disk against the index: never seen, to be compared by hash, and gone.

    `racy` of those to be compared were written in the moment they were indexed, most likely before.
    """

    fresh: list[FileState]
    suspect: list[FileState]
    gone: list[Key]
    unchanged: int = 0
    racy: int = 0

    @property
    def stale(self) -> int:
        """How many files the index is most likely wrong about."""
        return len(self.fresh) + len(self.suspect) + len(self.gone) - self.racy


def compare(states: Iterable[FileState], manifest: Mapping[Key, Known]) -> Difference:
    """Compare files by size and time of change."""
    fresh: list[FileState] = []
    suspect: list[FileState] = []
    seen: set[Key] = set()
    racy = 0
    for state in states:
        known = manifest.get(state.key)
        seen.add(state.key)
        if known is None:
            fresh.append(state)
        elif known.mtime_ns != state.mtime_ns or known.size != state.size:
            suspect.append(state)
            racy += not known.mtime_ns and known.size == state.size
    unchanged = len(seen) - len(fresh) - len(suspect)
    gone = [] if len(seen) - len(fresh) == len(manifest) else [k for k in manifest if k not in seen]
    return Difference(fresh, suspect, gone, unchanged, racy)


class Kept(NamedTuple):
    """Files that the index knows below a place that cannot be looked at now: they stay as they are."""

    listing: Listing
    away: Away
    states: list[FileState]


def kept(listings: Iterable[Listing], manifest: Mapping[Key, Known]) -> list[Kept]:
    """Return the files that the index keeps of each place that is away.

    A missing collection and an unreadable place are returned even without kept files. A single
    note that is gone was deleted. A transcript that stands elsewhere in its collection, or under a later
    name, is not kept.
    """
    found = []
    for listing in listings:
        if not listing.away:
            continue
        source = listing.source
        there = {transcript_name(state.path) for state in listing.states() if state.format}
        known = {
            path: one for (name, path), one in manifest.items()
            if name == source.name and transcript_name(path) not in there
        }  # fmt: skip
        for away in listing.away:
            if away.path and not away.path.endswith("/"):  # a file, maybe under an earlier name
                wanted = transcript_name(away.path) if source.format else None
                paths = [p for p in known if p == away.path or transcript_name(p) == wanted][:1]
            else:
                paths = [path for path in known if path.startswith(away.path)]
            is_deleted = away.why == EMPTY and len(paths) == 1
            may_be = away.why not in (MISSING, EMPTY) or (away.why == MISSING and not away.path)
            if (paths and not is_deleted) or may_be:
                files = []
                for path in paths:
                    place, marks = f"{listing.root}/{path}", known[path][:2]
                    files.append(FileState(source.name, path, place, *marks, source.format_of(path)))
                found.append(Kept(listing, away, files))
    return found


def formats(states: Iterable[FileState]) -> str:
    """Return how the transcripts of each collection are read, as JSON; empty without transcripts."""
    told = {state.collection: state.format for state in states if state.format}
    if not told:
        return ""
    from commonplace.transcripts.rendering import VERSION  # most workspaces hold no transcript

    return json.dumps({name: f"{VERSION} {told[name]}" for name in sorted(told)})


def reread(manifest: Mapping[Key, Known], states: Iterable[FileState], noted: object) -> list[Key]:
    """Return the transcripts in the index that are read in another way now than `noted` there."""
    states = [state for state in states if state.format]
    if not states or (now := formats(states)) == noted:
        return []
    before, after = json.loads(str(noted or "{}")), json.loads(now)
    changed = {name for name in after if before.get(name) != after[name]}
    return [state.key for state in states if state.key in manifest and state.collection in changed]


# --- transcripts that are being written -----------------------------------------------------------------


def patient(
    states: Iterable[FileState], manifest: Mapping[Key, Known], now_s: float | None = None
) -> tuple[list[FileState], int]:
    """Show transcripts that have hardly grown as the index knows them; return all files, and how many waited.

    Archives, which are never written to, and what became shorter do not wait.
    """
    now = time.time() if now_s is None else now_s
    found, waiting = [], 0
    for state in states:
        known = manifest.get(state.key) if state.format else None
        if known is not None and (state.mtime_ns, state.size) != known[:2] and _waits(state, known, now):
            state = state._replace(mtime_ns=known.mtime_ns, size=known.size)
            waiting += 1
        found.append(state)
    return found, waiting


def _waits(state: FileState, known: Known, now: float) -> bool:
    is_fresh = now - state.mtime_ns / 1e9 < RESTED_S
    return is_fresh and state.path.lower().endswith(".jsonl") and 0 <= state.size - known.size < GROWN_BYTES
