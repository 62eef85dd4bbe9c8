"""How long a function takes as its text doubles: CPU time of this thread, cut off where it runs away."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

FIRST, LAST = 16 << 10, 1 << 20  # characters
ENOUGH_S = 0.4  # a call that takes this long tells enough: no larger text is tried
TELLING_S = 0.02  # what takes less is noise
RATIO = 3.2  # a doubling that takes more than this many times as long; 4 is the square
PER_MB_S = 2.0
LONGEST_S = 8.0
AGAIN = 3  # times that what looks at fault is measured again


class Endless(BaseException):
    """A call was cut off; no `except Exception` catches it."""


class Growth(NamedTuple):
    """Seconds by size, growing, and what is wrong with them (empty for nothing)."""

    seconds: dict[int, float]
    fault: str = ""

    @property
    def per_mb(self) -> float:
        """Seconds a megabyte takes, by the largest size."""
        size, seconds = max(self.seconds.items())
        return seconds * (1 << 20) / size


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Cut off what takes more CPU time; expressions look for signals as they search."""

    def cut_off(number: int, frame: FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGVTALRM, cut_off)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(call: Callable[[], object], longest_s: float = LONGEST_S) -> float:
    """CPU seconds of a call; `longest_s` where it was cut off."""
    gc.collect(0)
    start = time.thread_time()
    try:
        with limited(longest_s):
            call()
    except Endless:
        return longest_s
    return time.thread_time() - start


def measure(
    parser: Callable[[str], object],
    text: Callable[[int], str],
    *,
    largest: int = LAST,
    per_mb_s: float = PER_MB_S,
) -> Growth:
    """Double the text until a call takes long; tell of what grows faster than its text, or takes too long.

    It ends as well where the `largest` text would not take too long if the time grew with the square from
    there on. What looks at fault is measured again, the least time of each size counting: whoever else runs
    on the machine makes a call slower, never faster.
    """
    taken: dict[int, float] = {}
    size = FIRST
    while size <= largest:
        taken[size] = _seconds(parser, text(size))
        for again in range(1, AGAIN + 1):
            if not _fault(taken, per_mb_s):
                break
            for one in sorted(taken)[-3:]:  # a text of its own, so that no cache answers
                taken[one] = min(taken[one], _seconds(parser, text(one - 64 * again)))
        if taken[size] >= ENOUGH_S or taken[size] * (largest / size) ** 2 <= PER_MB_S:
            break
        size *= 2
    return Growth(taken, _fault(taken, per_mb_s))


def _seconds(parser: Callable[[str], object], text: str) -> float:
    return seconds(lambda: parser(text))


def _fault(taken: dict[int, float], per_mb_s: float) -> str:
    sizes = sorted(taken)
    size, last = sizes[-1], taken[sizes[-1]]
    if last > 0.1 and last * (1 << 20) / size > per_mb_s:
        return f"{last * (1 << 20) / size:.1f} s a megabyte ({last:.2f} s at {size >> 10} KB)"
    if len(sizes) >= 3 and last > 2 * TELLING_S:
        one, two, three = (taken[size] for size in sizes[-3:])
        if two > RATIO * max(one, TELLING_S / 10) and three > RATIO * two:
            return f"grows with the square: {one:.3f}, {two:.3f}, {three:.3f} s up to {size >> 10} KB"
    return ""
