"""One daily note as a section of its month: its heading, and its lines with where they come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from posixpath import basename, dirname, splitext
from typing import NamedTuple

from commonplace.markdown import comments
from commonplace.markdown.document import parse
from commonplace.markdown.metadata import date_of
from commonplace.markdown.structure import fence_mark
from commonplace.redaction.redact import strip_private
from commonplace.types import Note
from commonplace.upkeep.months.blocks import Block, Daily

Origin = tuple[str, int]  # path of a note, and a line of it, from 1
Line = tuple[str, Origin | None]
_PLAIN_KEYS = frozenset({"title", "date", "created"})
_LEAST_LEVEL, _DEEPEST = 3, 6
_MOST_TAGS = 20  # private parts inside each other that are closed at the end of a note


class Heading(NamedTuple):
    """The heading of a day: its text, and its line with what it says of all below it."""

    label: str
    line: Line


def heading(daily: Daily, note: Note, found: Sequence[Block], taken: Collection[str]) -> Heading:
    """Return the heading of a note in its month; what a note says of itself as a whole is said there."""
    title = _title(found)
    label = _label(daily, note, title)
    said = comments.of_front_matter(note.metadata)
    told = [*_told(said), *(found[0] for found in comments.each(title.lines[0] if title else ""))]
    if told and label in taken:
        label = f"{label} ({basename(daily.path)})"
    last = len(note.lines)
    reference = f"{daily.archived}#L1-L{last}" if last > 1 else f"{daily.archived}#L1"
    mark = comments.of_marks(from_=comments.of_sources([reference]), since=daily.day)
    origin = (daily.path, title.first) if title else None
    return Heading(label, (" ".join([f"## {label}", *told, mark]), origin))


def _label(daily: Daily, note: Note, title: Block | None) -> str:
    """The day, and beside it what the note is called, if it is called anything else."""
    name = splitext(basename(daily.path))[0].removeprefix(daily.day).strip("-_ ")
    folder = dirname(daily.path).partition("/")[2]
    names = [title.title if title else "", str(note.metadata.get("title") or ""), name, folder]
    for told in (" ".join(re.sub(r"[<>]", " ", name).split()) for name in names):
        day_only = re.fullmatch(r"[\W\d_年月日]*", told) and date_of(told) in (None, daily.day)
        if told and not day_only:
            return told if told.startswith(daily.day) else f"{daily.day} {told}"
    return daily.day


def _title(found: Sequence[Block]) -> Block | None:
    """The heading that opens a note as its title."""
    first = next((block for block in found if block.kind == "heading"), None)
    return first if first and first.level == 1 else None


def _told(said: Mapping[str, str]) -> Iterator[str]:
    """What front matter says, as comments."""
    for key, value in said.items():
        if key == comments.PINNED:
            yield f"<!-- {key} -->"
        elif key == "status":
            yield f"<!-- {value} -->"
        else:
            yield f"<!-- {key}: {' '.join(re.sub('[<>]|--', ' ', value).split())} -->"


def written(daily: Daily, note: Note, found: Sequence[Block], left: Collection[int]) -> list[Line]:
    """Return the lines of a note below its heading, without the blocks that begin at the lines `left`.

    A code fence or a private part that it leaves open is closed: it would swallow the next day.
    """
    title = _title(found)
    lines: list[Line] = list(_front_matter(daily, note))
    gap = False
    for block in _without_emptied(found, left):
        if block.first in left or block is title:
            gap = True
        else:
            for line in _lines(daily, block):
                if not (gap and not line[0].strip() and lines and not lines[-1][0].strip()):
                    lines.append(line)
                gap = False
    while lines and not lines[-1][0].strip():
        lines.pop()
    while lines and not lines[0][0].strip():
        lines.pop(0)
    return _sealed(lines)


def _lines(daily: Daily, block: Block) -> Iterator[Line]:
    if block.kind == "heading":
        level = min(_DEEPEST, max(_LEAST_LEVEL, block.level + 1))
        text = block.lines[0]
        if len(block.lines) == 1:
            text = re.sub(r"^ {0,3}#{1,6}(?=[ \t]|$)", "", text)
        yield f"{'#' * level} {text.strip()}".rstrip(), (block.path, block.first)
        return
    for number, line in enumerate(block.lines, block.first):
        marked = f"{line.rstrip()} {_mark(daily, block)}" if number == block.marked else line
        yield marked, (block.path, number)


def _mark(daily: Daily, block: Block) -> str:
    """Where the original of an entry stands, and since when it says so unless it does itself."""
    said = block.entry.said if block.entry else {}
    own = f"#L{block.first}" if block.first == block.last else f"#L{block.first}-L{block.last}"
    told = [f"{daily.archived}{own}", *comments.sources(said)]
    return comments.of_marks(from_=comments.of_sources(told), since="" if "since" in said else daily.day)


def _front_matter(daily: Daily, note: Note) -> Iterator[Line]:
    """What a note says at its head, as a block of code: a month has one head for all its days."""
    if note.front_matter is None or not set(note.metadata) - _PLAIN_KEYS:
        return
    raw = daily.text.split("\n")
    yield "```yaml", None
    for number in range(2, note.front_matter[1]):
        yield raw[number - 1], (daily.path, number)
    yield "```", None
    yield "", None


def _without_emptied(found: Sequence[Block], left: Collection[int]) -> Iterator[Block]:
    """Leave out headings under which everything was left out."""
    for place, block in enumerate(found):
        if block.kind == "heading":
            under = _under(found, place)
            emptied = any(other.first in left for other in under)
            if emptied and not any(_says(other) and other.first not in left for other in under):
                continue
        yield block


def _under(found: Sequence[Block], place: int) -> list[Block]:
    under = []
    for block in found[place + 1 :]:
        if block.kind == "heading" and block.level <= found[place].level:
            break
        under.append(block)
    return under


def _says(block: Block) -> bool:
    return block.kind != "heading" and any(line.strip() for line in block.lines)


def _sealed(lines: list[Line]) -> list[Line]:
    text = "\n".join(line for line, _ in lines)
    for _ in range(_MOST_TAGS):
        if strip_private(f"{text}\nx").endswith("x"):
            break
        text += "\n</private>"
        lines = [*lines, ("</private>", None)]
    note = parse(f"{text}\n# x", "x.md")
    if lines and note.fences and (not note.headings or note.headings[-1].line != len(note.lines)):
        lines = [*lines, (fence_mark(note.lines[note.fences[-1][0] - 1]) or "```", None)]
    return lines
