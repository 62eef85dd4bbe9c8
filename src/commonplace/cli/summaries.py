"""`summarize`: sessions summed up by hand, and those that are still to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, option
from commonplace.errors import NoteNotFound

if TYPE_CHECKING:
    from commonplace.lifecycle.summaries import Summarizer
    from commonplace.memory import Memory


@command("summarize")
@click.argument("name", metavar="[SESSION]", required=False)
@option("--pending", is_flag=True, help="Sum up what sessions that are over left behind.")
@option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.pass_context
def summarize(ctx: click.Context, name: str | None, pending: bool, dry_run: bool) -> None:
    """Sum up a session in the note of its day: the newest one, unless it is named.

    What was summed up before is not again. The language model writes it, where one is set and answers;
    otherwise it is an extract, marked as such. A dry run asks the model too.
    """
    if pending and (name or dry_run):
        raise click.UsageError("--pending goes with neither a session nor --dry-run", ctx)
    summarizer = _summarizer(session.open_memory(ctx))
    found = _pending(summarizer) if pending else _one(summarizer, name, dry_run=dry_run)
    if not found:
        ctx.exit(failures.NOTHING_FOUND)


def _summarizer(memory: Memory) -> Summarizer:
    from commonplace.embedding import configured
    from commonplace.lifecycle.summaries import Summarizer
    from commonplace.llm.opening import open_llm
    from commonplace.notes.redact import holds_secret

    llm = open_llm(memory.workspace, memory.settings, breaker=configured.breaker(), holds_secret=holds_secret)
    return Summarizer(memory, llm)


def _one(summarizer: Summarizer, name: str | None, *, dry_run: bool) -> bool:
    """Sum up one session; false where there is nothing new in it."""
    name = _chosen(summarizer.memory, name)
    if dry_run:
        draft = summarizer.draft(name)
        if draft is not None and draft.trouble:
            failures.warn(f"no language model wrote this ({draft.trouble})")
        text = draft.text if draft else ""
        session.write(f"- {text}".replace("\n", "\n  ") if text else "")
        found = bool(text)
    else:
        written = summarizer.summarize(name, by_hand=True)
        session.write(render.written_text(written) if written else "")
        found = written is not None
    if not found:
        session.note(f"session {name}: nothing new that is worth a summary")
    return found


def _chosen(memory: Memory, name: str | None) -> str:
    """Return the session that is meant. Raises NoteNotFound."""
    from difflib import get_close_matches

    from commonplace.sessions import transcript

    known = transcript.sessions(memory.workspace)
    if name is None and not known:
        raise NoteNotFound("sessions/", reason="no session has a transcript in this workspace")
    if name is not None and not transcript.path_of(memory.workspace, name).is_file():
        raise NoteNotFound(f"session {name}", get_close_matches(name, known, 3, 0.5), "no such session")
    return known[0] if name is None else name


def _pending(summarizer: Summarizer) -> bool:
    outcomes = summarizer.run_pending()
    for outcome in outcomes:
        if outcome.error:
            failures.warn(f"session {outcome.session}: {outcome.error}")
        elif outcome.written:
            session.write(f"{outcome.session}: {render.written_text(outcome.written)}")
    if not outcomes:
        session.note("nothing is pending")
    return any(outcome.written for outcome in outcomes)
