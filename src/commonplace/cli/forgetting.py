"""`forget`: notes, lines, words, people and sessions removed for real, after a look at what would go."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import failures, session
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.types import Erasure, Selection

WRONG_USAGE = 2


@command("forget")
@click.argument("references", nargs=-1, metavar="[REFERENCE]...")
@option("--text", "texts", multiple=True, metavar="WORDS", help="Cut these words out wherever they stand.")
@option("--person", "people", multiple=True, metavar="NAME", help="Forget all that mentions a person.")
@option("--also", multiple=True, metavar="NAME", help="A further name of the person; repeatable.")
@option("--session", "sessions", multiple=True, metavar="ID", help="Forget a session and what it left.")
@option("--query", metavar="Q", help="Look for statements, and pick those to forget.")
@option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@option("--resume", is_flag=True, help="Carry on what was killed before it was done.")
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
    form: str,
) -> None:
    """Remove notes, lines (PATH#L3-L9), words, people or sessions, and every copy within reach.

    PATH:12 is the statement at that line alone; PATH:12- is all from there to the end.

    That is notes, index, caches, transcripts, the record of changes and the spool; then every file is
    scanned, byte by byte. What would go is shown first. It cannot be undone. What is out of reach (git's
    history, backups) is listed. Ends with 1 where something is still found.
    """
    if also and len(people) != 1:
        raise click.UsageError("--also names the one --person once more", ctx)
    wanted = _selections(references, texts, people, also, sessions)
    if query is not None:
        wanted += _picked(ctx, query, form)
    if not (wanted or resume):
        if query is not None:
            ctx.exit(failures.NOTHING_FOUND)
        raise click.UsageError("name what is to be forgotten, or --resume", ctx)
    memory = session.open_memory(ctx)
    if wanted and (dry_run or not yes):
        planned = memory.forget(wanted, dry_run=True)
        _show(planned, form)
        if not planned.places:
            failures.warn("nothing of it is found")
            ctx.exit(failures.NOTHING_FOUND)
        if dry_run:
            return
        _ask(ctx, planned)
    _tell(ctx, memory.forget(wanted), form)


def _selections(
    references: Sequence[str],
    texts: Sequence[str],
    people: Sequence[str],
    also: tuple[str, ...],
    sessions: Sequence[str],
) -> list[Selection]:
    from commonplace.types import Selection

    return [
        *map(_referred, references),
        *(Selection("text", text) for text in texts),
        *(Selection("person", person, also) for person in people),
        *(Selection("session", one) for one in sessions),
    ]


def _referred(reference: str) -> Selection:
    """A whole note, or lines of one."""
    from commonplace.notes.excerpt import parse_reference
    from commonplace.types import Selection

    found = parse_reference(reference)
    plain = reference.strip().removeprefix("./").lower()
    whole = plain in (found.path.lower(), f"#{found.docid}")
    return Selection("note" if whole else "lines", reference)


def _picked(ctx: click.Context, query: str, form: str) -> list[Selection]:
    """Show the statements that a question finds, and return what the owner picks."""
    found = _found(ctx, query)
    if not found:
        failures.warn("nothing was found")
        return []
    for number, (citation, text) in enumerate(found.items(), 1):
        click.echo(
            f"{number:>3}  {citation}  {screen.shorten(screen.one_line(text), 100)}", err=form == "json"
        )
    if not session.is_terminal(sys.stdin):
        first = shlex.quote(next(iter(found)))
        failures.warn(f"pick some by their lines: commonplace forget {first} --yes")
        ctx.exit(WRONG_USAGE)
    told = click.prompt("Which of them (1,3-5; nothing: none)", default="", show_default=False, err=True)
    return [_referred(list(found)[place - 1]) for place in _numbers(told, len(found))]


def _found(ctx: click.Context, query: str) -> dict[str, str]:
    """Search by words alone, the question unrecorded: a vector of it would be one more copy.

    Returns the statements of the hits by their citations, best first.
    """
    from commonplace.config.settings import WORKSPACE_COLLECTION
    from commonplace.erasure.pages import Page
    from commonplace.memory import Memory

    unrecorded = {"usage.record": False}
    with Memory.open(session.workspace(ctx), overrides=unrecorded, agent=session.agent(ctx)) as memory:
        hits = memory.search(
            query, mode="lexical", collections=[WORKSPACE_COLLECTION], rerank="off", expand=False, limit=20
        ).hits
        root = memory.workspace.root
    found: dict[str, str] = {}
    for hit in hits:
        own = [] if hit.path.endswith(".jsonl") else Page(hit.path, (root / hit.path).read_bytes()).statements
        inside = [s for s in own if s.first <= hit.end_line and s.last >= hit.start_line]
        found |= {s.citation: s.text for s in inside} or {hit.citation: hit.text}
    return found


def _numbers(told: str, most: int) -> list[int]:
    """The numbers that a list such as 1,3-5 names. Raises UsageError for one that is none."""
    found: dict[int, None] = {}
    for part in filter(None, told.replace(" ", ",").split(",")):
        first, _, last = part.partition("-")
        if not (
            first.isdigit() and (last or first).isdigit() and 1 <= int(first) <= int(last or first) <= most
        ):
            raise click.UsageError(f"{part!r} is none of 1 to {most}")
        found.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(found)


def _ask(ctx: click.Context, planned: Erasure) -> None:
    """Ask on a terminal; elsewhere say what to type, and end."""
    if session.is_terminal(sys.stdin):
        count = render.count(len(planned.places), "place")
        click.confirm(f"Forget {count} for good? It cannot be undone.", abort=True, err=True)
        return
    failures.warn(f"nothing was changed; to forget it: {_line(ctx)}")
    ctx.exit(WRONG_USAGE)


def _line(ctx: click.Context) -> str:
    """The command once more, without the question that it would ask."""
    words = ["commonplace", "forget", *ctx.params["references"]]
    for name in ("texts", "people", "also", "sessions"):
        option = next(parameter.opts[0] for parameter in ctx.command.params if parameter.name == name)
        words += [word for value in ctx.params[name] for word in (option, value)]
    return shlex.join([*words, "--yes"])


def _show(erasure: Erasure, form: str) -> None:
    from commonplace.render import erasures

    if form == "json":
        session.write(render.to_json(erasures.erasure_data(erasure)))
    else:
        session.write(erasures.erasure_text(erasure, session.look()))


def _tell(ctx: click.Context, erasure: Erasure, form: str) -> None:
    """Print what was done; end with 1 where something is left, 3 where there was nothing."""
    _show(erasure, form)
    if erasure.left:
        files = render.count(len(erasure.left), "file")
        failures.warn(f"forgotten, but still found in {files}, see above")
        ctx.exit(failures.ERROR)
    if not erasure.places:
        failures.warn("nothing of it is found")
        ctx.exit(failures.NOTHING_FOUND)
    if form == "text":
        session.note(f"forgot {render.count(len(erasure.places), 'place')}; nothing of it is found any more")
