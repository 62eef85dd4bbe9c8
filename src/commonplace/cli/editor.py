"""`open`: a note in the user's editor, at its line, and the changes made there."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace import memory as memories
from commonplace.base import editors
from commonplace.base.errors import AccessDenied
from commonplace.cli import failures, index, picks, session
from commonplace.cli.options import argument, command
from commonplace.render import count, reports, screen
from commonplace.types.changes import Change

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.edit.opened import Editing, Overwritten
    from commonplace.memory import Memory
    from commonplace.types import Excerpt

_SHOWN = 20  # changed lines; of more, only the numbers are shown


@command("open", several=True)
@argument("reference", "REF", "notes")
def open_(ctx: click.Context, reference: str) -> None:
    """Open a note at its line in your editor, and show afterwards which lines changed.

    REF is what `get` takes, at a terminal the number of a hit too. The editor is that of VISUAL or EDITOR,
    with its arguments, or else the one that your system uses. Afterwards the index is brought up to the note.
    If the editor saved over lines that an agent wrote meanwhile, they are shown, and put back after a yes.
    Transcripts and files that you may not write are shown by PAGER.
    """
    name = session.asking_agent(ctx)
    if name and name in config.limited(agent=name):
        raise AccessDenied(name, "opens no editor, which shows what reading leaves out; leave out --agent")
    excerpt = picks.read(session.asking(ctx), memory := session.open_memories(ctx), reference)
    memory, path, kind = memories.file_of(memory, excerpt.path)
    reason = "a transcript, which only the program that writes it changes" if kind else ""
    if not reason and not os.access(path, os.W_OK):
        reason = "you may not write it"
    if reason:
        session.note(f"{screen.name(excerpt.path)}: {reason}, so it is only shown")
        text = reports.excerpt_text(excerpt, look=session.look(memory.settings))
        click.echo_via_pager(session.shown(text, sys.stdout) + "\n")
    else:
        ctx.exit(_edit(memory, path, excerpt))


def _edit(memory: Memory, path: Path, excerpt: Excerpt) -> int:
    """Edit a file, show its changes, bring the index up to it; return the exit code.

    Raises ConfigError, and NoteUnreadable also if the editor left no note there.
    """
    from commonplace.edit import opened
    from commonplace.storage import diffs

    argv = editors.command_line(path, excerpt.start_line, os.environ, usual=session.can_ask())
    place = screen.name(excerpt.path)
    with opened.Editing(memory.workspace, path) as editing:
        code = editors.run(argv)
        found, said = editing.overwritten()
        if code:
            failures.warn(f"{os.path.basename(argv[0])} ended with {code}")
        before, after = editing.before, editing.after
        is_changed = after != before
        if after is None:
            session.note(f"{place}: no note is left there")
        elif is_changed:
            added, removed = diffs.counted(before, after)
            if added + removed <= _SHOWN:
                session.write_diff(diffs.of_change(Change(excerpt.path, before, after)), memory.settings)
            session.note(f"{place}: {count(added, 'line')} added, {removed:,} removed")
        elif found is None:
            session.note(f"{place}: nothing was changed")
        for sentence in said:
            failures.warn(sentence)
        is_back = found is not None and _put_back(memory, place, editing, found)
    if (is_changed or is_back) and memory.status().notes:  # a first sync is slow, and left to `sync`
        index.run(memory)
        session.note("the index is up to date")
    if editing.trouble and not is_back:
        raise editing.trouble
    return failures.ERROR if code else 0


def _put_back(memory: Memory, place: str, editing: Editing, found: Overwritten) -> bool:
    """Show the lines that the editor saved over; put them back after a yes, and tell whether it was given."""
    failures.warn(f"{place}: the editor saved over what was written meanwhile:")
    session.write_diff(found.diff, memory.settings)
    if session.can_ask() and click.confirm("Put it back?", err=True):
        session.note(f"{place}: {count(editing.put_back(found), 'line')} put back; both changes stand")
        return True
    if found.copies:
        session.note(f"`commonplace restore {' '.join(copy.name for copy in found.copies)}` puts it back")
    return False
