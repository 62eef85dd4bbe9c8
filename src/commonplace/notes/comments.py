"""What notes say of themselves: inline metadata in comments, and keys of the same names in front matter.

Only what means something is metadata; any other comment or key (`status: done`, `source: a book`) stays the
ordinary text it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.types import Provenance

Annotations = Mapping[str, str]

STATUSES = ("tentative", "superseded")
WRITERS = ("owner", "agent", "tool", "untrusted")
# Keys with a value of their own, and the most characters of it that are kept.
_LONGEST = {"importance": 4, "trigger": 500, "project": 100, "superseded-by": 300, "valid-until": 10}
# What may stand behind the writer, in this order, and the most characters of each that are kept.
PROVENANCE = {"agent": 60, "session": 100, "at": 40}
_FURTHER = rf"(?:;\s*+(?:{'|'.join(PROVENANCE)})\s*+:(?:(?!-->)[^;<>])*+)"
# A comment does not hold another: a line full of openings would take a time that grows with its square.
_COMMENT = re.compile(
    rf"<!--\s*+(?:(?P<key>{'|'.join(_LONGEST)})\s*+:(?P<value>(?:(?!<!--|-->).)*+)"
    rf"|(?:status\s*+:\s*+)?(?P<status>{'|'.join(STATUSES)})\s*+"
    rf"|(?:by|source|provenance)\s*+:\s*+(?P<by>{'|'.join(WRITERS)})\s*+(?P<further>{_FURTHER}*+);?\s*+)-->",
    re.IGNORECASE,
)
_WRITER = re.compile(r"<!(?=--\s*+(?:by|source|provenance)\s*+:)", re.IGNORECASE)
_OPENING = re.compile(r"<!(?=--)")


def take(lines: list[str]) -> dict[int, dict[str, str]]:
    """Take inline metadata out of `lines` (in place) and return it by line, 1-based."""
    found: dict[int, dict[str, str]] = {}
    for index, line in enumerate(lines):
        if "<!--" in line and (comments := list(_COMMENT.finditer(line))):
            found[index + 1] = dict(pair for comment in comments for pair in _pairs(comment))
            lines[index] = _COMMENT.sub("", line).rstrip()
    return found


def _pairs(comment: re.Match[str]) -> Iterator[tuple[str, str]]:
    if comment["status"]:
        yield "status", comment["status"].lower()
    elif comment["by"]:
        yield "by", comment["by"].lower()
        for part in filter(None, comment["further"].split(";")):
            key, _, value = part.partition(":")
            key, value = key.strip().lower(), value.strip()
            if value:
                yield key, value[: PROVENANCE[key]]
    else:
        key = comment["key"].lower()
        yield key, comment["value"].strip()[: _LONGEST[key]]


def of_provenance(provenance: Provenance) -> str:
    """Write who wrote an entry as the comment that `take` reads back.

    Values lose what would end the comment or one of them, and secrets. Raises ValueError for no writer.
    """
    if provenance.by not in WRITERS:
        raise ValueError(f"by must be one of {', '.join(WRITERS)}, not {provenance.by!r}")
    told = [f"by: {provenance.by}"]
    for key, longest in PROVENANCE.items():
        if value := _value(getattr(provenance, key), longest):
            told.append(f"{key}: {value}")
    return f"<!-- {'; '.join(told)} -->"


def _value(text: str, longest: int) -> str:
    """Return a value that ends neither the comment nor itself, on one line, without secrets."""
    from commonplace.notes.redact import redact, strip_private

    plain = "".join(c if c.isprintable() else " " for c in text if not 0xD800 <= ord(c) <= 0xDFFF)
    plain = re.sub("[;<>]", " ", redact(strip_private(" ".join(plain.split())))[0])
    short = " ".join(plain.split())[:longest]
    return re.sub("-{2,}", "-", short).strip(" -")


def disarmed(text: str, *, entirely: bool) -> str:
    """Return a text whose comments say nothing: of who wrote it, or, `entirely`, of anything.

    What a tool brought home must not call itself the owner's, important, or the successor of a note.
    """
    return (_OPENING if entirely else _WRITER).sub("<! ", text)


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
