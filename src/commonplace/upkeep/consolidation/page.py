"""The entries of MEMORY.md as they stand, with labels that a plan names them by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from commonplace.base.errors import NoteUnreadable
from commonplace.markdown import fences, statements, structure
from commonplace.markdown.document import parse
from commonplace.redaction.redact import MARK, unclosed_line
from commonplace.types import Note, Statement

_CONFLICT = ("<<<<<<<", "|||||||", ">>>>>>>")
_UNDECODED = re.compile("[\ud800-\udfff]")  # an undecodable byte, as `Document` keeps it


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """An entry: its label (M1, M2 …; empty if struck, nested or unlisted), its one-line text, its section.

    Text and section are legible: undecodable bytes of the file are U+FFFD in them.

    `fixed` is the reason why generated changes may not move it ("is partly hidden"), empty if they may;
    `leads`: unstruck entries, code or tables belong to it; `nested`: it belongs to the entry above.
    """

    label: str
    statement: Statement
    text: str
    section: str
    pinned: bool = False
    fixed: str = ""
    leads: bool = False
    nested: bool = False

    @property
    def generated(self) -> bool:
        """Tell whether it was written by code and rests on sources."""
        return "from" in self.statement.said

    @property
    def since(self) -> str:
        """The day it holds from, empty where it does not say."""
        return self.statement.said.get("since", "")

    @property
    def kept(self) -> str:
        """Why no plan may merge, replace or end it; empty where it may."""
        if self.pinned:
            return "is pinned"
        return self.fixed or ("has entries of its own below it" if self.leads else "")

    @property
    def may_be_touched(self) -> bool:
        """Tell whether a plan may merge, replace or end it."""
        return bool(self.label) and not self.kept


@dataclass(frozen=True, slots=True)
class Page:
    """A file of entries: its sections by their plain titles, as the file writes them, and what is pinned."""

    entries: tuple[MemoryEntry, ...]
    sections: Mapping[str, str]
    pinned: frozenset[str] = frozenset()

    @property
    def labelled(self) -> list[MemoryEntry]:
        """The entries that a plan may name."""
        return [entry for entry in self.entries if entry.label]


def read(text: str, path: str) -> Page:
    """Take a file apart; `text` as `Document` gives it."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    note = parse(plain, path)
    raw = plain.split("\n")
    entries: list[MemoryEntry] = []
    redacted = [0, *accumulate(MARK in line for line in note.lines)]  # how many lines up to each are
    end = number = 0
    stated = statements.read(note)
    for at, statement in enumerate(stated):
        nested = statement.first <= end
        end = max(end, statement.end)
        listed = statement.is_item or len(statement.headings) > 1
        label = ""
        if listed and not statement.struck and not nested:
            number += 1
            label = f"M{number}"
        below = statement.end > statement.last
        leads = below and _leads(statement, statements.under(stated, at), raw)
        hidden = MARK in statement.text or (below and redacted[statement.end] > redacted[statement.first - 1])
        fixed = _fixed(raw[statement.first - 1 : statement.end], hidden=hidden)
        section = _legible(statement.headings[-1]) if statement.headings else ""
        words = _legible(" ".join(statement.text.split()))
        pinned = statements.is_pinned(statement.said)
        entries.append(MemoryEntry(label, statement, words, section, pinned, fixed, leads, nested))
    return Page(tuple(entries), *_sections(note, raw))


def _leads(statement: Statement, under: Iterable[Statement], raw: Sequence[str]) -> bool:
    """Tell whether a line below a statement's own belongs to it, but for what is struck."""
    struck = set[int]().union(*(range(one.first, one.last + 1) for one in under if one.struck))
    rest = range(statement.last + 1, statement.end + 1)
    return any(raw[number - 1].strip() for number in rest if number not in struck)


def _fixed(lines: Sequence[str], *, hidden: bool) -> str:
    """Return why generated changes may not move a statement of such lines; empty if they may."""
    own = "\n".join(lines)
    if hidden or ("<" in own and any(mark in own.lower() for mark in ("<private", "</private"))):
        return "is partly hidden"
    return "" if own.isascii() or not _UNDECODED.search(own) else "holds bytes that are no text"


def _legible(text: str) -> str:
    return text if text.isascii() else _UNDECODED.sub("\N{REPLACEMENT CHARACTER}", text)


def _sections(note: Note, raw: Sequence[str]) -> tuple[dict[str, str], frozenset[str]]:
    """Titles below the first level as a plan and as the file names them, and those that are pinned."""
    found: dict[str, str] = {}
    pinned = set()
    for heading in note.headings:
        written = structure.atx(raw[heading.line - 1])
        title = written[1] if written else raw[heading.line - 1].strip()
        plain = _legible(heading.text)
        if heading.level < 2 or MARK in plain or plain in found:
            continue
        if raw[heading.line - 1][:1] == " ":  # not a heading to who inserts entries
            continue
        found[plain] = title
        if any("pinned" in note.annotations.get(n, {}) for n in (heading.line, heading.line + 1)):
            pinned.add(plain)
    if "pinned" in note.metadata:
        pinned |= found.keys()
    return found, frozenset(pinned)


# --- whether it may be rewritten ----------------------------------------------------------------------------


def check_whole(text: str, path: str) -> None:
    """Refuse a file with a private part or a fence that is never closed, or a conflict: NoteUnreadable."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    for fault, line in chain(_conflicts(plain, path), _open_parts(plain, path)):
        raise NoteUnreadable(path, fault.format(line=line))


def _conflicts(plain: str, path: str) -> Iterator[tuple[str, int]]:
    """Yield the lines that git sets around the two sides of a conflict, but for those of code."""
    if not any(mark in plain for mark in _CONFLICT):
        return
    fences = parse(plain, path).fences
    for number, line in enumerate(plain.split("\n"), 1):
        is_mark = line[:7] in _CONFLICT and line[7:8] in ("", " ")
        if is_mark and not any(first <= number <= last for first, last in fences):
            yield "has conflict markers (line {line}); resolve them first", number


def _open_parts(plain: str, path: str) -> Iterator[tuple[str, int]]:
    """Yield what is opened and never closed: the last private part, and a fence."""
    if line := unclosed_line(plain):
        yield "`<private>` of line {line} is never closed; close it first", line
    if "```" in plain or "~~~" in plain:
        note = parse(plain, path)
        if fence := fences.unclosed(note.lines, note.front_matter[1] if note.front_matter else 0):
            yield "the code fence of line {line} is never closed; close it first", fence.first


def find_again(then: Page, now: Page) -> dict[str, MemoryEntry]:
    """Return the present entries for the labels of an earlier page, matched by their words in order."""
    left = now.labelled
    found: dict[str, MemoryEntry] = {}
    for entry in then.labelled:
        said = entry.text, entry.section
        if same := next((other for other in left if (other.text, other.section) == said), None):
            found[entry.label] = same
            left.remove(same)
    return found
