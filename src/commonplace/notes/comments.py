"""What notes say of themselves: inline metadata in comments, and keys of the same names in front matter.

Only what means something is metadata; any other comment or key (`status: done`, `source: a book`) stays the
ordinary text it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Annotations = Mapping[str, str]

STATUSES = ("tentative", "superseded")
WRITERS = ("owner", "agent", "tool", "untrusted")
# Keys with a value of their own, and the most characters of it that are kept.
_LONGEST = {"importance": 4, "trigger": 500, "project": 100, "superseded-by": 300, "valid-until": 10}
# A comment does not hold another: a line full of openings would take a time that grows with its square.
_COMMENT = re.compile(
    rf"<!--\s*+(?:(?P<key>{'|'.join(_LONGEST)})\s*+:(?P<value>(?:(?!<!--|-->).)*+)"
    rf"|(?:status\s*+:\s*+)?(?P<status>{'|'.join(STATUSES)})\s*+"
    rf"|(?:by|source|provenance)\s*+:\s*+(?P<by>{'|'.join(WRITERS)})\s*+)-->",
    re.IGNORECASE,
)


def take(lines: list[str]) -> dict[int, dict[str, str]]:
    """Take inline metadata out of `lines` (in place) and return it by line, 1-based."""
    found: dict[int, dict[str, str]] = {}
    for index, line in enumerate(lines):
        if "<!--" in line and (comments := list(_COMMENT.finditer(line))):
            found[index + 1] = dict(map(_pair, comments))
            lines[index] = _COMMENT.sub("", line).rstrip()
    return found


def _pair(comment: re.Match[str]) -> tuple[str, str]:
    if comment["status"]:
        return "status", comment["status"].lower()
    if comment["by"]:
        return "by", comment["by"].lower()
    key = comment["key"].lower()
    return key, comment["value"].strip()[: _LONGEST[key]]


def of_front_matter(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return what front matter says of the whole note, under the names that comments have."""
    return dict(pair for key, value in metadata.items() for pair in _read(key.lower(), value))


def _read(key: str, value: object) -> Iterator[tuple[str, str]]:
    key = {"triggers": "trigger"}.get(key, key.replace("_", "-"))
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    text = text.strip()
    if key in _LONGEST and text:
        yield key, text[: _LONGEST[key]]
    elif (key == "status" and text.lower() in STATUSES) or (key in STATUSES and value is True):
        yield "status", text.lower() if key == "status" else key
    elif key in ("by", "source", "provenance") and text.lower() in WRITERS:
        yield "by", text.lower()
