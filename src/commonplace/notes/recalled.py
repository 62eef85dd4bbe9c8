"""Blocks that a recall put into a prompt, taken out of what is about to be written: they are no news."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable

TAG = "recalled-notes"
# As it was written, and as JSON or HTML write what stands inside them.
_MARK = re.compile(
    rf"(?:<|&lt;|\\u003c)\s*+(?P<end>(?:\\?/)?)\s*+{TAG}\b(?:(?!<|>|&[lg]t;|\\u003[ce]).)*+(?:>|&gt;|\\u003e)?",
    re.IGNORECASE | re.DOTALL,
)
_OPENING = re.compile(rf"(?i)<\s*+{TAG}\b(?P<ours> note=\\*\"Reference data)?[^<>]*+>")
_CLOSING = re.compile(rf"(?i)<\s*+/\s*+{TAG}\s*+>\n?")
_MAX_PASSES = 4
_BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")


def strip_recalled(text: str) -> str:
    """Return a text without recalled blocks, nested ones too.

    One that was cut off takes what is left of it along: an opening without an end all that follows, an end
    without an opening all that stands before it.
    """
    for _ in range(_MAX_PASSES):  # one is enough, but for tags that only what stood between them kept apart
        if TAG not in text.casefold() or (rest := _without(text)) == text:
            break
        text = rest
    return text


def _without(text: str) -> str:
    kept: list[str] = []
    depth = start = 0
    for mark in _MARK.finditer(text):
        if not mark["end"]:
            if not depth:
                kept.append(text[start : mark.start()])
            depth += 1
        elif depth > 1:
            depth -= 1
        else:
            kept = kept if depth else []
            depth, start = 0, mark.end()
    if not start and not depth:
        return text
    if not depth:
        kept.append(text[start:])
    return _BLANK.sub("\n\n", "".join(kept))


def strip_blocks(text: str) -> str:
    """Return what somebody said without the blocks in it; who merely names the tag loses no word.

    A block is closed, or cut off at its end but opened as ours are, inside of JSON too.
    """
    if TAG not in text.lower():
        return text
    closings = [found.span() for found in _CLOSING.finditer(text)]

    def end(opening: re.Match[str]) -> int:
        place = bisect_left(closings, (opening.end(), 0))
        if place < len(closings):
            return closings[place][1]
        return len(text) if opening["ours"] else 0

    return without_blocks(text, _OPENING.finditer(text), end)


def without_blocks(
    text: str, openings: Iterable[re.Match[str]], end: Callable[[re.Match[str]], int]
) -> str:
    """Return a text without its blocks; `end` tells where one ends that is opened, 0 where nothing ends it.

    For ends that are found once: an expression from opening to end would look for it from each opening on.
    """
    kept: list[str] = []
    at = 0
    for opening in openings:
        if opening.start() >= at and (last := end(opening)):
            kept.append(text[at : opening.start()])
            at = last
    return "".join([*kept, text[at:]])
