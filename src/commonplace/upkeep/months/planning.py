"""The changes that make daily notes the note of their month: composed, checked, references led on."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.root import Root
from commonplace.markdown.document import Document
from commonplace.notes import scan
from commonplace.types.changes import Change
from commonplace.upkeep.months import blocks, checking, composing, moves, repeats
from commonplace.upkeep.months.blocks import Daily
from commonplace.upkeep.months.leaving import Left
from commonplace.upkeep.months.moves import Moved
from commonplace.upkeep.months.repeats import Repeat

if TYPE_CHECKING:
    from commonplace.changes.transaction import Read
    from commonplace.memory import Memory
    from commonplace.providers.llm.base import Llm

ARCHIVE = "archive"


class NotRolledUp(CommonplaceError):
    """A month that cannot be rolled up, and why; nothing of it was changed."""

    def __init__(self, month: str, reason: str) -> None:
        super().__init__(f"{month}: {reason}; its notes stay as they are")
        self.month = month


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A statement that is only in the original: where it stood, its first words, why, what says the same."""

    reference: str
    text: str
    why: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Old:
    """A month (YYYY-MM) that is old enough, and its daily notes in their order: path and day."""

    month: str
    notes: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        """Where the note of the month lies."""
        return f"{paths.MEMORY_FOLDER}/{self.month}.md"


@dataclass(slots=True)
class Plan:
    """The changes of one month, and what they leave out."""

    changes: list[Change] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)  # notes that are left as they are, and why


def compose(memory: Memory, old: Old, read: Read, more: Sequence[Repeat] = ()) -> Plan:
    """Compose a month from its notes as they are now, without what `more` tells is said twice.

    Raises NotRolledUp, NoteUnreadable.
    """
    plan, path, month = Plan(), old.path, old.month
    dailies, removed = _dailies(memory.workspace.root, old, read, plan)
    before = read(path)
    existing = Document.read(before or b"", path).checked().text
    composed = composing.compose(month, path, dailies, existing, more)
    if why := checking.lost(path, dailies, existing, composed):
        raise NotRolledUp(month, why)
    moved = _moved(path, dailies, composed, existing)
    if any(origin[0] != path for origin in composed.places):
        text = moves.follow(composed.text, path, moved)
        plan.changes.append(Change(path, before, _encoded(month, text, before or b"")))
    gone = {daily.path for daily in dailies}
    for other in sorted(set(own_notes(memory)) - gone - {path}):
        plan.changes += _following(other, moved, read, plan.unread)
    plan.changes += removed
    plan.left = [_left_out(item, moved) for item in composed.left if item.block.kind == "entry"]
    return plan


def _dailies(root: Path, old: Old, read: Read, plan: Plan) -> tuple[list[Daily], list[Change]]:
    """Read the notes of a month, plan their way into the archive; return them, and how they go."""
    dailies: list[Daily] = []
    removed: list[Change] = []
    for name, day in old.notes:
        if (data := read(name)) is None:
            continue
        archived = _archived(name, day, read)
        text = Document.read(data, name).checked().text.replace("\r\n", "\n").replace("\r", "\n")
        dailies.append(Daily(name, day, archived, moves.rebased(text, name, old.path)))
        plan.changes.append(Change(archived, None, data))
        with suppress(OSError):
            plan.modes[archived] = stat.S_IMODE(Root(root).stat(name).st_mode)
        removed.append(Change(name, data, None))
    return dailies, removed


def _archived(path: str, day: str, read: Read) -> str:
    """Where the bytes of a daily note go: a place that nothing has yet."""
    below = path.partition("/")[2]
    stem = f"{ARCHIVE}/{day[:4]}/{below.removesuffix('.md')}"
    place, number = f"{stem}.md", 2
    while read(place) is not None:
        place, number = f"{stem}-{number}.md", number + 1
    return place


def _moved(
    path: str, dailies: Sequence[Daily], composed: composing.Composed, existing: str
) -> dict[str, Moved]:
    """Where every line of the daily notes is now, and those of the monthly note, which come first."""

    def within(old: str, archived: str, lines: Sequence[str]) -> moves.Line:
        def line(number: int) -> str | None:
            if place := composed.places.get((old, number)):
                return f"{path}#L{place}"
            told = archived and 0 < number <= len(lines) and lines[number - 1].strip()
            return f"{archived}#L{number}" if told else None

        return line

    found = {path: Moved(path, path, within(path, "", ()))} if existing else {}
    new = composed.text.splitlines()
    for daily in dailies:
        first = min((n for (name, _), n in composed.places.items() if name == daily.path), default=0)
        at, heading = composing.heading_above(new, first)
        lines = within(daily.path, daily.archived, daily.text.split("\n"))
        now, whole = (path, f"{path}#L{at}") if at else (daily.archived, daily.archived)
        found[daily.path] = Moved(daily.path, now, lines, heading, whole)
    return found


def _following(path: str, moved: Mapping[str, Moved], read: Read, unread: dict[str, str]) -> list[Change]:
    """How a note changes that refers to what was moved; one that cannot be read is left as it is."""
    try:
        before = read(path)
    except NoteUnreadable as error:
        unread[path] = error.reason
        return []
    with suppress(NoteUnreadable, UnicodeEncodeError):
        text = Document.read(before or b"", path).checked().text
        after = moves.follow(text, path, moved)
        if after != text:
            return [Change(path, before, Document.read(before or b"").with_text(after).data)]
    return []


def _encoded(month: str, text: str, like: bytes) -> bytes:
    try:
        return Document.read(like).with_text(text).data
    except UnicodeEncodeError as error:
        raise NotRolledUp(month, "its notes hold bytes that the monthly note cannot") from error


def _left_out(item: Left, moved: Mapping[str, Moved]) -> LeftOut:
    block = item.block
    text = block.entry.text.splitlines()[0] if block.entry else ""
    instead = moved[item.instead.path].line(item.instead.first) if item.instead else ""
    return LeftOut(f"{block.path}#L{block.first}", text[:100], item.why, instead or "")


def ask(memory: Memory, llm: Llm, old: Old, read: Read) -> list[Repeat]:
    """Ask what a month says twice. Raises ProviderError, BudgetExceeded, ConfigError, NoteUnreadable."""
    dailies, _ = _dailies(memory.workspace.root, old, read, Plan())
    days = [(daily.day, blocks.read(daily)[1]) for daily in dailies]
    return repeats.ask(llm, old.month, days, memory.settings.consolidate)


def own_notes(memory: Memory) -> list[str]:
    """The paths of the workspace's own notes, transcripts and links aside."""
    from commonplace.memory import sources

    root = os.path.realpath(memory.workspace.root)
    states = scan.scan(sources(memory)[:1])
    return [
        state.path
        for state in states
        if state.path.lower().endswith(".md") and os.path.realpath(state.absolute) == f"{root}/{state.path}"
    ]
