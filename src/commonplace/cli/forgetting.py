"""`forget`: notes, lines, words, people and sessions removed for real, after a look at what would go."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from commonplace import render, screen
from commonplace.cli import failures, session
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.erasure.offering import Offer
    from commonplace.erasure.requests import Request
    from commonplace.memory import Memory
    from commonplace.types import Erasure, Selection

WRONG_USAGE = 2
_RESUME = "commonplace forget --resume"
_MOST_NAMED, _LONGEST_NAMED = 3, 60  # of what is not done yet; cells of each
_HITS = 20  # passages that a question finds
_MOST_OFFERED = 40  # lines of their notes
_OFFERED, _LEAST_OFFERED = 100, 24  # cells of each; where less is left beside the citation, it is wrapped


@command("forget")
@click.argument("references", nargs=-1, metavar="[REFERENCE]...")
@option("--text", "texts", multiple=True, metavar="WORDS", help="Cut these words out wherever they stand.")
@option("--person", "people", multiple=True, metavar="NAME", help="Forget all that mentions a person.")
@option("--also", multiple=True, metavar="NAME", help="A further name of the person; repeatable.")
@option("--session", "sessions", multiple=True, metavar="ID", help="Forget a session and what it left.")
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

    That is notes, index, caches, transcripts, the record of changes and the spool; then every file is
    scanned, byte by byte. What would go is shown first. It cannot be undone. What is out of reach (git's
    history, backups) is listed. Ends with 1 where something is still found.
    """
    if pending or approve or reject:
        if references or texts or people or sessions or query or yes or resume or dry_run:
            raise click.UsageError("--pending, --approve and --reject stand alone: a person is asked", ctx)
        _answer_agents(ctx, approve or "", reject or "", form)
        return
    if also and len(people) != 1:
        raise click.UsageError("--also names the one --person once more", ctx)
    wanted = _selections(references, texts, people, also, sessions)
    if query is not None:
        wanted += _picked(ctx, query, form)
    if not (wanted or resume):
        if query is not None:
            ctx.exit(failures.NOTHING_FOUND)
        raise click.UsageError("name what is to be forgotten, or --resume", ctx)
    _carry_out(ctx, wanted, form, dry_run=dry_run, yes=yes)


def _carry_out(
    ctx: click.Context, wanted: Sequence[Selection], form: str, *, dry_run: bool, yes: bool
) -> None:
    """Show what would go, ask, and forget it, after what is not all forgotten yet."""
    memory = session.open_memory(ctx)
    unfinished = _unfinished(memory)
    if not (wanted or unfinished):
        failures.warn("no forgetting is under way")
        ctx.exit(failures.NOTHING_FOUND)
    if unfinished and (dry_run or (wanted and not yes)):
        failures.warn(f"not all forgotten yet: {unfinished}; carry on with: {_RESUME}")
    what: Sequence[Selection] | Erasure = wanted
    if wanted and (dry_run or not yes):
        what = _previewed(ctx, memory, wanted, form)
        if not dry_run:
            _ask(ctx, what)
    if dry_run:
        return
    if unfinished:
        session.note(f"carrying on what is not all forgotten yet: {unfinished}")
    _tell(ctx, _forgotten(memory, what), form, resumed=bool(unfinished))


def _answer_agents(ctx: click.Context, approve: str, reject: str, form: str) -> None:
    """List what agents ask to have forgotten, refuse one, or do it once a person at a terminal agrees."""
    from commonplace.erasure import requests
    from commonplace.types.entries import UNNAMED

    memory = session.open_memory(ctx)
    if not (approve or reject):
        _list_requests(ctx, requests.listed(memory.workspace), form)
        return
    request = requests.find(memory.workspace, approve or reject)
    if reject:
        requests.remove(memory.workspace, request)
        session.note(f"{_asked(request)}: refused; nothing was changed")
        return
    if not session.is_terminal(sys.stdin):
        failures.warn("nothing was changed; a person approves, at a terminal")
        ctx.exit(WRONG_USAGE)
    session.note(_asked(request))
    planned = _previewed(ctx, memory, request.preview, form, request.selection)
    _ask(ctx, planned)
    _tell(ctx, _forgotten(memory, planned, request.agent or UNNAMED, request.session), form, resumed=False)
    requests.remove(memory.workspace, request)


