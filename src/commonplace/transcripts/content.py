"""Shared code of the formats: files to values, and values to messages, calls and times."""

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
LONGEST = 32 << 20  # bytes; a longer line becomes `UNREAD`
UNREAD = b"?"
LARGEST = 32 << 20  # characters of one element of a list, or of an object that is the whole file
MOST_VALUES = 1_000_000  # in one of them: `[],` are three characters, and a hundred bytes once they are read
MOST_ELEMENTS = 1_000_000  # of a list
_BETWEEN = re.compile(r"[\s,]*")
NOTHING = "\0 \t\r\n"  # NULs are what a power cut leaves
_DECODER = json.JSONDecoder(strict=False)
_TOKEN = 16  # characters that a token takes at most which is no text


class Unreadable(ValueError):
    """Why a file is not read as conversations; reading what is too large would fill the memory."""


class Damaged(NamedTuple):
    """An unreadable element of a list: its number from 1 (0: there is no list), and the reason."""

    number: int
    reason: str


class Conversation(NamedTuple):
    """One conversation of several in a file: its title, when it began (ISO 8601), its messages.

    `is_file` says that the file holds these messages and no list of conversations.
    """

    title: str
    at: str
    turns: Sequence[Turn]
    is_file: bool = False


# --- what values hold -----------------------------------------------------------------------------------


def text(value: Value, key: str) -> str:
    """Return the text at a key, empty where that is missing."""
    return inner if isinstance(inner := value.get(key), str) else ""


def mapping(value: Value, key: str) -> Value:
    """Return the mapping at a key, empty where that is missing."""
    return inner if isinstance(inner := value.get(key), Mapping) else {}


def mappings(value: object) -> list[Value]:
    """Return the mappings in a list; an empty list for other values."""
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
    try:
        encoded = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    except RecursionError:
        encoded = ""
    return Call(text(value, id), text(value, "name"), "" if given is None else encoded)


def message(role: object, content: object, at: str, kind: str = "", arguments: str = "input") -> Turn | None:
    """Return the message of a user or an assistant, whose calls are blocks of a `kind`; None for others."""
    if role == "user":
        return Turn("user", text_of(content), at)
    calls = tuple(call(block, arguments=arguments) for block in blocks(content, kind))
    return Turn("assistant", text_of(content), at, calls) if role == "assistant" else None


def time(value: object) -> str:
    """Return a time as ISO 8601: a text as it is, a number as seconds or milliseconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value if isinstance(value, str) else ""
    try:
        seconds = value / 1000 if value > _MILLISECONDS_FROM else value
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _moment(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def day(at: str) -> str:
    """Return the day of a time, on this machine's clock, as YYYY-MM-DD; empty for anything else."""
    return moment.date().isoformat() if (moment := _moment(at)) else ""


def seconds(at: str) -> float:
    """Return a time as seconds since 1970; 0 for anything else."""
    return moment.timestamp() if (moment := _moment(at)) else 0.0


# --- files, of which no more is read than is needed -----------------------------------------------------


def check_values(text: str | bytes) -> None:
    """Raise Unreadable for JSON that stands for more values than a conversation has."""
    marks = (b",", b"[", b"{") if isinstance(text, bytes) else (",", "[", "{")
    if len(text) > MOST_VALUES and sum(map(text.count, marks)) > MOST_VALUES:  # type: ignore[arg-type]
        raise Unreadable(f"an element holds more than {MOST_VALUES:,} values")


def forwards(file: IO[bytes], size: int | None = None, longest: int = LONGEST) -> Iterator[bytes]:
    """Yield the lines of a file, or of its next `size` bytes, without their ends; too long ones as UNREAD."""
    left = sys.maxsize if size is None else size
    while left > 0 and (line := file.readline(min(left, longest))):
        left -= len(line)
        whole = line.endswith(b"\n") or len(line) < longest
        yield line.rstrip(b"\r\n") if whole else UNREAD
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


def parsed(raw: str | bytes) -> object:
    """Return a JSON value, also one with line breaks in its texts. Raises ValueError, RecursionError."""
    try:
        return json.loads(raw)
    except ValueError:
        return json.loads(raw, strict=False)


def elements(file: IO[bytes]) -> Iterator[object]:
    """Yield the elements of a JSON list one by one; at the first unreadable one `Damaged`, and no more.

    Raises Unreadable.
    """
    characters = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    text, place, count, is_whole = "", 0, -1, False
    while not is_whole:
        left = len(text) - place
        if left >= LARGEST:
            raise Unreadable(f"an element has more than {LARGEST >> 20} MiB")
        # Parsed again only when there is twice as much.
        data = file.read(max(_BLOCK, min(left, LARGEST - left)))
        text, place, is_whole = text[place:] + characters(data, not data), 0, not data
        check_values(text)
        if count < 0 and (text := text.lstrip()):
            if text[0] != "[":
                break
            count, place = 0, 1
        while count >= 0 and (between := _BETWEEN.match(text, place)):
            place = between.end()
            if text.startswith("]", place):
                rest = (text[place + 1 :] + file.read(_BLOCK).decode("utf-8", "replace")).strip(NOTHING)
                why = "stands behind the end of the list, and is left out"
                yield from [Damaged(count + 1, why)] if rest else []
                return
            value, end = _element(text, place)
            if end < 0 or (is_whole and not end):
                yield Damaged(count + 1, "is damaged or cut off; it is left out, and all that follows")
                return
            if not end or (end == len(text) and not is_whole):
                break  # the rest of it is not read yet; a number may go on
            yield value
            place, count = end, count + 1
            if count > MOST_ELEMENTS:
                raise Unreadable(f"it has more than {MOST_ELEMENTS:,} elements")
    yield Damaged(0, "is no JSON list" if text else "is empty")


def _element(text: str, place: int) -> tuple[object, int]:
    """Return an element and its end: 0 for one that is cut off, -1 for a damaged one."""
    try:
        return _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated") or len(text) - error.pos < _TOKEN
        return None, 0 if is_cut else -1
    except (ValueError, RecursionError):
        return None, -1
