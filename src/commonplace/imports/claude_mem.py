"""claude-mem: `~/.claude-mem/claude-mem.db`, SQLite with observations, session summaries and user prompts.

Columns differ between its versions: what a table lacks counts as empty. Nothing of its schema is run: views
and triggers are off, and only rows of tables are read. Nothing in its folder is touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from commonplace.base import database, paths, snapshot
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Root, open_named
from commonplace.imports import files
from commonplace.markdown import comments
from commonplace.types import Fact, FileFailure, Part, Writer

KIND = "claude-mem"
FILE = "claude-mem.db"
_LONGEST = 1 << 20  # characters of a column
_STEPS, _MOST_STEPS = 100_000, 50_000  # of SQLite's machine between two looks; looks before it is ended
# The message must not lead the user to delete another program's file.
_DAMAGED = "is damaged, so not all of it can be read; nothing of it was changed: claude-mem may repair it"
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
Row = Mapping[str, object]


def recognises(path: Path) -> bool:
    """Return True if a path is the database, or the folder that holds it."""
    place = path / FILE if path.is_dir() else path
    if place.name != FILE or not files.is_file(place):
        return False
    with open_named(place) as file:
        return file.read(15) == b"SQLite format 3"


def read(path: Path) -> Iterator[Part]:
    """Yield observations, then summaries, then prompts. Raises NoteUnreadable for another file."""
    place = path / FILE if path.is_dir() else path
    if not files.is_file(place):
        raise NoteUnreadable(paths.shown(place), "is no file")
    try:
        yield from _standing(place)
    except NoteUnreadable as error:
        raise NoteUnreadable(error.path, _reason(error)) from error


def _reason(error: NoteUnreadable) -> str:
    return _DAMAGED if error.reason == database.DAMAGED else error.reason


def _standing(place: Path) -> Iterator[Part]:
    """Yield the database's entries, read without changing it."""
    with snapshot.standing(place.resolve()) as copy:
        before = snapshot.marks(Path(copy))[0]
        with database.translated(place):
            root, name = Root(os.path.dirname(copy)), os.path.basename(copy)
            connection = database.connect(root, name, readonly=True, query="immutable=1")
        with closing(connection):
            yield from _read(connection, place)
        if snapshot.marks(Path(copy))[0] != before:
            raise NoteUnreadable(paths.shown(place), f"{snapshot.BUSY}; try again")


def _read(connection: database.Connection, place: Path) -> Iterator[Part]:
    looks = 0

    def is_long() -> bool:  # what a hostile file could make it compute
        nonlocal looks
        looks += 1
        return looks > _MOST_STEPS

    connection.set_progress_handler(is_long, _STEPS)
    tables = (
        ("observations", ("id",), _observation),
        ("session_summaries", ("id",), _summary),
        ("user_prompts", ("id",), _prompt),
    )
    known = 0
    for table, keys, fact in tables:
        try:
            with database.translated(place):
                columns = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
                if set(keys) <= set(columns):
                    known += 1
                    yield from _rows(connection, place, table, columns, fact)
        except NoteUnreadable as error:
            if not known:
                raise
            yield FileFailure(f"{error.path} ({table})", _reason(error))
    if not known:
        raise NoteUnreadable(paths.shown(place), "holds no tables of claude-mem")


def _rows(
    connection: database.Connection,
    place: Path,
    table: str,
    columns: list[str],
    fact: Callable[[Row], Fact | None],
) -> Iterator[Part]:
    shown = ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN substr({name}, 1, {_LONGEST})"
        f" WHEN 'integer' THEN {name} WHEN 'real' THEN {name} END"
        for name in map(database.quoted, columns)
    )
    for values in connection.execute(f"SELECT {shown} FROM {table} ORDER BY id"):
        row = dict(zip(columns, values, strict=True))
        if found := fact(row):
            yield found
        if any(isinstance(value, str) and len(value) == _LONGEST for value in values):
            name = f"{paths.shown(place)} ({table}, number {row['id']})"
            yield FileFailure(name, f"a text of more than {_LONGEST:,} characters is taken up to there")


def _observation(row: Row) -> Fact | None:
    """An observation as an entry: what it is, what was learnt, its facts as nested items."""
    kind, title = _text(row, "type"), _text(row, "title")
    body = _text(row, "narrative") or _text(row, "subtitle") or _text(row, "text")
    first = ": ".join(filter(None, [title, body])) if title != body else title
    facts = [f"- {fact}" for fact in _list(row, "facts")]
    about = [
        f"- {label}: {', '.join(values)}"
        for label, values in (
            ("concepts", _list(row, "concepts")),
            ("changed", _list(row, "files_modified")),
            ("read", _list(row, "files_read")),
        )
        if values
    ]
    first = f"{kind}: {first}" if kind else first or ("observation" if facts else "")
    return _fact(row, "observation", first, [*facts, *about], "Observations")


def _summary(row: Row) -> Fact | None:
    """Return a session's summary: the request, and a nested item for each further column."""
    said = [(name.replace("_", " "), _text(row, name)) for name in _SUMMARY]
    parts = [f"- {name}: {text}" for name, text in said[1:] if text]
    return _fact(row, "summary", said[0][1] or ("session" if parts else ""), parts, "Summaries")


def _prompt(row: Row) -> Fact | None:
    """Return the user's prompt."""
    return _fact(row, "prompt", _text(row, "prompt_text"), [], "Prompts")


def _fact(row: Row, what: str, first: str, rest: list[str], heading: str) -> Fact | None:
    at = files.moment(row.get("created_at_epoch")) or files.moment(row.get("created_at"))
    session = _text(row, "memory_session_id") or _text(row, "content_session_id")
    if not first.strip():
        return None
    lines = comments.disarmed(first.strip(), entirely=True).split("\n")
    if project := " ".join(_text(row, "project").replace("--", "-").split()):
        lines[0] += f" <!-- project: {project.replace('<', '').replace('>', '')} -->"
    folded = [comments.disarmed(" ".join(line.split()), entirely=True) for line in rest]
    by: Writer = "owner" if what == "prompt" else "agent"
    # Other databases count from 1, too.
    name = f"{what} {row.get('id')} {row.get('created_at_epoch')} {session}"
    return Fact(name, "\n".join([*lines, *folded]), at, heading, session, by)


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def _list(row: Row, name: str) -> list[str]:
    """Return the texts of a column that holds a JSON list; text that is not JSON is a single item."""
    text = _text(row, name)
    try:
        value = json.loads(text) if text else []
    except (ValueError, RecursionError):
        value = [text]
    items = value if isinstance(value, list) else [value]
    return [item.strip() for item in items if isinstance(item, str) and item.strip()]
