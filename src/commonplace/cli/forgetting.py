"""`forget`: notes, lines, words, people and sessions erased, after a preview."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from commonplace.actions.statements import FORGET
from commonplace.base.errors import NoteNotFound
from commonplace.cli import acting, failures, session
from commonplace.cli.options import argument, command, flag, option
from commonplace.render import reports, screen, some
from commonplace.types import Selection
from commonplace.types.changes import UNNAMED

if TYPE_CHECKING:
    from commonplace.edit.forget.requests import ForgetRequest
    from commonplace.edit.forget.selection import Offer
    from commonplace.memory import Memory

_RESUME = "commonplace forget --resume"
_LONGEST_NAMED = 60  # cells of an unfinished request
_HITS = 20  # passages that a question finds
_MOST_OFFERED = 40  # lines of their notes
_OFFERED = 100  # cells of each
_REQUESTS = ("--pending", "--approve", "--reject")
_OTHERS = ("references", "--text", "--person", "--session", "--query", "--yes", "--resume", "--dry-run")


@command(
    "forget",
    excluding=[("--dry-run", "--yes"), *((one, other) for one in _REQUESTS for other in _OTHERS)],
    answers=True,
)
@argument("references", "[REFERENCE]...", "notes", nargs=-1)
@option("--text", "texts", multiple=True, metavar="WORDS", help="Cut these words out of all notes.")
@option("--person", "people", multiple=True, metavar="NAME", help="Forget all that mentions a person.")
@option("--also", multiple=True, metavar="NAME", help="A further name of the person; repeatable.")
@option(
    "--session", "sessions", multiple=True, metavar="ID", help="Forget a session and its entries.",
    completes="sessions",
)  # fmt: skip
@option("--query", metavar="Q", help="Look for lines by their words, and pick those to forget.")
@flag("--dry-run", "Show what would go, and change nothing.")
@flag("--yes", "Do not ask; needed without a terminal.")
@flag("--resume", "Finish an erasure that was killed.")
@flag("--pending", "List the requests of agents.")
@option("--approve", metavar="CODE", help="Preview the request of an agent, ask, and do it.")
@option("--reject", metavar="CODE", help="Refuse the request of an agent.")
def forget(
    ctx: click.Context, references: tuple[str, ...], texts: tuple[str, ...], people: tuple[str, ...],
    also: tuple[str, ...], sessions: tuple[str, ...], query: str | None, dry_run: bool, yes: bool,
    resume: bool, pending: bool, approve: str | None, reject: str | None, form: str,
) -> None:  # fmt: skip
    """Remove notes, lines (PATH#L3-L9), words, people or sessions, and every copy within reach.

    PATH:12 is the statement at that line alone; PATH:12- is all from there to the end.

    Notes, index, caches, transcripts, the record of changes and the queue are cleaned; then every file is
    scanned, byte by byte. A preview comes first. It cannot be undone. Copies out of reach (git's history,
    backups) are listed. Ends with 1 if a copy is still found.
    """
    from commonplace.edit.forget import selection

    if pending or approve or reject:
        ctx.exit(_answer_agents(ctx, approve, reject, form))
    if also and len(people) != 1:
        raise click.UsageError("--also names the one --person once more", ctx)
    selections = [
        *map(selection.of_reference, references),
        *(Selection("text", text) for text in texts),
        *(Selection("person", person, also) for person in people),
        *(Selection("session", name) for name in sessions),
        *(_picked(ctx, query, form) if query is not None else ()),
    ]
    if not (selections or resume):
        if query is not None:
            ctx.exit(failures.NOTHING_FOUND)
        kinds = "a note or lines of one (PATH:12), or --text, --person, --session, --query"
        raise click.UsageError(f"name what is to be forgotten: {kinds}; or --resume", ctx)
    try:
        ctx.exit(_forget(ctx, selections, form, dry_run=dry_run, yes=yes))
    except NoteNotFound as error:
        if len(references) > 1 and not error.suggestions and selection.are_words(references):
            raise selection.no_note(" ".join(references)) from error  # a sentence without quotation marks
        raise


def _forget(ctx: click.Context, selections: list[Selection], form: str, *, dry_run: bool, yes: bool) -> int:
    """Preview, ask, and erase; finish an unfinished erasure first. Return the exit code."""
    memory = session.open_memory(ctx)
    if unfinished := _unfinished(memory):
        how = f"carry on with: {_RESUME}" if dry_run else "it is carried on first"
        failures.warn(f"not all forgotten yet: {unfinished}; {how}")
    values = [
        {"kind": one.kind, "value": one.value, "also": one.also, "seen": "\n".join(one.lines)}
        for one in selections
    ]
    try:
        if selections:
            wanted = {"selections": values}
            return acting.carry_out(ctx, FORGET, wanted, dry_run=dry_run, yes=yes, form=form)[0]
        if not unfinished:
            failures.warn("no forgetting is under way")
            return failures.NOTHING_FOUND
        if dry_run:
            return 0
        done = memory.forget([])
        session.answer(form, done, lambda: reports.erasure_text(done, session.look()), memory.settings)
        session.note("carried it on; " + FORGET.text(done).partition("; ")[2])
        return failures.ERROR if done.left else 0
    except KeyboardInterrupt:
        if unfinished := _unfinished(memory):
            failures.warn(f"interrupted; not all forgotten yet: {unfinished}; carry on with: {_RESUME}")
        else:
            failures.warn("interrupted; the same command once more says whether anything is left")
        raise


# --- requests of agents ---------------------------------------------------------------------------------


def _answer_agents(ctx: click.Context, approve: str | None, reject: str | None, form: str) -> int:
    """List, refuse or carry out requests of agents, the last after a yes; return the exit code."""
    from commonplace.edit.forget import requests

    memory = session.open_memory(ctx)
    name = approve or reject
    if not name:
        waiting = requests.listed(memory.workspace)
        lines = (f"{number:>3}  {_described(one)}" for number, one in enumerate(waiting, 1))
        session.answer(form, waiting, lambda: "\n".join(lines), memory.settings)
        if not waiting and form == "text":
            session.note("no agent asks to have anything forgotten")
        return 0 if waiting else failures.NOTHING_FOUND
    request = requests.find(memory.workspace, name)
    if reject:
        requests.remove(memory.workspace, request)
        session.note(f"{_described(request)}: refused; nothing was changed")
        return 0
    if not session.can_ask():
        failures.warn("nothing was changed; a person approves, at a terminal")
        return failures.USAGE
    session.note(_described(request))
    return acting.carry_out(ctx, FORGET, {"request": request.code}, form=form)[0]


def _described(request: ForgetRequest) -> str:
    """Describe a request on one line: code, time, agent, kind and value."""
    value = screen.one_line(request.value)
    who = "an agent" if request.agent in ("", UNNAMED) else f"the agent {screen.one_line(request.agent)}"
    return f"{request.code}  {request.at:%Y-%m-%d %H:%M}  {who} asks to forget by {request.kind}: {value}"


# --- lines that hold words ------------------------------------------------------------------------------


def _picked(ctx: click.Context, query: str, form: str) -> list[Selection]:
    """List the lines that hold words of a question, and return those that the owner picks."""
    from commonplace.edit.forget import selection

    offers = _offers(ctx, query)
    if not offers:
        failures.warn("no line of the notes was found that holds a word of it")
        return []
    shown = offers[:_MOST_OFFERED]
    width = min(_OFFERED, session.look().width or _OFFERED)
    rows = []
    for number, offer in enumerate(shown, 1):
        lead = f"{number:>3}  {screen.name(offer.citation)}  "
        rows.append(lead + screen.shorten(screen.one_line(offer.text), width - screen.cells(lead)))
    (session.note if form == "json" else session.write_recalled)("\n".join(rows), session.settings_of(ctx))
    if (more := len(offers) - len(shown)) > 0:
        session.note(f"and {more} more, which hold no more of it; ask more exactly for those")
    if not session.can_ask():
        first = shlex.quote(shown[0].citation)
        failures.warn(f"pick some by their lines: commonplace forget {first} --yes")
        ctx.exit(failures.USAGE)
    answer = click.prompt("Which of them (1,3-5; nothing: none)", default="", show_default=False, err=True)
    picked = (shown[number - 1] for number in dict.fromkeys(_numbers(answer, len(shown))))
    return [selection.of_reference(one.citation, one.lines) for one in picked]


def _offers(ctx: click.Context, query: str) -> list[Offer]:
    """Search by words alone, also in struck text, unrecorded: a vector of the question would be a copy."""
    from commonplace.config.settings import WORKSPACE_COLLECTION
    from commonplace.edit.forget import selection
    from commonplace.storage import transaction

    memory = session.open_memory(ctx, {"usage.record": False})
    result = memory.search(
        query, limit=_HITS, mode="lexical", collections=[WORKSPACE_COLLECTION], min_score=0.0, rerank="off",
        expand=False, history=True,
    )  # fmt: skip
    return selection.offers(query, result.hits, lambda path: transaction.read(memory.workspace, path))


def _numbers(answer: str, most: int) -> Iterator[int]:
    """Yield the numbers in a list such as 1,3-5. Raises UsageError for a part outside 1 to `most`."""
    for part in filter(None, answer.replace(" ", ",").split(",")):
        first, _, last = part.partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last) <= most):
            raise click.UsageError(f"{part!r} is none of 1 to {most}")
        yield from range(int(first), int(last) + 1)


def _unfinished(memory: Memory) -> str:
    """List the erasures that were begun and not finished, by the owner's words; empty without any."""
    from commonplace.edit.forget import journal
    from commonplace.redaction.redact import public

    words = journal.describe(memory.workspace)
    return some([screen.shorten(screen.one_line(public(one)), _LONGEST_NAMED) for one in words])
