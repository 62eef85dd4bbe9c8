"""The sources of generated entries: where they stand now, and which are gone or say something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date

from commonplace.chunking import statements
from commonplace.errors import CommonplaceError
from commonplace.lifecycle.consolidation import support, words
from commonplace.lifecycle.consolidation.standing import Entry
from commonplace.notes import comments, excerpt, layout
from commonplace.notes.parse import decode, parse
from commonplace.types.statements import Statement

Read = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Orphan:
    """A generated entry with a source that is gone, struck, or says something else now."""

    entry: Entry
    reference: str
    reason: str


@dataclass(slots=True)
class Living:
    """What became of sources: references to rewrite, by the line of their entry, and orphans."""

    moves: dict[int, dict[str, str]] = field(default_factory=dict)
    orphans: list[Orphan] = field(default_factory=list)


class Notes:
    """The statements of notes, each read once."""

    def __init__(self, read: Read) -> None:
        """Take what reads a file of the workspace."""
        self._read = read
        self._known: dict[str, Sequence[Statement]] = {}

    def of(self, path: str) -> Sequence[Statement]:
        """The statements of a note; none of one that cannot be read."""
        if path not in self._known:
            try:
                data = self._read(path)
            except CommonplaceError:
                data = None
            self._known[path] = statements.read(parse(decode(data), path)) if data is not None else ()
        return self._known[path]


def check(entries: Sequence[Entry], read: Read) -> Living:
    """Look up every reference of the generated entries; one whose words were moved is found by them."""
    notes, found = Notes(read), Living()
    for entry in entries:
        if not entry.generated or entry.statement.struck:
            continue
        for reference in comments.sources(entry.statement.said):
            now, reason = _where(entry, reference, notes)
            if reason:
                found.orphans.append(Orphan(entry, reference, reason))
            elif now != reference:
                found.moves.setdefault(entry.statement.first, {})[reference] = now
    return found


def _where(entry: Entry, reference: str, notes: Notes) -> tuple[str, str]:
    """Where a source stands now, or an empty text and why it is none any more."""
    try:
        wanted = excerpt.parse_reference(reference)
    except CommonplaceError:
        return "", "is no reference"
    known = notes.of(wanted.path)
    if not known:
        return "", "is gone"
    day = layout.date_of(wanted.path) or entry.since
    told = date.fromisoformat(day) if day else None
    there = [s for s in known if s.first <= wanted.first <= s.last]
    if any(s.struck and _stands(s) for s in there):
        return reference, ""
    carrying = [s for s in known if "from" not in s.said and _carries(s, entry.text, told)]
    if any(s in carrying for s in there):
        now = there[0]
    elif carrying:
        now = min(carrying, key=lambda s: (not _stands(s), abs(s.first - wanted.first)))
        reference = f"{wanted.path}#L{now.first}"
    else:
        return "", "says something else" if there else "is gone"
    return (reference, "") if _stands(now) else ("", "is struck")


def _stands(source: Statement) -> bool:
    """Whether a source still holds; what an entry was merged from is struck and holds in it."""
    return not source.struck or source.path.endswith(("MEMORY.md", "archive.md"))


def _carries(source: Statement, text: str, day: date | None) -> bool:
    """Whether a statement says any sentence of a text."""
    said = words.read(source.text, day)
    return any(support.says(sentence, said) for sentence in words.read(text, day))
