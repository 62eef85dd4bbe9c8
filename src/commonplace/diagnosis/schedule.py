"""What `schedule install` and `watch --install` put in place: can it start, does it run, has it a folder?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.diagnosis.examination import Case
from commonplace.render import screen
from commonplace.types import Finding
from commonplace.upkeep.schedule import due, jobs
from commonplace.upkeep.schedule.installing import STARTERS
from commonplace.upkeep.schedule.jobs import Standing

_AGAIN = {"schedule.night": "commonplace schedule install", "schedule.watcher": "commonplace watch --install"}
_WHAT = {
    "schedule.night": message("schedule.the_night", "the nightly consolidation"),
    "schedule.watcher": message("schedule.the_watcher", "the service that watches"),
}
_NOBODY = {
    "schedule.night": message("schedule.no_night", "no nightly consolidation is set up"),
    "schedule.watcher": message(
        "schedule.no_watcher", "no service watches the notes: a search looks at them itself"
    ),
}


def started(case: Case) -> Iterator[Finding]:
    """See that what is to be started for this workspace can be, and that it is."""
    if case.workspace is None:
        return
    try:
        names = {
            "schedule.night": jobs.of(case.workspace).name,
            "schedule.watcher": jobs.watcher(case.workspace).name,
        }
    except CommonplaceError:  # a path that no schedule can name has none
        return
    standing, failures = _standing()
    for check, name in names.items():
        own = [one for one in standing if one.name == name]
        for one in own:
            yield _started(check, one)
        if not own:
            yield Finding(check, "ok", _NOBODY[check])
    if any(one.name == names["schedule.night"] for one in standing):
        yield from _last(case.workspace)
    for failure in failures:
        yield Finding("schedule.others", "skipped", screen.one_line(failure))


def strays(case: Case) -> Iterator[Finding]:
    """Name what is started for workspaces that are not there any more."""
    for one in _standing()[0]:
        if one.root and not os.path.isdir(one.root):
            starts = "{by} starts {name} for {folder}, which is gone"
            told = message("schedule.stray", starts, by=one.by, name=one.name, folder=paths.shown(one.root))
            yield Finding("schedule.strays", "warning", told, STARTERS[one.by].removal(one))


def _standing() -> tuple[list[Standing], list[str]]:
    """All that is in place for this user, and what could not be read."""
    standing: list[Standing] = []
    failures: list[str] = []
    for starter in STARTERS.values():
        try:
            standing += starter.standing()
        except CommonplaceError as error:
            failures.append(str(error))
    return standing, failures


def _started(check: str, one: Standing) -> Finding:
    program = one.command[0] if one.command else ""
    again = message("schedule.again", "put it in place again: `{command}`", command=_AGAIN[check])
    what = {"what": _WHAT[check], "by": one.by, "name": one.name}
    if not os.access(program, os.X_OK):
        told = message("schedule.nothing", "{what} ({by}, {name}) starts nothing that can be read", **what)
        if program:
            gone = "{what} ({by}, {name}) starts {program}, which is gone"
            told = message("schedule.gone", gone, **what, program=paths.shown(program))
        return Finding(check, "wrong", told, again)
    trouble, more = STARTERS[one.by].trouble_with(one)
    if trouble:
        told = message("schedule.trouble", "{what} ({by}, {name}) {trouble}",
                       **what, trouble=screen.one_line(trouble))  # fmt: skip
        see = message("schedule.see", "see what `{command}` says, or {again}", command=more, again=again)
        return Finding(check, "wrong", told, see)
    return Finding(check, "ok", message("schedule.fine", "{what} ({by}, {name}) is in place", **what))


def _last(workspace: paths.Workspace) -> Iterator[Finding]:
    """How the last consolidation went."""
    known = due.record(workspace)
    if known is not None and known.tried > known.at:
        when, why = known.tried[:16].replace("T", " "), screen.one_line(known.result)
        told = message("schedule.failed", "the consolidation of {when} failed: {why}", when=when, why=why)
        log = paths.shown(workspace.derived / jobs.LOG)
        see = "see what `commonplace consolidate` says; {log} holds what the night printed"
        yield Finding("schedule.last", "warning", told, message("schedule.log", see, log=log))
