"""MEMORY.md and its archive as they are to be after a consolidation: pure, and what is not touched stays.

Nothing is ever dropped: what is replaced, merged or over is struck where it stands, and what does not fit
under the cap is moved to the archive, under the same heading and with its comments.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from commonplace.markdown import comments, references, statements, structure
from commonplace.markdown.document import Document, Edit, Strike
from commonplace.upkeep.consolidation import page as pages
from commonplace.upkeep.consolidation.checks import Accepted
from commonplace.upkeep.consolidation.page import Entry, Page

ARCHIVE = "memory/archive.md"
ARCHIVE_TITLE = "# Archive"
AGENT = "consolidate"
_PENDING = "cp-pending-"
_PLACE = re.compile(rf"to=({_PENDING}\d{{1,9}}) ")
_BOX = re.compile(r"\A\[[ xX]\][ \t]+")


@dataclass(slots=True)
class Draft:
    """The two files while they are composed; `path` is that of long-term memory.

    `archived` are the texts that were moved, `left_out` the operations whose entry does not fit any more,
    `lost` those whose entry would not stand under its section.
    """

    path: str
    memory: str
    archive: str
    known: tuple[str, Page] | None = None  # a text of long-term memory, and its entries
    archived: list[str] = field(default_factory=list)
    left_out: list[Accepted] = field(default_factory=list)
    lost: list[Accepted] = field(default_factory=list)

    def page(self) -> Page:
        """The entries of long-term memory as they stand now."""
        if self.known is None or self.known[0] != self.memory:
            self.known = self.memory, pages.read(self.memory, self.path)
        return self.known[1]

    def moved(self, path: str, moved: Callable[[int], str | None]) -> None:
        """Let the references of both files follow lines that were moved."""
        self.memory = references.shifted(self.memory, {path: moved})
        self.archive = references.shifted(self.archive, {path: moved})


def compose(
    path: str,
    memory: str,
    archive: str,
    accepted: Sequence[Accepted],
    *,
    today: date,
    most_chars: int,
    moves: Mapping[int, Mapping[str, str]],
    page: Page | None = None,
) -> Draft:
    """Carry out the accepted operations within the cap; leave out additions that do not fit, the last first.

    A text that cannot be read back as it was to be written is left out as well. `moves` are references of
    entries, by line, to be rewritten; `page` is the parsed `memory`, if known.
    """
    items = list(accepted)
    left_out: list[Accepted] = []
    lost: list[Accepted] = []
    while True:
        draft = Draft(
            path, _with_moves(memory, moves), archive, (memory, page) if page else None,
            left_out=left_out, lost=lost,
        )  # fmt: skip
        _carry_out(draft, items, today)
        if unread := _unread(draft, items):
            lost += unread
            items = [item for item in items if item not in unread]
            continue
        written = [item for item in items if item.text]
        _within_cap(draft, most_chars, {item.text for item in written})
        if len(draft.memory) <= most_chars or not written:
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


def _with_moves(memory: str, moves: Mapping[int, Mapping[str, str]]) -> str:
    """Rewrite references of entries whose sources stand elsewhere now."""
    if not moves:
        return memory
    lines = list(Document.of(memory).lines)
    for number, told in moves.items():
        for old, new in told.items():
            marks = [comments.of_marks(from_=comments.of_sources([reference])) for reference in (old, new)]
            written, fresh = (mark.removeprefix("<!-- cp: from=").removesuffix(" -->") for mark in marks)
            lines[number - 1] = lines[number - 1].replace(written, fresh)
    return "".join(lines)


def _carry_out(draft: Draft, accepted: Sequence[Accepted], today: date) -> None:
    """Strike what is replaced, merged or over, put what takes its place right below it, and add the rest."""
    strikes: list[Strike] = []
    added: dict[int, list[str]] = {}  # below which line of before
    places: dict[str, int] = {}
    for number, item in enumerate(accepted):
        if item.operation.op == "add":
            continue
        first = item.targets[0].statement
        for target in item.targets:
            to = f"{_PENDING}{number}" if target is not item.targets[0] else ""
            strikes.append(Strike(target.statement, today.isoformat(), "agent", AGENT, to))
        if item.operation.op != "expire":
            added[first.end] = statements.entry_like(
                first, item.text, since=_since(item), from_=_references(item, draft.path)
            )
            added[first.end][0] += _until(item)
            if not structure.ITEM.match(added[first.end][0]):
                added[first.end].insert(0, "")  # or both were one paragraph
            places[f"{_PENDING}{number}"] = first.end
    struck = Document.of(draft.memory, draft.path).strike_all(strikes).document
    _insert(draft, struck.lines, added, places)
    for item in accepted:
        if item.operation.op == "add":
            _add(draft, item)


def _insert(
    draft: Draft, lines: Sequence[str], added: Mapping[int, list[str]], places: Mapping[str, int]
) -> None:
    """Put entries below their lines, and let every reference follow."""
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    text: list[str] = []
    now: dict[int, int] = {}
    stands: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        now[number] = len(text) + 1
        text.append(line)
        if number in added:
            if not text[-1].endswith(("\n", "\r")):
                text[-1] += ending
            stands[number] = len(text) + 1 + (not added[number][0])
            text += [f"{entry}{ending}" for entry in added[number]]
    draft.memory = "".join(text)
    draft.moved(draft.path, lambda line: f"{draft.path}#L{now[line]}" if line in now else None)
    draft.memory = _PLACE.sub(
        lambda found: f"to={draft.path}#L{stands[places[found[1]]]} " if found[1] in places else found[0],
        draft.memory,
    )


def _add(draft: Draft, item: Accepted) -> None:
    """Put an entry at the end of its section."""
    mark = comments.of_marks(since=_since(item), from_=comments.of_sources(_labels(item))) + _until(item)
    before = draft.memory or "# Memory\n"
    made = Document.of(before, draft.path).insert(f"- {item.text} {mark}", heading=item.section)
    draft.memory = made.document.text
    _follow(draft, draft.path, made)


def _follow(draft: Draft, path: str, made: Edit) -> None:
    """Let references follow the lines below what was inserted into a file."""
    if made.places and made.places[-1] != len(made.places):
        draft.moved(path, made.follower(path))


def _since(item: Accepted) -> str:
    """The day of the newest source; of a merge without any, the earliest that its entries name."""
    if item.sources:
        return max(source.day for source in item.sources).isoformat()
    return min((target.since for target in item.targets if target.since), default="")


def _until(item: Accepted) -> str:
    """The last day that an entry matters, as its comment says so."""
    return f" <!-- valid-until: {item.until} -->" if item.until else ""


def _labels(item: Accepted) -> list[str]:
    return [source.label for source in item.sources]


def _references(item: Accepted, path: str) -> list[str]:
    """Return a new entry's sources; for a merge also those of the merged entries, or these entries."""
    found = _labels(item)
    if item.operation.op == "merge":
        for target in item.targets:
            found += comments.sources(target.statement.said) or [f"{path}#L{target.statement.first}"]
    return list(dict.fromkeys(found))


