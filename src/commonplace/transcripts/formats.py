"""The formats of transcripts, a table: each is recognised by its content, and read as a note or as messages.

Of a file of lines, line k of the note is what line k of the file says, so that citations stay true while it
grows; a file that is one JSON value becomes a note with a section for each conversation.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from itertools import chain, islice
from posixpath import basename, splitext
from types import ModuleType
from typing import IO, cast

from commonplace.base import packed
from commonplace.base.errors import NoteUnreadable
from commonplace.base.paths import shown
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import TRANSCRIPTS
from commonplace.markdown.metadata import date_of
from commonplace.notes.scan import written_as
from commonplace.redaction.redact import redact
from commonplace.transcripts import content, ours
from commonplace.transcripts.content import Conversation, Damaged, Unreadable, Value
from commonplace.transcripts.rendering import Renderer, clean
from commonplace.types import CONVERSATIONS, ConversationInfo, Heading, Note, Turn

_HEAD = 200  # values by which a format is recognised
# Of an archive: a megabyte of it may unpack to a gigabyte. Exports of conversations shrink to an eighth.
_MOST_FILES = 1_000  # files of conversations
_LARGEST_DIRECTORY = 4 << 20  # bytes that name what is in it, some 50,000 files
_LARGEST_UNPACKED = 1 << 30  # bytes of all conversations
_RATIO, _UNPACKED_ANYWAY = 40, 8 << 20  # times the size of the archive; bytes that a small one may hold
_MOST_NAMED = 5  # of what is damaged
_LISTS = ("messages", "conversations")  # where an object that is the whole file keeps its elements


@cache
def readers() -> dict[str, ModuleType]:
    """Return the module of each format by its name in the settings, in the order in which they are tried.

    `knows` of a module recognises a value; `turn` reads a message, `conversation` one of an archive.
    """
    modules = ((name, f"commonplace.transcripts.{module}") for name, (_, module) in TRANSCRIPTS.items())
    return {name: import_module(module) for name, module in modules}


class MessageLine(NamedTuple):
    """A message, and its line in the file; 0 in a file that is one value."""

    line: int
    turn: Turn


# --- what callers ask -----------------------------------------------------------------------------------


def recognise(values: Iterable[object]) -> str:
    """Return the name of the format of the first value that has one; empty for none."""
    mappings = (value for value in values if isinstance(value, Mapping))
    return next((name for value in mappings for name, one in readers().items() if one.knows(value)), "")


def format_of(file: IO[bytes], path: str) -> str:
    """Return the name of the format of a file, recognised by its beginning; empty for none."""
    try:
        with _translated(path):
            if lines := _by_lines(file, path):
                return recognise(map(ours.parsed, islice(content.forwards(lines), _HEAD)))
        with _unpacked(file, path) as parts:
            return recognise(islice(chain.from_iterable(map(_elements, parts)), _HEAD))
    except NoteUnreadable:
        return ""


class Damage:
    """The unreadable parts of a transcript: lines by number, conversations with the reason."""

    def __init__(self) -> None:
        """Begin without damage."""
        self.lines: list[int] = []
        self.conversations: list[tuple[str, str]] = []

    def __str__(self) -> str:
        """Say in one line what is left out."""
        if self.lines:
            others = f" and {len(self.lines) - 1:,} more are" if self.lines[1:] else " is"
            return f"line {self.lines[0]:,}{others} damaged and left out"
        told = [f"{part} {reason}" for part, reason in self.conversations[:_MOST_NAMED]]
        more = len(self.conversations) - _MOST_NAMED
        return "; ".join([*told, *([f"{more:,} more are left out"] if more > 0 else [])])

    def take(self, values: Iterable[object], part: str = "") -> Iterator[object]:
        """Yield the elements that can be read, and note the others."""
        for value in values:
            if isinstance(value, Damaged):
                element = f"number {value.number:,}" if value.number else "which"
                self.conversations.append((f"{part}{element}", value.reason))
            else:
                yield value

    def values(self, file: IO[bytes], size: int | None = None) -> Iterator[object]:
        """Yield the values of lines, None for a damaged one; the last one may still be written to."""
        number = 0
        for number, line in enumerate(content.forwards(file, size), 1):
            value = ours.parsed(line)
            if value is None and line.strip(content.NOTHING.encode()) not in (b"", b"null"):
                self.lines.append(number)
            yield value
        if self.lines and self.lines[-1] == number and file.seekable():
            file.seek(file.tell() - 1)
            if file.read(1) != b"\n":
                self.lines.pop()


def note(
    file: IO[bytes], path: str, name: str, size: int | None = None, damage: Damage | None = None
) -> Note:
    """Read a transcript as the note at `path`; `name` is its format or `auto`, `size` how much to read.

    Damaged and cut-off parts are recorded in `damage`; their lines are empty, their sections missing. A file
    of an unknown format is empty. Raises NoteUnreadable for a damaged archive and for too large values.
    """
    damage = damage or Damage()
    with _translated(path):
        if rows := _by_lines(file, path):
            renderer = Renderer()
            values = damage.values(rows, size if rows is file else None)
            lines = [renderer.line(turn) for turn in _turns(values, name)]
            told = ConversationInfo(0, 0, renderer.title, renderer.first_day, sum(map(bool, lines)))
            return _note(path, lines, [told])
    with _unpacked(file, path) as parts:
        return _archive(_conversations(parts, name, damage), path)


def _archive(conversations: Iterable[Conversation], path: str) -> Note:
    """A note with a section for each conversation of a file that is one value."""
    lines, headings, told = list[str](), list[Heading](), list[ConversationInfo]()
    for conversation, day, title, spoken in _spoken(conversations):
        first = 0 if conversation.is_file else len(lines) + 1
        if first:
            headings.append(Heading(2, f"{day} {title}".strip(), first))
            lines += [f"## {headings[-1].text}", ""]
        lines += [*spoken, ""]
        size = sum(len(line.encode()) + 1 for line in spoken)
        ended = content.seconds(conversation.turns[-1].at or conversation.at)
        told.append(ConversationInfo(first, len(lines) - 1, title, day, len(spoken), size, ended))
    return _note(path, lines, told, headings)


def _spoken(conversations: Iterable[Conversation]) -> Iterator[tuple[Conversation, str, str, list[str]]]:
    """The conversations in which somebody says something, each with day, title and lines."""
    for conversation in conversations:
        renderer = Renderer()
        if lines := list(filter(None, map(renderer.line, conversation.turns))):
            title = clean(conversation.title) or renderer.title or "Conversation"
            yield conversation, content.day(conversation.at) or renderer.first_day, title, lines


def _note(
    path: str, rendered: list[str], told: Sequence[ConversationInfo], headings: Sequence[Heading] = ()
) -> Note:
    """Put lines together, redacted once more as a whole: folding may have made a secret's shape."""
    lines = tuple(redact("\n".join(rendered))[0].split("\n")) if rendered else ()
    # An archive of years has no title and no day; its sections have theirs.
    day = told[0].day if len({one.day for one in told}) == 1 else ""
    days = tuple((one.first, one.last, one.day) for one in told if one.day and not day)
    title = told[0].title if told and not headings else ""
    title, day = title or splitext(basename(written_as(path)))[0], day or date_of(path) or ""
    held = {CONVERSATIONS: told}
    return Note(path, title, day or None, "session", lines, tuple(headings), metadata=held, days=days)


