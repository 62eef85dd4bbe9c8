"""Entries of ours in the daily notes: which sessions are summed up there, and what a day says already."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import NoteNotFound
from commonplace.markdown import comments, structure
from commonplace.types.changes import Provenance
from commonplace.upkeep.parts import HEADINGS

if TYPE_CHECKING:
    from commonplace.memory import Memory

_MEMORY = re.compile(r"(?:.*[/\\])?(?:MEMORY\.md|memory[/\\].*\.md)", re.IGNORECASE | re.DOTALL)


def moment(at: str) -> str:
    """Return when something was said, to the second; empty where that is no time."""
    try:
        return datetime.fromisoformat(at).isoformat(timespec="seconds")
    except ValueError:
        return ""


def local(at: str) -> datetime:
    """Return a moment by the clock of this machine, which says whose day it belongs to."""
    told = datetime.fromisoformat(at)
    return told.astimezone().replace(tzinfo=None) if told.tzinfo else told


def is_memory(path: str) -> bool:
    """Whether a path names a file of memory, in whatever workspace."""
    return _MEMORY.fullmatch(path) is not None


def text(memory: Memory, day: date) -> str:
    """Return the note of a day as it stands, empty where there is none. Raises as `paths` does."""
    from commonplace.markdown.document import decode

    try:
        return decode(paths.read_contained(memory.workspace.daily(day), [memory.workspace.root]))
    except NoteNotFound:
        return ""


def moments(memory: Memory, session: str, ats: Iterable[str]) -> Collection[str]:
    """Return up to when a session is summed up in the notes of the days of these times."""
    days = {local(told).date() for told in map(moment, ats) if told}
    wanted = comments.take([comments.of_provenance(Provenance("agent", session=session))])[1].get("session")
    found = set()
    for day in sorted(days):
        lines = list(_summaries(text(memory, day).splitlines()))
        found |= {
            said.get("at", "") for said in comments.take(lines).values() if said.get("session") == wanted
        }
    return found - {""}


def _summaries(lines: Iterable[str]) -> Iterator[str]:
    """The lines under the headings of summaries."""
    inside = 0
    for line in lines:
        if found := structure.atx(line):
            level, title = found
            if title in HEADINGS.values():
                inside = level
            elif level <= inside:
                inside = 0
        elif inside:
            yield line
