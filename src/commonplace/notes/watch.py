"""Watch notes for changes: native file events, else polling, and an interval as safety net.

A watcher saves work, it is never trusted: a search compares the files itself.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base.paths import DERIVED_FOLDER

if TYPE_CHECKING:
    from watchfiles import Change

OnChange = Callable[[frozenset[str]], None]
OnState = Callable[[str], None]
Identity = tuple[int, int]

_TICK_S = 2.0  # how often folders that vanish or come back are noticed
_LONGEST_BURST = 4  # pauses after which changes are reported although more keep coming
_SKIPPED = (f"{os.sep}{DERIVED_FOLDER}{os.sep}", f"{os.sep}.git{os.sep}")


def watch(
    roots: Sequence[Path],
    on_change: OnChange,
    *,
    stop: threading.Event,
    debounce_s: float = 1.5,
    interval_s: float = 300.0,
    on_state: OnState = lambda state: None,
) -> None:
    """Call `on_change` with the changed paths, once they are quiet for `debounce_s`, until `stop` is set.

    At least every `interval_s` seconds, call it with an empty set: no events arrive for changes that another
    machine makes on a network disk, unless WATCHFILES_FORCE_POLLING is set. `on_state` gets a sentence for
    every fallback, missing folder and error; only `stop` and Ctrl-C end the watch.
    """
    watcher = _Watcher(roots, on_change, on_state, interval_s)
    is_polling = False
    while not stop.is_set():
        present = watcher.look()
        try:
            if present:
                watcher.follow(present, stop, debounce_s, is_polling=is_polling)
                continue
        except Exception as error:  # noqa: BLE001 - whatever the native watcher does, notes must be looked at
            how = f"looking every {interval_s:g} s" if is_polling else "polling"
            watcher.say(f"file events stopped ({_line(error)}); {how} instead")
            if not is_polling:
                is_polling = True
                continue
        stop.wait(watcher.tick_s)
        watcher.tick()


class _Watcher:
    """The watched folders, the callbacks, and the time of the last call."""

    def __init__(
        self, roots: Sequence[Path], on_change: OnChange, on_state: OnState, interval_s: float
    ) -> None:
        self._roots, self._on_change, self._on_state = roots, on_change, on_state
        self._interval_s, self.tick_s = interval_s, min(_TICK_S, interval_s)
        self._told_at = time.monotonic()
        self._said: set[str] = set()
        self._seen: Mapping[Path, Identity] | None = None

    def follow(
        self, present: Mapping[Path, Identity], stop: threading.Event, debounce_s: float, *, is_polling: bool
    ) -> None:
        """Report changes below folders, until one of them vanishes, is back or replaced, or `stop` is set."""
        from watchfiles import watch as events

        self._told_at = float("-inf")  # look once more: a change before the events began has none
        pause_ms = max(1, int(debounce_s * 1000))
        for changes in events(
            *present,
            watch_filter=_is_note,
            step=pause_ms,
            debounce=pause_ms * _LONGEST_BURST,
            stop_event=stop,
            rust_timeout=int(self.tick_s * 1000),
            yield_on_timeout=True,
            force_polling=True if is_polling else None,  # None: as WATCHFILES_FORCE_POLLING says
            poll_delay_ms=max(300, pause_ms),
            ignore_permission_denied=True,
        ):
            if changes:
                self._tell(path for _, path in changes)
            self.tick()
            if _present(self._roots) != present:
                return

    def _tell(self, changed: Iterable[str]) -> None:
        """Report changes; an error of the callback is reported as a state, and the watch goes on."""
        try:
            self._on_change(frozenset(changed))
        except Exception as error:  # noqa: BLE001 - the next change deserves another try
            self._on_state(f"a change could not be taken up ({_line(error)})")
        self._told_at = time.monotonic()

    def tick(self) -> None:
        """Report without changes if the interval is over."""
        if time.monotonic() - self._told_at >= self._interval_s:
            self._tell(())

    def say(self, state: str) -> None:
        """Report a state once."""
        if state not in self._said:
            self._said.add(state)
            self._on_state(state)

    def look(self) -> Mapping[Path, Identity]:
        """Return the folders that exist, saying which are missing or back since the last look."""
        now = _present(self._roots)
        before = {**dict.fromkeys(self._roots), **now} if self._seen is None else self._seen
        self._seen = now
        for root in (root for root in self._roots if root in before and root not in now):
            self._on_state(f"{root} is missing; waiting for it")
        back = [root for root in now if before.get(root) != now[root]]
        for root in back:
            self._on_state(f"{root} is back")
        if back:
            self._tell(map(str, back))
        return now


def _is_note(change: Change, path: str) -> bool:
    """Pass Markdown files, transcripts, and folders, whose moves come without events for their files."""
    if any(skipped in path for skipped in _SKIPPED):
        return False
    name = os.path.basename(path)
    return name.lower().endswith((".md", ".jsonl")) or ("." not in name and not os.path.isfile(path))


def _present(roots: Iterable[Path]) -> dict[Path, Identity]:
    present = {}
    for root in roots:
        with suppress(OSError):
            status = os.stat(root)
            present[root] = (status.st_dev, status.st_ino)
    return present


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
