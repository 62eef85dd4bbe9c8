"""Review of a consolidation: what may be done to MEMORY.md, each with its sources; written after a yes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.content import Content

from commonplace.memory import written
from commonplace.panel import text
from commonplace.panel.actions import UNCHANGED
from commonplace.panel.dialogs import Review
from commonplace.panel.host import Host
from commonplace.render import count, screen
from commonplace.upkeep.consolidation import Consolidation, consolidate
from commonplace.upkeep.consolidation.checks import Accepted

_ASKS_A_MODEL = "what a language model would plan is not asked for here: commonplace consolidate --dry-run"


async def review(host: Host) -> None:
    """Show what can be proposed without a language model, and write it if a person agrees."""
    now = host.now().astimezone()
    shown = await host.ask(partial(consolidate, host.memory, None, now=now, dry_run=True))
    lines = list(_lines(shown))
    if not shown.diff:
        await host.push_screen_wait(Review("Nothing to consolidate without a language model", lines, ""))
        return
    number = count(len(shown.accepted), "proposal")
    question = f"Write all {number}?" if len(shown.accepted) != 1 else "Write it?"
    if not await host.push_screen_wait(Review(f"Consolidation: {number}", lines, question)):
        host.tell(UNCHANGED)
        return
    done = await host.ask(partial(consolidate, host.memory, None, now=now, accept=True, preview=shown))
    written(host.memory)
    host.tell("; ".join([f"written as {done.run.id}" if done.run else UNCHANGED, *done.warnings]))
    host.changed()


def _lines(shown: Consolidation) -> Iterator[Content]:
    for one in shown.accepted:
        yield from _proposal(one)
        yield text.plain("")
    for rejection in shown.rejected:
        told = " ".join([rejection.operation.op, *rejection.operation.targets])
        yield text.joined(("refused", "bold"), told, rejection.reason)
    for warning in shown.warnings:
        yield text.plain(screen.one_line(warning), "$text-warning")
    if shown.candidates:
        waiting = count(shown.candidates, "statement waits", "statements wait")
        yield text.plain(f"{waiting} for a language model; {_ASKS_A_MODEL}", "dim")
    if shown.diff:
        yield text.plain("")
        yield from text.diff(shown.diff)


def _proposal(one: Accepted) -> Iterator[Content]:
    """A proposal: what becomes of which entries, on what it rests, and why."""
    yield text.joined((one.operation.op, "bold $text-accent"), one.section and f"in {one.section}", one.text)
    for entry in one.targets:
        yield text.joined(("  −", "$text-error"), (entry.statement.citation, "dim"), entry.text)
    for source in one.sources:
        yield text.joined(("  ←", "$text-success"), (source.label, "dim"), source.text)
    if one.until:
        yield text.plain(f"  its last day was {one.until}", "dim")
    if one.operation.reason:
        yield text.plain(f"  {screen.one_line(one.operation.reason)}", "dim")
