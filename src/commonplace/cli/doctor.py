"""`doctor`: an examination of the installation, with remedies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.base import paths
from commonplace.base.messages import message
from commonplace.cli import failures, session
from commonplace.cli.options import command, flag, option
from commonplace.config.files import AGENT_VARIABLE
from commonplace.render import count, screen, to_json

if TYPE_CHECKING:
    from commonplace.diagnosis.examination import Case
    from commonplace.render.screen import Look
    from commonplace.types import Finding, State

# Of each state, the worst first: its mark, the colour of the mark, its name.
_STATES: Mapping[State, tuple[str, str, str]] = {
    "wrong": ("✗", "red", "wrong"),
    "warning": ("!", "warning", "to look at"),
    "ok": ("✓", "green", "fine"),
    "skipped": ("-", "dim", "skipped"),
}
_TITLE_CELLS = 13
_RECENT_S = 86_400.0  # older trouble of a hook is not reported


@command("doctor", answers=True)
@flag("--offline", "Call no provider that would be reached over a network.")
@option("-v", "--verbose", is_flag=True, help="Show every check, one line each.")
def doctor(ctx: click.Context, offline: bool, verbose: bool, form: str) -> None:
    """Examine versions, SQLite, models, settings, notes, index, disk and permissions.

    Each provider in the settings is called once. Nothing is changed or repaired; each problem comes with its
    remedy. Ends with 1 when something is wrong, with 0 when there are warnings at most.
    """
    examined, groups = examination_of(session.workspace(ctx), session.agent(ctx), offline=offline)
    findings: list[Finding] = []
    look = session.look(examined.settings)
    for group, found in groups:
        findings += found
        if form == "text":
            session.write("\n".join(_group(group, found, look, verbose=verbose)))
    counts = Counter(finding.state for finding in findings)
    if form == "json":
        data = {
            "ok": not counts["wrong"],
            "workspace": None if examined.root is None else str(examined.root),
            "counts": {state: counts[state] for state in _STATES},
            "findings": findings,
        }
        session.write(to_json(data))
    else:
        session.write("\n" + _sum(counts, look))
    if counts["wrong"]:
        ctx.exit(failures.ERROR)


def examination_of(
    folder: str | None, agent: str | None, *, offline: bool
) -> tuple[Case, Iterator[tuple[str, list[Finding]]]]:
    """Return the case, and its groups of findings; an `agent` gets those on its own memory."""
    from commonplace.diagnosis import examination

    environ = {**os.environ, AGENT_VARIABLE: agent} if agent is not None else os.environ
    examined = examination.present(folder, environ, offline=offline)
    of_clients = {"clients.doors": partial(_doors, environ)}
    if not environ.get(AGENT_VARIABLE):  # trouble of a hook may name another agent's files
        of_clients["clients.hooks"] = partial(_hooks, examined.now_s)
    return examined, examination.examine(examined, {"clients": of_clients})


def findings_of(folder: str, agent: str, online: bool) -> list[Finding]:
    """Return all findings at once, for the page and the panel."""
    _, groups = examination_of(folder, agent, offline=not online)
    return [finding for _, found in groups for finding in found]


def _doors(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Examine our entries in clients, those of the current folder and of the user."""
    from commonplace.clients import doors

    try:
        project = Path.cwd()
    except OSError:  # the folder is gone
        project = paths.home(environ)
    return doors.answering(environ, project)


def _hooks(now_s: float) -> Iterator[Finding]:
    """Yield the trouble that a hook recorded lately, since hooks print no errors."""
    from commonplace.cli import hook
    from commonplace.types import Finding

    path = hook.trouble_file()
    try:
        at_s = path.stat().st_mtime
        told = paths.root_of(path).read(path, limit=hook.LONGEST_TROUBLE).decode("utf-8", "replace")
    except OSError:
        return
    if now_s - at_s < _RECENT_S:
        when = f"{datetime.fromtimestamp(at_s):%Y-%m-%d %H:%M}"
        remedy = message("hooks.mend", "mend that, then delete {file}", file=paths.shown(path))
        wrong = message("hooks.wrong", "a hook went wrong, last at {when}: {what}", when=when, what=told)
        yield Finding("clients.hooks", "warning", wrong, remedy)


def _group(title: str, findings: Sequence[Finding], look: Look, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of a group: its counts, then each problem with its remedy."""
    counts = Counter(finding.state for finding in findings)
    states = [state for state in _STATES if counts[state]]
    if not states:
        return
    counted = ", ".join(f"{counts[state]} {_STATES[state][2]}" for state in states)
    head = look.style(screen.pad(title, _TITLE_CELLS), "bold") + counted
    yield f"{_mark(states[0], look)} {head}"
    for finding in findings:
        if verbose or finding.state in ("warning", "wrong"):
            told = finding.told or finding.check
            yield from screen.wrapped(told, look, f"  {_mark(finding.state, look)} ", 4)
            if finding.remedy:
                yield from screen.wrapped(finding.remedy, look, f"    {look.style('→', 'cyan')} ", 6)


def _mark(state: State, look: Look) -> str:
    mark, colour, _ = _STATES[state]
    return look.style(mark, colour)


def _sum(counts: Mapping[State, int], look: Look) -> str:
    checked = count(sum(counts.values()) - counts["skipped"], "check")
    warnings = count(counts["warning"], "warning")
    if counts["wrong"]:
        return look.style(f"{counts['wrong']} wrong, {warnings}, of {checked}", "red")
    if counts["warning"]:
        return look.style(f"nothing wrong, {warnings}, of {checked}", "warning")
    return look.style(f"all fine, {checked}", "green")
