"""Authorship of a note after an agent edited it: lines that the agent touched are marked as the agent's.

The note is read as the index will read it: a comment put together from pieces, hidden parts or line ends
counts as its result. An agent cannot pin, and pinned statements stay as their owner wrote them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from commonplace.base.errors import CommonplaceError
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import comments, metadata, statements, structure
from commonplace.markdown.comments import Annotations
from commonplace.markdown.document import parse
from commonplace.storage import diffs
from commonplace.types import Note

_COMMENT = re.compile(r"[ \t]*(<!--.*?-->)")
_OTHERS = ("agent", "tool", "untrusted")  # writers whose words are not the owner's


class CommandRefused(CommonplaceError):
    """A command that was not carried out, in the words that a model knows from the reference."""


class _MarkedBlock(NamedTuple):
    """An entry, paragraph, table or fence: its lines, and where the mark of its writer goes.

    `key` is its text and status; `pinned` its text with all of its annotations, None unless it is pinned.
    """

    lines: range
    mark_line: int
    is_below: bool  # the mark goes on a line of its own below `mark_line`
    key: tuple[str, ...]
    pinned: tuple[object, ...] | None


def attribute(path: str, before: str, after: str, mark: str) -> str:
    """Return a note that an agent rewrote from `before` to `after`, with `mark` on all that it touched.

    Raises Refused where a pinned statement changes or comes to be, or where something cannot be marked.
    """
    lines = after.split("\n")
    known = {match[1] for match in _COMMENT.finditer(before)}
    for number in _new(before, lines):
        if "<!" in lines[number - 1]:
            lines[number - 1] = _unclaimed(lines[number - 1], known)
    past = parse(before, path)
    lines = _without_keys(path, past, lines)
    _check_read(past, before, parse("\n".join(lines), path), lines)
    text = _marked(path, before, "\n".join(lines), mark)
    lost = _pinned(past) - _pinned(parse(text, path))
    if lost:
        raise CommandRefused(f"`{next(iter(lost))[0]}` is pinned: only its owner changes it")
    return text


def taken_over(path: str, text: str, mark: str) -> str:
    """Return a note with `mark` on all that does not say that somebody else than its owner wrote it.

    Raises Refused as `attribute` does.
    """
    return _marked(path, "", text, mark)


def _marked(path: str, before: str, text: str, mark: str) -> str:
    """Mark what an agent touched, and check that it reads so. Raises Refused."""
    past, note, lines = parse(before, path), parse(text, path), text.split("\n")
    for block in _touched(past, before, note, text):
        if _unmarked(note, block):
            lines[block.mark_line - 1] += f"\n{mark}" if block.is_below else f" {mark}"
    text = "\n".join(lines)
    note = parse(text, path)
    for block in _touched(past, before, note, text):
        if block.pinned:
            raise CommandRefused("what is written there would be pinned: only its owner pins")
        if line := _unmarked(note, block):
            raise CommandRefused(f"`{line}` cannot be marked as yours there; write it as an entry of a list")
    return text


def pinned(text: str, path: str) -> bool:
    """Tell whether a note holds anything that is pinned."""
    return "pinned" in text and bool(_pinned(parse(text, path)))


def _new(before: str, lines: Sequence[str]) -> set[int]:
    """Return the numbers, from 1, of lines that the text of before lacks."""
    old = before.split("\n") if before else []
    return {n + 1 for hunk in diffs.hunks(old, lines) for n in range(hunk.other_first, hunk.other_last)}


def _check_read(past: Note, before: str, note: Note, lines: Sequence[str]) -> None:
    """Refuse what puts a line that stays into code or a comment. Raises Refused."""
    was_code, is_code = structure.lines_of(*past.fences), structure.lines_of(*note.fences)
    old = before.split("\n")[: len(past.lines)]
    first = place = 1
    for start, end, _, other_end in [*diffs.hunks(old, lines), (len(old), 0, len(lines), 0)]:
        for number in range(first, start + 1):
            line, now = past.lines[number - 1], number - first + place
            is_read = line.strip() and number not in was_code
            if is_read and (now in is_code or not note.lines[now - 1].strip()):
                raise CommandRefused(f"`{line.strip()}` would be code or a comment; close the one above it")
        first, place = end + 1, other_end + 1


def _unclaimed(line: str, known: set[str]) -> str:
    """Return a line without claims of authorship: known comments go, new ones become text."""

    def kept(match: re.Match[str]) -> str:
        is_claim = comments.disarmed(match[1], entirely=False) != match[1]
        return "" if is_claim and match[1] in known else match[0]

    return comments.disarmed(_COMMENT.sub(kept, line), entirely=False)


def _without_keys(path: str, past: Note, lines: list[str]) -> list[str]:
    """The lines without keys of front matter that are new and say something of the whole note."""
    said = comments.of_front_matter(past.metadata)
    old = _keys(past.lines, past.front_matter)
    note = parse("\n".join(lines), path)
    if comments.of_front_matter(note.metadata) == said:
        return lines
    first, last = note.front_matter or (1, 1)
    kept = [key for key in _keys(lines, note.front_matter) if key in old or not _means(key)]
    lines = [*lines[:first], *(line for key in kept for line in key), *lines[last - 1 :]]
    if comments.of_front_matter(parse("\n".join(lines), path).metadata) != said:
        raise CommandRefused("the front matter says something of the whole note; only its owner changes that")
    return lines


def _means(key: Sequence[str]) -> bool:
    return bool(comments.of_front_matter(metadata.read(key)))


def _keys(lines: Sequence[str], front: tuple[int, int] | None) -> list[list[str]]:
    """The keys of front matter, each with the lines of its value."""
    found: list[list[str]] = []
    for line in lines[front[0] : front[1] - 1] if front else ():
        if found and (not line.strip() or line[0] in " \t-#]}"):
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _blocks(note: Note) -> Iterator[_MarkedBlock]:
    """Yield what a note says below its front matter, headings and rules apart."""
    said = comments.Annotations(note)
    for section, places in structure.placed(note):
        group: list[structure.StatementLines] = []
        for place in places:
            is_row = place.is_silent and group and group[-1].is_silent and group[-1].last == place.first - 1
            if group and not is_row and not (place.is_silent and place.outer):
                yield _block(note, said, group, section.headings)
                group = []
            group.append(place)
        if group:
            yield _block(note, said, group, section.headings)


def _block(
    note: Note, said: Annotations, places: Sequence[structure.StatementLines], headings: tuple[str, ...]
) -> _MarkedBlock:
    """Places that are marked together: rows of a table; an item with the fences and tables in it."""
    first, last = places[0], places[-1]
    lines = range(first.first, last.last + 1)
    text = tuple(note.lines[first.first - 1 : last.last])
    own = dict(said.of(first.first, first.first) or {})
    is_lazy = structure.indent(note.lines[first.last - 1]) <= first.depth
    line = last.last if first.is_silent else first.last if is_lazy or not first.is_item else first.first
    standing = (own.get("by", ""), own.get("status", ""))
    is_pinned = statements.is_pinned(own)
    about = ("\n".join(text).strip(), headings, *sorted(own.items())) if is_pinned else None
    return _MarkedBlock(lines, line, first.is_silent, (*standing, *text), about)


def _touched(past: Note, before: str, note: Note, text: str) -> list[_MarkedBlock]:
    """The blocks of a note that an agent touched: with a new line, or of another standing than before."""
    same = {block.key for block in _blocks(past)}
    new = _new(before, text.split("\n"))
    blocks = [block for block in _blocks(note) if any(map(str.isalnum, "".join(block.key[2:])))]
    return [block for block in blocks if block.key not in same or not new.isdisjoint(block.lines)]


def _unmarked(note: Note, block: _MarkedBlock) -> str:
    """Return the first line of a block that reads as its owner's; empty without one."""
    said = comments.Annotations(note)
    own = (n for n in block.lines if (said.of(n, n) or {}).get("by") not in _OTHERS)
    return next(filter(None, (note.lines[n - 1].strip() for n in own)), "")


def _pinned(note: Note) -> Counter[tuple[object, ...]]:
    return Counter(block.pinned for block in _blocks(note) if block.pinned)
