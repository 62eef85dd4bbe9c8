"""One consolidation: planned, checked, verified and composed under the lock, written as one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.base.errors import CommonplaceError, PreviewOutdated
from commonplace.base.messages import message
from commonplace.markdown.document import Document
from commonplace.storage import diffs, transaction
from commonplace.types.changes import About, Change, Run
from commonplace.upkeep.consolidation import checks, compose, plan, sources, verify
from commonplace.upkeep.consolidation import page as pages
from commonplace.upkeep.consolidation.checks import Accepted, Checked, Ground, Rejection
from commonplace.upkeep.consolidation.page import MemoryEntry, Page
from commonplace.upkeep.consolidation.plan import Operation
from commonplace.upkeep.consolidation.sources import Orphan, Source
from commonplace.upkeep.schedule import due

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client as Llm

_DONE = {"add": "added", "merge": "merged", "supersede": "superseded", "expire": "ended"}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of the notes and an entry that cannot both hold, which the plan leaves as they are."""

    source: Source
    entry: MemoryEntry


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The result of a consolidation.

    `run` is the record of the written files, None if no file was; `diff` shows actual or possible changes.
    `proposals` are operations found without a model, for review. `archived` are the texts moved out of
    MEMORY.md, `orphans` generated entries whose sources are gone. There are `candidates` sources, `left_out`
    of them not shown to the model. `plan` is the input of `accept`.
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
    plan: _Plan | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class _Outcome:
    """The result of composing the files."""

    changes: list[Change] = field(default_factory=list)
    checked: Checked = field(default_factory=Checked)
    archived: list[str] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Plan:
    """A plan with what it was made from: labels mean what they meant then."""

    operations: list[Operation]
    text: str
    page: Page
    sources: Sequence[Source]
    verdicts: dict[verify.Question, verify.Verdict] = field(default_factory=dict)
    by_model: bool = False
    failed: bool = False  # the call of the model failed
    days: int = 0
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
) -> Consolidation:
    """Refine the notes of the last `days` into MEMORY.md, by the plan of a model if one is set.

    Otherwise, or if it fails, return proposals, and write them only with `accept`. A dry run writes no file,
    not even a lock. Raises `due.Running` if another process consolidates, NoteUnreadable, OutsideRoots.
    """
    now = now or datetime.now().astimezone()
    days = memory.settings.consolidate.days if days is None else days
    with ExitStack() as stack:
        seen = "" if dry_run else stack.enter_context(due.held(memory.workspace))
        planned = _plan(memory, llm, days, now)
        outcome = _Outcome()
        run = None
        if dry_run or not (planned.by_model or accept):
            _compose(memory, planned, now.date(), _reader(memory), outcome)
        else:
            by_hand = "proposed without a language model, and accepted"
            why = "planned by a language model" if planned.by_model else by_hand
            run = _write(memory, planned, outcome, now, days, why)
        result = _result(planned, run, outcome)
        try:
            if not dry_run:
                due.note_run(memory, now, _summary(result), seen=seen, failed=planned.failed)
        except (CommonplaceError, OSError) as error:  # what is done is done
            warning = f"what this came to was not written down ({error})"
            return replace(result, warnings=(*result.warnings, warning))
        return result


def accept(
    memory: Memory, proposed: Consolidation, numbers: Sequence[int], *, now: datetime | None = None
) -> Consolidation:
    """Write the chosen operations of a dry run, by their indexes in `accepted`, without calling a model.

    Each is checked against the present notes. Raises PreviewOutdated if long-term memory has changed,
    `due.Running`, NoteUnreadable, OutsideRoots; then no file is written.
    """
    assert proposed.plan is not None
    now = now or datetime.now().astimezone()
    chosen = [proposed.accepted[number].operation for number in dict.fromkeys(numbers)]
    planned, outcome = replace(proposed.plan, operations=chosen), _Outcome()
    with due.held(memory.workspace):
        if _text(memory, _path(memory), _reader(memory))[1].text != planned.text:
            raise PreviewOutdated([_path(memory)])
        why = f"{len(chosen)} of {len(proposed.accepted)} proposed lines were accepted"
        run = _write(memory, planned, outcome, now, planned.days, why)
        return _result(planned, run, outcome)


