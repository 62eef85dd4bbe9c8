"""The heap of a process: what the C library keeps of it. Nothing happens where that is not glibc."""

from __future__ import annotations

from contextlib import suppress


def share() -> None:
    """Let threads share two arenas.

    Otherwise each thread gets one of its own, which keeps what the largest answer of that thread took: 80 MB
    more for 32 clients. Threads that have begun keep theirs.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(-8, 2)  # M_ARENA_MAX


def trim() -> None:
    """Give back to the system what is free (malloc_trim(3)); for after something large was taken apart."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
