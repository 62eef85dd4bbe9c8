"""A record that was set aside, as a person reads it before signing it: all that its signature would cover."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff

from commonplace import paths, records, screen
from commonplace.errors import NoteUnreadable
from commonplace.history import runs
from commonplace.notes import folded
from commonplace.records import Aside
from commonplace.types.revisions import Run

MOST = 20_000  # characters that somebody reads through before a yes
_MOST_LINES = 2_000  # of one side of a diff, whose time grows with their product
_EFFECTS = {
    "erasing": "a forgetting that was begun: the next `commonplace forget` carries it out",
    "spool": "entries that wait: the next `commonplace sync` writes them into your notes",
    "claim": "how far entries that wait are written into your notes",
    "pending": "how far a session is summed up",
    "injected": "what the prompts of a session were given",
    "consolidated": "when memory was last consolidated",
    "schedule": "folders that the schedule has made, and may remove",
    "batches": "texts that an embedding provider works on",
    "request": "what an agent asks to have forgotten",
    "writes": "the lines that were written last into a note",
}


def described(workspace: paths.Workspace, aside: Aside) -> str:
    """Return what a record makes the program do, what it says, and the diff of its texts.

    What shows nothing stands there as an escape. Raises NoteUnreadable for what cannot be shown whole.
    """
    effect = _EFFECTS.get(aside.kind, aside.kind)
    said = [json.dumps(value, ensure_ascii=False) for value in aside.values]
    diff = ""
    if aside.is_run:
        run = _run(aside)
        effect, diff = _effect(run), "\n".join(_diffs(workspace, aside, run))
    text = "\n".join([effect, *said, *([diff] if diff else [])])
    if len(text) > MOST or len(text := folded.visible(text)) > MOST:
        raise _hidden(aside, f"is longer than the {MOST:,} characters that are shown")
    return screen.clean(text)


def _hidden(aside: Aside, reason: str) -> NoteUnreadable:
    shown = paths.shown(f"{paths.DERIVED_FOLDER}/{records.FOREIGN_FOLDER}/{aside.name}")
    return NoteUnreadable(shown, f"{reason}, so it cannot be signed; {records.SHARE}")


def _run(aside: Aside) -> Run:
    try:
        return runs.decode(aside.own.split("/")[1], aside.values[0])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _hidden(aside, "is no record of a change") from error


def _effect(run: Run) -> str:
    if run.state == "begun":
        return "a change of notes that was begun: the next command that changes notes carries it out"
    if run.kept:
        return "a change of notes that was made: `commonplace undo` would take it back"
    return "a change of notes that was made; its texts are not kept, so nothing can take it back"


def _diffs(workspace: paths.Workspace, aside: Aside, run: Run) -> Iterator[str]:
    """The diff of each file, with private parts and all: whatever is signed is shown."""
    if not run.kept and run.state != "begun":
        return
    folder = workspace.derived / records.FOREIGN_FOLDER / aside.name
    for place, file in enumerate(run.files):
        try:
            sides = [runs.content(workspace, run, place, side, folder) for side in runs.SIDES]
            lines = ["" if side is None else side.decode() for side in sides]
        except NoteUnreadable as error:
            raise _hidden(aside, f"has a text that cannot be read ({error.reason})") from error
        except UnicodeDecodeError as error:
            raise _hidden(aside, f"changes {paths.shown(file.path)} to what is not UTF-8") from error
        before, after = (text.split("\n") for text in lines)
        if len(before) + len(after) > _MOST_LINES or sum(map(len, lines)) > MOST * 10:
            raise _hidden(aside, f"changes {paths.shown(file.path)}, which is too long to be compared")
        names = ["/dev/null" if side is None else screen.one_line(file.path) for side in sides]
        yield from unified_diff(before, after, names[0], names[1], lineterm="")
