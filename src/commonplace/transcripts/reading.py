"""Transcript files read as notes, and as messages.

Of a file of lines, line k of the note is what line k of the file says, so that citations stay true while it
grows; a file that is one JSON value becomes a note with a section for each conversation.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from posixpath import basename, splitext
from typing import IO, NamedTuple

from commonplace.notes.layout import date_of
from commonplace.notes.redact import redact
from commonplace.transcripts import content, formats, lines, ours
from commonplace.transcripts.content import Conversation, Value
from commonplace.transcripts.formats import Format
from commonplace.transcripts.rendering import Pen, clean
from commonplace.types import Heading, Note
from commonplace.types.conversation import Turn

_HEAD = 200  # values from which a format is told
_LARGEST = 256 << 20  # bytes of an object that is the whole file
_CONVERSATIONS = re.compile(r"conversations(?:[-_]\d+)?\.json")  # in an archive
_LISTS = ("messages", "conversations")  # where an object that is the whole file keeps its elements


class Place(NamedTuple):
    """A message, and the line of the file that it stands on; 0 in a file that is one value."""

    line: int
    turn: Turn


def note(file: IO[bytes], path: str, name: str, size: int | None = None) -> Note:
    """Read a transcript as the note at `path`; `name` is its format or `auto`, `size` how much to read.

    What is damaged, cut off or of no format is passed over: it is an empty line, or an empty note.
    """
    if not _by_lines(file, path):
        return _archive(file, path, name)
    pen, rendered = Pen(), []
    values = (ours.parsed(raw) for raw in lines.forwards(file, size))
    for turn in _turns(values, name):
        rendered.append(pen.line(turn))
    return _note(path, pen, rendered, pen.first_day)


def turns(file: IO[bytes], path: str, name: str) -> Iterator[Place]:
    """Yield the messages of a transcript, tool results included."""
    if _by_lines(file, path):
        values = (ours.parsed(raw) for raw in lines.forwards(file))
        for number, turn in enumerate(_turns(values, name), 1):
            if turn is not None:
                yield Place(number, turn)
        return
    with _unpacked(file) as inner:
        for one in _conversations(inner, name):
            yield from (Place(0, turn) for turn in one.turns)


def format_of(file: IO[bytes], path: str) -> Format | None:
    """Tell the format of a file from what stands at its beginning."""
    if _by_lines(file, path):
        return formats.told(map(ours.parsed, islice(lines.forwards(file), _HEAD)))
    with _unpacked(file) as inner:
        return formats.told(islice(chain.from_iterable(map(_elements, inner)), _HEAD))


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
        head.append(value)
        if found := formats.told((value,)):
            return found, chain(head, values)
    return None, chain(head, values)


def _archive(file: IO[bytes], path: str, name: str) -> Note:
    rendered: list[str] = []
    headings: list[Heading] = []
    days: set[str] = set()
    pen = Pen()
    with _unpacked(file) as inner:
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


@contextmanager
def _unpacked(file: IO[bytes]) -> Iterator[list[IO[bytes]]]:
    """The file itself or, of an archive, the files of conversations in it: large exports have several."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        yield [file]
        return
    with ExitStack() as stack:
        yield _packed(file, stack)


def _packed(file: IO[bytes], stack: ExitStack) -> list[IO[bytes]]:
    try:
        archive = stack.enter_context(zipfile.ZipFile(file))
        named = sorted(one for one in archive.namelist() if _CONVERSATIONS.fullmatch(basename(one)))
        return [stack.enter_context(archive.open(one)) for one in named]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError):  # damaged, or locked with a password
        return []


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
    """The elements of a list, one by one; those of an object that keeps them under a known key.

    Where an archive is damaged, what stood before is all there is.
    """
    try:
        if file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            file.seek(0)
            yield from _inside(ours.parsed(file.read(_LARGEST).removeprefix(b"\xef\xbb\xbf")))
        else:
            file.seek(0)
            yield from lines.elements(file)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return


def _inside(value: object) -> list[object]:
    found: Value = value if isinstance(value, Mapping) else {}
    kept = next((found[key] for key in _LISTS if isinstance(found.get(key), list)), None)
    return kept if isinstance(kept, list) else [found]
