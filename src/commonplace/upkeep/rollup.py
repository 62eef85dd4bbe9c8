"""Daily notes that are old made monthly ones: their words kept, their files moved to the archive folder.

A month is rolled up when all of it is older than asked for. What stands in its daily notes goes to
`memory/YYYY-MM.md`, but for observations, raw errors and repetitions; the notes go, byte for byte, to
`archive/YYYY/`, which is not searched, and stay there until they are confirmed (`lifecycle.originals`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.changes import diffs, transaction
from commonplace.markdown import metadata
from commonplace.types.changes import About, Change, Run
from commonplace.upkeep.months import planning
from commonplace.upkeep.months.planning import LeftOut, NotRolledUp, Old, Plan
from commonplace.upkeep.months.repeats import Repeat
from commonplace.upkeep.schedule import due

if TYPE_CHECKING:
    from commonplace.changes.transaction import Read
    from commonplace.memory import Memory
    from commonplace.providers.llm.base import Llm

_ATTEMPTS = 3  # of a month whose notes are being written to


@dataclass(frozen=True, slots=True)
class Month:
    """A month that was rolled up, or would be: `run` is None for a dry run.

    `refused` says why it was not, `trouble` what the language model failed with. `unread` are other notes
    that could not be read, with the reason: references in them still name the daily notes.
    """

    month: str
    path: str
    notes: tuple[str, ...]
    left: tuple[LeftOut, ...] = ()
    diff: str = ""
    run: Run | None = None
    refused: str = ""
    trouble: str = ""
    unread: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RolledUp:
    """What became of the months that were old enough, oldest first."""

    months: tuple[Month, ...]
    warnings: tuple[str, ...] = ()


def rollup(
    memory: Memory,
    llm: Llm | None = None,
    *,
    older_than_days: int | None = None,
    now: datetime | None = None,
    dry_run: bool = False,
) -> RolledUp:
    """Roll up every month all of which is older than `older_than_days` (`rollup.older_than_days`).

    Each is a run of its own. A month that cannot be rolled up says why, and the others are. A model only
    points at what is said twice; where it fails, the month is rolled up without it. Raises Running where
    another process consolidates, NoteUnreadable.
    """
    now = now or datetime.now().astimezone()
    days = memory.settings.rollup.older_than_days if older_than_days is None else older_than_days
    if dry_run:
        found = [_tried(memory, llm, old) for old in _months(memory, now.date(), days)]
        return RolledUp(tuple(found), tuple(_unread(found)))
    with due.held(memory.workspace):
        transaction.recover(memory.workspace)
        why = f"daily notes older than {days} days"
        found = [_done(memory, llm, old, why, now) for old in _months(memory, now.date(), days)]
    warnings = _indexed(memory) if any(month.run for month in found) else []
    unread = _unread(found)
    named = {line.partition(": ")[0] for line in unread}
    return RolledUp(
        tuple(found), (*unread, *(one for one in warnings if one.partition(": ")[0] not in named))
    )


def _months(memory: Memory, today: date, days: int) -> list[Old]:
    """The months that are old enough, with their daily notes."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in planning.own_notes(memory):
        day = metadata.date_of(path) if metadata.kind_of(path) == "daily" else None
        if day and _last_day(day) < today - timedelta(days):
            found.setdefault(day[:7], []).append((path, day))
    return [
        Old(month, tuple(sorted(notes, key=lambda note: (note[1], len(note[0]), note[0]))))
        for month, notes in sorted(found.items())
    ]


def _last_day(day: str) -> date:
    first = date.fromisoformat(f"{day[:7]}-01")
    return (first + timedelta(31)).replace(day=1) - timedelta(1)


def _tried(memory: Memory, llm: Llm | None, old: Old) -> Month:
    told, trouble = _repeats(memory, llm, old)
    try:
        plan = planning.compose(memory, old, partial(transaction.read, memory.workspace), told)
    except (NotRolledUp, NoteUnreadable) as error:
        return _month(old, Plan(), refused=str(error))
    return _month(old, plan, trouble=trouble)


def _done(memory: Memory, llm: Llm | None, old: Old, why: str, now: datetime) -> Month:
    told, trouble = _repeats(memory, llm, old)
    plan = Plan()

    def compose(read: Read) -> Sequence[Change]:
        nonlocal plan
        plan = planning.compose(memory, old, read, told)
        return plan.changes

    about = About("rollup", f"rollup {old.month}", why)
    run, refused = None, ""
    for _ in range(_ATTEMPTS):
        try:
            run = transaction.rewrite(
                memory.workspace, compose, about, now=now, settings=memory.settings.history
            )
            _keep_closed(memory.workspace, plan.modes, old.path)
            return _month(old, plan, run, trouble=trouble)
        except transaction.FileChanged as error:
            refused = str(error)
        except (NotRolledUp, NoteUnreadable) as error:
            return _month(old, Plan(), refused=str(error))
    return _month(old, Plan(), refused=refused)


def _repeats(memory: Memory, llm: Llm | None, old: Old) -> tuple[list[Repeat], str]:
    """What a model says is told twice, asked before anything is locked; why not, if it fails."""
    if llm is None:
        return [], ""
    try:
        return planning.ask(memory, llm, old, partial(transaction.read, memory.workspace)), ""
    except CommonplaceError as error:
        return [], f"{old.month}: rolled up without the language model ({error})"


def _month(old: Old, plan: Plan, run: Run | None = None, *, refused: str = "", trouble: str = "") -> Month:
    notes = tuple(path for path, _ in old.notes)
    diff = diffs.of_changes(plan.changes)
    unread = tuple(plan.unread.items())
    return Month(old.month, old.path, notes, tuple(plan.left), diff, run, refused, trouble, unread)


def _unread(months: Sequence[Month]) -> list[str]:
    """Say once of each note that could not be read what that means; months that are refused say their own."""
    refused = {path for month in months if month.refused for path in month.notes}
    unread = {path: why for month in months for path, why in month.unread if path not in refused}
    told = "{}: {}; its references to what was rolled up stay as they are; let it be read (chmod u+r)"
    return [told.format(paths.shown(path), why) for path, why in unread.items()]


# --- afterwards -----------------------------------------------------------------------------------------


def _keep_closed(workspace: paths.Workspace, modes: Mapping[str, int], path: str) -> None:
    """Let nobody read what was moved who could not read it before, the monthly note included."""
    for name, mode in [*modes.items(), *((path, mode) for mode in modes.values())]:
        with suppress(OSError), workspace.files.open(name, links=True) as file:
            now = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if now & mode != now and sys.platform != "win32":
                os.fchmod(file.fileno(), now & mode)


def _indexed(memory: Memory) -> list[str]:
    """Bring the index up to the files; what fails is told, since the next search does it as well."""
    try:
        report = memory.sync()
    except CommonplaceError as error:
        return [f"the index is not up to date: {error}"]
    return [*report.warnings, *(f"{failed.path}: {failed.reason}" for failed in report.failed)]
