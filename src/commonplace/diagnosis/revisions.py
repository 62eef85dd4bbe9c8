"""The record of generated changes: what is begun, was done in part, or cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace import paths
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.history import runs
from commonplace.render import count
from commonplace.types import Finding


def history(case: Case) -> Iterator[Finding]:
    """See that every generated change is whole, and that those kept can be read."""
    if case.workspace is None or not case.workspace.files.is_folder(case.workspace.history):
        return
    found = runs.listed(case.workspace)
    begun = [run.id for run in found if run.state == "begun"]
    # One that was taken back, as far as it went, is nobody's worry any more.
    partial = [run.id for run in found if run.state == "partial" and not run.undone]
    damaged = runs.damaged(case.workspace)
    if begun:
        told = f"{count(len(begun), 'generated change')} begun and not done: {listed(begun)}"
        yield Finding("stores.history", "warning", told, "`commonplace sync` carries it on, or says why not")
    if partial:
        told = f"{count(len(partial), 'generated change')} done in part: {listed(partial)}"
        remedy = "`commonplace log RUN` says what was left, `commonplace undo RUN` takes the rest back"
        yield Finding("stores.history_partial", "warning", told, remedy)
    if damaged:
        told = f"{count(len(damaged), 'generated change')} cannot be read: {listed(damaged)}"
        remedy = f"delete it below {paths.shown(case.workspace.history)}; it cannot be undone any more"
        yield Finding("stores.history_damaged", "warning", told, remedy)
    if not (begun or partial or damaged):
        yield Finding("stores.history", "ok", f"{count(len(found), 'generated change')} can be read")
