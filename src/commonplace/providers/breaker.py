"""A circuit breaker: a provider that failed is not asked for a while, in this process.

A permanent failure (wrong key, unknown model, quota used up) opens the breaker at once, longer each time;
other failures open it briefly after a few in a row (M. Nygard, Release It!).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.base import fork
from commonplace.base.errors import ProviderError
from commonplace.base.tuples import NamedTuple

COOL_OFF_S, COOL_OFF_MAX_S = 15 * 60.0, 24 * 3600.0  # after permanent failures, doubled each time
PASSING_S = 30.0
PASSING_FAILURES = 3  # in a row
_ODD_REQUEST = frozenset({400, 422})  # may be about one request: several in a row say something of the model


class Opened(NamedTuple):
    """A provider that is not asked until a time (seconds since 1970), and the failure that caused it."""

    name: str
    until_s: float
    reason: str
    permanent: bool

    def __str__(self) -> str:
        until = time.strftime("%H:%M", time.localtime(self.until_s))
        return f"{self.name.partition('#')[0]} is left alone until {until} ({self.reason})"


@dataclass(slots=True)
class _State:
    permanent: int = 0
    passing: int = 0
    until_s: float = 0.0
    reason: str = ""


class Breaker:
    """The failures of all providers by name (`name_of`); safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Start without failures; `clock` returns seconds since 1970."""
        self._clock = clock
        self._states: dict[str, _State] = {}
        self._lock = fork.renewed(threading.RLock())

    def check(self, name: str) -> None:
        """Raise ProviderError if the provider is not to be asked now."""
        if opened := self.find(name):
            message = f"left alone after a failure ({opened.reason})"
            wait_s = opened.until_s - self._clock()
            raise ProviderError(name.partition("#")[0], message, wait_s, permanent=opened.permanent)

    def failed(self, name: str, error: ProviderError) -> None:
        """Count a failure, which may open the breaker; ignore one of a call while it is open."""
        with self._lock:
            if self.find(name) is not None:
                return
            state = self._states.setdefault(name, _State())
            state.reason, pause = str(error), PASSING_S
            if error.permanent and error.status not in _ODD_REQUEST:
                state.permanent += 1
                pause = COOL_OFF_S * 2 ** min(state.permanent - 1, 16)
            else:
                state.passing += 1
                if state.passing < PASSING_FAILURES or state.permanent:
                    return
            state.until_s = self._clock() + min(COOL_OFF_MAX_S, max(error.retry_after_s or 0.0, pause))

    def succeeded(self, name: str) -> None:
        """Forget the failures of a provider."""
        with self._lock:
            self._states.pop(name, None)

    def opened(self) -> list[Opened]:
        """Return the providers that are not asked now, by name."""
        with self._lock:
            rows, now = sorted(self._states.items()), self._clock()
        return [Opened(name, s.until_s, s.reason, bool(s.permanent)) for name, s in rows if s.until_s > now]

    def find(self, name: str) -> Opened | None:
        """Return a provider if it is not asked now."""
        return next((opened for opened in self.opened() if opened.name == name), None)

    def reset(self) -> None:
        """Forget all failures."""
        with self._lock:
            self._states.clear()


SHARED = Breaker()  # of this process


def name_of(provider: str, model: str, address: str, key: str = "") -> str:
    """Return the name under which a model's failures are counted: a new model, address or key starts anew.

    Only a few digits of a hash of the key are in it.
    """
    digest = hashlib.blake2b(f"{address}\n{key}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{provider}/{model}#{digest}" if model else f"{provider}#{digest}"
