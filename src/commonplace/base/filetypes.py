"""Which files are code, by the suffix of their names; which are pictures, by their first bytes."""

from __future__ import annotations

import re

SUFFIXES = frozenset("py pyi js mjs cjs jsx ts mts cts tsx go rs".split())  # of programs
# Bitmaps alone: an SVG holds scripts and styles.
_PICTURES = {
    rb"\x89PNG\r\n\x1a\n": "image/png",
    rb"\xff\xd8\xff": "image/jpeg",
    rb"GIF8[79]a": "image/gif",
    rb"(?s)RIFF.{4}WEBP": "image/webp",
}


def picture(data: bytes) -> str:
    """Return the type of a picture by its first bytes; empty for any other file."""
    return next((kind for start, kind in _PICTURES.items() if re.match(start, data)), "")


def is_code(path: str) -> bool:
    """Tell whether a file is a program, by its name."""
    head, _, suffix = path.rpartition(".")
    return suffix.lower() in SUFFIXES and head != "" and not head.endswith("/")
