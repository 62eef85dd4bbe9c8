"""MEMORY.md and its archive as they are to be after a consolidation: pure, and what is not touched stays.

Nothing is ever dropped: what is replaced, merged or over is struck where it stands, and what does not fit
under the cap is moved to the archive, under the same heading and with its comments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from commonplace.lifecycle.consolidation import standing
from commonplace.lifecycle.consolidation.checks import Accepted
from commonplace.lifecycle.consolidation.standing import Entry, Page
from commonplace.notes import comments, files
from commonplace.revision import references, striking

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
    archived: list[str] = field(default_factory=list)
    left_out: list[Accepted] = field(default_factory=list)
    lost: list[Accepted] = field(default_factory=list)

    def page(self) -> Page:
        """The entries of long-term memory as they stand now."""
        return standing.read(self.memory, self.path)

    def moved(self, path: str, moved: Callable[[int], str | None]) -> None:
        """Let the references of both files follow lines that were moved."""
        self.memory = references.shifted(self.memory, path, moved)
        self.archive = references.shifted(self.archive, path, moved)


def compose(
    path: str,
    memory: str,
    archive: str,
    accepted: Sequence[Accepted],
    *,
    today: date,
    most_chars: int,
    moves: Mapping[int, Mapping[str, str]],
) -> Draft:
    """Carry out what was accepted, and keep to the cap; additions that do not fit are left out, last first.

    What is read back of the text must be what was to be written: what is not is left out as well. `moves`
    are references of entries, by line, to be rewritten.
    """
    kept = list(accepted)
    left_out: list[Accepted] = []
    lost: list[Accepted] = []
    while True:
        draft = _composed(path, memory, archive, kept, today, moves)
        if unread := _unread(draft, kept):
            lost += unread
            kept = [item for item in kept if item not in unread]
            continue
        new = {a.operation.text for a in kept if a.operation.text}
        _within_cap(draft, most_chars, new)
        if len(draft.memory) <= most_chars or not any(a.operation.text for a in kept):
            draft.left_out, draft.lost = left_out, lost
            return draft
        last = max(n for n, a in enumerate(kept) if a.operation.text)
        left_out.append(kept.pop(last))


def _composed(
    path: str,
    memory: str,
    archive: str,
    accepted: Sequence[Accepted],
    today: date,
    moves: Mapping[int, Mapping[str, str]],
) -> Draft:
    draft = Draft(path, _with_moves(memory, moves), archive)
    _replace(draft, accepted, today)
    for item in accepted:
        if item.operation.op == "add":
            _add(draft, item)
    return draft


def _unread(draft: Draft, accepted: Sequence[Accepted]) -> list[Accepted]:
    """What was written and cannot be read back as an entry of its section, each as one of its own."""
    page = draft.page()

    def said(section: str, text: str) -> tuple[str, str]:
        return page.sections.get(section, section), " ".join(_BOX.sub("", text).split())

    there = Counter(said(entry.section, entry.text) for entry in page.labelled)
    unread: list[Accepted] = []
    for item in accepted:
        if text := item.operation.text:
            there[said(item.section, text)] -= 1
            unread += [item] if there[said(item.section, text)] < 0 else []
    return unread


def _with_moves(memory: str, moves: Mapping[int, Mapping[str, str]]) -> str:
    """Rewrite references of entries whose sources stand elsewhere now."""
    if not moves:
        return memory
    lines = striking.split(memory)
    for number, told in moves.items():
        for old, new in told.items():
            written = comments.of_marks(from_=comments.of_sources([old]))[
                len("<!-- cp: from=") : -len(" -->")
            ]
            fresh = comments.of_marks(from_=comments.of_sources([new]))[len("<!-- cp: from=") : -len(" -->")]
            lines[number - 1] = lines[number - 1].replace(written, fresh)
    return "".join(lines)


def _replace(draft: Draft, accepted: Sequence[Accepted], today: date) -> None:
    """Strike what is replaced, merged or over, and put what takes its place right below it."""
    raw = striking.Raw(striking.split(draft.memory), draft.path)
    added: dict[int, list[str]] = {}  # below which line of before
    places: dict[str, int] = {}
    for number, item in enumerate(accepted):
        if item.operation.op == "add":
            continue
        first = item.targets[0].statement
        for target in item.targets:
            to = f"{_PENDING}{number}" if target is not item.targets[0] else ""
            raw.strike(target.statement, until=today.isoformat(), by="agent", agent=AGENT, to=to)
        if item.operation.op != "expire":
            added[first.end] = striking.beside(
                first, item.operation.text, since=_since(item, today), from_=_references(item, draft.path)
            )
            if not striking.is_item(added[first.end][0]):
                added[first.end].insert(0, "")  # or both were one paragraph
            places[f"{_PENDING}{number}"] = first.end
    _insert(draft, raw.lines, added, places)


def _insert(
    draft: Draft, lines: list[str], added: Mapping[int, list[str]], places: Mapping[str, int]
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
    mark = comments.of_marks(since=item.sources[0].day.isoformat(), from_=comments.of_sources(_labels(item)))
    before = draft.memory or "# Memory\n"
    draft.memory, _, _ = files.insert_entry(before, f"- {item.operation.text} {mark}", item.section)
    _follow(draft, draft.path, before, draft.memory)


def _follow(draft: Draft, path: str, before: str, after: str) -> None:
    """Let references follow the lines below what was inserted into a file."""
    old, new = before.split("\n"), after.split("\n")
    more = len(new) - len(old)
    at = next(
        (
            n
            for n, (one, other) in enumerate(zip(old, new, strict=False))
            if one.rstrip("\r") != other.rstrip("\r")
        ),
        len(old),
    )
    if more and at < len(old):
        draft.moved(path, lambda line: f"{path}#L{line + more if line > at else line}")


def _since(item: Accepted, today: date) -> str:
    """The day of the newest source; of a merge without any, the earliest that its entries name."""
    if item.sources:
        return max(candidate.day for candidate in item.sources).isoformat()
    return min((target.since for target in item.targets if target.since), default="")


def _labels(item: Accepted) -> list[str]:
    return [candidate.label for candidate in item.sources]


def _references(item: Accepted, path: str) -> list[str]:
    """What a new entry rests on: its sources; of a merge also those of its entries, or these themselves."""
    found = _labels(item)
    if item.operation.op == "merge":
        for target in item.targets:
            found += comments.sources(target.statement.said) or [f"{path}#L{target.statement.first}"]
    return list(dict.fromkeys(found))


# --- the cap ------------------------------------------------------------------------------------------------


def _within_cap(draft: Draft, most_chars: int, new: set[str]) -> None:
    """Move entries to the archive until the file fits, or nothing is left that may be moved."""
    while len(draft.memory) > most_chars:
        page = draft.page()
        victim = _least(page, new)
        if victim is None:
            return
        _archive(draft, victim, page)


def _least(page: Page, new: set[str]) -> Entry | None:
    """The entry that goes next: struck ones, the oldest first, then generated ones of the least worth.

    The owner's own words stay, and what is pinned, partly hidden or has entries of its own.
    """
    free = [entry for entry in page.entries if not (entry.kept or entry.nested)]
    struck = [entry for entry in free if entry.statement.struck]
    if struck:
        return min(struck, key=lambda entry: entry.statement.said.get("until", ""))
    made = [entry for entry in free if entry.label and entry.generated and entry.text not in new]
    return min(made, key=_worth, default=None)


def _worth(entry: Entry) -> tuple[int, str]:
    return int(entry.statement.said.get("importance", "5")), entry.since


def _archive(draft: Draft, entry: Entry, page: Page) -> None:
    """Move the lines of an entry, with its comments, under the same heading of the archive."""
    lines = striking.split(draft.memory)
    first, last = entry.statement.first, entry.statement.end
    block = [line.rstrip("\r\n") for line in lines[first - 1 : last]]
    before = draft.archive or f"{ARCHIVE_TITLE}\n"
    heading = page.sections.get(entry.section, entry.section) if entry.section in page.sections else None
    draft.archive, at, _ = files.insert_entry(before, "\n".join(block), heading)
    _follow(draft, ARCHIVE, before, draft.archive)
    start, end = _with_spare_blanks(lines, first, last)
    draft.memory = "".join(lines[: start - 1] + lines[end:])
    size = end - start + 1

    def moved(line: int) -> str:
        if first <= line <= last:
            return f"{ARCHIVE}#L{at + line - first}"
        return f"{draft.path}#L{line - size if line > last else line}"

    draft.moved(draft.path, moved)
    draft.archived.append(entry.text)


def _with_spare_blanks(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The lines that go with those of an entry, so that no two blank ones are left where there was one."""
    blank_before = first > 1 and not lines[first - 2].strip()
    if blank_before and last == len(lines):
        return first - 1, last
    if blank_before and last < len(lines) and not lines[last].strip():
        return first, last + 1
    return first, last
