"""`open`: a note in the user's editor, at its line, and the changes made there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
    from commonplace.edit.opened import Editing, Overwritten
    from commonplace.memory import Memory
    from commonplace.types import Excerpt

_SHOWN = 20  # lines of what changed


@command("open", several=True)
@argument("reference", "REF", "notes")
@click.pass_context
def open_(ctx: click.Context, reference: str) -> None:
    """Open a note at its line in your editor, and show afterwards which lines changed.

    REF is what `get` takes, at a terminal the number of a hit too. The editor is that of VISUAL or EDITOR,
    with its arguments, or else the one that your system uses. Afterwards the index is brought up to the note.
    If the editor saved over lines that an agent wrote meanwhile, they are shown, and put back after a yes.
    Transcripts and files that you may not write are shown by PAGER.
    """
    note = _found(ctx, reference)
    if reason := _fixed(note):
        session.note(f"{screen.name(note.excerpt.path)}: {reason}, so it is only shown")
        text = reports.excerpt_text(note.excerpt, look=session.look(note.memory.settings))
        click.echo_via_pager(session.shown(text, sys.stdout) + "\n")
    else:
        ctx.exit(_edit(note))


class _Note(NamedTuple):
    """A note to be opened: what `get` reads of it, the memory and the file that it is in, its format."""

    excerpt: Excerpt
    memory: Memory
    path: Path
    format: str


def _found(ctx: click.Context, reference: str) -> _Note:
    """Find a note. Raises as `picks.read`, and AccessDenied for an agent that is limited."""
    name = session.asking_agent(ctx)
    if name and name in config.limited(agent=name):
        raise AccessDenied(name, "opens no editor, which shows what reading leaves out; leave out --agent")
    memory = session.open_memories(ctx)
    excerpt = picks.read(session.asking(ctx), memory, reference)
    return _Note(excerpt, *memories.file_of(memory, excerpt.path))


def _fixed(note: _Note) -> str:
    """Why a file is not to be edited; empty for one that is."""
    if note.format:
        return "a transcript, which only the program that writes it changes"
    return "" if os.access(note.path, os.W_OK) else "you may not write it"


def _edit(note: _Note) -> int:
    """Edit a file, say what changed, bring the index up to it; return the exit code.

    Raises ConfigError, NoteUnreadable, also where the editor left no note there.
    """
    from commonplace.edit import opened
    from commonplace.storage import diffs

    argv = editors.command_line(note.path, note.excerpt.start_line, os.environ, usual=session.can_ask())
    place = screen.name(note.excerpt.path)
    with opened.Editing(note.memory.workspace, note.path) as editing:
        code = editors.run(argv)
        found, said = editing.overwritten()
        if code:
            failures.warn(f"{os.path.basename(argv[0])} ended with {code}")
        before, after = editing.before, editing.after
        is_same = after == before
        if after is None:
            session.note(f"{place}: no note is left there")
        elif not is_same:
            added, removed = diffs.counted(before, after)
            if added + removed <= _SHOWN:
                diff = diffs.of_change(Change(note.excerpt.path, before, after))
                session.write_diff(diff, note.memory.settings)
            session.note(f"{place}: {count(added, 'line')} added, {removed:,} removed")
        elif found is None:
            session.note(f"{place}: nothing was changed")
        for sentence in said:
            failures.warn(sentence)
        is_back = found is not None and _offer(note, editing, found)
    is_changed = not is_same or is_back
    if is_changed and note.memory.status().notes:  # a first sync is slow, and left to `index`
        index.run(note.memory)
        session.note("the index is up to date")
    if editing.trouble and not is_back:
        raise editing.trouble
    return failures.ERROR if code else 0


def _offer(note: _Note, editing: Editing, found: Overwritten) -> bool:
    """Show what the editor saved over; put it back if somebody is there who wants that, and tell whether."""
    place = screen.name(note.excerpt.path)
    failures.warn(f"{place}: the editor saved over what was written meanwhile:")
    session.write_diff(found.diff, note.memory.settings)
    if session.can_ask() and click.confirm("Put it back?", err=True):
        number = editing.put_back(found)
        session.note(f"{place}: {count(number, 'line')} put back; both changes stand")
        return True
    if found.copies:
        session.note(f"`commonplace restore {' '.join(copy.name for copy in found.copies)}` puts it back")
    return False
