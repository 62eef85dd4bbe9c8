"""Providers that failed, left alone for a while: stored, so that every process of a user knows.

A failure that will not mend itself (a wrong key, an unknown model, a quota used up) opens the breaker at
once, longer each time; passing ones open it briefly after a few in a row. When the time is over one call is
let through, claimed by the first process that asks; the others wait for its end (M. Nygard, Release It!).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from commonplace.base import atomic, paths
from commonplace.base.errors import CommonplaceError, ProviderError
from commonplace.base.tuples import NamedTuple

COOL_OFF_S, COOL_OFF_MAX_S = 15 * 60.0, 24 * 3600.0  # for good reasons, doubled each time
PASSING_S = 30.0  # for passing ones
PASSING_FAILURES = 3  # in a row
CLAIM_S = 300.0  # a trial call whose process died is forgotten after this
_REASON_CHARACTERS = 300
_LARGEST = 1e12  # seconds since 1970, some 30,000 years
_MOST_BYTES = 10_000_000  # of the file


class Opened(NamedTuple):
    """A provider that is left alone: until when (seconds since 1970), why, and whether for good."""

    name: str
    until_s: float
    reason: str
    permanent: bool
    failures: int

    def __str__(self) -> str:
        until = time.strftime("%H:%M", time.localtime(self.until_s))
        return f"{self.name.partition('#')[0]} is left alone until {until} ({self.reason})"


class Breaker:
    """The stored state of all providers of a user; every change is one locked replacement of a small file."""

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        """Bind to a file, by default the user's; it is made at the first failure.

        `clock` tells seconds since 1970.
        """
        self.path = path or paths.user_cache_dir() / "providers.json"
        self._clock = clock

    def check(self, name: str) -> None:
        """Pass if a call may be made now, which may claim the one trial call. Raises ProviderError."""
        if name not in self._read():
            return
        refused: list[Opened] = []

        def claim(states: dict[str, dict[str, Any]]) -> None:
            state, now = states.get(name), self._clock()
            if state is None or not state.get("until_s"):
                return
            if now < state["until_s"] or now < state.get("claimed_s", 0.0) + CLAIM_S:
                refused.append(_opened(name, state))
            else:
                state["claimed_s"] = now

        self._change(claim)
        if refused:
            wait_s = max(0.0, refused[0].until_s - self._clock())
            message = f"left alone after a failure ({refused[0].reason})"
            provider = name.partition("#")[0]
            raise ProviderError(provider, message, wait_s or None, permanent=refused[0].permanent)

    def failed(self, name: str, error: ProviderError) -> None:
        """Note a failure."""

        def note(states: dict[str, dict[str, Any]]) -> None:
            state = states.setdefault(name, {})
            kind = "permanent" if error.permanent else "passing"
            count = state[kind] = int(state.get(kind, 0)) + 1
            state["reason"] = str(error)[:_REASON_CHARACTERS]
            state.pop("claimed_s", None)
            pause = PASSING_S
            if error.permanent:
                pause = COOL_OFF_S * 2 ** min(count - 1, 16)
                state["for_good"] = True
            elif count < PASSING_FAILURES or state.get("for_good"):
                return
            state["until_s"] = self._clock() + min(COOL_OFF_MAX_S, max(error.retry_after_s or 0.0, pause))

        self._change(note)

    def succeeded(self, name: str) -> None:
        """Forget the failures of a provider."""
        if name in self._read():
            self._change(lambda states: states.pop(name, None))

    def unclaimed(self, name: str) -> None:
        """Give back the one trial call: it was not made, or its end is not known."""
        if "claimed_s" in self._read().get(name, {}):
            self._change(lambda states: states.get(name, {}).pop("claimed_s", None))

    def opened(self) -> list[Opened]:
        """Return the providers that are left alone now, for people to read."""
        now = self._clock()
        states = sorted(self._read().items())
        return [_opened(name, state) for name, state in states if state.get("until_s", 0.0) > now]

    def find(self, name: str) -> Opened | None:
        """Return a provider if it is left alone now."""
        return next((state for state in self.opened() if state.name == name), None)

    def reset(self) -> None:
        """Forget all failures."""
        self._change(lambda states: states.clear())

    def _read(self) -> dict[str, dict[str, Any]]:
        """Read the file; a file that is missing, damaged or of another shape holds no failures."""
        try:
            loaded = json.loads(paths.root_of(self.path).read(self.path, limit=_MOST_BYTES) or b"{}")
        except (OSError, ValueError, RecursionError):
            return {}
        states = loaded.items() if isinstance(loaded, dict) else ()
        return {name: state for name, state in states if isinstance(state, dict) and _sound(state)}

    def _change(self, change: Callable[[dict[str, dict[str, Any]]], object]) -> None:
        """Change the file under its lock; where it cannot be written, nothing is remembered."""
        root = paths.root_of(self.path)
        try:
            root.make_folder(self.path.parent)
            with atomic.locked(self.path.with_suffix(".lock")):
                states = self._read()
                change(states)
                data = json.dumps(states, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
                root.exchange(self.path, data, alone=True)
        except (OSError, CommonplaceError):
            change(self._read())


class Insisting(Breaker):
    """A breaker for calls that a person asks for: each is let through, and the breaker hears how it ends.

    A provider that fails again while it is left alone is not left alone longer.
    """

    def check(self, name: str) -> None:
        """Let a call through, whatever happened before."""

    def failed(self, name: str, error: ProviderError) -> None:
        """Note a failure, unless the provider is left alone already."""
        if self.find(name) is None:
            super().failed(name, error)


def name_of(provider: str, model: str, base_url: str, key: str) -> str:
    """Return the name under which a provider's failures are noted: a new model, address or key begins anew.

    The key takes part by a few digits of its hash alone.
    """
    digest = hashlib.blake2b(f"{base_url}\n{key}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{provider}/{model}#{digest}" if model else f"{provider}#{digest}"


def _opened(name: str, state: Mapping[str, Any]) -> Opened:
    failures = int(state.get("permanent", 0)) + int(state.get("passing", 0))
    reason = str(state.get("reason", ""))
    return Opened(name, float(state["until_s"]), reason, bool(state.get("for_good")), failures)


def _sound(state: Mapping[str, Any]) -> bool:
    numbers = (state.get(name, 0) for name in ("until_s", "claimed_s", "permanent", "passing"))
    return all(isinstance(value, int | float) and 0 <= value < _LARGEST for value in numbers)
