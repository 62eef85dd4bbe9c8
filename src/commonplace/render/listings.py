"""Notes one by one: listings, several read at once, what surrounds a moment; as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace import screen
from commonplace.render.reports import excerpt_data, excerpt_text
from commonplace.render.results import INDENT, passage
from commonplace.screen import PLAIN, Look

if TYPE_CHECKING:
    from commonplace.types import Gathered, Moment, NoteInfo, Timeline

ANCHOR = "▶ "


def notes_text(notes: Sequence[NoteInfo], look: Look = PLAIN) -> str:
    """List notes: path, date, size, title."""
    rows = [
        (screen.one_line(note.path), note.date or "", screen.size(note.size), screen.one_line(note.title))
        for note in notes
    ]
    lines = screen.table(rows, right=(2,))
    return "\n".join(line if look.width is None else screen.shorten(line, look.width) for line in lines)


def notes_data(notes: Sequence[NoteInfo]) -> list[dict[str, Any]]:
    """Return notes as plain data."""
    from dataclasses import asdict

    return [asdict(note) for note in notes]


def gathered_text(gathered: Gathered, *, numbers: bool = True, look: Look = PLAIN) -> str:
    """Render several notes, each below a line with its path and its first and last line."""
    blocks = []
    for one in gathered.excerpts:
        head = f"==> {screen.one_line(one.path)}:{one.start_line}-{one.end_line} <=="
        blocks.append(f"{look.style(head, 'cyan')}\n{excerpt_text(one, numbers=numbers, look=look)}".rstrip())
    return "\n\n".join(blocks)


def gathered_data(gathered: Gathered) -> dict[str, Any]:
    """Return several notes and what was left out as plain data."""
    left_out = [{"reference": one.path, "reason": one.reason} for one in gathered.left_out]
    return {"notes": [excerpt_data(one) for one in gathered.excerpts], "left_out": left_out}


def timeline_text(timeline: Timeline, look: Look = PLAIN) -> str:
    """Render what surrounds an anchor, in order, below a line for each day; the anchor is marked."""
    lines: list[str] = []
    day = ""
    for moment in timeline.moments:
        if moment.date != day:
            lines += [*([""] if day else []), look.style(moment.date, "bold")]
            day = moment.date
        lines += _moment(moment, look)
    return "\n".join(lines)


def _moment(moment: Moment, look: Look) -> list[str]:
    last = f"-{moment.end_line}" if moment.end_line != moment.start_line else ""
    where = look.style(f"{screen.one_line(moment.path)}:{moment.start_line}{last}", "cyan")
    headings = [screen.one_line(h) for h in moment.headings if not h.startswith(moment.date)]
    told = f"  {look.style(' › '.join(headings), 'dim')}" if headings else ""
    mark = look.style(ANCHOR, "match") if moment.is_anchor else INDENT
    rows = passage(moment.text, look, None, None)
    return [f"{mark}{where}{told}", *(INDENT + row for row in rows if row.strip())]


def timeline_data(timeline: Timeline) -> dict[str, Any]:
    """Return what surrounds an anchor as plain data."""
    from dataclasses import asdict

    moments = [{**asdict(moment), "citation": moment.citation} for moment in timeline.moments]
    return {"anchor": timeline.anchor, "stale": timeline.stale, "moments": moments}