def turns(
    file: IO[bytes], path: str, name: str, damage: Damage | None = None, number: int = 0
) -> Iterator[MessageLine]:
    """Yield the messages of a transcript, tool results included; the rest as `note` has it.

    Of several conversations in a file those of one by its `number`, or of all, each below its title.
    """
    damage = damage or Damage()
    with _translated(path):
        if lines := _by_lines(file, path):
            numbered = enumerate(_turns(damage.values(lines), name), 1)
            yield from (MessageLine(number, turn) for number, turn in numbered if turn is not None)
            return
    with _unpacked(file, path) as parts:
        for place, (one, _, title, _) in enumerate(_spoken(_conversations(parts, name, damage)), 1):
            if not (number or one.is_file):
                yield MessageLine(0, Turn("system", title, one.at))
            yield from (MessageLine(0, turn) for turn in one.turns if number in (0, place))


# --- values, of a format that is named or recognised by the first of them --------------------------------


def _by_lines(file: IO[bytes], path: str) -> IO[bytes] | None:
    """A file that has one value a line, unpacked; None for others."""
    if packed.without_ending(path) != path:
        if why := packed.trouble(path):
            raise Unreadable(why)
        return cast(IO[bytes], _Checked(packed.opened(file, path), _bound(file), content.LARGEST + 1))
    return None if path.lower().endswith((".json", ".zip")) else file


