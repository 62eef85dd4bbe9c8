"""Where a long line may be cut."""

from __future__ import annotations

import re

from commonplace.base.expressions import lazy

_SENTENCE_END = lazy(r"[.!?;][\"')\]]*\s+|[。！？；…][”’」』）]*")
_CLAUSE_END = lazy(r"\s+|[，、：,]")


def pieces(line: str, limit: int) -> list[str]:
    """Cut one long line into pieces of at most `limit` characters.

    Each cut falls at the last sentence end that fits, else at the last clause or space, else at the limit;
    the pieces are the line's own substrings, stripped.
    """
    result: list[str] = []
    start = 0
    while len(line) - start > limit:
        window = line[start : start + limit]
        size = _last(_SENTENCE_END, window, limit // 3) or _last(_CLAUSE_END, window, limit // 3) or limit
        result.append(line[start : start + size].strip())
        start += size
    result.append(line[start:].strip())
    return [piece for piece in result if piece]


def _last(pattern: re.Pattern[str], window: str, least: int) -> int:
    """End of the last match that leaves at least `least` characters before it, else 0."""
    return max((m.end() for m in pattern.finditer(window) if m.end() >= least), default=0)
