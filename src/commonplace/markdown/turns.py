"""Who says a line, and how much a stretch of lines is a conversation.

In a conversation a line leans on the one before it ("Yes, last May"); in a list of facts it does not. Ranking
uses this to let neighbours speak for each other in the one and not in the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

# `- Ann: …`, `**User:** …`, `- 14:05 Bob: …`, `小王：…`
_LABEL = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\d\d:\d\d\s+)?"
    r"(?:\*\*|__)?(\w[\w .'\-]{0,30}?)(?:\*\*|__)?\s?(?::(?:\*\*|__)?(?:\s|$)|：)"
)
_NOBODY = frozenset({"tentative", "暂定", "待证"})  # what opens a guess is no name
_LABEL_WITHIN = 48  # characters in which the colon of a label must stand
_LEAST_LINES = 4  # fewer labelled lines are a list of keys and values
_HALF = 0.5  # from this share of labelled lines on, a section counts as a conversation in part


def speaker(line: str) -> str | None:
    """The label that opens a line, in lower case, or None."""
    if ":" not in line and "：" not in line:
        return None
    found = _LABEL.match(line) if _may_have_label(line) else None
    return found[1].lower() if found else None


def behind(line: str, start: int = 0) -> int:
    """Where what is said begins in a line, behind the label; `start` for one without a label."""
    found = _LABEL.match(line, start) if _may_have_label(line[start:]) else None
    return found.end() if found else start


def _may_have_label(line: str) -> bool:
    return line.find(":", 0, _LABEL_WITHIN) > 0 or line.find("：", 0, _LABEL_WITHIN) > 0


def share(lines: Sequence[str]) -> float:
    """How much lines are a conversation, 0..1.

    The share of non-blank lines whose label comes back in the section, rescaled so that half of them is 0
    and all of them 1; 0 with fewer than four such lines.
    """
    if len(lines) < _LEAST_LINES:
        return 0.0
    candidates = [line for line in lines if (":" in line or "：" in line) and _may_have_label(line)]
    if len(candidates) < _LEAST_LINES:
        return 0.0
    total = sum(1 for line in lines if line and not line.isspace())
    if len(candidates) <= total * _HALF:
        return 0.0
    labels = Counter(label for label in map(speaker, candidates) if label and label not in _NOBODY)
    recurring = sum(count for count in labels.values() if count > 1)
    return max(0.0, (recurring / total - _HALF) / (1 - _HALF)) if recurring >= _LEAST_LINES else 0.0
