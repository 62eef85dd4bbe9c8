"""Daily notes that are old made monthly ones: their words kept, their files moved to the archive folder.

A month is rolled up when all of it is older than asked for. What stands in its daily notes goes to
`memory/YYYY-MM.md`, but for observations, raw errors and repetitions; the notes go, byte for byte, to
`archive/YYYY/`, which is not searched, and stay there until they are confirmed (`lifecycle.originals`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import paths
from commonplace.errors import CommonplaceError, NoteUnreadable
from commonplace.history import applying, diffs
from commonplace.lifecycle.months import checking, composing, moves
from commonplace.lifecycle.months.blocks import Daily
from commonplace.lifecycle.months.leaving import Left
from commonplace.lifecycle.months.moves import Moved
from commonplace.lifecycle.schedule import due
from commonplace.notes import files, layout, scan
from commonplace.types.revisions import About, Change, Run

if TYPE_CHECKING:
    from commonplace.history.applying import Read
    from commonplace.llm.base import Llm
    from commonplace.memory import Memory

ARCHIVE = "archive"
_ATTEMPTS = 3  # of a month whose notes are being written to


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
class Month:
    """A month that was rolled up, or would be: `run` is None for a dry run, `refused` says why it was not."""

    month: str
    path: str
    notes: tuple[str, ...]
    left: tuple[LeftOut, ...] = ()
    diff: str = ""
    run: Run | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RolledUp:
    """What became of the months that were old enough, oldest first."""

    months: tuple[Month, ...]
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Plan:
    """The changes of one month, and what they leave out."""

    changes: list[Change] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)


def rollup(
    memory: Memory,
    llm: Llm | None = None,
    *,
    older_than_days: int | None = None,
    now: datetime | None = None,
    dry_run: bool = False,
) -> RolledUp:
    """Roll up every month all of which is older than `older_than_days` (`rollup.older_than_days`).

    Each is a run of its own. A month that cannot be rolled up says why, and the others are. Raises Running
    where another process consolidates, NoteUnreadable.
    """
    now = now or datetime.now().astimezone()
    days = memory.settings.rollup.older_than_days if older_than_days is None else older_than_days
    if dry_run:
        found = [_tried(memory, month, notes) for month, notes in _months(memory, now.date(), days).items()]
        return RolledUp(tuple(found))
    with due.held(memory.workspace):
        applying.recover(memory.workspace)
        why = f"daily notes older than {days} days"
        months = _months(memory, now.date(), days)
        found = [_done(memory, month, notes, why, now) for month, notes in months.items()]
    warnings = _indexed(memory) if any(month.run for month in found) else []
    return RolledUp(tuple(found), tuple(warnings))


def _months(memory: Memory, today: date, days: int) -> Mapping[str, list[tuple[str, str]]]:
    """The daily notes, path and day, of each month that is old enough, in their order."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in own_notes(memory):
        day = layout.date_of(path) if layout.kind_of(path) == "daily" else None
        if day and _last_day(day) < today - timedelta(days):
            found.setdefault(day[:7], []).append((path, day))
    return {
        month: sorted(notes, key=lambda note: (note[1], len(note[0]), note[0]))
        for month, notes in sorted(found.items())
    }


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


def _last_day(day: str) -> date:
    first = date.fromisoformat(f"{day[:7]}-01")
    return (first + timedelta(31)).replace(day=1) - timedelta(1)


def _tried(memory: Memory, month: str, notes: Sequence[tuple[str, str]]) -> Month:
    named = tuple(path for path, _ in notes)
    try:
        plan = _plan(memory, month, notes, lambda path: applying.read(memory.workspace, path))
    except (NotRolledUp, NoteUnreadable) as error:
        return Month(month, _path(month), named, refused=str(error))
    return Month(month, _path(month), named, tuple(plan.left), diffs.of_changes(plan.changes))


def _done(memory: Memory, month: str, notes: Sequence[tuple[str, str]], why: str, now: datetime) -> Month:
    named = tuple(path for path, _ in notes)
    plan = _Plan()

    def compose(read: Read) -> Sequence[Change]:
        nonlocal plan
        plan = _plan(memory, month, notes, read)
        return plan.changes

    about = About("rollup", f"rollup {month}", why)
    for attempt in range(_ATTEMPTS):
        try:
            run = applying.rewrite(
                memory.workspace, compose, about, now=now, settings=memory.settings.history
            )
        except applying.FileChanged as error:
            if attempt == _ATTEMPTS - 1:
                return Month(month, _path(month), named, refused=str(error))
        except (NotRolledUp, NoteUnreadable) as error:
            return Month(month, _path(month), named, refused=str(error))
        else:
            _keep_closed(memory.workspace, plan.modes, _path(month))
            return Month(month, _path(month), named, tuple(plan.left), diffs.of_changes(plan.changes), run)
    raise AssertionError


