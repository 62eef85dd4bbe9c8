"""A Markdown file as a document that is read and edited without loss.

A document holds the bytes of a file: its byte order mark, its line ends, and bytes that are no text come back
as they were. Lines are counted from 1, as readers and citations count them. An edit returns the new document
together with a map of the lines, so that references can follow.

    edit = Document.read(data, "MEMORY.md").insert("- Ann drinks tea.", heading="People")
    edit.lines, edit.document.data              # (7, 7): where the entry stands; the bytes to write
    others = [document.follow({"MEMORY.md": edit.follower("MEMORY.md")}) for document in documents]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate
from posixpath import basename

from commonplace import language
from commonplace.base import filetypes, paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import (
    comments,
    encoded,
    fences,
    metadata,
    references,
    stamps,
    statements,
    struck,
    structure,
)
from commonplace.markdown.references import Moved
from commonplace.redaction.redact import private_parts, redact, strip_private
from commonplace.types import Heading, Note, Statement, cite

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Self

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DAMAGED = "surrogatepass"  # how UTF-16 that is no text is kept
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_DIGIT = re.compile(r"\d")
_HIDDEN = re.compile(r"[^\n]")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_RULE_OF_TABLE = re.compile(r"\s*+\|[\s:|]*+-[\s:|-]*+\Z")
_HOUR = re.compile(r"[ \t]*\d\d:\d\d[ \t]+(?=\S)")
_FRONT_ITEM = re.compile(r"\s*-(?:\s|\Z)")
# Spans that must keep both ends: without one the text behind would be shown, or hidden.
_CLOSED = re.compile(r"<private\b.*?(?:</private\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)


# --- notes as they may be shown ---------------------------------------------------------------------------


def decode(data: bytes) -> str:
    """Decode a file's bytes: UTF-8 (or UTF-16 with its mark), damage replaced, newlines as `\\n`."""
    text = data.decode(_encoding(data), "replace")
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def damage(data: bytes) -> int | None:
    """Return where the first byte stands that `decode` replaces."""
    try:
        data.decode(_encoding(data))
    except UnicodeDecodeError as error:
        return error.start
    return None


def _encoding(data: bytes) -> str:
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def parse(text: str, path: str, *, redacted: bool = True) -> Note:
    """Parse decoded text of the note at `path` (posix, relative to its collection); never an error.

    Private parts are blanked and, unless `redacted` is false, secrets replaced; line numbers stay those
    of the file. A program has lines and a name alone: its comments are not read as headings.
    """
    note = _blocks(text, path, redacted=redacted)
    if note.title:  # code
        return note
    front = note.front_matter
    settings = metadata.read(note.lines[1 : front[1] - 1]) if front else metadata.properties(note.lines)
    day = metadata.date_of(path)
    month = metadata.month_of(path)
    for key in ("date", "created") if settings and not day else ():
        value = str(settings.get(key, ""))
        match = _ISO_DAY.match(value)
        day = day or (metadata.date_of(match[0]) if match else metadata.day_said(value))
    said = note.annotations
    for line, own in ({} if day else _days(note)).items():
        said = {**said, line: {"since": own, **said.get(line, {})}}
    return Note(
        path, _title(note, settings, said if month else {}), day, metadata.kind_of(path), note.lines,
        note.headings, note.fences, front, settings, said, stamps.days(note),
    )  # fmt: skip


def _days(note: Note) -> dict[int, str]:
    """Return the days in the headings of a note without a day, by line.

    A day without a year is of the year in the path or in a heading above.
    """
    days: dict[int, str] = {}
    year = metadata.year_of(note.path)
    for heading in note.headings:
        if not _DIGIT.search(heading.text):
            continue
        if day := metadata.day_said(heading.text, year):
            days[heading.line] = day
        else:
            year = metadata.year_of(heading.text) or year
    return days


