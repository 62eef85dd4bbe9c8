"""One consolidation: asked, checked and composed under the lock, written as one run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError
from commonplace.history import applying
from commonplace.lifecycle.consolidation import (
    candidates,
    checks,
    composing,
    ground,
    living,
    plan,
    proposals,
    standing,
    wholeness,
)
from commonplace.lifecycle.consolidation.candidates import Candidate
from commonplace.lifecycle.consolidation.checks import Accepted, Rejection
from commonplace.lifecycle.consolidation.ground import Contradiction
from commonplace.lifecycle.consolidation.living import Orphan
from commonplace.lifecycle.consolidation.plan import Operation
from commonplace.lifecycle.consolidation.standing import Page
from commonplace.lifecycle.schedule import due
from commonplace.notes import files
from commonplace.types.revisions import About, Change, Run

if TYPE_CHECKING:
    from commonplace.llm.base import Llm
    from commonplace.memory import Memory


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a consolidation came to.

    `run` is the record of what was written, None where nothing was; `diff` shows what was or would be.
    `proposals` are what may be done without a model, for review. `archived` are the texts moved out of
    MEMORY.md, `orphans` generated entries whose sources are gone. `candidates` were found and `left_out` of
    them not shown to the model. `digest` tells what was or would be written from everything else.
    """

    run: Run | None = None
    diff: str = ""
    accepted: tuple[Accepted, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    proposals: tuple[Operation, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    archived: tuple[str, ...] = ()
    orphans: tuple[Orphan, ...] = ()
    candidates: int = 0
    left_out: int = 0
    warnings: tuple[str, ...] = ()
    digest: str = ""


@dataclass(slots=True)
class _Outcome:
    """What was found out while the files were composed."""

    changes: list[Change] = field(default_factory=list)
    checked: checks.Checked = field(default_factory=checks.Checked)
    contradictions: list[Contradiction] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Planned:
    """A plan with what it was made from: labels mean what they meant then."""

    operations: list[Operation]
    text: str
    page: Page
    found: list[Candidate]
    by_model: bool = False
    failed: bool = False  # the model was asked in vain
    left_out: int = 0
    warnings: list[str] = field(default_factory=list)


def consolidate(
    memory: Memory,
    llm: Llm | None,
    *,
    days: int | None = None,
    now: datetime | None = None,
    dry_run: bool = False,
    accept: bool = False,
    preview: Consolidation | None = None,
) -> Consolidation:
    """Refine the notes of the last `days` into MEMORY.md, by the plan of a model if there is one.

    Without one, or where it fails, what can be proposed is shown, and written with `accept` alone. A dry
    run writes nothing, not even a lock. Raises `due.Running` where another process consolidates,
    NoteUnreadable, OutsideRoots, PreviewOutdated where a `preview` showed something else.
    """
    now = now or datetime.now().astimezone()
    days = memory.settings.consolidate.days if days is None else days
    with ExitStack() as stack:
        seen = "" if dry_run else stack.enter_context(due.held(memory.workspace))
        planned = _planned(memory, llm, days, now)
        writes = not dry_run and (planned.by_model or accept)
        shown = preview.digest if preview else ""
        run, outcome = _carried_out(memory, planned, days, now, writes=writes, shown=shown)
        result = _result(planned, run, outcome)
        if not dry_run:
            result = _noted(memory, now, result, seen=seen, failed=planned.failed)
    return result


def _noted(memory: Memory, now: datetime, result: Consolidation, *, seen: str, failed: bool) -> Consolidation:
    """Write down what a consolidation came to; where that fails, what is done is done, and it says so."""
    try:
        due.note_run(memory, now, _told(result), seen=seen, failed=failed)
    except (CommonplaceError, OSError) as error:
        return replace(
            result, warnings=(*result.warnings, f"what this came to was not written down ({error})")
        )
    return result


def estimate(memory: Memory, *, days: int | None = None, now: datetime | None = None) -> plan.Question:
    """Put together what a model would be asked, and ask nothing. Raises NoteUnreadable, OutsideRoots."""
    now = now or datetime.now().astimezone()
    days = memory.settings.consolidate.days if days is None else days
    page = _page(memory)[1]
    found = candidates.read(memory, days, now)
    return plan.question(page, found, memory.settings.consolidate, now, span(now.date(), days))


def span(last: date, days: int) -> str:
    """The days of a consolidation in short: 2026-02-07..13."""
    first = last - timedelta(days - 1)
    if first == last:
        return last.isoformat()
    shared = (
        8 if (first.year, first.month) == (last.year, last.month) else 5 if first.year == last.year else 0
    )
    return f"{first.isoformat()}..{last.isoformat()[shared:]}"


def _page(memory: Memory) -> tuple[str, Page]:
    """Long-term memory and its entries, if it and its archive may be rewritten. Raises NoteUnreadable."""

    def read(path: str) -> bytes | None:
        return applying.read(memory.workspace, path)

    _text(memory, composing.ARCHIVE, read)
    path = _path(memory)
    text = _text(memory, path, read)[1]
    return text, standing.read(text, path)


def _text(memory: Memory, path: str, read: applying.Read) -> tuple[bytes | None, str]:
    """The bytes of a file, None for none, and its text, which may be rewritten. Raises NoteUnreadable."""
    data = read(path)
    text = files.decode(memory.workspace.root / path, data) if data is not None else ""
    wholeness.check(text, path)
    return data, text


def _path(memory: Memory) -> str:
    return memory.workspace.memory_file.relative_to(memory.workspace.root).as_posix()


def _planned(memory: Memory, llm: Llm | None, days: int, now: datetime) -> _Planned:
    """Let the model plan, or put together what can be proposed without one."""
    text, page = _page(memory)
    found = candidates.read(memory, days, now)
    planned = _Planned([], text, page, found)
    if llm is not None and found:
        asked = plan.question(page, found, memory.settings.consolidate, now, span(now.date(), days))
        planned.left_out = asked.left_out
        try:
            planned.operations = plan.ask(llm, asked, memory.settings.consolidate)
            planned.found, planned.by_model = list(asked.shown), True
        except CommonplaceError as error:
            planned.failed = True
            planned.warnings.append(f"no language model planned this ({error})")
    if not planned.by_model:
        planned.operations = proposals.of(page, now.date())
        if beyond := proposals.uncompared(page):
            told = f"the last {beyond:,} entries of {_path(memory)} were not compared with the others"
            planned.warnings.append(f"{told}: it is too long; shorten it by hand")
        # Nothing to ask about is no failure: the sources are still looked after.
        planned.by_model = llm is not None and not found and not planned.operations
    return planned


def _carried_out(
    memory: Memory, planned: _Planned, days: int, now: datetime, *, writes: bool, shown: str
) -> tuple[Run | None, _Outcome]:
    outcome = _Outcome()

    def compose(read: applying.Read) -> Sequence[Change]:
        outcome.warnings.clear()  # what was composed may be composed anew
        _compose(memory, planned, now.date(), read, outcome)
        return outcome.changes

    if not writes:
        compose(lambda path: applying.read(memory.workspace, path))
        return None, outcome
    about = About(
        "consolidate",
        f"consolidate {span(now.date(), days)}",
        _why(planned),
        by="agent",
        agent=composing.AGENT,
    )
    run = applying.rewrite(
        memory.workspace, compose, about, now=now, settings=memory.settings.history, shown=shown
    )
    if run is not None:
        try:
            memory.sync(embed=False)
        except CommonplaceError as error:
            outcome.warnings.append(f"the index is not up to date ({error})")
    return run, outcome


def _why(planned: _Planned) -> str:
    return (
        "planned by a language model"
        if planned.by_model
        else "proposed without a language model, and accepted"
    )


def _compose(memory: Memory, planned: _Planned, today: date, read: applying.Read, outcome: _Outcome) -> None:
    """Check the plan against the files as they stand now, and compose them anew."""
    path = _path(memory)
    before, text = _text(memory, path, read)
    archive_before, archive = _text(memory, composing.ARCHIVE, read)
    page = planned.page if text == planned.text else standing.read(text, path)
    sources = ground.sources(memory, planned.found, today, read)
    grounds = checks.Ground(
        page,
        ground.targets(planned.page, page),
        sources,
        standing.read(archive, composing.ARCHIVE).entries,
        today,
        plan.language_of(page, planned.found),
    )
    outcome.checked = checks.check(checks.ordered(planned.operations, sources), grounds)
    alive = living.check(page.entries, read)
    draft = composing.compose(
        path, text, archive, outcome.checked.accepted, today=today,
        most_chars=memory.settings.consolidate.max_chars, moves=alive.moves, page=page,
    )  # fmt: skip
    _settle(outcome, draft, memory.settings.consolidate.max_chars)
    outcome.orphans, outcome.archived = alive.orphans, draft.archived
    outcome.contradictions = ground.contradictions(page, sources.values(), outcome.checked.accepted)
    # The archive first: what is moved must never be nowhere.
    outcome.changes = [
        Change(name, old, files.encode(old or b"", new))
        for name, old, was, new in (
            (composing.ARCHIVE, archive_before, archive, draft.archive), (path, before, text, draft.memory),
        )
        if new != was
    ]  # fmt: skip


def _settle(outcome: _Outcome, draft: composing.Draft, most_chars: int) -> None:
    """Tell what did not fit, and what would not have stood as an entry."""
    for item in draft.lost:
        outcome.checked.accepted.remove(item)
        outcome.checked.rejected.append(
            Rejection(item.operation, f"would not stand as an entry of {item.section or draft.path}")
        )
    for item in draft.left_out:
        outcome.checked.accepted.remove(item)
        outcome.checked.rejected.append(
            Rejection(item.operation, f"does not fit into {most_chars:,} characters")
        )
    if len(draft.memory) > most_chars:
        outcome.warnings.append(
            f"{draft.path} has {len(draft.memory):,} characters, more than consolidate.max_chars "
            f"({most_chars:,}); all that is left in it is yours, so shorten it by hand"
        )


def _result(planned: _Planned, run: Run | None, outcome: _Outcome) -> Consolidation:
    from commonplace.history import diffs

    return Consolidation(
        run=run,
        diff=diffs.of_changes(outcome.changes),
        digest=diffs.digest(outcome.changes),
        accepted=tuple(outcome.checked.accepted),
        rejected=tuple(outcome.checked.rejected),
        proposals=() if planned.by_model else tuple(item.operation for item in outcome.checked.accepted),
        contradictions=tuple(outcome.contradictions),
        archived=tuple(outcome.archived),
        orphans=tuple(outcome.orphans),
        candidates=len(planned.found) + planned.left_out,
        left_out=planned.left_out,
        warnings=(*planned.warnings, *outcome.warnings),
    )


def _told(result: Consolidation) -> str:
    """What a consolidation came to, in one line."""
    counts: dict[str, int] = {}
    for item in result.accepted:
        counts[item.operation.op] = counts.get(item.operation.op, 0) + 1
    told = [f"{count} {_DONE[op]}" for op, count in counts.items()]
    told += [f"{len(result.archived)} archived"] if result.archived else []
    told += [f"{len(result.rejected)} rejected"] if result.rejected else []
    return "; ".join([", ".join(told) or "nothing to do", *result.warnings])


_DONE = {"add": "added", "merge": "merged", "supersede": "superseded", "expire": "ended"}
