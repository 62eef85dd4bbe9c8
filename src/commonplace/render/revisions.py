"""Generated changes: a row for each, all that is known of one, its diff in colours; and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace import screen
from commonplace.screen import PLAIN, Look

if TYPE_CHECKING:
    from commonplace.types.revisions import Run

_STAMP = 15  # characters of a run's id that say when it was made
_COMMIT = 7
_ROOM, _LEAST = 28, 12  # cells for what a run is: with the commit before it, and at least
_COLORS = {"+": "green", "-": "red", "@": "cyan", "#": "dim"}


def log_text(runs: Sequence[Run], look: Look = PLAIN) -> str:
    """List runs, a row for each: its id, kind, author, lines, files, commit, what it is and became.

    The commit is left out where that leaves no room for the rest.
    """
    if not runs:
        return ""
    for git in (any(run.commit for run in runs), False):
        rows = _padded(_rows(runs, git))
        room = None if look.width is None else look.width - screen.cells(rows[0])
        if room is None or room >= _ROOM:
            break
    told = ["what", *map(_what, runs)]
    return "\n".join(
        (row + (text if room is None else screen.shorten(text, max(_LEAST, room)))).rstrip()
        for row, text in zip(rows, told, strict=True)
    )


def _rows(runs: Sequence[Run], git: bool) -> list[tuple[str, ...]]:
    names = short_names([run.id for run in runs])
    head = ("run", "kind", "by", "lines", "files", *(["commit"] if git else []), "")
    return [head, *((names[run.id], *_cells(run, git), "") for run in runs)]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Say each run by when it was made, where that names no other one, else in full."""
    stamps = [name[:_STAMP] for name in names]
    return {name: name if stamps.count(name[:_STAMP]) > 1 else name[:_STAMP] for name in names}


def _padded(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table whose last column is as wide in all of them."""
    right = (3, 4)
    widths = [max(screen.cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            " " * (width - screen.cells(cell)) + cell if column in right else screen.pad(cell, width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _cells(run: Run, git: bool) -> tuple[str, ...]:
    who = screen.shorten(screen.one_line(run.about.agent or run.about.by), 12)
    commit = [run.commit[:_COMMIT]] if git else []
    return (screen.one_line(run.about.kind), who, _lines(run), str(len(run.files)), *commit)


def _lines(run: Run) -> str:
    added, removed = (sum(getattr(file, side) for file in run.files) for side in ("added", "removed"))
    return f"+{added} -{removed}"


def _what(run: Run) -> str:
    marks = [
        *([run.state] if run.state != "done" else []),
        *(["undone"] if run.undone else []),
        *(["not kept"] if not run.kept else []),
    ]
    told = f"({', '.join(marks)}) " if marks else ""
    return told + screen.one_line(run.about.title)


def run_text(run: Run, look: Look = PLAIN) -> str:
    """Tell all that is known of a run but its diff."""
    about = run.about
    who = " ".join(filter(None, [about.by, about.agent]))
    session = f", session {about.session}" if about.session else ""
    rows = [
        ("run", run.id),
        ("when", run.at.replace("T", " ", 1)),
        ("what", about.title),
        ("kind", about.kind),
        ("by", who + session),
        ("why", about.why),
        ("state", _state(run)),
        ("undoes", about.undoes),
        ("undone", run.undone and f"by {run.undone}"),
        ("commit", run.commit),
        ("git", run.uncommitted),
        *(("file" if n == 0 else "", _file(run, n)) for n in range(len(run.files))),
    ]
    shown = [(name, screen.one_line(told)) for name, told in rows if told]
    return "\n".join(f"{look.style(name.ljust(6), 'dim')}  {told}" for name, told in shown)


def _state(run: Run) -> str:
    state: str = run.state
    return state if run.kept else f"{state}; what was there before is not kept"


def _file(run: Run, place: int) -> str:
    file = run.files[place]
    left = f", {file.left}" if file.left else ""
    made = ", made by it" if not file.before else ", removed by it" if not file.after else ""
    return f"{file.path}  +{file.added} -{file.removed}{made}{left}"


def diff_text(diff: str, look: Look = PLAIN) -> str:
    """Colour a unified diff."""
    return "\n".join(_diff_line(line, look) for line in diff.split("\n"))


def _diff_line(line: str, look: Look) -> str:
    if line.startswith(("--- ", "+++ ")):
        return look.style(line, "bold")
    color = _COLORS.get(line[:1])
    return look.style(line, color) if color else line


def run_data(run: Run) -> dict[str, Any]:
    """Return a run as plain data."""
    from dataclasses import asdict

    return asdict(run)
