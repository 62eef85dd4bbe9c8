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
    if case.workspace is None:
        return
    known = due.record(case.workspace)
    if known is None or known.tried <= known.at:
        fine = message("schedule.fine", "the last consolidation, if there was one, did not fail")
        yield Finding("schedule.last", "ok", fine)
        return
    when, why = known.tried[:16].replace("T", " "), screen.one_line(known.result)
    told = message("schedule.failed", "the consolidation of {when} failed: {why}", when=when, why=why)
    log = paths.shown(case.workspace.state / templates.LOG)
    see = "see what `commonplace consolidate` says; {log} holds what the night printed"
    yield Finding("schedule.last", "warning", told, message("schedule.log", see, log=log))
