"""Files taken apart without reading more than is wanted: lines from either end, elements of a JSON list."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator
from typing import IO

_BLOCK = 1 << 16
LONGEST = 32 << 20  # bytes; a longer line is no message, and is passed over
_LARGEST = 256 << 20  # characters of one element of a list
_BETWEEN = re.compile(r"[\s,]*")


def forwards(file: IO[bytes], size: int | None = None, longest: int = LONGEST) -> Iterator[bytes]:
    """Yield the lines of a file, or of its next `size` bytes, without their ends; too long ones as empty."""
    left = _LARGEST << 20 if size is None else size
    while left > 0 and (line := file.readline(min(left, longest))):
        left -= len(line)
        whole = line.endswith(b"\n") or len(line) < longest
        yield line.rstrip(b"\r\n") if whole else b""
        while not whole and left > 0 and (line := file.readline(min(left, _BLOCK))):
            left -= len(line)
            whole = line.endswith(b"\n")


def backwards(file: IO[bytes]) -> Iterator[bytes]:
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


def elements(file: IO[bytes]) -> Iterator[object]:
    """Yield the elements of a JSON list one by one, up to where it is cut off or damaged."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    text, place, wanted, opened = "", 0, _BLOCK, False
    while len(text) - place < _LARGEST:
        data = file.read(wanted)
        text, place = text[place:] + decode(data, not data), 0
        if not opened and (text := text.lstrip()):
            if text[0] != "[":
                return
            place, opened = 1, True
        for value, end in _whole(text, place):
            yield value
            place = end
        if not data:
            return
        wanted = max(_BLOCK, len(text) - place)  # an element is tried again only when twice of it is there


def _whole(text: str, place: int) -> Iterator[tuple[object, int]]:
    """The elements that stand whole in a text, each with its end."""
    decode = json.JSONDecoder().raw_decode
    while found := _BETWEEN.match(text, place):
        try:
            value, place = decode(text, found.end())
        except (ValueError, RecursionError):
            return
        yield value, place
