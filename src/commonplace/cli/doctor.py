"""`doctor`: examines everything that can be wrong, and says what mends it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import session
from commonplace.cli.failures import ERROR
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.screen import Look
    from commonplace.types import Finding, State

_MARKS: Mapping[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "wrong": ("✗", "red"),
    "skipped": ("-", "dim"),
}
_WORST: tuple[State, ...] = ("wrong", "warning", "ok", "skipped")
_TITLE_CELLS = 13


@command("doctor")
@option("--offline", is_flag=True, help="Call no provider that would be reached over a network.")
@option("-v", "--verbose", is_flag=True, help="Show what is fine as well, one line each.")
@option("--json", "as_json", is_flag=True, help="Short for --format json.")
@format_option(("text", "json"))
@click.pass_context
def doctor(ctx: click.Context, offline: bool, verbose: bool, as_json: bool, form: str) -> None:
    """Examine versions, SQLite, models, settings, notes, index, disk and permissions.

    Each provider that the settings name is really called, once. Nothing is changed or repaired; what is not
    fine comes with its remedy. Ends with 1 when something is wrong, with 0 when there are warnings at most.
    """
    from commonplace.config.loading import AGENT_VARIABLE
    from commonplace.diagnosis import case, examination

    agent = session.agent(ctx)
    environ = {**os.environ, AGENT_VARIABLE: agent} if agent is not None else os.environ
    examined = case.present(session.workspace(ctx), environ, offline=offline)
    findings: list[Finding] = []
    look = session.look(examined.settings)
    for group, found in examination.examine(examined):
        findings += found
        if form == "text" and not as_json:
            session.write("\n".join(_group(group, found, look, verbose=verbose)))
    if form == "json" or as_json:
        session.write(render.to_json(_data(findings, examined.root)))
    else:
        session.write("\n" + _sum(findings, look))
    if any(finding.state == "wrong" for finding in findings):
        ctx.exit(ERROR)


def _data(findings: Sequence[Finding], root: object) -> dict[str, object]:
    counts = Counter(finding.state for finding in findings)
    return {
        "ok": not counts["wrong"],
        "workspace": None if root is None else str(root),
        "counts": {state: counts[state] for state in _MARKS},
        "findings": [asdict(finding) for finding in findings],
    }


def _group(title: str, found: Sequence[Finding], look: Look, *, verbose: bool) -> Iterator[str]:
    """Write a group: one line while all of it is fine, else what is not below it with its remedy."""
    if not found:
        return
    states = [finding.state for finding in found]
    worst = next(state for state in _WORST if state in states)
    mark, colour = _MARKS[worst]
    head = look.style(screen.pad(title, _TITLE_CELLS), "bold") + look.style(_counted(states), "dim")
    yield f"{look.style(mark, colour)} {head}"
    for finding in found:
        if verbose or finding.state in ("warning", "wrong"):
            yield from _finding(finding, look)


def _finding(finding: Finding, look: Look) -> Iterator[str]:
    mark, colour = _MARKS[finding.state]
    yield from _wrapped(finding.told, f"  {look.style(mark, colour)} ", look)
    if finding.remedy:
        yield from _wrapped(finding.remedy, f"    {look.style('→', 'cyan')} ", look)


def _wrapped(text: str, lead: str, look: Look) -> Iterator[str]:
    """Write a text behind a lead, its further rows under the first."""
    line = screen.one_line(text)
    indent = 4 if lead.startswith("  ") and not lead.startswith("    ") else 6
    if look.width is None:
        yield lead + line
        return
    for number, (start, end) in enumerate(screen.rows(line, look.width - indent)):
        yield (lead if not number else " " * indent) + line[start:end]


def _counted(states: Iterable[State]) -> str:
    """Say how many findings are of each state, the worst first."""
    counts = Counter(states)
    named = {"wrong": "wrong", "warning": "to look at", "ok": "fine", "skipped": "skipped"}
    return ", ".join(f"{counts[state]} {named[state]}" for state in _WORST if counts[state])


def _sum(findings: Sequence[Finding], look: Look) -> str:
    counts = Counter(finding.state for finding in findings)
    checked = render.count(len(findings) - counts["skipped"], "check")
    warnings = render.count(counts["warning"], "warning")
    if counts["wrong"]:
        return look.style(f"{counts['wrong']} wrong, {warnings}, of {checked}", "red")
    if counts["warning"]:
        return look.style(f"nothing wrong, {warnings}, of {checked}", "yellow")
    return look.style(f"all fine, {checked}", "green")
