"""Actions of a person on a statement or a note: open, correct, confirm, forget, write, take back.

Each shows the changes first and asks; the memory carries out exactly those.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from textual.app import SuspendNotSupported

from commonplace.actions.action import Action, Call
from commonplace.actions.statements import CONFIRM, CORRECT, FORGET, UNDO
from commonplace.actions.table import every
from commonplace.base import editors
from commonplace.base.errors import CommonplaceError, ConfigError, NoteNotFound, NoteUnreadable
from commonplace.edit import opened
from commonplace.edit.opened import Editing, Overwritten
from commonplace.edit.resolve import Corpus, StatementNotFound, located
from commonplace.memory import file_of
from commonplace.panel import text
from commonplace.panel.dialogs import Choice, Line, NewEntry, Review, Wording
from commonplace.panel.host import Host
from commonplace.panel.rows import NoteLines, Row
from commonplace.render import count, reports, screen
from commonplace.storage import diffs
from commonplace.types import Run, Statement, cite
from commonplace.types.changes import SelectionKind

UNCHANGED = "nothing was changed"
# Kinds that can be forgotten in all notes, and their names in the dialog.
_ANYWHERE: Mapping[SelectionKind, tuple[str, str]] = {
    "person": ("a person", "the name, as notes have it"),
    "session": ("a session", "its id"),
    "text": ("words", "just as they stand"),
}


# --- a statement ----------------------------------------------------------------------------------------


def found_at(host: Host, place: NoteLines) -> tuple[NoteLines, list[Statement], Sequence[str]]:
    """Return the current place of a shown statement, its statements, and the lines of the note.

    Raises NoteNotFound if the note cannot be changed, StatementNotFound if the lines changed meanwhile.
    """
    corpus = Corpus(host.memory.workspace, host.memory.settings, host.note_bytes)
    if place.workspace or place.path not in corpus.paths:
        raise NoteNotFound(
            place.path, reason="is no note of this workspace, so nothing in it is changed here"
        )
    # A passage with fewer lines than its range is shown abridged.
    if place.text.strip() and place.text.count("\n") == place.last - place.first:
        where = cite(place.path, place.first, place.last)
        _, first, last = located(corpus, where, place.text) or place[:3]
        place = place._replace(first=first, last=last)
    stated = corpus.statements(place.path)
    found = [one for one in stated if one.first <= place.last and one.last >= place.first and not one.struck]
    if not found:
        where = cite(place.path, place.first, place.last)
        raise NoteNotFound(where, reason="no statement stands here that could be changed")
    return place, found, corpus.document(place.path).bare


async def _chosen(host: Host, place: NoteLines, title: str) -> Statement | None:
    """The statement of a place; of several the one that is picked."""
    place, found, _ = await host.ask(partial(found_at, host, place))
    if len(found) == 1:
        return found[0]
    rows = [Row(text.joined((one.citation, "dim"), " ".join(one.text.split())), one) for one in found]
    picked = await host.push_screen_wait(Choice(title, rows, max(0, _meant(found, place))))
    return picked if isinstance(picked, Statement) else None


def _meant(found: Sequence[Statement], place: NoteLines) -> int:
    """Return the index of the statement that a place shows; -1 unless it is exactly one."""
    shown = " ".join(place.shown.split())
    texts = [" ".join(statement.text.split()) for statement in found]
    return next((number for number, one in enumerate(texts) if shown and (one in shown or shown in one)), -1)


async def carry_out(host: Host, action: Action, **values: object) -> None:
    """Show what an action would do, ask, and do just that."""
    call = Call(host.memory, values, host.provenance, host.now().astimezone())
    shown = await host.ask(partial(action.show, call))
    lines = [text.plain(line) for line in shown.text(screen.PLAIN).split("\n") if line]
    lines += [*map(text.plain, shown.remarks), *text.diff(shown.diff)]
    if shown.carry is None:
        host.tell("; ".join(shown.remarks) or shown.title, wrong=action.final)
        return
    question = shown.question or "Write this?"
    if not await host.push_screen_wait(Review(shown.title, lines, question)):
        host.tell(UNCHANGED)
        return
    done = await host.ask(shown.carry)
    if action.reopens(done):
        await host.reopen()
    _tell(host, action.text(done), warnings=action.beside(done), wrong=action.fails(done))


async def correct(host: Host, place: NoteLines) -> None:
    """Strike a statement and write a new wording, if one is given, after it."""
    statement = await _chosen(host, place, "Correct which statement?")
    if statement is None:
        return
    former = " ".join(statement.text.split())
    wording = await host.push_screen_wait(Wording(f"Correct {statement.citation}", former))
    if wording is None or wording == former:
        host.tell(UNCHANGED)
        return
    await carry_out(host, CORRECT, old=statement.citation, new=wording, seen=statement.text)


async def confirm(host: Host, place: NoteLines) -> None:
    """Let a tentative statement hold."""
    statement = await _chosen(host, place, "Confirm which statement?")
    if statement is None:
        return
    await carry_out(host, CONFIRM, statement=statement.citation, seen=statement.text)


def _tell(
    host: Host, done: str, redacted: Sequence[str] = (), warnings: Sequence[str] = (), *, wrong: bool = False
) -> None:
    """Say what was written, and show everything anew."""
    host.memory.store.written()
    hidden = [f"redacted {', '.join(redacted)}"] if redacted else []
    host.tell("; ".join([done, *hidden, *warnings]), wrong=wrong)
    host.changed()


async def more(host: Host) -> None:
    """Pick an action that has no key of its own, ask for its values, and carry it out."""
    rows = [Row(text.joined((one.name, "bold"), one.about), one) for one in every() if "panel" in one.doors]
    picked = await host.push_screen_wait(Choice("Do what?", rows))
    values: dict[str, object] = {}
    for param in picked.params if isinstance(picked, Action) else ():
        about = str(param.schema.get("description", ""))
        if param.schema["type"] == "boolean":
            answers = [Row(text.plain("no"), False), Row(text.plain("yes"), True)]
            value: Any = await host.push_screen_wait(Choice(f"{param.name}: {about}", answers))
        else:
            value = await host.push_screen_wait(Line(param.name, about))
        if param.required and not value:
            host.tell(UNCHANGED)
            return
        if value:
            values[param.name] = int(str(value)) if param.schema["type"] == "integer" else value
    if isinstance(picked, Action):
        await carry_out(host, picked, **values)


# --- forgetting -----------------------------------------------------------------------------------------


async def forget(host: Host, place: NoteLines) -> None:
    """Remove lines, a statement or a whole note for real, after a look at all that goes."""
    selected = await _what_goes(host, place)
    if selected:
        await carry_out(host, FORGET, selections=[selected])


async def forget_any(host: Host) -> None:
    """Remove a person, a session or words for real, wherever they stand, after a look at all that goes."""
    rows = [Row(text.plain(words, "bold"), kind) for kind, (words, _) in _ANYWHERE.items()]
    picked = await host.push_screen_wait(Choice("Forget what, wherever it stands?", rows))
    for kind, (words, hint) in _ANYWHERE.items():
        if kind == picked and (named := await host.push_screen_wait(Line(f"Forget {words}", hint))):
            await carry_out(host, FORGET, selections=[{"kind": kind, "value": named}])


async def _what_goes(host: Host, place: NoteLines) -> dict[str, str] | None:
    """Return the selection to forget, with its lines as shown: a statement, a passage, or the whole note."""
    stated: list[Statement] = []
    lines: Sequence[str] = ()
    try:
        place, stated, lines = await host.ask(partial(found_at, host, place))
    except StatementNotFound:
        raise
    except CommonplaceError:  # another kind of file: its lines can be forgotten all the same
        pass

    def selected(first: int, last: int) -> dict[str, str]:
        return {
            "kind": "lines", "value": cite(place.path, first, last),
            **({"seen": "\n".join(lines[first - 1 : last])} if lines else {}),
        }  # fmt: skip

    passage = cite(place.path, place.first, place.last)
    rows = [
        Row(
            text.joined(("this line", "bold"), one.citation, " ".join(one.text.split())),
            selected(one.first, one.last),
        )
        for one in stated
    ]
    if passage not in {one.citation for one in stated}:
        rows.append(Row(text.joined(("these lines", "bold"), passage), selected(place.first, place.last)))
    whole = {"kind": "note", "value": place.path}
    rows.append(Row(text.joined(("the whole note", "bold"), place.path), whole))
    at = 0 if [one.citation for one in stated] == [passage] else _meant(stated, place)
    picked = await host.push_screen_wait(Choice("Forget what?", rows, at))
    return picked if isinstance(picked, dict) else None


# --- writing --------------------------------------------------------------------------------------------


async def write(host: Host) -> None:
    """Write a new entry into the note of today, or into MEMORY.md."""
    draft = await host.push_screen_wait(NewEntry(await host.ask(partial(_sections, host))))
    if draft is None:
        return
    heading = draft.heading or None
    done = await host.ask(
        partial(
            host.memory.remember, draft.text, long_term=draft.long_term, tentative=draft.tentative,
            section=heading if draft.long_term else None, heading=None if draft.long_term else heading,
            now=host.now(), provenance=host.provenance,
        )
    )  # fmt: skip
    near = [f"near it stands {one.citation}: {screen.one_line(one.text)}" for one in done.near[:1]]
    _tell(host, f"written to {reports.written_text(done)}", done.redacted, [*done.warnings, *near])


def _sections(host: Host) -> list[str]:
    """Return the sections of MEMORY.md that contain statements."""
    memory = host.memory
    corpus, path = Corpus(memory.workspace, memory.settings, host.note_bytes), memory.workspace.memory_file
    stated = corpus.statements(path.name) if path.name in corpus.paths else []
    return list(dict.fromkeys(heading for one in stated for heading in one.headings[1:]))


async def edit(host: Host, place: NoteLines) -> None:
    """Open the note at the line in the editor; the panel comes back when that ends.

    Writes by this memory that the editor overwrote meanwhile are shown, and restored on request.
    """
    held, path, format_ = await host.ask(partial(file_of, host.memory, place.path))
    if format_:
        raise NoteUnreadable(place.path, "a transcript, which only the program that writes it changes")
    argv = editors.command_line(path, place.first, os.environ)
    with opened.Editing(held.workspace, path) as editing:
        try:
            with host.suspend():
                editors.run(argv)
        except SuspendNotSupported as error:
            raise ConfigError("EDITOR", "an editor needs a terminal of its own") from error
        host.refresh(layout=True)
        found, said = await host.ask(editing.overwritten)
        before, after = editing.before, editing.after
        if found is not None:
            outcome = await _put_back(host, editing, place.path, found)
        elif editing.trouble:
            outcome = str(editing.trouble)
        elif after is None or after == before:
            host.tell("; ".join([f"{place.path}: {UNCHANGED}", *said]))
            return
        else:
            added, removed = diffs.counted(before, after)
            outcome = f"{place.path}: {count(added, 'line')} added, {removed:,} removed"
    _tell(host, outcome, warnings=said)


async def _put_back(host: Host, editing: Editing, path: str, found: Overwritten) -> str:
    """Show what the editor saved over, and put it back if that is wanted; return what came of it."""
    about = (
        "While the editor was open, something was written into the note; the editor saved its own version "
        "over that. Your changes stand. This puts the others beside them:"
    )
    lines = [text.plain(about), text.plain(""), *text.diff(found.diff)]
    review = Review(f"{path}: saved over what was written meanwhile", lines, "Put it back?")
    if await host.push_screen_wait(review):
        number = await host.ask(partial(editing.put_back, found))
        back = f"{count(number, 'line')} put back" if number else "what was written meanwhile is put back"
        return f"{path}: {back}; both changes stand"
    kept = "; `commonplace restore` has the lines that are gone" if found.copies else ""
    return f"{path}: left as the editor saved it{kept}"


# --- changes taken back ---------------------------------------------------------------------------------


async def undo(host: Host, run: Run) -> None:
    """Take a generated change back, exactly or not at all."""
    await carry_out(host, UNDO, run=run.id)