def _write(
    memory: Memory, planned: _Plan, outcome: _Outcome, now: datetime, days: int, why: str
) -> Run | None:
    """Compose the files of a plan and write them as one run."""

    def composed(read: transaction.Read) -> Sequence[Change]:
        outcome.warnings.clear()  # what was composed may be composed anew
        _compose(memory, planned, now.date(), read, outcome)
        return outcome.changes

    about = About(
        "consolidate", f"consolidate {span(now.date(), days)}", why, by="agent", agent=compose.AGENT
    )
    run = transaction.rewrite(memory.workspace, composed, about, now=now, settings=memory.settings.history)
    try:
        if run is not None:
            memory.sync(embed=False)
    except CommonplaceError as error:
        stale = "the index is not up to date ({error})"
        outcome.warnings.append(message("consolidation.stale", stale, error=error.args[0]))
    return run


def estimate(memory: Memory, *, days: int | None = None, now: datetime | None = None) -> plan.PlanPrompt:
    """Return the prompt for a model without calling it. Raises NoteUnreadable, OutsideRoots."""
    now = now or datetime.now().astimezone()
    days = memory.settings.consolidate.days if days is None else days
    page = _page(memory)[1]
    found = sources.read(memory, days, now)
    return plan.question(page, found, memory.settings.consolidate, now, span(now.date(), days))


def span(last: date, days: int) -> str:
    """The days of a consolidation in short: 2026-02-07..13."""
    first = last - timedelta(days - 1)
    if first == last:
        return last.isoformat()
    shared = 8 if f"{first:%Y-%m}" == f"{last:%Y-%m}" else 5 if first.year == last.year else 0
    return f"{first}..{last.isoformat()[shared:]}"


def _reader(memory: Memory) -> transaction.Read:
    return lambda path: transaction.read(memory.workspace, path)


def _text(memory: Memory, path: str, read: transaction.Read) -> tuple[bytes | None, Document]:
    """Return a file's bytes (None if missing) and text. Raises NoteUnreadable if it may not be rewritten."""
    data = read(path)
    document = Document.read(data or b"", path).checked()
    pages.check_whole(document.text, path)
    return data, document


def _page(memory: Memory) -> tuple[str, Page]:
    """Long-term memory and its entries, if it and its archive may be rewritten. Raises NoteUnreadable."""
    _text(memory, compose.ARCHIVE, _reader(memory))
    text = _text(memory, _path(memory), _reader(memory))[1].text
    return text, pages.read(text, _path(memory))


def _path(memory: Memory) -> str:
    return memory.workspace.memory_file.relative_to(memory.workspace.root).as_posix()


# --- the plan -----------------------------------------------------------------------------------------------


def _plan(memory: Memory, llm: Llm | None, days: int, now: datetime) -> _Plan:
    """Let the model plan and verify, or put together what can be proposed without one."""
    text, page = _page(memory)
    found = sources.read(memory, days, now)
    planned = _Plan([], text, page, found, days=days)
    if llm is not None and found:
        question = plan.question(page, found, memory.settings.consolidate, now, span(now.date(), days))
        planned.left_out = question.left_out
        try:
            _ask(memory, llm, question, planned, now.date())
        except CommonplaceError as error:
            planned.failed = True
            unplanned = "no language model planned this ({error})"
            planned.warnings.append(message("consolidation.unplanned", unplanned, error=error.args[0]))
    if planned.by_model:
        return planned
    planned.operations = plan.proposals(page, now.date())
    # Nothing to ask about is no failure: the sources are still looked after.
    planned.by_model = llm is not None and not found and not planned.operations
    return planned


def _ask(memory: Memory, llm: Llm, question: plan.PlanPrompt, planned: _Plan, today: date) -> None:
    """Ask for a plan, and have it verified."""
    settings = memory.settings.consolidate
    planned.operations = plan.ask(llm, question.messages, settings)
    planned.sources, planned.by_model = question.shown, True
    # Generated entries past the last day that they name end without the model's plan.
    named = {label for operation in planned.operations for label in operation.targets}
    over = [one for one in plan.ended(planned.page, today) if one.targets[0] not in named]
    generated = {entry.label for entry in planned.page.labelled if entry.generated}
    planned.operations += [one for one in over if one.targets[0] in generated]
    _verify(memory, llm, planned, today)


