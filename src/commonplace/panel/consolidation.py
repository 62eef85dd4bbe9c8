"""Review of a consolidation: what may be done to MEMORY.md, with its sources; the marked is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from textual.content import Content

from commonplace.panel import text
from commonplace.panel.actions import UNCHANGED
from commonplace.panel.dialogs import Marking, Review
from commonplace.panel.host import Host
from commonplace.panel.rows import Row
from commonplace.render import count, screen
from commonplace.upkeep.consolidation import Consolidation, consolidate
from commonplace.upkeep.consolidation.checks import Accepted
from commonplace.upkeep.consolidation.run import accept

_ASKS_A_MODEL = "what a language model would plan is not asked for here: commonplace consolidate --dry-run"

_HAPPENS: Mapping[str, str] = {
    "add": "a new line",
    "merge": "one line takes the place of {n}, which are struck",
    "supersede": "a new line takes the place of one that is struck",
    "expire": "is struck, and nothing takes its place",
}
# The reasons in a plan made without a language model.
_REASONS: Mapping[str, str] = {
    "say the same": "they say the same",
    "valid-until has passed": "the last day it names for itself has passed",
}


async def review(host: Host) -> None:
    """Show what can be proposed without a language model, and write what a person marks and agrees to."""
    now = host.now().astimezone()
    shown = await host.ask(partial(consolidate, host.memory, None, now=now, dry_run=True))
    about = [*_about(shown)]
    if not shown.accepted:
        await host.push_screen_wait(Review("Nothing to consolidate without a language model", about, ""))
        return
    rows = [Row(_proposal(one), number, hang=4) for number, one in enumerate(shown.accepted)]
    rows += [Row(line) for line in about]
    title = f"Consolidation: {count(len(shown.accepted), 'proposal')}"
    marked = await host.push_screen_wait(Marking(title, rows))
    numbers = [number for number in marked or () if isinstance(number, int)]
    if not numbers:
        host.tell(UNCHANGED)
        return
    done = await host.ask(partial(accept, host.memory, shown, numbers, now=now))
    host.memory.store.written()
    host.tell("; ".join([f"written as {done.run.id}" if done.run else UNCHANGED, *done.warnings]))
    host.changed()


def _about(shown: Consolidation) -> Iterator[Content]:
    """Yield the lines below the proposals: refusals, warnings, statements that need a model, the diff."""
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
        yield text.plain("all of them together:", "dim")
        yield from text.diff(shown.diff)


def _proposal(one: Accepted) -> Content:
    """A proposal: what happens and why, what stands then, what is struck for it, and on what it rests."""
    op, reason = one.operation.op, one.operation.reason
    section = one.section and f"in {one.section}"
    happens = _HAPPENS.get(op, "").format(n=len(one.targets))
    lines = [text.joined((op, "bold $text-accent"), section, happens)]
    if one.text:
        lines.append(text.joined(("+", "$text-success"), one.text))
    for entry in one.targets:
        words = "in the same words" if entry.text == one.text else entry.text
        lines.append(text.joined(("−", "$text-error"), (entry.statement.citation, "dim"), words))
    for source in one.sources:
        lines.append(text.joined(("←", "$text-success"), (source.label, "dim"), source.text))
    if one.until:
        lines.append(text.plain(f"its last day {'is' if one.text else 'was'} {one.until}", "dim"))
    if reason:
        lines.append(text.plain(screen.one_line(_REASONS.get(reason, reason)), "dim"))
    return Content("\n    ").join(lines)