def _turns(values: Iterable[object], name: str) -> Iterator[Turn | None]:
    """Yield the message of each value; None for a value without one, and for all of a sub-agent's file."""
    reader, values = _recognised(values, name)
    read, is_apart = (getattr(reader, one, None) for one in ("turn", "is_apart"))
    for value in values:
        is_read = isinstance(value, Mapping)
        if is_apart and is_read and is_apart(value):
            read = None
        yield read(value) if read and is_read else None


def _conversations(parts: Sequence[IO[bytes]], name: str, damage: Damage) -> Iterator[Conversation]:
    """The conversations of a file that is one value; messages in a list are one of them."""
    reader, values = _recognised(_readable(parts, damage), name)
    mappings = (value for value in values if isinstance(value, Mapping))
    if reader and hasattr(reader, "conversation"):
        yield from map(reader.conversation, mappings)
    elif reader:
        yield Conversation("", "", list(filter(None, map(reader.turn, mappings))), is_file=True)


def _readable(parts: Sequence[IO[bytes]], damage: Damage) -> Iterator[object]:
    """Yield the elements of the files of an archive; record damage with the number of the file."""
    for number, part in enumerate(parts, 1):
        yield from damage.take(_elements(part), f"file {number}, " if len(parts) > 1 else "")


def _recognised(values: Iterable[object], name: str) -> tuple[ModuleType | None, Iterator[object]]:
    """Return the reader, and all values; None stands for those before the first of a known format."""
    values, reader, unknown = iter(values), readers().get(name), list[object]()
    for value in islice(values, 0 if reader else _HEAD):
        if found := recognise((value,)):
            return readers()[found], chain(unknown, (value,), values)
        unknown.append(None)
    return reader, chain(unknown, values)


def elements(file: IO[bytes], path: str, keys: Sequence[str]) -> Iterator[object]:
    """Yield the elements of a JSON list, one by one; of an object those of the lists under some keys.

    `Damaged` stands for what cannot be read. Raises NoteUnreadable for what would fill the memory.
    """
    with _translated(path):
        yield from _elements(file, keys)


def _elements(file: IO[bytes], keys: Sequence[str] = _LISTS) -> Iterator[object]:
    """The elements of a list, one by one; those of an object that keeps them under a known key."""
    start = file.read(64)
    file.seek(0)
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        yield from content.elements(file)
        return
    data = file.read(content.LARGEST + 1)
    if len(data) > content.LARGEST:
        raise Unreadable(f"it is one value of more than {content.LARGEST >> 20} MiB")
    content.check_values(data)
    try:
        whole = cast(Value, content.parsed(data.strip(b"\xef\xbb\xbf" + content.NOTHING.encode())))
    except (ValueError, RecursionError):  # a list in it is read as far as it goes
        begin = re.search(rb'"(?:%s)"\s*:\s*(?=\[)' % "|".join(keys).encode(), data)
        yield from content.elements(io.BytesIO(data[begin.end() :])) if begin else [Damaged(0, "is damaged")]
        return
    lists = [inner for key in keys if isinstance(inner := whole.get(key), list)]
    yield from chain.from_iterable(lists or [[whole]])


