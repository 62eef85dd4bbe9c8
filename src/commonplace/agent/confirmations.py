"""What may be confirmed: a code for each preview of something that cannot be taken back."""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types.changes import Erasure

LASTS_S = 600.0  # long enough to read a preview and to be asked; a conversation later it is asked anew
MOST = 32  # previews that wait at once; the oldest goes
_BYTES = 9  # of chance in a code, so that none is guessed


class _Offer(NamedTuple):
    """A preview: what it is of, the words it was shown in, itself, and until when it may be confirmed."""

    request: str
    text: str
    preview: Erasure
    until: float


class Confirmations:
    """The previews of one memory that wait for a yes; each may be confirmed once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._offers: dict[str, _Offer] = {}
        self._lock = threading.Lock()

    def offer(self, request: str, text: str, preview: Erasure) -> str:
        """Return a new code for a preview; `request` tells what was asked for from all else."""
        code = secrets.token_urlsafe(_BYTES)
        with self._lock:
            offers = self._valid()
            while len(offers) >= MOST:
                del offers[next(iter(offers))]
            offers[code] = _Offer(request, text, preview, time.monotonic() + LASTS_S)
        return code

    def shown(self, code: str) -> str:
        """Return the preview that a code stands for, as it was shown; empty for a code that is none."""
        with self._lock:
            offer = self._valid().get(code)
        return offer.text if offer else ""

    def redeem(self, code: str, request: str) -> Erasure | None:
        """Return the preview of a code; it is used up, also where it was given for something else."""
        with self._lock:
            offer = self._valid().pop(code, None)
        return offer.preview if offer and secrets.compare_digest(offer.request, request) else None

    def _valid(self) -> dict[str, _Offer]:
        """The offers, under the lock, without those whose time is over."""
        now = time.monotonic()
        self._offers = {code: offer for code, offer in self._offers.items() if offer.until > now}
        return self._offers


_OF: weakref.WeakKeyDictionary[Memory, Confirmations] = weakref.WeakKeyDictionary()
_OPENING = threading.Lock()


def of(memory: Memory) -> Confirmations:
    """Return what waits for a yes in a memory; it ends with the process, and nothing of it is written."""
    with _OPENING:
        return _OF.setdefault(memory, Confirmations())