def _asked(request: Request) -> str:
    """Who asked for what, and when."""
    from commonplace.types.entries import UNNAMED

    kind, value = request.selection.kind, screen.one_line(_shown(request.selection.value))
    who = "an agent" if request.agent in ("", UNNAMED) else f"the agent {screen.one_line(request.agent)}"
    return f"{request.code}  {request.at:%Y-%m-%d %H:%M}  {who} asks to forget by {kind}: {value}"


def _shown(words: str) -> str:
    """Words of who asked as they may be shown: hosts of agents record what a terminal shows."""
    from commonplace.notes.redact import redact, strip_private

    return redact(strip_private(words))[0]


def _list_requests(ctx: click.Context, waiting: Sequence[Request], form: str) -> None:
    if form == "json":
        rows = [
            {"code": one.code, "at": one.at.isoformat(), "agent": one.agent, "session": one.session}
            | {"kind": one.selection.kind, "value": _shown(one.selection.value)}
            for one in waiting
        ]
        session.write(render.to_json(rows))
    else:
        session.write("\n".join(f"{number:>3}  {_asked(one)}" for number, one in enumerate(waiting, 1)))
    if not waiting:
        if form == "text":
            session.note("no agent asks to have anything forgotten")
        ctx.exit(failures.NOTHING_FOUND)


def _previewed(
    ctx: click.Context,
    memory: Memory,
    wanted: Sequence[Selection] | Erasure,
    form: str,
    *selections: Selection,
) -> Erasure:
    """Show what would go; end where nothing would. A preview is shown as it is by now."""
    planned = memory.forget(wanted, dry_run=True)
    _show(planned, form)
    _say_longer_names(selections if not isinstance(wanted, Sequence) else wanted, planned)
    if not planned.places:
        _end_with_nothing(ctx, planned)
    return planned


def _end_with_nothing(ctx: click.Context, erasure: Erasure) -> NoReturn:
    """Say that there is nothing to forget, or that what stands elsewhere is not ours to delete."""
    if erasure.unreachable:
        failures.warn("nothing of it is found in this workspace; what is named above is not ours to delete")
    else:
        failures.warn("nothing of it is found")
    ctx.exit(failures.NOTHING_FOUND)


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


def _referred(reference: str, lines: tuple[str, ...] = ()) -> Selection:
    """A whole note, or lines of one, which may have been seen."""
    from commonplace.notes.excerpt import parse_reference
    from commonplace.types import Selection

    found = parse_reference(reference)
    plain = reference.strip().removeprefix("./").lower()
    whole = plain in (found.path.lower(), f"#{found.docid}")
    return Selection("note" if whole else "lines", reference, lines=lines)


def _picked(ctx: click.Context, query: str, form: str) -> list[Selection]:
    """Show the lines that hold words of a question, and return what the owner picks."""
    found = _found(ctx, query)
    if not found:
        failures.warn("no line of the notes was found that holds a word of it")
        return []
    shown = found[:_MOST_OFFERED]
    for number, one in enumerate(shown, 1):
        click.echo(_row(number, one, query), err=form == "json")
    if len(found) > len(shown):
        session.note(
            f"and {len(found) - len(shown)} more, which hold no more of it; ask more exactly for those"
        )
    if not session.is_terminal(sys.stdin):
        first = shlex.quote(shown[0].citation)
        failures.warn(f"pick some by their lines: commonplace forget {first} --yes")
        ctx.exit(WRONG_USAGE)
    told = click.prompt("Which of them (1,3-5; nothing: none)", default="", show_default=False, err=True)
    picked = (shown[place - 1] for place in _numbers(told, len(shown)))
    return [_referred(one.citation, one.lines) for one in picked]


