"""MEMORY.md and its archive as they are to be after a consolidation: pure, and what is not touched stays.

Nothing is ever dropped: what is replaced, merged or over is struck where it stands, and what does not fit
under the cap is moved to the archive, under the same heading and with its comments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

from commonplace.markdown import comments, references, statements
from commonplace.markdown.document import Document, Edit, Strike
from commonplace.types import Statement, cite
from commonplace.upkeep.consolidation import page as pages
from commonplace.upkeep.consolidation.checks import Accepted
from commonplace.upkeep.consolidation.page import MemoryEntry, Page
from commonplace.upkeep.consolidation.sources import Moves

ARCHIVE = "memory/archive.md"
TITLE, ARCHIVE_TITLE = "# Memory", "# Archive"
AGENT = "consolidate"
_BOX = re.compile(r"\A\[[ xX]\][ \t]+")


@dataclass(slots=True)
class Draft:
    """The two files while they are composed.

    `now` are the present lines of the lines of long-term memory as it was, None where they are gone.
    `archived` are the texts that were moved, `left_out` the operations whose entry does not fit any more,
    `lost` those whose entry would not stand under its section.
    """

    memory: Document
    archive: Document
    now: list[int | None] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    left_out: list[Accepted] = field(default_factory=list)
    lost: list[Accepted] = field(default_factory=list)

    def page(self) -> Page:
        """Read the entries of long-term memory as they stand now, and count lines from here on."""
        self.now = [*range(1, len(self.memory.lines) + 1)]
        return pages.read(self.memory.text, self.memory.path)

    def line(self, line: int) -> int:
        """Return the present line of a line that is still there."""
        return self.now[line - 1] or line

    def statement(self, was: Statement) -> Statement:
        """Return a statement of long-term memory as it stands now."""
        first = self.line(was.first)
        by = first - was.first
        moved = replace(was, first=first, last=was.last + by, end=was.end + by)
        return next((one for one in self.memory.statements if one.first == first), moved)

    def take(self, made: Edit, archived: Mapping[int, str] | None = None) -> None:
        """Replace one of the two files by its edited version; update references in both to lines that moved.

        `archived` maps a line that was moved to the archive to its place there.
        """
        path, follower = made.document.path, made.follower(made.document.path)
        maps = {path: lambda line: (archived or {}).get(line) or follower(line)}
        if path == self.memory.path:
            self.memory = made.document
            self.now = [line and made.moved(line) for line in self.now]
        else:
            self.archive = made.document
        self.memory, self.archive = self.memory.follow(maps), self.archive.follow(maps)


def compose(
    memory: Document,
    archive: Document,
    accepted: Sequence[Accepted],
    *,
    today: date,
    most_chars: int,
    moves: Moves,
) -> Draft:
    """Carry out the accepted operations within the cap; leave out additions that do not fit, the last first.

    A text that cannot be read back as it was to be written is left out as well. `moves` are references of
    entries to lines that stand elsewhere now.
    """
    items = list(accepted)
    left_out: list[Accepted] = []
    lost: list[Accepted] = []
    while True:
        draft = Draft(_with_moves(memory, moves), archive, left_out=left_out, lost=lost)
        draft.now = [*range(1, len(draft.memory.lines) + 1)]
        for item in items:
            _carry_out(draft, item, today)
        if unread := _unread(draft, items):
            lost += unread
            items = [item for item in items if item not in unread]
            continue
        written = [item for item in items if item.text]
        _within_cap(draft, most_chars, {item.text for item in written})
        if len(draft.memory.text) <= most_chars or not written:
            return draft
        left_out.append(written[-1])
        items = [item for item in items if item is not written[-1]]


def _unread(draft: Draft, accepted: Sequence[Accepted]) -> list[Accepted]:
    """Return the items whose text cannot be read back as a separate entry of its section."""
    if not any(item.text for item in accepted):
        return []
    page = draft.page()

    def said(section: str, text: str) -> tuple[str, str]:
        return page.sections.get(section, section), " ".join(_BOX.sub("", text).split())

    there = Counter(said(entry.section, entry.text) for entry in page.labelled)
    unread: list[Accepted] = []
    for item in accepted:
        if text := item.text:
            there[said(item.section, text)] -= 1
            unread += [item] if there[said(item.section, text)] < 0 else []
    return unread


def _with_moves(memory: Document, moves: Moves) -> Document:
    """Rewrite references of entries whose sources stand elsewhere now."""
    lines = list(memory.lines)
    for number, moved in moves.items():
        for path, places in moved.items():
            maps = {path: partial(_cited, path, places)}
            lines[number - 1] = references.shifted(lines[number - 1], maps)
    return memory.with_text("".join(lines)) if moves else memory


def _cited(path: str, places: Mapping[int, int], line: int) -> str:
    now = places.get(line, line)
    return cite(path, now, now)


def _carry_out(draft: Draft, item: Accepted, today: date) -> None:
    """Put an entry at the end of its section, or right below what it replaces, which is struck."""
    since, until = _since(item), f" <!-- valid-until: {item.until} -->" if item.until else ""
    if item.operation.op == "add":
        mark = comments.of_marks(since=since, from_=comments.of_sources(_labels(item)))
        memory = _titled(draft.memory, TITLE)
        draft.take(memory.insert(f"- {item.text} {mark}{until}", heading=item.section))
        return
    place = ""
    if item.text:
        first = draft.statement(item.targets[0].statement)
        entry = statements.entry_like(first, item.text, since=since, from_=_references(draft, item))
        made = draft.memory.insert_after(
            replace(first, last=first.end), "\n".join([entry[0] + until, *entry[1:]])
        )
        draft.take(made)
        place = cite(draft.memory.path, made.lines[0], made.lines[0])
    strikes = [
        Strike(draft.statement(target.statement), today.isoformat(), "agent", AGENT, place if number else "")
        for number, target in enumerate(item.targets)
    ]
    draft.take(draft.memory.strike_all(strikes))


def _titled(document: Document, title: str) -> Document:
    return document if document.text else document.with_text(f"{title}\n")


def _since(item: Accepted) -> str:
    """The day of the newest source; of a merge without any, the earliest that its entries name."""
    if item.sources:
        return max(source.day for source in item.sources).isoformat()
    return min((target.since for target in item.targets if target.since), default="")


def _labels(item: Accepted) -> list[str]:
    return [source.label for source in item.sources]


def _references(draft: Draft, item: Accepted) -> list[str]:
    """Return a new entry's sources; for a merge also those of the merged entries, or these entries."""
    found = _labels(item)
    if item.operation.op == "merge":
        for target in item.targets:
            own = draft.line(target.statement.first)
            found += comments.sources(target.statement.said) or [cite(draft.memory.path, own, own)]
    return list(dict.fromkeys(found))


