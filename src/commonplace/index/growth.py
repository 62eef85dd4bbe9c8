"""Transcripts that are being written: which ones a search need not read again yet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from commonplace.index.base import Key, Known
from commonplace.notes.scan import FileState

_BLOCK = 1 << 16


# What a transcript must have grown by, in bytes or in lines, or how many seconds rested, to be read again.
Patience = tuple[int, int, float]


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
