"""`forget`: notes, lines, words, people and sessions removed for real, after a look at what would go."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from commonplace.actions.statements import FORGET
from commonplace.base.errors import NoteNotFound
from commonplace.cli import acting, failures, session
from commonplace.cli.options import command, completed, format_option, option
from commonplace.render import reports, screen, some
from commonplace.types import Selection
from commonplace.types.changes import UNNAMED

if TYPE_CHECKING:
    from commonplace.edit.forget.requests import Request
    from commonplace.edit.forget.selection import Offer
    from commonplace.memory import Memory

_RESUME = "commonplace forget --resume"
_LONGEST_NAMED = 60  # cells of what is not done yet
_HITS = 20  # passages that a question finds
_MOST_OFFERED = 40  # lines of their notes
_OFFERED = 100  # cells of each


@command("forget", excluding=[("--dry-run", "--yes")])
@click.argument("references", nargs=-1, metavar="[REFERENCE]...", shell_complete=completed("notes"))
@option("--text", "texts", multiple=True, metavar="WORDS", help="Cut these words out wherever they stand.")
@option("--person", "people", multiple=True, metavar="NAME", help="Forget all that mentions a person.")
@option("--also", multiple=True, metavar="NAME", help="A further name of the person; repeatable.")
@option(
    "--session",
    "sessions",
    multiple=True,
    metavar="ID",
    help="Forget a session and what it left.",
    shell_complete=completed("sessions"),
)
@option("--query", metavar="Q", help="Look for lines by their words, and pick those to forget.")
@option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@option("--resume", is_flag=True, help="Carry on what was killed before it was done.")
@option("--pending", is_flag=True, help="List what agents ask to have forgotten.")
@option("--approve", metavar="CODE", help="Show what one of these would erase, ask, and do it.")
@option("--reject", metavar="CODE", help="Refuse one of these.")
@format_option(("text", "json"))
@click.pass_context
def forget(
    ctx: click.Context,
    references: tuple[str, ...],
    texts: tuple[str, ...],
    people: tuple[str, ...],
    also: tuple[str, ...],
    sessions: tuple[str, ...],
    query: str | None,
    dry_run: bool,
    yes: bool,
    resume: bool,
    pending: bool,
    approve: str | None,
    reject: str | None,
    form: str,
) -> None:
    """Remove notes, lines (PATH#L3-L9), words, people or sessions, and every copy within reach.

    PATH:12 is the statement at that line alone; PATH:12- is all from there to the end.

    That is notes, index, caches, transcripts, the record of changes and the queue; then every file is
    scanned, byte by byte. What would go is shown first. It cannot be undone. What is out of reach (git's
    history, backups) is listed. Ends with 1 where something is still found.
    """
    if pending or approve or reject:
        if any((references, texts, people, sessions, query, yes, resume, dry_run)):
            raise click.UsageError("--pending, --approve and --reject stand alone: a person is asked", ctx)
        _answer_agents(ctx, approve, reject, form)
        return
    from commonplace.edit.forget import selection

    if also and len(people) != 1:
        raise click.UsageError("--also names the one --person once more", ctx)
    selections = [
        *map(selection.of_reference, references),
        *(Selection("text", text) for text in texts),
        *(Selection("person", person, also) for person in people),
        *(Selection("session", name) for name in sessions),
    ]
    if query is not None:
        selections += _picked(ctx, query, form)
    if not (selections or resume):
        if query is not None:
            ctx.exit(failures.NOTHING_FOUND)
        kinds = "a note or lines of one (PATH:12), or --text, --person, --session, --query"
        raise click.UsageError(f"name what is to be forgotten: {kinds}; or --resume", ctx)
    try:
        _forget(ctx, selections, form, dry_run=dry_run, yes=yes)
    except NoteNotFound as error:
        if len(references) > 1 and not error.suggestions and selection.are_words(references):
            raise selection.no_note(" ".join(references)) from error  # a sentence without quotation marks
        raise


def _forget(ctx: click.Context, selections: list[Selection], form: str, *, dry_run: bool, yes: bool) -> None:
    """Show what would go, ask, and do it; what was begun and is not all forgotten is carried on first."""
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
            ctx.exit(acting.carry_out(ctx, FORGET, wanted, dry_run=dry_run, yes=yes, form=form)[0])
        elif not unfinished:
            failures.warn("no forgetting is under way")
            ctx.exit(failures.NOTHING_FOUND)
        elif not dry_run:
            done = memory.forget([])
            session.answer(form, done, lambda: reports.erasure_text(done, session.look()), memory.settings)
            session.note("carried it on; " + FORGET.text(done).partition("; ")[2])
            if done.left:
                ctx.exit(failures.ERROR)
    except KeyboardInterrupt:
        if unfinished := _unfinished(memory):
            failures.warn(f"interrupted; not all forgotten yet: {unfinished}; carry on with: {_RESUME}")
        else:
            failures.warn("interrupted; the same command once more says whether anything is left")
        raise


# --- what agents ask for --------------------------------------------------------------------------------


def _answer_agents(ctx: click.Context, approve: str | None, reject: str | None, form: str) -> None:
    """List what agents ask to have forgotten, refuse one, or do it once a person at a terminal agrees."""
    from commonplace.edit.forget import requests

    memory = session.open_memory(ctx)
    name = approve or reject
    if not name:
        waiting = requests.listed(memory.workspace)
        lines = (f"{number:>3}  {_described(one)}" for number, one in enumerate(waiting, 1))
        session.answer(form, waiting, lambda: "\n".join(lines), memory.settings)
        if not waiting:
            if form == "text":
                session.note("no agent asks to have anything forgotten")
            ctx.exit(failures.NOTHING_FOUND)
        return
    request = requests.find(memory.workspace, name)
    if reject:
        requests.remove(memory.workspace, request)
        session.note(f"{_described(request)}: refused; nothing was changed")
        return
    if not session.can_ask():
        failures.warn("nothing was changed; a person approves, at a terminal")
        ctx.exit(failures.USAGE)
    session.note(_described(request))
    ctx.exit(acting.carry_out(ctx, FORGET, {"request": request.code}, form=form)[0])


def _described(request: Request) -> str:
    """Describe a request on one line: code, time, agent, kind and value."""
    value = screen.one_line(request.value)
    who = "an agent" if request.agent in ("", UNNAMED) else f"the agent {screen.one_line(request.agent)}"
    return f"{request.code}  {request.at:%Y-%m-%d %H:%M}  {who} asks to forget by {request.kind}: {value}"


# --- what is picked -------------------------------------------------------------------------------------


def _picked(ctx: click.Context, query: str, form: str) -> list[Selection]:
    """Show the lines that hold words of a question, and return what the owner picks."""
    offers = _offers(ctx, query)
    if not offers:
        failures.warn("no line of the notes was found that holds a word of it")
        return []
    shown = offers[:_MOST_OFFERED]
    leads = [f"{number:>3}  {screen.name(offer.citation)}  " for number, offer in enumerate(shown, 1)]
    width = min(_OFFERED, session.look().width or _OFFERED)
    rows = "\n".join(
        lead + screen.shorten(screen.one_line(offer.text), width - screen.cells(lead))
        for lead, offer in zip(leads, shown, strict=True)
    )
    (session.note if form == "json" else session.write_recalled)(rows, session.settings_of(ctx))
    if (more := len(offers) - len(shown)) > 0:
        session.note(f"and {more} more, which hold no more of it; ask more exactly for those")
    if not session.can_ask():
        first = shlex.quote(shown[0].citation)
        failures.warn(f"pick some by their lines: commonplace forget {first} --yes")
        ctx.exit(failures.USAGE)
    answer = click.prompt("Which of them (1,3-5; nothing: none)", default="", show_default=False, err=True)
    picked = (shown[number - 1] for number in dict.fromkeys(_numbers(answer, len(shown))))
    from commonplace.edit.forget import selection

    return [selection.of_reference(one.citation, one.lines) for one in picked]


def _offers(ctx: click.Context, query: str) -> list[Offer]:
    """Search by words alone, in struck text too, the question unrecorded: a vector of it would be a copy."""
    from commonplace.config.settings import WORKSPACE_COLLECTION
    from commonplace.edit.forget import selection
    from commonplace.memory import Memory
    from commonplace.storage import transaction

    unrecorded = {"usage.record": False}
    with Memory.open(session.workspace(ctx), overrides=unrecorded, agent=session.agent(ctx)) as memory:
        result = memory.search(
            query,
            limit=_HITS,
            mode="lexical",
            collections=[WORKSPACE_COLLECTION],
            min_score=0.0,
            rerank="off",
            expand=False,
            history=True,
        )
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
    """List the requests that were begun and not finished, in their own words; empty without any."""
    from commonplace.edit.forget import journal
    from commonplace.redaction.redact import public

    words = journal.describe(memory.workspace)
    return some([screen.shorten(screen.one_line(public(one)), _LONGEST_NAMED) for one in words])