def _path(month: str) -> str:
    return f"{paths.MEMORY_FOLDER}/{month}.md"


# --- one month ------------------------------------------------------------------------------------------


def _plan(memory: Memory, month: str, notes: Sequence[tuple[str, str]], read: Read) -> _Plan:
    """Compose a month from its notes as they are now. Raises NotRolledUp, NoteUnreadable."""
    plan, path = _Plan(), _path(month)
    dailies, removed = _dailies(memory.workspace.root, notes, path, read, plan)
    before = read(path)
    existing = files.decode(Path(path), before or b"")
    composed = composing.compose(month, path, dailies, existing)
    if why := checking.lost(path, dailies, existing, composed):
        raise NotRolledUp(month, why)
    moved = _moved(path, dailies, composed, existing)
    if any(origin[0] != path for origin in composed.places):
        text = moves.follow(composed.text, path, moved)
        plan.changes.append(Change(path, before, _encoded(month, text, before or b"")))
    gone = {daily.path for daily in dailies}
    for other in sorted(set(own_notes(memory)) - gone - {path}):
        plan.changes += _following(other, moved, read)
    plan.changes += removed
    plan.left = [_left_out(item, moved) for item in composed.left if item.block.kind == "entry"]
    return plan


def _dailies(
    root: Path, notes: Sequence[tuple[str, str]], path: str, read: Read, plan: _Plan
) -> tuple[list[Daily], list[Change]]:
    """Read the notes of a month, plan their way into the archive; return them, and how they go."""
    dailies: list[Daily] = []
    removed: list[Change] = []
    for name, day in notes:
        if (data := read(name)) is None:
            continue
        archived = _archived(name, day, read)
        text = files.decode(Path(name), data).replace("\r\n", "\n").replace("\r", "\n")
        dailies.append(Daily(name, day, archived, moves.rebased(text, name, path)))
        plan.changes.append(Change(archived, None, data))
        with suppress(OSError):
            plan.modes[archived] = stat.S_IMODE(os.stat(root / name).st_mode)
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


def _following(path: str, moved: Mapping[str, Moved], read: Read) -> list[Change]:
    """How a note changes that refers to what was moved; one that cannot be read is left as it is."""
    before = read(path)
    with suppress(NoteUnreadable, UnicodeEncodeError):
        text = files.decode(Path(path), before or b"")
        after = moves.follow(text, path, moved)
        if after != text:
            return [Change(path, before, files.encode(before or b"", after))]
    return []


def _encoded(month: str, text: str, like: bytes) -> bytes:
    try:
        return files.encode(like, text)
    except UnicodeEncodeError as error:
        raise NotRolledUp(month, "its notes hold bytes that the monthly note cannot") from error


def _left_out(item: Left, moved: Mapping[str, Moved]) -> LeftOut:
    block = item.block
    text = block.entry.text.splitlines()[0] if block.entry else ""
    instead = moved[item.instead.path].line(item.instead.first) if item.instead else ""
    return LeftOut(f"{block.path}#L{block.first}", text[:100], item.why, instead or "")


# --- afterwards -----------------------------------------------------------------------------------------


def _keep_closed(workspace: paths.Workspace, modes: Mapping[str, int], path: str) -> None:
    """Let nobody read what was moved who could not read it before, the monthly note included."""
    for name, mode in [*modes.items(), *((path, mode) for mode in modes.values())]:
        place = workspace.root / name
        with suppress(OSError):
            now = stat.S_IMODE(os.stat(place).st_mode)
            if now & mode != now:
                os.chmod(place, now & mode)


def _indexed(memory: Memory) -> list[str]:
    """Bring the index up to the files; what fails is told, since the next search does it as well."""
    try:
        report = memory.sync()
    except CommonplaceError as error:
        return [f"the index is not up to date: {error}"]
    return [*report.warnings, *(f"{failed.path}: {failed.reason}" for failed in report.failed)]
