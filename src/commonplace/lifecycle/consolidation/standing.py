"""The entries of MEMORY.md as they stand, with labels that a plan names them by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from commonplace.chunking import statements
from commonplace.notes import headings
from commonplace.notes.parse import parse
from commonplace.notes.redact import MARK
from commonplace.types import Note
from commonplace.types.statements import Statement

_UNDECODED = re.compile("[\ud800-\udfff]")  # a byte that is no text, as `files.decode` keeps it


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its label (M1, M2 …; none for what is struck or none), its words on one line, its section.

    Text and section are legible: what was no character in the file is U+FFFD in them.

    `fixed` says why nothing generated may move it ("is partly hidden"), empty where it may; `leads` that
    entries, code or tables which are not struck belong to it; `nested` that it belongs to the entry above.
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
        """Whether it was written by code and rests on sources."""
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
        """Whether a plan may merge, replace or end it."""
        return bool(self.label) and not self.kept


@dataclass(frozen=True, slots=True)
class Page:
    """A file of entries: its sections by their plain titles, as the file writes them, and what is pinned."""

    entries: tuple[Entry, ...]
    sections: Mapping[str, str]
    pinned: frozenset[str] = frozenset()

    @property
    def labelled(self) -> list[Entry]:
        """The entries that a plan may name."""
        return [entry for entry in self.entries if entry.label]


def read(text: str, path: str) -> Page:
    """Take a file apart; `text` as `files.decode` gives it."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    note = parse(plain, path)
    raw = plain.split("\n")
    found: list[Entry] = []
    odd = not plain.isascii() and _UNDECODED.search(plain) is not None
    private = "<private" in plain.lower() or "</private" in plain.lower()
    redacted = [0, *accumulate(MARK in line for line in note.lines)]  # how many lines up to each are
    end = number = 0
    told = statements.read(note)
    for at, statement in enumerate(told):
        nested = statement.first <= end
        end = max(end, statement.end)
        listed = bool(statement.item.strip()) or len(statement.headings) > 1
        label = ""
        if listed and not statement.struck and not nested:
            number += 1
            label = f"M{number}"
        below = statement.end > statement.last
        leads = below and _leads(statement, list(statements.under(told, at)), raw)
        own = "\n".join(raw[statement.first - 1 : statement.end]) if odd or private else ""
        hidden = MARK in statement.text or (below and redacted[statement.end] > redacted[statement.first - 1])
        fixed = _fixed(own, hidden=hidden) if own or hidden else ""
        found.append(_entry(label, statement, fixed, leads=leads, nested=nested))
    return Page(tuple(found), *_sections(note, raw))


def _leads(statement: Statement, under: Sequence[Statement], raw: Sequence[str]) -> bool:
    """Whether a line below a statement's own belongs to it, but for what is struck."""
    struck = {n for one in under if one.struck for n in range(one.first, one.last + 1)}
    return any(raw[n - 1].strip() for n in range(statement.last + 1, statement.end + 1) if n not in struck)


def _fixed(own: str, *, hidden: bool) -> str:
    """Why nothing generated may move a statement with such lines of its own; empty where it may."""
    if hidden or "<private" in own.lower() or "</private" in own.lower():
        return "is partly hidden"
    return "holds bytes that are no text" if _UNDECODED.search(own) else ""


def _entry(label: str, statement: Statement, fixed: str, *, leads: bool, nested: bool) -> Entry:
    return Entry(
        label,
        statement,
        _legible(" ".join(statement.text.split())),
        _legible(statement.headings[-1]) if statement.headings else "",
        statements.is_pinned(statement.said),
        fixed,
        leads,
        nested,
    )


def _legible(text: str) -> str:
    return text if text.isascii() else _UNDECODED.sub("\N{REPLACEMENT CHARACTER}", text)


def _sections(note: Note, raw: Sequence[str]) -> tuple[dict[str, str], frozenset[str]]:
    """Titles below the first level as a plan and as the file names them, and those that are pinned."""
    found: dict[str, str] = {}
    pinned = set()
    for heading in note.headings:
        written = headings.atx(raw[heading.line - 1])
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