# Embedded files, tags and empty headings, as apps write them above the heading that opens a note.
_OPENING = lazy(r"\s*+(?:(?:!\[\[[^\[\]]*+\]\]|#[^\s#]\S*+|#{1,6}|<!--.*)(?:\s++|$))*")


def _title(note: Note, settings: Mapping[str, object], said: Mapping[int, Mapping[str, str]]) -> str:
    """Return the title in the front matter, else an opening heading of level 1, else the file's name.

    Headings with a day in `said`, in the note of a month, do not count.
    """
    named = settings.get("title")
    title = str(named).strip() if isinstance(named, str | int | float) and not isinstance(named, bool) else ""
    first = next((heading for heading in note.headings if heading.text), None)
    if not title and first and first.level == 1:
        above = note.lines[note.front_matter[1] if note.front_matter else 0 : first.line - 1]
        silent = all(structure.is_silent(line) or _OPENING.fullmatch(line) for line in above)
        is_title = silent and "since" not in said.get(first.line, {})
        title = first.text if is_title else ""
    return title or metadata.name_of(note.path)


def public(text: str, path: str, *, redacted: bool = True) -> str:
    """Return decoded text of the note at `path` without its private parts and its secrets, line for line.

    Its comments stay. With `redacted` false secrets stay as well.
    """
    stripped = strip_private(text, any_case=not filetypes.is_code(path))
    return redact(stripped)[0] if redacted else stripped


def _blocks(text: str, path: str, *, redacted: bool) -> Note:
    """The lines of a text without their comments, and its blocks; of code its name, too."""
    text = public(encoded.left_out(text), path, redacted=redacted)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if filetypes.is_code(path):
        return Note(path, basename(path), None, "note", tuple(lines))
    front = metadata.front_matter(lines)
    said: dict[int, dict[str, str]] = {}
    if "<!--" in text:
        skip = front[1] if front else 0
        around = fences.find(lines, skip)[0] if fences.may_fence(text) else []
        said = comments.take(lines, [(one.first, one.last) for one in around if not one.is_open])
    headings, found = structure.read(lines, front[1] if front else 0)
    fenced = tuple((one.first, one.last) for one in found)
    for number in comments.guessed(text, lines, [*fenced, front or (0, 0)]):
        said[number] = {"status": "tentative", **said.get(number, {})}
    return Note(
        path, "", None, "note", tuple(lines), tuple(headings), fenced, front, annotations=said
    )  # fmt: skip


# --- documents --------------------------------------------------------------------------------------------


class Edit(NamedTuple):
    """A document after an edit, the new place of each old line, and the inserted lines.

    `places` has one line number for each line of before, None where the line is gone; `lines` are the first
    and last line of an inserted entry, (0, 0) for any other edit.
    """

    document: Document
    places: Sequence[int | None]
    lines: tuple[int, int] = (0, 0)

    def moved(self, line: int) -> int | None:
        """Return where a line of before stands; None where it is gone."""
        return self.places[line - 1] if line <= len(self.places) else line

    def follower(self, path: str) -> Moved:
        """Return the map of lines that `Document.follow` takes, for the note at `path`."""

        def citation(line: int) -> str | None:
            now = self.moved(line)
            return cite(path, now, now) if now else None

        return citation


class Strike(NamedTuple):
    """A statement to strike, without the statements nested in it.

    `until` is the day, `by` and `agent` who strikes it, `to` the citation of a replacement other than the
    next entry.
    """

    statement: Statement
    until: str
    by: str = "owner"
    agent: str = ""
    to: str = ""


class _Codec(NamedTuple):
    """How the bytes of a file are text: its mark, its encoding, and an odd last byte of damaged UTF-16."""

    mark: bytes = b""
    encoding: str = "utf-8"
    errors: str = "surrogateescape"
    tail: bytes = b""


