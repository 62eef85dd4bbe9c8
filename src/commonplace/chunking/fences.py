"""Code blocks that stand deeper than a note's own: within the items of a list, and within quotations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]*)+")
_DEEP = 4  # columns; what stands further left is a block of the note itself


class _Block(NamedTuple):
    """A block that is open: its first line, its mark, and how deep the item or quotation around it begins."""

    first: int
    mark: str
    depth: int
    quoted: bool


def nested(lines: Sequence[str], passed: Collection[int]) -> Iterator[int]:
    """Yield the lines (1-based) of blocks within items and quotations; those passed over are in none.

    A block that nothing closes ends with what it stands in.
    """
    if not any(("```" in line or "~~~" in line) and line[:1] in " \t>" for line in lines):
        return
    items: list[int] = []
    block: _Block | None = None
    for number, line in enumerate(lines, 1):
        if number in passed or (not line.strip() and not block):
            block = None
            continue
        depth, quote = _depth(line), _QUOTED.match(line)
        if block and _is_in(block, line, depth, quoted=quote is not None):
            yield number
            block = None if _closes(line[quote.end() if quote else 0 :], block.mark) else block
            continue
        block = None
        items = [item for item in items if item < depth]
        if _ITEM.match(line):
            items.append(depth)
        elif quote or (items and depth >= _DEEP):
            block = _opened(line, number, quote, items)
            if block:
                yield number


def _opened(line: str, number: int, quote: re.Match[str] | None, items: Sequence[int]) -> _Block | None:
    """The block that a line in a quotation or an item opens."""
    if mark := _opens(line[quote.end() :] if quote else line):
        return _Block(number, mark, -1 if quote else items[-1], quote is not None)
    return None


def _is_in(block: _Block, line: str, depth: int, *, quoted: bool) -> bool:
    return quoted if block.quoted else not line.strip() or depth > block.depth


def _opens(text: str) -> str:
    found = _FENCE.match(text.lstrip())
    return found["mark"] if found and not (found["mark"][0] == "`" and "`" in found["info"]) else ""


def _closes(text: str, mark: str) -> bool:
    bare = text.strip()
    return len(bare) >= len(mark) and bare == mark[0] * len(bare)


def _depth(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())
