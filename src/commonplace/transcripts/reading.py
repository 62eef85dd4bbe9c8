"""Transcript files read as notes, and as messages.

Of a file of lines, line k of the note is what line k of the file says, so that citations stay true while it
grows; a file that is one JSON value becomes a note with a section for each conversation.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from posixpath import basename, splitext
from typing import IO, NamedTuple, cast

from commonplace.base.errors import NoteUnreadable
from commonplace.base.paths import shown
from commonplace.markdown.metadata import date_of
from commonplace.redaction.redact import redact
from commonplace.transcripts import content, formats, lines, ours
from commonplace.transcripts.content import Conversation, Value
from commonplace.transcripts.formats import Format
from commonplace.transcripts.rendering import Pen, clean
from commonplace.types import Heading, Note
from commonplace.types.events import Turn

_HEAD = 200  # values from which a format is told
_HEAVY = 10_000  # values, or hundreds of characters, of one that is held only until the format is told
# Of an archive: a megabyte of it may unpack to a gigabyte. Exports of conversations shrink to an eighth.
_MOST_FILES = 1_000  # files of conversations
_LARGEST_DIRECTORY = 4 << 20  # bytes that name what is in it, some 50,000 files
_LARGEST_UNPACKED = 1 << 30  # bytes of all conversations
_RATIO, _UNPACKED_ANYWAY = 40, 8 << 20  # times the size of the archive; bytes that a small one may hold
_CONVERSATIONS = re.compile(r"conversations(?:[-_]\d+)?\.json")  # in an archive
_LISTS = ("messages", "conversations")  # where an object that is the whole file keeps its elements


class Place(NamedTuple):
    """A message, and the line of the file that it stands on; 0 in a file that is one value."""

    line: int
    turn: Turn


def note(file: IO[bytes], path: str, name: str, size: int | None = None) -> Note:
    """Read a transcript as the note at `path`; `name` is its format or `auto`, `size` how much to read.

    What is damaged, cut off or of no format is passed over: it is an empty line, or an empty note. Raises
    NoteUnreadable for an archive that is damaged, and for what would fill the memory.
    """
    if not _by_lines(file, path):
        with _translated(path):
            return _archive(file, path, name)
    pen, rendered = Pen(), []
    values = (ours.parsed(raw) for raw in lines.forwards(file, size))
    for turn in _turns(values, name):
        rendered.append(pen.line(turn))
    return _note(path, pen, rendered, pen.first_day)


def turns(file: IO[bytes], path: str, name: str) -> Iterator[Place]:
    """Yield the messages of a transcript, tool results included. Raises NoteUnreadable as `note` does."""
    if _by_lines(file, path):
        values = (ours.parsed(raw) for raw in lines.forwards(file))
        for number, turn in enumerate(_turns(values, name), 1):
            if turn is not None:
                yield Place(number, turn)
        return
    with _translated(path), _unpacked(file, path) as inner:
        for one in _conversations(inner, name):
            yield from (Place(0, turn) for turn in one.turns)


def format_of(file: IO[bytes], path: str) -> Format | None:
    """Tell the format of a file from what stands at its beginning."""
    if _by_lines(file, path):
        return formats.told(map(ours.parsed, islice(lines.forwards(file), _HEAD)))
    try:
        with _translated(path), _unpacked(file, path) as inner:
            return formats.told(islice(chain.from_iterable(map(_elements, inner)), _HEAD))
    except NoteUnreadable:
        return None


def _by_lines(file: IO[bytes], path: str) -> bool:
    """Whether a file has one value a line; a `.json` file may have as well."""
    if not path.lower().endswith(".json"):
        return not path.lower().endswith(".zip")
    first = ours.parsed(file.readline(lines.LONGEST))
    more = file.read(1)
    file.seek(0)
    return isinstance(first, Mapping) and bool(more)


def _turns(values: Iterator[object], name: str) -> Iterator[Turn | None]:
    """The message of each value, None for one that holds none."""
    found = formats.find(name)
    if found is None:
        found, values = _told(values)
    for value in values:
        read = found.turn if found else None
        yield read(value) if read and isinstance(value, Mapping) else None


def _told(values: Iterator[object]) -> tuple[Format | None, Iterator[object]]:
    """The format that the first values tell, and all values; no more of them are held than it takes."""
    head: list[object] = []
    for value in islice(values, _HEAD):
        found = formats.told((value,))
        head.append(value if found or not _is_heavy(value) else None)
        if found:
            return found, chain(head, values)
    return None, chain(head, values)


def _is_heavy(value: object) -> bool:
    """Whether a value takes so much memory that many of its kind cannot be held."""
    weight, waiting = 0, [value]
    while waiting and weight < _HEAVY:
        one = waiting.pop()
        if isinstance(one, str):
            weight += 1 + len(one) // 100
        elif isinstance(one, list | dict):
            weight += 1 + len(one)
            waiting += islice(one.values() if isinstance(one, dict) else one, _HEAVY)
        else:
            weight += 1
    return weight >= _HEAVY


def _archive(file: IO[bytes], path: str, name: str) -> Note:
    rendered: list[str] = []
    headings: list[Heading] = []
    days: set[str] = set()
    pen = Pen()
    with _unpacked(file, path) as inner:
        for one in _conversations(inner, name):
            pen = Pen()
            spoken = list(filter(None, map(pen.line, one.turns)))
            day = content.day(one.at) or pen.first_day
            if spoken and (one.title or one.at):
                title = f"{day} {clean(one.title) or pen.title}".strip()
                headings.append(Heading(2, title, len(rendered) + 1))
                rendered += [f"## {title}", ""]
            rendered += [*spoken, ""] if spoken else []
            days |= {day} if spoken else set()
    # An archive of years is of no day; its sections say theirs.
    return _note(path, Pen() if headings else pen, rendered, days.pop() if len(days) == 1 else "", headings)


def _note(path: str, pen: Pen, rendered: list[str], day: str, headings: Sequence[Heading] = ()) -> Note:
    """Put lines together, redacted once more as a whole: folding may have made a secret's shape."""
    text, _ = redact("\n".join(rendered))
    title = pen.title or splitext(basename(path))[0]
    date = day or date_of(path)
    return Note(path, title, date, "session", tuple(text.split("\n")) if rendered else (), tuple(headings))