class Document:
    """A Markdown file: `bare` are its lines, `ends` their ends; made by `read` and `of`, changed by edits."""

    def __init__(self, path: str, lines: Sequence[str], codec: _Codec) -> None:
        """Take lines with their ends."""
        self.path, self.lines, self._codec = path, lines, codec

    @classmethod
    def read(cls, data: bytes, path: str = "note.md") -> Self:
        """Read the bytes of a file, whatever they are: `data` gives them back."""
        mark, encoding = next((bom for bom in _BOMS if data.startswith(bom[0])), (b"", "utf-8"))
        body = data[len(mark) :]
        codec = _Codec(mark, encoding, "surrogateescape" if encoding == "utf-8" else "strict")
        try:
            text = body.decode(encoding, codec.errors)
        except UnicodeDecodeError:  # UTF-16 of an odd length, or with half a character
            size = len(body) - len(body) % 2
            codec = _Codec(mark, encoding, _DAMAGED, body[size:])
            text = body[:size].decode(encoding, codec.errors)
        return cls(path, _LINE.findall(text), codec)

    @classmethod
    def of(cls, text: str, path: str = "note.md") -> Document:
        """Make a document of a text that is written as UTF-8."""
        return cls(path, _LINE.findall(text), _Codec())

    def checked(self) -> Document:
        """Return the document if a writer may change it. Raises NoteUnreadable where UTF-16 is damaged."""
        if self._codec.errors == _DAMAGED:
            raise NoteUnreadable(paths.shown(self.path), f"neither UTF-8 nor {self._codec.encoding}")
        return self

    @cached_property
    def text(self) -> str:
        """The text without its byte order mark; bytes that are no UTF-8 are lone surrogates in it."""
        return "".join(self.lines)

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file. Raises UnicodeEncodeError where a text was put in that it cannot hold."""
        mark, encoding, errors, tail = self._codec
        return mark + self.text.encode(encoding, errors) + tail

    @cached_property
    def bare(self) -> Sequence[str]:
        """The lines without their ends, from 0."""
        return [line.rstrip("\r\n") for line in self.lines]

    def end(self, line: int) -> str:
        """Return the newline of a line, empty for a last line without one."""
        return self.lines[line - 1][len(self.bare[line - 1]) :]

    # --- content ------------------------------------------------------------------------------------

    @cached_property
    def note(self) -> Note:
        """The note as it may be shown: private parts blank, secrets redacted."""
        return parse(decode(self.data), self.path)

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of the note, as they may be shown."""
        return statements.read(self.note)

    @cached_property
    def stated(self) -> list[Statement]:
        """The statements of the note with secrets in place: never shown."""
        return statements.read(self.blocks)

    @cached_property
    def blocks(self) -> Note:
        """The lines and blocks alone, private parts blank, secrets in place: never shown."""
        return _blocks(decode(self.data), self.path, redacted=False)

    @property
    def headings(self) -> Sequence[Heading]:
        """The headings."""
        return self.blocks.headings

    @property
    def fences(self) -> Sequence[tuple[int, int]]:
        """First and last line of each code fence."""
        return self.blocks.fences

    @property
    def front_matter(self) -> tuple[int, int] | None:
        """First and last line of the front matter."""
        return self.blocks.front_matter

    @cached_property
    def starts(self) -> Sequence[int]:
        """Where each line starts in `text`."""
        return list(accumulate(map(len, self.lines[:-1]), initial=0))

    def line_at(self, place: int) -> int:
        """Return the number of the line that holds a place of `text`."""
        return bisect_right(self.starts, place)

    @cached_property
    def _public(self) -> Sequence[str]:
        """The lines (from 0) with blanks in the place of private parts."""
        text, parts, done = "\n".join(self.bare), list[str](), 0
        for start, end, _ in private_parts(text):
            parts += (text[done:start], _HIDDEN.sub(" ", text[max(done, start) : end]))
            done = max(done, end)
        return "".join([*parts, text[done:]]).split("\n")

    @cached_property
    def _shown(self) -> Sequence[str]:
        """The lines (from 0) with blanks in the place of private parts and comments, secrets included."""
        return [comments.without(line, lambda one: " " * len(one[0])) for line in self._public]

    # --- what belongs together ----------------------------------------------------------------------

    def unit(self, line: int) -> range:
        """Return all that goes where a line goes whole: its statement with what is nested in it, its section,
        its row (its table for the head), its fence, its key of front matter."""
        front = self.front_matter
        if front and front[0] <= line <= front[1]:
            return self._key(line, *front)
        if (fence := self.fence(line)) is None and structure.ROW.match(self.bare[line - 1]):
            last = line
            is_head = _RULE_OF_TABLE.match("".join(self.bare[line : line + 1]))
            while is_head and last < len(self.bare) and structure.ROW.match(self.bare[last]):
                last += 1
            return range(line, last + 1)
        if statement := self._around[line]:
            return range(statement.first, statement.end + 1)
        if line in self._extents:
            first, last = self._extents[line]
            return range(first, last + 1)
        return fence or range(line, line + 1)

    def fence(self, line: int) -> range | None:
        """Return the fence that a line is in, its marks included."""
        place = bisect_right(self.fences, (line, len(self.lines) + 1)) - 1
        first, last = self.fences[place] if place >= 0 else (0, 0)
        return range(first, last + 1) if first <= line <= last else None

    def whole(self, lines: Set[int]) -> set[int]:
        """Return lines that go, with those that must not stay without them: the other mark of a fence, the
        rest of a comment or of a private part."""
        found = set(lines)
        marks = (range(first, last + 1, max(1, last - first)) for first, last in self.fences)
        for span in [*self._closed, *marks]:
            if not found.isdisjoint(span):
                found |= set(span)
        return found

    @cached_property
    def _closed(self) -> list[range]:
        """The lines of private parts and comments that reach over several."""
        found = []
        for match in _CLOSED.finditer(self.text):
            first, last = self.line_at(match.start()), self.line_at(max(match.start(), match.end() - 1))
            if last > first:
                found.append(range(first, last + 1))
        return found

    @cached_property
    def _extents(self) -> dict[int, tuple[int, int]]:
        return structure.extents(self.headings, len(self.lines))

    @cached_property
    def _around(self) -> Sequence[Statement | None]:
        """The innermost statement that each line, by its number, belongs to."""
        found: list[Statement | None] = [None] * (len(self.lines) + 1)
        for one in self.stated:  # the inner ones behind the outer ones
            found[one.first : one.end + 1] = [one] * (one.end + 1 - one.first)
        return found

    def _key(self, line: int, first: int, last: int) -> range:
        """A line of a list in front matter, or a key with all that belongs to it."""
        if line in (first, last):
            return range(0)

        def depth(number: int) -> int:  # a blank line is indented by its end
            own = self.lines[number - 1]
            return len(own) - len(own.lstrip())

        def continues(number: int) -> bool:
            own = self.lines[number - 1]
            return own[:1].isspace() or _FRONT_ITEM.match(own) is not None

        start = line
        if not _FRONT_ITEM.match(self.bare[line - 1]):
            while start > first + 1 and continues(start):
                start -= 1
        end = start + 1
        while end < last and (depth(end) > depth(start) or (end <= line and continues(end))):
            end += 1
        return range(start, end)

    # --- edits --------------------------------------------------------------------------------------

    def insert(self, entry: str, *, heading: str | None = None) -> Edit:
        """Put an entry at the end of a section, before its first sub-heading.

        A heading that is missing is made, at level 2, at the end. Without one the entry goes to the end of
        the lines under the title. Blank lines keep it apart from other text than lists. The old lines
        stay byte for byte; the entry takes on the newlines of the document.
        """
        lines = self.bare
        at, made_heading = self._content_end(heading)
        added = [*made_heading, *entry.split("\n")]
        if at and not (in_list(lines[at - 1]) and in_list(added[0])):
            added.insert(0, "")
        last = at + len(added)
        if at < len(lines) and lines[at].strip():
            added.append("")
        end = "\r\n" if "\r" in self.text else "\n"  # a newline behind a lone `\r` would end no line
        before = list(self.lines)
        if before and not self.end(len(before)):
            before[-1] += end if at == len(before) else "\n"
        made = [*before[:at], *(f"{line}{end}" for line in added), *before[at:]]
        return self._inserted(made, at, len(added), (last - entry.count("\n"), last))

    def insert_after(self, statement: Statement, entry: str) -> Edit:
        """Put an entry behind a statement, above what is nested in it; an empty line parts paragraphs."""
        at, lines = max(self.whole({statement.last})), entry.split("\n")
        is_paragraph, quotation = not statement.is_item, structure.quoted(statement.item)
        parting = statement.item[:quotation].rstrip()
        added = [parting, *lines] if is_paragraph else list(lines)
        below = "".join(self.bare[at : at + 1])
        start = structure.quoted(below)
        is_list = structure.ITEM.match(below, start) is not None
        if below[start:].strip() and (is_paragraph or not (is_list or statement.end > at)):
            added.append(parting if start else "")
        end = self.end(at)
        between = end or next(filter(None, map(self.end, range(1, len(self.lines) + 1))), "\n")
        if end == "\r":
            new = [f"{line}\r\n" for line in added]  # a newline behind a lone one would end no line
        else:
            new = [*(f"{line}{between}" for line in added[:-1]), added[-1] + end]
        above = self.lines[at - 1] + ("" if end else between)
        made = [*self.lines[: at - 1], above, *new, *self.lines[at:]]
        first = at + 1 + is_paragraph
        return self._inserted(made, at, len(added), (first, first + len(lines) - 1))

    def _inserted(self, lines: Sequence[str], at: int, count: int, entry: tuple[int, int]) -> Edit:
        places = [number + count * (number > at) for number in range(1, len(self.lines) + 1)]
        return Edit(Document(self.path, lines, self._codec), places, entry)

    def delete(self, lines: Collection[int]) -> Edit:
        """Take lines out; a lone `\\r` that then meets a `\\n` is one newline with it."""
        kept: list[str] = []
        places: list[int | None] = []
        for number, line in enumerate(self.lines, 1):
            if number in lines:
                places.append(None)
                continue
            if line == "\n" and kept and kept[-1].endswith("\r"):
                kept[-1] += line
            else:
                kept.append(line)
            places.append(len(kept))
        return Edit(Document(self.path, kept, self._codec), places)

    def strike_all(self, strikes: Iterable[Strike]) -> Edit:
        """Strike statements of this document; lines that are struck already stay as they are."""
        changed: dict[int, str] = {}
        for strike in strikes:
            changed |= _strike(self, strike)
        return Edit(self._changed(changed), range(1, len(self.lines) + 1))

    def unmark(self, statement: Statement) -> Edit:
        """Take what marks a statement as a guess off it: comments of its own, and a prefix.

        Comments count on its lines and on lines directly below.
        """
        first, last = statement.first - 1, statement.last
        while last < len(self.bare) and comments.TENTATIVE.fullmatch(self.bare[last]):
            last += 1
        done = {number: comments.TENTATIVE.sub("", self.bare[number]) for number in range(first, last)}
        start = structure.opening(done[first])
        start = hour.end() if (hour := _HOUR.match(done[first], start)) else start
        start += struck.lead(done[first][start:], turn=False)
        if match := comments.GUESS_PREFIX.match(done[first], start):
            done[first] = done[first][:start] + done[first][match.end() :]
        return Edit(self._changed(done), range(1, len(self.lines) + 1))

    def change(self, lines: Mapping[int, str]) -> Document:
        """Put other text, without ends, into some lines; all keep their numbers and ends."""
        return self._changed({number - 1: line for number, line in lines.items()})

    def with_text(self, text: str) -> Document:
        """Return a document of another text in the encoding of this one."""
        return Document(self.path, _LINE.findall(text), self._codec)

    def follow(self, maps: Mapping[str, Moved]) -> Document:
        """Return the document with its references into moved notes led to where the lines are now.

        `maps` is that of `references.shifted`. Without such references the document comes back as it is.
        """
        text = references.shifted(self.text, maps)
        return self.with_text(text) if text != self.text else self

    def _changed(self, changed: Mapping[int, str]) -> Document:
        lines = list(self.lines)
        for index, line in changed.items():
            lines[index] = line + self.end(index + 1)
        return Document(self.path, lines, self._codec)

    def _content_end(self, heading: str | None) -> tuple[int, list[str]]:
        """Behind which line the content of a heading's section, before any other heading, ends.

        Of no heading, the lines under the title; of a missing one, all lines, and then also the lines with
        which it is to be made. Blank lines at the end are left out.
        """
        headings, lone = self.headings, "[\ud800-\udfff]"  # of bytes that are no UTF-8
        titles = [language.caseless(one.text) for one in headings]
        start, made = self.front_matter[1] if self.front_matter else 0, list[str]()
        if heading is None:
            opens = headings and headings[0].level == 1
            place = 0 if opens and not "".join(self.bare[start : headings[0].line - 1]).strip() else -1
        elif (title := language.caseless(structure.plain(re.sub(lone, "\ufffd", heading)))) in titles:
            place = titles.index(title)
        else:
            place, made = len(headings), [f"## {heading}", ""]
        if 0 <= place < len(headings):
            start = headings[place].line + structure.is_underlined(self.blocks, headings[place])
        end = headings[place + 1].line - 1 if place + 1 < len(headings) else len(self.bare)
        while end > start and not self.bare[end - 1].strip():
            end -= 1
        return end, made


