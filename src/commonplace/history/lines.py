"""Lines of files compared: what changed between two texts, and a change taken back out of a third."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import product
from typing import NamedTuple

CONTEXT = 3  # lines on either side that may say where a place is
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
Line = bytes | None  # None stands for the beginning and the end of a file


class Hunk(NamedTuple):
    """Lines `first` to `last` (half-open) of one text, and those of another that stand in their place."""

    first: int
    last: int
    other_first: int
    other_last: int


class Overlap(ValueError):
    """A change that does not stand any more as it was made; its text says where."""


def split(data: bytes) -> list[bytes]:
    """Take a file apart into lines, which joined are the file again."""
    return data.splitlines(keepends=True)


def counted(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines are added and removed from one text to another."""
    found = hunks(split(before), split(after))
    return sum(h.other_last - h.other_first for h in found), sum(h.last - h.first for h in found)


def hunks(one: Sequence[bytes], other: Sequence[bytes]) -> list[Hunk]:
    """Find what differs between two texts, in order."""
    shorter = min(len(one), len(other))
    start = next((n for n in range(shorter) if one[n] != other[n]), shorter)
    rest = shorter - start
    end = next((n for n in range(rest) if one[-1 - n] != other[-1 - n]), rest)
    matcher = SequenceMatcher(None, one[start : len(one) - end], other[start : len(other) - end])
    return [
        Hunk(*(place + start for place in places)) for tag, *places in matcher.get_opcodes() if tag != "equal"
    ]


def taken_back(before: bytes, after: bytes, now: bytes) -> bytes:
    """Take a change from `before` to `after` out of what `after` has become; all else stays byte for byte.

    Every part of the change must still stand as it was made, with nobody's lines in it, and at a place that
    it cannot be mistaken for another. Raises Overlap.
    """
    if any(text.startswith(_UTF16) for text in (before, after, now)):
        raise Overlap("it is UTF-16, which is not taken apart")
    old, made, current = split(before), split(after), split(now)
    since = hunks(made, current)
    texts = (_Text(made), _Text(current))
    result, done = [], 0
    for own in hunks(made, old):
        place = _place(own, since)
        if not _is_unmistakable(own, place, *texts):
            raise Overlap(f"what it changed cannot be told from what stands around line {place + 1}")
        result += [*current[done:place], *old[own.other_first : own.other_last]]
        done = place + own.last - own.first
    return b"".join([*result, *current[done:]])


def _place(own: Hunk, since: Sequence[Hunk]) -> int:
    """Where a hunk stands after later changes. Raises Overlap where one of them touches it."""
    moved = 0
    for later in since:
        if _overlap(own, later):
            first, last = later.other_first + 1, max(later.other_first + 1, later.other_last)
            where = f"line {first}" if first == last else f"lines {first} to {last}"
            raise Overlap(f"{where}, where it had changed something")
        if later.last <= own.first:
            moved += (later.other_last - later.other_first) - (later.last - later.first)
    return own.first + moved


def _overlap(own: Hunk, later: Hunk) -> bool:
    """Whether two changes meet; lines put right before or after lines of ours do not."""
    if own.first == own.last:
        return later.first <= own.first <= later.last
    if later.first == later.last:
        return own.first < later.first < own.last
    return max(own.first, later.first) < min(own.last, later.last)


class _Text:
    """The lines of a text between its beginning and its end, and where each stands."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines: list[Line] = [None, *lines, None]
        self.places: dict[Line, list[int]] = {}
        for place, line in enumerate(self.lines):
            self.places.setdefault(line, []).append(place)

    def has_once(self, window: Sequence[Line]) -> bool:
        """Whether some lines stand here in a row, and nowhere else."""
        rarest = min(range(len(window)), key=lambda n: len(self.places.get(window[n], ())))
        starts = (place - rarest for place in self.places.get(window[rarest], ()))
        return sum(self.lines[max(0, s) : s + len(window)] == list(window) for s in starts) == 1


def _is_unmistakable(own: Hunk, place: int, made: _Text, current: _Text) -> bool:
    """Whether the lines of a hunk, with a few around them, stand once in both texts, here and there."""
    for left, right in _contexts(own):
        first, last = own.first + 1 - left, own.last + 1 + right
        if first < 0 or last > len(made.lines):
            continue
        window = made.lines[first:last]
        there = current.lines[max(0, place + 1 - left) : place + 1 - left + len(window)]
        if there == window and made.has_once(window) and current.has_once(window):
            return True
    return False


def _contexts(own: Hunk) -> Iterator[tuple[int, int]]:
    """How many lines before and after are looked at, fewest first; a place between lines needs both."""
    least = 1 if own.first == own.last else 0
    several = range(least, CONTEXT + 1)
    yield from sorted(product(several, several), key=sum)
