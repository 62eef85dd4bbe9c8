"""What a line says as an ATX heading (CommonMark 0.31, section 4.2), in time linear in the line."""

from __future__ import annotations

import re

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")


def atx(line: str) -> tuple[int, str] | None:
    """Return level (1 to 6) and text of a heading; None for a line that is none."""
    found = _ATX.fullmatch(line)
    return (len(found[1]), unclosed(found[2] or "")) if found else None


def unclosed(text: str) -> str:
    """Strip a heading's text, and the run of `#` that may close it."""
    text = text.strip()
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()
