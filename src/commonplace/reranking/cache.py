"""Scores by model, question and text, in memory: the least recently used go first.

They are not kept on disk: a score is of one question, and few questions are asked twice by two processes.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

ENTRIES = 20_000  # some 3 MB


class ScoreCache:
    """Scores of one process; safe to share between threads."""

    def __init__(self, entries: int = ENTRIES) -> None:
        """Make an empty one, for so many scores."""
        self._entries = entries
        self._held: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the scores that are known of these keys."""
        with self._lock:
            found = {key: self._held[key] for key in keys if key in self._held}
            for key in found:
                self._held.move_to_end(key)
        return found

    def keep(self, made: Mapping[bytes, float]) -> None:
        """Keep scores; those that were not used for longest make room."""
        with self._lock:
            self._held.update(made)
            for key in made:
                self._held.move_to_end(key)
            while len(self._held) > self._entries:
                self._held.popitem(last=False)

    def clear(self) -> None:
        """Forget all scores."""
        with self._lock:
            self._held.clear()


def key(model: str, question: str, text: str) -> bytes:
    """Return the key of a score: a hash of all that it depends on."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (model, question, text)]
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