# --- archives -------------------------------------------------------------------------------------------


@contextmanager
def _unpacked(file: IO[bytes], path: str) -> Iterator[list[IO[bytes]]]:
    """The file itself or, of an archive, the files of conversations in it: large exports have several.

    Raises NoteUnreadable, also while the files are read.
    """
    with ExitStack() as stack, _translated(path):
        if path.lower().endswith(".zip") or zipfile.is_zipfile(file):
            if not (parts := _parts(file, stack, _is_export)):
                raise Unreadable("the archive holds no conversations.json")
            yield parts
        else:
            file.seek(0)
            yield [file]


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        raise NoteUnreadable(shown(path), str(error)) from error
    except packed.errors(zipfile.BadZipFile, struct.error) as error:
        raise NoteUnreadable(shown(path), "the archive is damaged; export or copy it again") from error


def _is_export(part: zipfile.ZipInfo) -> bool:
    """Tell whether a member holds conversations: conversations.json, conversations-001.json."""
    stem, ending = splitext(basename(part.filename))
    number = stem.removeprefix("conversations")
    numbered = not number or (number[0] in "-_" and number[1:].isdecimal())
    return ending == ".json" and stem.startswith("conversations") and numbered


def member(file: IO[bytes], path: str, names: Sequence[str]) -> bytes:
    """Return the first member of an archive with one of some names; empty if there is no such member.

    Raises NoteUnreadable.
    """
    with ExitStack() as stack, _translated(path):
        parts = _parts(file, stack, lambda part: basename(part.filename) in names)
        return parts[0].read(content.LARGEST + 1) if parts else b""


def _parts(file: IO[bytes], stack: ExitStack, wanted: Callable[[zipfile.ZipInfo], bool]) -> list[IO[bytes]]:
    """Some files in an archive. What it says of its own sizes is not believed."""
    count_unpacked = _bound(file)

    def check_directory(size: int) -> None:
        if size > _LARGEST_DIRECTORY:
            raise Unreadable(f"the archive's directory has more than {_LARGEST_DIRECTORY >> 20} MiB")

    try:
        directory = cast(IO[bytes], _Checked(file, check_directory, _LARGEST_DIRECTORY + 1))
        archive = stack.enter_context(zipfile.ZipFile(directory))
        parts = sorted(filter(wanted, archive.infolist()), key=lambda part: part.filename)
        if len(parts) > _MOST_FILES:
            raise Unreadable(f"the archive holds more than {_MOST_FILES:,} files of conversations")
        opened = [stack.enter_context(archive.open(part)) for part in parts]
    except (NotImplementedError, RuntimeError) as error:  # another compression, or locked with a password
        raise Unreadable(f"the archive cannot be unpacked ({error})") from error
    return [cast(IO[bytes], _Checked(part, count_unpacked, content.LARGEST + 1)) for part in opened]


def _bound(file: IO[bytes]) -> Callable[[int], None]:
    """Return what counts the bytes that a file unpacks to, and raises Unreadable for too many."""
    left = most = min(_LARGEST_UNPACKED, max(_UNPACKED_ANYWAY, _RATIO * file.seek(0, os.SEEK_END)))
    file.seek(0)

    def count(size: int) -> None:
        nonlocal left
        left -= size
        if left < 0:
            remedy = "unpack it, and follow what is in it"
            raise Unreadable(f"the archive unpacks to more than {most >> 20} MiB; {remedy}")

    return count


class _Checked:
    """A file that reads no more than `most` bytes at once, and has the size of each read checked."""

    def __init__(self, file: IO[bytes], check: Callable[[int], None], most: int) -> None:
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._file, self._check, self._most = file, check, most

    def read(self, size: int = -1) -> bytes:
        return self._checked(self._file.read(min(size, self._most) if size >= 0 else self._most))

    def readline(self, size: int) -> bytes:
        return self._checked(self._file.readline(size))

    def _checked(self, data: bytes) -> bytes:
        self._check(len(data))
        return data
