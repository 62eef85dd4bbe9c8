"""Blocks that a recall put into a prompt, taken out of what is about to be written: they are no news."""

from __future__ import annotations

import re

TAG = "recalled-notes"
# As it was written, and as JSON or HTML write what stands inside them.
_MARK = re.compile(
    rf"(?:<|&lt;|\\u003c)\s*+(?P<end>(?:\\?/)?)\s*+{TAG}\b(?:(?!<|>|&[lg]t;|\\u003[ce]).)*+(?:>|&gt;|\\u003e)?",
    re.IGNORECASE | re.DOTALL,
)
# A block that is closed, or cut off at its end but opened as ours are, inside of JSON too.
_BLOCK = re.compile(
    rf"(?is)<\s*{TAG}\b[^<>]*>.*?<\s*/\s*{TAG}\s*>\n?"
    rf"|<\s*{TAG} note=\\*\"Reference data[^<>]*>.*\Z"
)
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
    """Return what somebody said without the blocks in it; who merely names the tag loses no word."""
    return _BLOCK.sub("", text) if TAG in text.lower() else text
