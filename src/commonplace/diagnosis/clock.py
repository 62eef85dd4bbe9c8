"""The clock: not before the files, no notes of days to come, a time zone that the system knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.notes.scan import FileState, scan, sources
from commonplace.render import count
from commonplace.types import Finding

AHEAD_S = 120.0  # clocks of two machines that share files differ by seconds
AHEAD_DAYS = 1  # it may be tomorrow already where a note was written
_DAY = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})[^/]*\.md$")


def clock(case: Case) -> Iterator[Finding]:
    """Compare the clock with the times of files and the days of notes; see that the time zone is known."""
    states = [] if case.root is None else scan(sources(os.fspath(case.root), case.settings))
    yield from _times(case, states)
    now = datetime.fromtimestamp(case.now_s)
    if days := later(states, now.date()):
        told = f"{count(len(days), 'daily note')} of days to come: {listed(days)}"
        remedy = "rename them, or set the clock of this machine"
        yield Finding("workspace.days", "warning", told, remedy)
    yield _zone(case, now.astimezone())


def _times(case: Case, states: list[FileState]) -> Iterator[Finding]:
    now_ns = int((case.now_s + AHEAD_S) * 1e9)
    ahead = [state.path for state in states if state.mtime_ns > now_ns]
    index = case.workspace.index if case.workspace else None
    if index is not None and os.path.exists(index) and index.stat().st_mtime_ns > now_ns:
        told = "the index was written at a time that is still to come: the clock was set back"
        yield Finding("workspace.clock", "warning", told, "set the clock of this machine")
    elif ahead:
        told = f"{count(len(ahead), 'note')} changed at a time that is still to come: {listed(ahead)}"
        remedy = "set the clock of this machine, or `touch` the files"
        yield Finding("workspace.clock", "warning", told, remedy)
    else:
        yield Finding("workspace.clock", "ok", "no file is from a time that is still to come")


def later(states: list[FileState], today: date) -> list[str]:
    """Return the daily notes of days to come."""
    last = (today + timedelta(days=AHEAD_DAYS)).isoformat()
    found = ((state.path, _DAY.search(state.path)) for state in states)
    return sorted(path for path, day in found if day and day[1] > last)


def _zone(case: Case, now: datetime) -> Finding:
    named = case.environ.get("TZ", "")
    told = f"the time zone is {now.tzname()} (UTC{now:%z})"
    if named and not known(named):
        told = f"the time zone of the variable TZ is not known, and UTC stands in for it ({named[:40]})"
        return Finding(
            "workspace.zone", "warning", told, "set TZ to a name such as Europe/Paris, or unset it"
        )
    return Finding("workspace.zone", "ok", told)


def known(name: str) -> bool:
    """Whether the system knows a time zone by its name; a rule such as `CET-1CEST` says all by itself."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    plain = name.removeprefix(":")
    if re.fullmatch(r"(?:[A-Za-z]{3,}|<[^>]+>)[+-]?\d.*", plain):
        return True
    if os.path.isabs(plain) and os.path.isfile(plain):
        return True
    try:
        ZoneInfo(plain)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