# --- the cap ------------------------------------------------------------------------------------------------


def _within_cap(draft: Draft, most_chars: int, new: set[str]) -> None:
    """Move entries to the archive until the file fits or has no more movable entries."""
    if len(draft.memory) <= most_chars:
        return
    page = draft.page()
    lines = Document.of(draft.memory).lines
    gone: set[int] = set()
    above, below = list(range(-1, len(lines) + 1)), list(range(1, len(lines) + 3))  # lines that stay
    left = len(draft.memory)
    moved: list[Entry] = []
    for entry in _least(page, new):
        if left <= most_chars:
            break
        first, last = entry.statement.first, entry.statement.end
        own = [*range(first, last + 1), *_spare_blank(lines, above[first], below[last])]
        for number in own:
            left -= len(lines[number - 1])
            below[above[number]], above[below[number]] = below[number], above[number]
        gone.update(own)
        moved.append(entry)
    if moved:
        _archive(draft, page, lines, gone, moved)


def _least(page: Page, new: set[str]) -> list[Entry]:
    """The entries that may go, in their order: struck ones, the oldest first, then generated ones by worth.

    The owner's own words stay, and what is pinned, partly hidden or has entries of its own.
    """
    free = [entry for entry in page.entries if not (entry.kept or entry.nested)]
    struck = [entry for entry in free if entry.statement.struck]
    made = [entry for entry in free if entry.label and entry.generated and entry.text not in new]
    return sorted(struck, key=lambda entry: entry.statement.said.get("until", "")) + sorted(made, key=_worth)


def _worth(entry: Entry) -> tuple[int, str]:
    return int(entry.statement.said.get("importance", "5")), entry.since


def _archive(draft: Draft, page: Page, lines: Sequence[str], gone: set[int], moved: Sequence[Entry]) -> None:
    """Move the lines of entries, with their comments, under the same headings of the archive."""
    groups: dict[str | None, list[Entry]] = {}
    for entry in moved:
        groups.setdefault(page.sections.get(entry.section), []).append(entry)
    places: dict[int, int] = {}  # lines of the archive, by those that they were
    for heading, group in groups.items():
        block, own = _block(lines, group)
        before = draft.archive or f"{ARCHIVE_TITLE}\n"
        made = Document.of(before, ARCHIVE).insert("\n".join(block), heading=heading)
        draft.archive, at = made.document.text, made.lines[0]
        places = {line: made.moved(place) or place for line, place in places.items()}
        _follow(draft, ARCHIVE, made)
        places |= {line: at + place for line, place in own.items()}
    draft.memory = "".join(line for number, line in enumerate(lines, 1) if number not in gone)
    order = sorted(gone)

    def now(line: int) -> str:
        if line in places:
            return f"{ARCHIVE}#L{places[line]}"
        return f"{draft.path}#L{line - bisect_left(order, line)}"

    draft.moved(draft.path, now)
    draft.archived += [entry.text for entry in moved]


def _block(lines: Sequence[str], group: Sequence[Entry]) -> tuple[list[str], dict[int, int]]:
    """The lines of entries as they are archived, and the place of each line among them."""
    block: list[str] = []
    places: dict[int, int] = {}
    for entry in group:
        first, last = entry.statement.first, entry.statement.end
        if block and not (structure.ITEM.match(lines[first - 1]) and structure.ITEM.match(block[0])):
            block.append("")
        places |= {number: len(block) + number - first for number in range(first, last + 1)}
        block += [line.rstrip("\r\n") for line in lines[first - 1 : last]]
    return block, places


def _spare_blank(lines: Sequence[str], above: int, below: int) -> list[int]:
    """The blank line that goes with those of an entry, so that no two are left where there was one."""
    if above < 1 or lines[above - 1].strip():
        return []
    if below > len(lines):
        return [above]
    return [] if lines[below - 1].strip() else [below]
