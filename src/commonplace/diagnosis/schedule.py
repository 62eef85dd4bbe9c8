"""How the last consolidation went."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.base import paths
from commonplace.base.messages import message
from commonplace.diagnosis.examination import Case
from commonplace.render import screen
from commonplace.types import Finding
from commonplace.upkeep.schedule import due, templates


def last(case: Case) -> Iterator[Finding]:
    """See that the last consolidation did not fail."""
    known = None if case.workspace is None else due.record(case.workspace)
    if case.workspace is None or known is None or known.tried <= known.at:
        return
    when, why = known.tried[:16].replace("T", " "), screen.one_line(known.result)
    told = message("schedule.failed", "the consolidation of {when} failed: {why}", when=when, why=why)
    log = paths.shown(case.workspace.derived / templates.LOG)
    see = "see what `commonplace consolidate` says; {log} holds what the night printed"
    yield Finding("schedule.last", "warning", told, message("schedule.log", see, log=log))
