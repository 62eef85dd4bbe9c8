"""The lines of a file as bytes, from its end backwards, without reading more than is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

_BLOCK = 1 << 16


def backwards(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, last first, without their ends; blank ones are left out."""
    place = file.seek(0, os.SEEK_END)
    pieces: list[bytes] = []  # of a line whose beginning is not read yet, last first
    while place:
        size = min(_BLOCK, place)
        place -= size
        file.seek(place)
        first, *rest = file.read(size).split(b"\n")
        for text in reversed(rest):
            pieces.append(text)
            if found := b"".join(reversed(pieces)):
                yield found
            pieces.clear()
        pieces.append(first)
    if found := b"".join(reversed(pieces)):
        yield found
