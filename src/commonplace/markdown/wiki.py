"""Obsidian's syntax in notes: tags in the text, tasks, names of places, links to them.

https://help.obsidian.md/tags and https://help.obsidian.md/links say what these are: `#project/kestrel` behind
a blank; `[[Note]]`, `[[Note#Heading]]`, `[[Note#^block]]`, each with `|what is shown`; `^block` at the end of
a paragraph or an item, or on a line of its own below one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace import language
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import comments, statements, structure
from commonplace.types import Note

OPEN, DONE = "open", "done"
_TAG = re.compile(r"#(?<!\S#)([\w/-]{1,100})(?![\w/#-])")
# Behind an hour it is one here alone; the words are those of Logseq.
_TASK = re.compile(
    r"(?:\d\d:\d\d[ \t]+)?(?:\[(?: |(?P<x>[xX]))\]|TODO|DOING|LATER|NOW|WAITING|(?P<done>DONE))[ \t]+\S"
)
_ITEMS = lazy(r"\n[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?=[\dTDLNW\[])")  # that may be tasks
_LINK = re.compile(r"!?\[\[(?P<to>[^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
_BLOCK = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]{1,100})[ \t]*$")
_MOST_TAGS = 500
_MOST_DIGITS = 9
_LONGEST_LINE = 10_000  # characters that are looked at for tags


class Link(NamedTuple):
    """Where a link leads: the name of a note, and a place in it, `Heading`, `Heading#Sub` or `^block`."""

    name: str
    place: str = ""


def link(text: str) -> Link | None:
    """Read `[[Note#Heading|shown]]`; None for other text."""
    match = _LINK.fullmatch(text.strip())
    if match is None:
        return None
    name, _, place = match["to"].partition("#")
    return Link(name.strip(), place.strip())


def said(note: Note) -> dict[str, object]:
    """Return the tags in the text of a note, and whether it has open and done tasks; empty without both."""
    found: dict[str, object] = {}
    tags, tasks = dict[str, None](), set[str]()
    text = "\n" + "\n".join(note.lines)
    has_tasks = any(_TASK.match(text, item.end()) for item in _ITEMS.finditer(text))
    if not (has_tasks or _TAG.search(language.composed(text))):  # as in most notes
        return found
    for line in _text(note):
        if "#" in line and len(tags) < _MOST_TAGS:
            for match in _TAG.finditer(language.composed(comments.without_code(line[:_LONGEST_LINE]))):
                tag = match[1].strip("/")
                if any(not c.isdecimal() and c not in "/-_" for c in tag):
                    tags[tag] = None
        if has_tasks and (state := task(line)):
            tasks.add(state)
    if tags:
        found[comments.TAGS_IN_TEXT] = list(tags)[:_MOST_TAGS]
    if tasks:
        found[comments.TASKS_IN_TEXT] = sorted(tasks, reverse=True)
    return found


def task(line: str) -> str:
    """Return whether a line is an open or a done task; empty for any other."""
    item = structure.ITEM.match(line)
    box = _TASK.match(line, item.end()) if item else None
    return "" if box is None else DONE if box["x"] or box["done"] else OPEN


def _text(note: Note) -> Iterator[str]:
    """The lines of a note outside front matter and fences."""
    skipped = structure.lines_of(*note.fences, note.front_matter)
    yield from (line for number, line in enumerate(note.lines, 1) if number not in skipped)


def lines(note: Note, place: str) -> tuple[int, int] | None:
    """Return the first and the last line of a place in a note; None where it has no such place.

    Conversations of a transcript are named by their numbers, from 1.
    """
    if note.kind == "session" and place.isdecimal():
        number = int(place[:_MOST_DIGITS])
        return _below(note, number) if 0 < number <= len(note.headings) else None
    return _block(note, place[1:]) if place.startswith("^") else _section(note, place)


def _section(note: Note, place: str) -> tuple[int, int] | None:
    """Return the lines of the section below a heading; of `A#B` those of the first B below A."""
    wanted = [name for part in place.split("#") if (name := _plain(part))]
    headings = list(note.headings)
    start, level = 0, 0
    for name in wanted:
        while start < len(headings) and _plain(headings[start].text) != name:
            start += 1
            if start < len(headings) and level and headings[start].level <= level:
                return None
        if start == len(headings):
            return None
        level = headings[start].level
        start += 1
    return _below(note, start) if level else None


def _below(note: Note, number: int) -> tuple[int, int]:
    """The lines of the section below a heading, by its number from 1, without blank ones at the end."""
    _, *further = headings = note.headings[number - 1 :]
    after = (heading.line - 1 for heading in further if heading.level <= headings[0].level)
    first, last = headings[0].line, next(after, len(note.lines))
    while last > first and not note.lines[last - 1].strip():
        last -= 1
    return first, last


def _plain(heading: str) -> str:
    """A heading as links compare it: letters and digits alone, in any case."""
    return " ".join(re.sub(r"[\W_]+", " ", language.caseless(heading)).split())


def _block(note: Note, name: str) -> tuple[int, int] | None:
    """The lines of what `^name` stands at the end of, or on a line of its own below."""
    for number, line in enumerate(note.lines, 1):
        match = _BLOCK.search(line) if "^" in line else None
        if match is None or match[1].casefold() != name.casefold():
            continue
        if line.strip().startswith("^"):
            last = number - 1
            while last > 0 and not note.lines[last - 1].strip():
                last -= 1
            first = last
            while first > 1 and note.lines[first - 2].strip():
                first -= 1
            return (first, last) if last else None
        around = (one for one in statements.read(note) if one.first <= number <= one.last)
        return next(((one.first, one.end) for one in around), (number, number))
    return None