def in_list(line: str) -> bool:
    """Tell whether a line is an item with words, or indented below an item."""
    item = structure.ITEM.match(line)
    return item[0][-1].isspace() if item else line.startswith(("  ", "\t")) and line.strip() != ""


# --- struck statements --------------------------------------------------------------------------------------


def _strike(document: Document, strike: Strike) -> dict[int, str]:
    """Return the lines (from 0) of a statement struck, the first one with its comment; hidden parts stay."""
    bare, shown = document.bare, document._shown
    changed = {
        number: _struck(bare[number], shown[number], *span)
        for number, span in _words(strike.statement, shown).items()
        if struck.plain(shown[number]) is None
    }
    first = strike.statement.first - 1
    line = changed.get(first, bare[first])
    # Before a private part at the end: inside of one that goes on below, the comment would be hidden.
    at = len(document._public[first].rstrip()) or len(bare[first].rstrip())
    at += len(line) - len(bare[first])
    mark = comments.of_marks(until=strike.until, by=strike.by, agent=strike.agent, to=strike.to)
    return changed | {first: f"{line[:at]} {mark}{line[at:]}"}


def _words(statement: Statement, shown: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Return the span of the words in each shown line (from 0) of a statement, of a turn behind the name."""
    spans: dict[int, tuple[int, int]] = {}
    for number in range(statement.first - 1, statement.last):
        text, is_first = shown[number], number == statement.first - 1
        start = structure.opening(text) if is_first else 0
        if is_first and statement.hour and (hour := _HOUR.match(text, start)):
            start = hour.end()
        start += struck.lead(text[start:], turn=not statement.is_item and is_first)
        end = len(structure.unnamed(text)[0].rstrip())
        start += len(text[start:]) - len(text[start:].lstrip())
        if start < end:
            spans[number] = start, end
    return spans


def _struck(raw: str, shown: str, start: int, end: int) -> str:
    """Return a line with tildes around a span, and those that are shown in it escaped."""
    pairs = zip(raw[start:end], shown[start:end], struck.escaped(shown[start:end]), strict=True)
    inside = "".join(written if own == public else own for own, public, written in pairs)
    return f"{raw[:start]}~~{inside}~~{raw[end:]}"
