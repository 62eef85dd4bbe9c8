"""Files taken apart without reading more than is wanted: lines from either end, elements of a JSON list."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import IO

_BLOCK = 1 << 16
LONGEST = 32 << 20  # bytes; a longer line is no message, and is passed over
LARGEST = 32 << 20  # characters of one element of a list, or of an object that is the whole file
MOST_VALUES = 1_000_000  # in one of them: `[],` are three characters, and a hundred bytes once they are read
MOST_ELEMENTS = 1_000_000  # of a list
_BETWEEN = re.compile(r"[\s,]*")


class TooLarge(ValueError):
    """More than a transcript holds: reading it would fill the memory."""


def check_values(text: str | bytes) -> None:
    """Raise TooLarge for JSON that stands for more values than a conversation has."""
    marks = (b",", b"[", b"{") if isinstance(text, bytes) else (",", "[", "{")
    if len(text) > MOST_VALUES and sum(map(text.count, marks)) > MOST_VALUES:  # type: ignore[arg-type]
        raise TooLarge(f"an element holds more than {MOST_VALUES:,} values")


def forwards(file: IO[bytes], size: int | None = None, longest: int = LONGEST) -> Iterator[bytes]:
    """Yield the lines of a file, or of its next `size` bytes, without their ends; too long ones as empty."""
    left = sys.maxsize if size is None else size
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
    """Yield the elements of a JSON list one by one, up to where it is cut off or damaged. Raises TooLarge."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    text, place, wanted, opened, count = "", 0, _BLOCK, False, 0
    while True:
        if len(text) - place >= LARGEST:
            raise TooLarge(f"an element has more than {LARGEST >> 20} MiB")
        data = file.read(wanted)
        text, place = text[place:] + decode(data, not data), 0
        if not opened and (text := text.lstrip()):
            if text[0] != "[":
                return
            place, opened = 1, True
        check_values(text)
        for value, end in _whole(text, place):
            yield value
            place, count = end, count + 1
            if count > MOST_ELEMENTS:
                raise TooLarge(f"it has more than {MOST_ELEMENTS:,} elements")
        if not data:
            return
        left = len(text) - place
        wanted = max(_BLOCK, min(left, LARGEST - left))  # tried again only when twice of it is there


def _whole(text: str, place: int) -> Iterator[tuple[object, int]]:
    """The elements that stand whole in a text, each with its end."""
    decode = json.JSONDecoder().raw_decode
    while found := _BETWEEN.match(text, place):
        try:
            value, place = decode(text, found.end())
        except (ValueError, RecursionError):
            return
        yield value, place
