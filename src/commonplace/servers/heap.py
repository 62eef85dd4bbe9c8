"""The heap of a process that answers from many threads."""

from __future__ import annotations

from contextlib import suppress

_M_ARENA_MAX, _ARENAS = -8, 2  # mallopt(3)


def share() -> None:
    """Let threads share two arenas, where the C library is glibc.

    Otherwise each thread gets one of its own, which keeps what the largest answer of that thread took: 80 MB
    more for 32 clients. Threads that have begun keep theirs.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