def _row(number: int, one: Offer, query: str) -> str:
    """One line of what may be picked, cut so that a word of the question is in sight."""
    lead = f"{number:>3}  {one.citation}  "
    width = (session.look().width or 0) - screen.cells(lead)
    width = min(_OFFERED, width) if width >= _LEAST_OFFERED else _OFFERED
    line = screen.one_line(one.text)
    spans = screen.matches(line, screen.matcher(session.words(query)))
    if spans and screen.cells(line[: spans[0][1]]) > width:
        line = screen.ELLIPSIS + line[max(0, spans[0][0] - width // 4) :]
    return lead + screen.shorten(line, width)


def _found(ctx: click.Context, query: str) -> list[Offer]:
    """Search by words alone, in struck text too, the question unrecorded: a vector of it would be a copy."""
    from commonplace.config.settings import WORKSPACE_COLLECTION
    from commonplace.erasure import offering
    from commonplace.history import applying
    from commonplace.memory import Memory

    unrecorded = {"usage.record": False}
    with Memory.open(session.workspace(ctx), overrides=unrecorded, agent=session.agent(ctx)) as memory:
        found = memory.search(
            query,
            limit=_HITS,
            mode="lexical",
            collections=[WORKSPACE_COLLECTION],
            min_score=0.0,
            rerank="off",
            expand=False,
            history=True,
        )
        return offering.offers(query, found.hits, lambda path: applying.read(memory.workspace, path))


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
    from commonplace.render import erasures

    if session.is_terminal(sys.stdin):
        count = erasures.erasure_count(planned.places)
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


def _unfinished(memory: Memory) -> str:
    """What was begun and is not done, in the words of who asked; empty for nothing."""
    from commonplace.erasure import begun

    found = list(map(_shown, begun.told(memory.workspace)))
    shown = ", ".join(screen.shorten(screen.one_line(one), _LONGEST_NAMED) for one in found[:_MOST_NAMED])
    return f"{shown} and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else shown


def _forgotten(
    memory: Memory, what: Sequence[Selection] | Erasure, agent: str = "", of_session: str = ""
) -> Erasure:
    """Forget what is selected, or just what was shown; stopped with Ctrl-C, say what is unfinished."""
    try:
        return memory.forget(what, agent=agent, session=of_session)
    except KeyboardInterrupt:
        if unfinished := _unfinished(memory):
            failures.warn(f"interrupted; not all forgotten yet: {unfinished}; carry on with: {_RESUME}")
        else:
            failures.warn("interrupted; the same command once more says whether anything is left")
        raise


def _say_longer_names(wanted: Sequence[Selection], planned: Erasure) -> None:
    """Say in whose longer names a name was found."""
    from commonplace.erasure import naming

    names = [name for one in wanted if one.kind == "person" for name in (one.value, *one.also)]
    if told := naming.told(names, (place.text for place in planned.places if place.where == "notes")):
        failures.warn(told)


def _show(erasure: Erasure, form: str) -> None:
    from commonplace.render import erasures

    if form == "json":
        session.write(render.to_json(erasures.erasure_data(erasure)))
    else:
        session.write(erasures.erasure_text(erasure, session.look()))


def _tell(ctx: click.Context, erasure: Erasure, form: str, *, resumed: bool) -> None:
    """Print what was done; end with 1 where something is left, 3 where there was nothing to do."""
    from commonplace.render import erasures

    _show(erasure, form)
    if erasure.left:
        files = render.count(len(erasure.left), "file")
        failures.warn(f"forgotten, but still found in {files}, see above")
        ctx.exit(failures.ERROR)
    if not (erasure.places or resumed):
        _end_with_nothing(ctx, erasure)
    if form == "text":
        done = f"forgot {erasures.erasure_count(erasure.places)}" if erasure.places else "carried it on"
        here = " here" if any(one.what.startswith("collection ") for one in erasure.unreachable) else ""
        session.note(f"{done}; nothing of it is found{here} any more")