# --- the cap ------------------------------------------------------------------------------------------------


def _within_cap(draft: Draft, most_chars: int, new: set[str]) -> None:
    """Move entries to the archive until the file fits or has no more movable entries."""
    if len(draft.memory.text) <= most_chars:
        return
    page = draft.page()
    for entry in _least(page, new):
        if len(draft.memory.text) <= most_chars:
            break
        _archive(draft, entry, page.sections.get(entry.section))


def _least(page: Page, new: set[str]) -> list[MemoryEntry]:
    """The entries that may go, in their order: struck ones, the oldest first, then generated ones by worth.

    The owner's own words stay, and what is pinned, partly hidden or has entries of its own.
    """
    free = [entry for entry in page.entries if not (entry.kept or entry.nested)]
    struck = [entry for entry in free if entry.statement.struck]
    made = [entry for entry in free if entry.label and entry.generated and entry.text not in new]
    return sorted(struck, key=lambda entry: entry.statement.said.get("until", "")) + sorted(made, key=_worth)


def _worth(entry: MemoryEntry) -> tuple[int, str]:
    return int(entry.statement.said.get("importance", "5")), entry.since


def _archive(draft: Draft, entry: MemoryEntry, heading: str | None) -> None:
    """Move the lines of an entry, with their comments, under the same heading of the archive."""
    first = draft.line(entry.statement.first)
    lines = range(first, first + entry.statement.end - entry.statement.first + 1)
    bare = draft.memory.bare
    block = "\n".join(bare[first - 1 : lines[-1]])
    made = _titled(draft.archive, ARCHIVE_TITLE).insert(block, heading=heading)
    draft.take(made)
    at = made.lines[0] - first
    # No two blank lines are left where there was one.
    blank = not any(map(str.strip, [*bare[first - 2 : first - 1], *bare[lines[-1] : lines[-1] + 1]]))
    gone = [*lines, *([first - 1] if blank and first > 1 else [])]
    draft.take(draft.memory.delete(gone), {line: cite(ARCHIVE, at + line, at + line) for line in lines})
    draft.archived.append(entry.text)
