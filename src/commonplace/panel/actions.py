"""What a person does to a statement or a note: open, correct, confirm, forget, write, take back.

Each shows what would change before anything does, and asks; the memory does just what was shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from textual.app import SuspendNotSupported

from commonplace.base import editors
from commonplace.base.errors import (
    CommonplaceError,
    ConfigError,
    NoteNotFound,
    NoteUnreadable,
    PreviewOutdated,
)
from commonplace.changes import diffs
from commonplace.edit import correct as correcting
from commonplace.edit import opened
from commonplace.edit.forget import selection
from commonplace.edit.opened import Editing, Overwritten
from commonplace.edit.resolve import Corpus, StatementNotFound, located, shortened
from commonplace.memory import file_of, written
from commonplace.panel import text
from commonplace.panel.dialogs import Choice, Entry, Line, Review, Wording
from commonplace.panel.host import Host
from commonplace.panel.rows import Place, Row
from commonplace.render import count, reports, screen
from commonplace.types import Confirmed, Corrected, Run, Selection, Statement, cite
from commonplace.types.changes import SelectionKind

UNCHANGED = "nothing was changed"
# What can be forgotten wherever it stands, and how it is named.
_ANYWHERE: Mapping[SelectionKind, tuple[str, str]] = {
    "person": ("a person", "the name, as notes have it"),
    "session": ("a session", "its id"),
    "text": ("words", "just as they stand"),
}


# --- a statement ----------------------------------------------------------------------------------------


def found_at(host: Host, place: Place) -> tuple[Place, list[Statement], Sequence[str]]:
    """Return where what a place shows stands by now, its statements, the lines of the note.

    Raises NoteNotFound where nothing can be changed, StatementNotFound where something else stands there.
    """
    corpus = Corpus(host.memory.workspace, host.memory.settings, host.note_bytes)
    if place.workspace or place.path not in corpus.paths:
        raise NoteNotFound(
            place.path, reason="is no note of this workspace, so nothing in it is changed here"
        )
    # A passage with fewer lines than that is not shown as it stands there.
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


async def _chosen(host: Host, place: Place, title: str) -> Statement | None:
    """The statement of a place; of several the one that is picked."""
    place, found, _ = await host.ask(partial(found_at, host, place))
    if len(found) == 1:
        return found[0]
    rows = [Row(text.joined((one.citation, "dim"), " ".join(one.text.split())), one) for one in found]
    picked = await host.push_screen_wait(Choice(title, rows, max(0, _meant(found, place))))
    return picked if isinstance(picked, Statement) else None


def _meant(found: Sequence[Statement], place: Place) -> int:
    """Which of several statements a place shows; -1 if it shows none of them alone."""
    shown = " ".join(place.shown.split())
    texts = [" ".join(statement.text.split()) for statement in found]
    return next((number for number, one in enumerate(texts) if shown and (one in shown or shown in one)), -1)


def _check_meant(statement: Statement, outcome: Corrected | Confirmed) -> None:
    """Raise PreviewOutdated where another statement stands there by now."""
    if shortened(statement.text) not in outcome.said:
        raise PreviewOutdated([statement.citation])


async def correct(host: Host, place: Place) -> None:
    """Strike a statement and put another wording beside it, if there is one."""
    statement = await _chosen(host, place, "Correct which statement?")
    if statement is None:
        return
    former = " ".join(statement.text.split())
    wording = await host.push_screen_wait(Wording(f"Correct {statement.citation}", former))
    if wording is None or wording == former:
        host.tell(UNCHANGED)
        return
    change = partial(
        host.memory.correct,
        statement.citation,
        wording,
        now=host.now().astimezone(),
        provenance=host.provenance,
    )
    shown = await host.ask(partial(change, dry_run=True))
    _check_meant(statement, shown)
    title = f"Correct {count(len(shown.struck), 'statement')}"
    if not await host.push_screen_wait(Review(title, [*text.diff(shown.diff)], "Write this?")):
        host.tell(UNCHANGED)
        return
    done = await host.ask(partial(change, preview=shown))
    _tell(host, reports.corrected_text(done), done.redacted, done.warnings)


async def confirm(host: Host, place: Place) -> None:
    """Let a tentative statement hold."""
    statement = await _chosen(host, place, "Confirm which statement?")
    if statement is None:
        return
    by = host.provenance
    who: dict[str, Any] = {"by": by.by, "agent": by.agent} if by else {}
    memory = host.memory
    change = partial(
        correcting.confirm,
        memory.workspace,
        memory.settings,
        statement.citation,
        now=host.now().astimezone(),
        **who,
    )
    shown = await host.ask(partial(change, dry_run=True))
    _check_meant(statement, shown)
    if not await host.push_screen_wait(
        Review("It holds from now on", [*text.diff(shown.diff)], "Write this?")
    ):
        host.tell(UNCHANGED)
        return
    done = await host.ask(partial(change, preview=shown))
    _tell(host, reports.confirmed_text(done))


def _tell(host: Host, done: str, redacted: Sequence[str] = (), warnings: Sequence[str] = ()) -> None:
    """Say what was written, and show everything anew."""
    written(host.memory)
    hidden = [f"redacted {', '.join(redacted)}"] if redacted else []
    host.tell("; ".join([done, *hidden, *warnings]))
    host.changed()


# --- forgetting -----------------------------------------------------------------------------------------


async def forget(host: Host, place: Place) -> None:
    """Remove lines, a statement or a whole note for real, after a look at all that goes."""
    selected = await _what_goes(host, place)
    if selected:
        await _forget(host, selected)


async def forget_any(host: Host) -> None:
    """Remove a person, a session or words for real, wherever they stand, after a look at all that goes."""
    rows = [Row(text.plain(words, "bold"), kind) for kind, (words, _) in _ANYWHERE.items()]
    picked = await host.push_screen_wait(Choice("Forget what, wherever it stands?", rows))
    for kind, (words, hint) in _ANYWHERE.items():
        if kind == picked and (named := await host.push_screen_wait(Line(f"Forget {words}", hint))):
            await _forget(host, Selection(kind, named))


async def _forget(host: Host, selected: Selection) -> None:
    """Show all that goes, ask, and remove it."""
    who = host.provenance.agent if host.provenance else ""
    planned = await host.ask(partial(host.memory.forget, selected, dry_run=True, agent=who))
    lines = [text.plain(line) for line in reports.erasure_text(planned).split("\n")]
    if not planned.places:
        host.tell("nothing of it is found that could be forgotten here", wrong=True)
        return
    question = f"Forget {reports.erasure_count(planned.places)} for good?"
    if not await host.push_screen_wait(Review("This goes, and cannot be undone", lines, question)):
        host.tell(UNCHANGED)
        return
    done = await host.ask(partial(host.memory.forget, planned, agent=who))
    host.changed()
    if done.left:
        left = ", ".join(trace.path for trace in done.left)
        host.tell(f"still found in {count(len(done.left), 'file')}: {left}; the rest is gone", wrong=True)
    else:
        host.tell(f"forgot {reports.erasure_count(done.places)}; nothing of it is found any more")


async def _what_goes(host: Host, place: Place) -> Selection | None:
    """What is to go, with its lines as shown: a statement, all lines of a passage, or the whole note."""
    stated: list[Statement] = []
    lines: Sequence[str] = ()
    try:
        place, stated, lines = await host.ask(partial(found_at, host, place))
    except StatementNotFound:
        raise
    except CommonplaceError:  # another kind of file: its lines can be forgotten all the same
        pass

    def selected(first: int, last: int) -> Selection:
        return selection.of_reference(cite(place.path, first, last), tuple(lines[first - 1 : last]))

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
    whole = selection.of_reference(place.path)
    rows.append(Row(text.joined(("the whole note", "bold"), place.path), whole))
    at = 0 if [one.citation for one in stated] == [passage] else _meant(stated, place)
    picked = await host.push_screen_wait(Choice("Forget what?", rows, at))
    return picked if isinstance(picked, Selection) else None


# --- writing --------------------------------------------------------------------------------------------


async def write(host: Host) -> None:
    """Write a new entry into the note of today, or into MEMORY.md."""
    draft = await host.push_screen_wait(Entry(await host.ask(partial(_sections, host))))
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
    """The sections of MEMORY.md that something stands in."""
    memory = host.memory
    corpus, path = Corpus(memory.workspace, memory.settings, host.note_bytes), memory.workspace.memory_file
    stated = corpus.statements(path.name) if path.name in corpus.paths else []
    return list(dict.fromkeys(heading for one in stated for heading in one.headings[1:]))


async def edit(host: Host, place: Place) -> None:
    """Open the note at the line in the editor; the panel comes back when that ends.

    What this memory wrote meanwhile and the editor saved over is shown, and put back if that is wanted.
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
    memory, agent = host.memory, host.provenance.agent if host.provenance else ""
    shown = await host.ask(partial(memory.undo, run.id, dry_run=True))
    review = Review(f"Take back: {run.about.title}", [*text.diff(shown.diff)], "Take it back?")
    if not await host.push_screen_wait(review):
        host.tell(UNCHANGED)
        return
    done = await host.ask(partial(memory.undo, run.id, preview=shown, agent=agent))
    if done.withdrawn:
        await host.reopen()
    removed = [f"{kind} {name or '(all)'} is removed" for kind, name in done.withdrawn]
    _tell(host, "; ".join([*(one.about.title for one in done.runs), *removed]))