class _Unreadable(Exception):
    """Why an archive cannot be read, in words."""


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Say in one error what keeps a file of conversations from being read."""
    try:
        yield
    except (_Unreadable, lines.TooLarge) as error:
        raise NoteUnreadable(shown(path), str(error)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error) as error:
        raise NoteUnreadable(shown(path), "the archive is damaged; export or copy it again") from error


@contextmanager
def _unpacked(file: IO[bytes], path: str) -> Iterator[list[IO[bytes]]]:
    """The file itself or, of an archive, the files of conversations in it: large exports have several."""
    if not path.lower().endswith(".zip") and not zipfile.is_zipfile(file):
        file.seek(0)
        yield [file]
        return
    with ExitStack() as stack:
        yield _packed(file, stack)


def _packed(file: IO[bytes], stack: ExitStack) -> list[IO[bytes]]:
    try:
        archive = stack.enter_context(zipfile.ZipFile(cast(IO[bytes], _Directory(file))))
        parts = [one for one in archive.infolist() if _CONVERSATIONS.fullmatch(basename(one.filename))]
        if not parts:
            raise _Unreadable("the archive holds no conversations.json")
        if len(parts) > _MOST_FILES:
            raise _Unreadable(f"the archive holds more than {_MOST_FILES:,} files of conversations")
        most = min(_LARGEST_UNPACKED, max(_UNPACKED_ANYWAY, _RATIO * file.seek(0, os.SEEK_END)))
        opened = [archive.open(one) for one in sorted(parts, key=lambda one: one.filename)]
    except (NotImplementedError, RuntimeError) as error:  # another compression, or locked with a password
        raise _Unreadable(f"the archive cannot be unpacked ({error})") from error
    rest = _Rest(most)
    return [cast(IO[bytes], _Part(stack.enter_context(one), rest)) for one in opened]


class _Directory:
    """An archive, of which no more is read at once than its directory may have."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self._read = file.seek, file.tell, file.read
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._read(min(size, _LARGEST_DIRECTORY + 1) if size >= 0 else _LARGEST_DIRECTORY + 1)
        if len(data) > _LARGEST_DIRECTORY:
            raise _Unreadable(f"the archive's directory has more than {_LARGEST_DIRECTORY >> 20} MiB")
        return data


class _Rest:
    """How many bytes may still be unpacked, of all files of an archive together."""

    def __init__(self, size: int) -> None:
        self.size = self.most = size


class _Part:
    """A packed file, counted as it is unpacked: what it says of its own size is not believed."""

    def __init__(self, file: IO[bytes], rest: _Rest) -> None:
        self._file, self._rest = file, rest
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._rest.size -= len(data)
        if self._rest.size < 0:
            most = f"{self._rest.most >> 20} MiB"
            raise _Unreadable(f"the archive unpacks to more than {most}; unpack it, and follow what is in it")
        return data


def _conversations(files: Sequence[IO[bytes]], name: str) -> Iterator[Conversation]:
    """The conversations of a file that is one value; messages in a list are one of them."""
    values: Iterator[object] = chain.from_iterable(map(_elements, files))
    found = formats.find(name)
    if found is None:
        found, values = _told(values)
    mappings = (value for value in values if isinstance(value, Mapping))
    if found is not None and found.conversation is not None:
        yield from map(found.conversation, mappings)
    elif found is not None and found.turn is not None:
        read = found.turn
        yield Conversation("", "", [turn for value in mappings if (turn := read(value))])


def _elements(file: IO[bytes]) -> Iterator[object]:
    """The elements of a list, one by one; those of an object that keeps them under a known key."""
    opened = file.read(64)
    file.seek(0)
    if not opened.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        yield from lines.elements(file)
        return
    data = file.read(lines.LARGEST + 1)
    if len(data) > lines.LARGEST:
        raise lines.TooLarge(f"it is one value of more than {lines.LARGEST >> 20} MiB")
    lines.check_values(data)
    yield from _inside(ours.parsed(data.removeprefix(b"\xef\xbb\xbf")))


def _inside(value: object) -> list[object]:
    found: Value = value if isinstance(value, Mapping) else {}
    kept = next((found[key] for key in _LISTS if isinstance(found.get(key), list)), None)
    return kept if isinstance(kept, list) else [found]