def _verify(memory: Memory, llm: Llm, planned: _Plan, today: date) -> None:
    """Ask about what passes all other checks."""
    read = _reader(memory)
    archive = _text(memory, compose.ARCHIVE, read)[1]
    ground = _ground(memory, planned, planned.page, archive.text, today, read)
    questions = checks.check(planned.operations, replace(ground, verdicts=None)).questions
    if questions:
        asked = [*dict.fromkeys(questions)]
        planned.verdicts, warning = verify.ask(llm, asked, planned.page, memory.settings.consolidate)
        planned.warnings += [warning] if warning else []


def _ground(
    memory: Memory, planned: _Plan, page: Page, archive: str, today: date, read: transaction.Read
) -> Ground:
    return Ground(
        page,
        pages.find_again(planned.page, page),
        sources.find_again(memory, planned.sources, today, read),
        pages.read(archive, compose.ARCHIVE).entries,
        today,
        plan.language_of(page, planned.sources),
        planned.verdicts,
    )


# --- the files ----------------------------------------------------------------------------------------------


def _compose(memory: Memory, planned: _Plan, today: date, read: transaction.Read, outcome: _Outcome) -> None:
    """Check the plan against the files as they stand now, and compose them anew."""
    path, most_chars = _path(memory), memory.settings.consolidate.max_chars
    before, document = _text(memory, path, read)
    archive_before, archive = _text(memory, compose.ARCHIVE, read)
    page = planned.page if document.text == planned.text else pages.read(document.text, path)
    ground = _ground(memory, planned, page, archive.text, today, read)
    outcome.checked = checked = checks.check(planned.operations, ground)
    outcome.orphans, moves = sources.check(page.entries, read)
    written = [item for item in checked.accepted if item.operation.op != "conflict"]
    draft = compose.compose(document, archive, written, today=today, most_chars=most_chars, moves=moves)
    for item in (*draft.lost, *draft.left_out):
        checked.accepted.remove(item)
        place = f"would not stand as an entry of {item.section or path}"
        reason = place if item in draft.lost else f"does not fit into {most_chars:,} characters"
        checked.rejected.append(Rejection(item.operation, reason))
    if (size := len(draft.memory.text)) > most_chars:
        long = (
            "{path} has {n:,} characters, more than consolidate.max_chars ({most:,});"
            " all that is left in it is yours, so shorten it by hand"
        )
        outcome.warnings.append(message("consolidation.max_chars", long, path=path, n=size, most=most_chars))
    outcome.archived = draft.archived
    # The archive first: what is moved must never be nowhere.
    outcome.changes = [
        Change(one.path, old, one.data)
        for old, was, one in ((archive_before, archive, draft.archive), (before, document, draft.memory))
        if one.text != was.text
    ]


def _result(planned: _Plan, run: Run | None, outcome: _Outcome) -> Consolidation:
    conflicts = [item for item in outcome.checked.accepted if item.operation.op == "conflict"]
    accepted = tuple(item for item in outcome.checked.accepted if item not in conflicts)
    return Consolidation(
        run=run,
        diff=diffs.of_changes(outcome.changes),
        accepted=accepted,
        rejected=tuple(outcome.checked.rejected),
        proposals=() if planned.by_model else tuple(item.operation for item in accepted),
        contradictions=tuple(Contradiction(item.sources[0], item.targets[0]) for item in conflicts),
        archived=tuple(outcome.archived),
        orphans=tuple(outcome.orphans),
        candidates=len(planned.sources) + planned.left_out,
        left_out=planned.left_out,
        warnings=(*planned.warnings, *outcome.warnings),
        plan=planned,
    )


def _summary(result: Consolidation) -> str:
    """Return the result of a consolidation in one line."""
    counts = Counter(_DONE[item.operation.op] for item in result.accepted)
    counts.update(archived=len(result.archived), rejected=len(result.rejected))
    done = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return "; ".join([done or "nothing to do", *result.warnings])
