"""The entries of MEMORY.md as they stand, with labels that a plan names them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.chunking import statements
from commonplace.notes import headings
from commonplace.notes.parse import parse
from commonplace.notes.redact import MARK
from commonplace.types import Note
from commonplace.types.statements import Statement


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its label (M1, M2 …; none for what is struck or none), its words on one line, its section.

    `fixed` says that part of it is hidden, so that nothing generated may move it; `nested` that it belongs
    to the entry above.
    """

    label: str
    statement: Statement
    text: str
    section: str
    pinned: bool = False
    fixed: bool = False
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
    def may_be_touched(self) -> bool:
        """Whether a plan may merge, replace or end it."""
        return bool(self.label) and not (self.pinned or self.fixed)


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
    end = number = 0
    for statement in statements.read(note):
        nested = statement.first <= end
        end = max(end, statement.end)
        listed = bool(statement.item.strip()) or len(statement.headings) > 1
        label = ""
        if listed and not statement.struck and not nested:
            number += 1
            label = f"M{number}"
        found.append(_entry(label, statement, raw, nested=nested))
    return Page(tuple(found), *_sections(note, raw))


def _entry(label: str, statement: Statement, raw: Sequence[str], *, nested: bool) -> Entry:
    own = "\n".join(raw[statement.first - 1 : statement.end])
    fixed = MARK in statement.text or "<private" in own.lower() or "</private" in own.lower()
    if not fixed and statement.end > statement.last:
        fixed = MARK in "\n".join(parse(own, "x.md").lines)
    return Entry(
        label,
        statement,
        " ".join(statement.text.split()),
        statement.headings[-1] if statement.headings else "",
        statements.is_pinned(statement.said),
        fixed,
        nested,
    )


def _sections(note: Note, raw: Sequence[str]) -> tuple[dict[str, str], frozenset[str]]:
    """Titles below the first level as a plan and as the file names them, and those that are pinned."""
    found: dict[str, str] = {}
    pinned = set()
    for heading in note.headings:
        written = headings.atx(raw[heading.line - 1])
        title = written[1] if written else raw[heading.line - 1].strip()
        if heading.level < 2 or MARK in heading.text or heading.text in found:
            continue
        if raw[heading.line - 1][:1] == " ":  # not a heading to who inserts entries
            continue
        found[heading.text] = title
        if any("pinned" in note.annotations.get(n, {}) for n in (heading.line, heading.line + 1)):
            pinned.add(heading.text)
    if "pinned" in note.metadata:
        pinned |= found.keys()
    return found, frozenset(pinned)
