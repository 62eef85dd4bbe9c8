"""What the formats share: files taken apart into values, and values into messages, calls and times."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO

from commonplace.base.tuples import NamedTuple
from commonplace.types.events import Call, Turn

Value = Mapping[str, object]
_TEXTS = frozenset({"text", "input_text", "output_text"})
_MILLISECONDS_FROM = 1e11  # a time larger than this is not in seconds
_BLOCK = 1 << 16
LONGEST = 32 << 20  # bytes; a longer line is no message, and is passed over
LARGEST = 32 << 20  # characters of one element of a list, or of an object that is the whole file
MOST_VALUES = 1_000_000  # in one of them: `[],` are three characters, and a hundred bytes once they are read
MOST_ELEMENTS = 1_000_000  # of a list
_BETWEEN = re.compile(r"[\s,]*")


class Unreadable(ValueError):
    """Why a file is not read as conversations; reading what is too large would fill the memory."""


class Conversation(NamedTuple):
    """One conversation of several in a file: its title, when it began (ISO 8601), its messages."""

    title: str
    at: str
    turns: Sequence[Turn]


# --- what values hold -----------------------------------------------------------------------------------


def text(value: Value, key: str) -> str:
    """Return the text at a key, empty where that is missing."""
    return inner if isinstance(inner := value.get(key), str) else ""


def mapping(value: Value, key: str) -> Value:
    """Return the mapping at a key, empty where that is missing."""
    return inner if isinstance(inner := value.get(key), Mapping) else {}


def mappings(value: object) -> list[Value]:
    """Return the mappings in a list; none for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def blocks(content: object, kind: str) -> list[Value]:
    """Return the blocks of a content that are of one kind."""
    return [block for block in mappings(content) if block.get("type") == kind]


def text_of(content: object) -> str:
    """Return the text of a content: one text, or blocks without thoughts, images and tools."""
    if isinstance(content, str):
        return content
    items = content if isinstance(content, list) else []
    texts = [
        text(item, "text") if isinstance(item, Mapping) and text(item, "type") in _TEXTS else item
        for item in items
    ]
    return "\n".join(part for part in texts if part and isinstance(part, str))


def call(value: Value, *, id: str = "id", arguments: str = "input") -> Call:
    """Return the call that a block asks for; `id` and `arguments` are the keys of its format."""
    given = value.get(arguments, "")
    encoded = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return Call(text(value, id), text(value, "name"), "" if given is None else encoded)


def message(role: object, content: object, at: str, kind: str = "", arguments: str = "input") -> Turn | None:
    """Return the message of a user or an assistant, whose calls are blocks of a `kind`; None for others."""
    if role == "user":
        return Turn("user", text_of(content), at)
    calls = tuple(call(block, arguments=arguments) for block in blocks(content, kind))
    return Turn("assistant", text_of(content), at, calls) if role == "assistant" else None


def time(value: object) -> str:
    """Return a time as ISO 8601: a text as it is, a number as seconds or milliseconds since 1970."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    try:
        seconds = value / 1000 if value > _MILLISECONDS_FROM else value
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def day(at: str) -> str:
    """Return the day of a time, on this machine's clock, as YYYY-MM-DD; empty for anything else."""
    try:
        moment = datetime.fromisoformat(at)
        return (moment.astimezone() if moment.tzinfo else moment).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


# --- files, of which no more is read than is needed -----------------------------------------------------


def check_values(text: str | bytes) -> None:
    """Raise Unreadable for JSON that stands for more values than a conversation has."""
    marks = (b",", b"[", b"{") if isinstance(text, bytes) else (",", "[", "{")
    if len(text) > MOST_VALUES and sum(map(text.count, marks)) > MOST_VALUES:  # type: ignore[arg-type]
        raise Unreadable(f"an element holds more than {MOST_VALUES:,} values")


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
        for piece in reversed(rest):
            if line := b"".join(reversed([*pieces, piece])):
                yield line
            pieces.clear()
        pieces.append(first)
    if line := b"".join(reversed(pieces)):
        yield line


def elements(file: IO[bytes]) -> Iterator[object]:
    """Yield the elements of a JSON list one by one, to where it is cut off or damaged. Raises Unreadable."""
    characters = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    parse = json.JSONDecoder().raw_decode
    text, place, size, opened, count = "", 0, _BLOCK, False, 0
    while True:
        if len(text) - place >= LARGEST:
            raise Unreadable(f"an element has more than {LARGEST >> 20} MiB")
        data = file.read(size)
        text, place = text[place:] + characters(data, not data), 0
        if not opened and (text := text.lstrip()):
            if text[0] != "[":
                return
            place, opened = 1, True
        check_values(text)
        while blank := _BETWEEN.match(text, place):
            try:
                value, place = parse(text, blank.end())
            except (ValueError, RecursionError):
                break  # the rest of it is not read yet
            yield value
            count += 1
            if count > MOST_ELEMENTS:
                raise Unreadable(f"it has more than {MOST_ELEMENTS:,} elements")
        if not data:
            return
        left = len(text) - place
        size = max(_BLOCK, min(left, LARGEST - left))  # parsed again only when there is twice as much
