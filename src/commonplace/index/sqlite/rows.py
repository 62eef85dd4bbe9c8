"""Cut files as rows of the index's tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import apsw

from commonplace.base import tokens
from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import STRUCK
from commonplace.index.base import LONGEST_HEADING, Entry, Key, bodies, headers, traits
from commonplace.types import Passage, Section


@dataclass(slots=True)
class Rows:
    """Rows of the tables, in the order of their columns.

    `texts` feeds the full-text table, `struck` that of what is struck.
    """

    notes: list[tuple[Any, ...]] = field(default_factory=list)
    sections: list[tuple[Any, ...]] = field(default_factory=list)
    passages: list[tuple[Any, ...]] = field(default_factory=list)
    texts: list[tuple[int, str | None, str]] = field(default_factory=list)
    struck: list[tuple[int, str | None, str]] = field(default_factory=list)


def compose(
    entries: Sequence[Entry], note: int, section: int, passage: int, kept: tuple[int, int] = (0, 0)
) -> Rows:
    """Compose the rows of files, with ids that count on from these three.

    Of the first file so many sections and passages stay in the tables, see `common`, and are left out.
    """
    rows = Rows()
    for entry in entries:
        first_section, first_passage = section, passage
        old_sections, old_passages = kept
        paths = [_headings(cut) for cut in entry.sections]
        above = list(headers(entry.note, paths))
        for place, cut in enumerate(entry.sections):
            if place >= old_sections:
                told = (_told(paths[place]), cut.start_line, cut.end_line, cut.turns)
                rows.sections.append((section, note, *told))
            section += 1
        passage += old_passages
        new = entry.passages[old_passages:]
        for p, body in zip(new, bodies(entry.note, new), strict=True):
            own = p.annotations or {}
            until = own.get("until", "") if STRUCK in own else None
            ids = (passage, note, first_section + p.section)
            said, shown = _told_of(p)
            lines = p.start_line, p.end_line
            rows.passages.append((*ids, *lines, p.text, said, own.get("since"), until, *traits(p), shown))
            texts = rows.texts if until is None else rows.struck
            texts.append((passage, None if body == p.text else body, above[p.section]))
            passage += 1
        rows.notes.append(_note(note, entry, (first_section, section - 1, first_passage, passage - 1)))
        note, kept = note + 1, (0, 0)
    return rows


class Last(NamedTuple):
    """The file whose rows are the last of their tables: what the index has of it, and the ids of its rows."""

    key: Key
    described: tuple[Any, ...]  # title, date, metadata: its full text holds them
    note: int
    first_section: int
    last_section: int
    first_passage: int
    last_passage: int


def last(connection: apsw.Connection) -> Last | None:
    """Return the file whose rows are the last, if it is the same one in every table."""
    found = connection.execute(
        "SELECT n.collection, n.path, n.title, n.date, n.metadata, n.id, n.first_section, n.last_section,"
        " n.first_passage, n.last_passage FROM passages p JOIN notes n ON n.id = p.note_id"
        " WHERE p.id = (SELECT max(id) FROM passages) AND p.id = n.last_passage"
        " AND n.last_section = (SELECT max(id) FROM sections)"
    ).fetchone()
    return found and Last(found[:2], found[2:5], *found[5:])


def common(connection: apsw.Connection, last: Last, entry: Entry) -> tuple[int, int]:
    """How many sections, and how many passages, of a file are what the index has of it, from the first on.

    Sections may have moved; a passage is another one where it stands in other lines.
    """
    row = _note(last.note, entry, (0, 0, 0, 0))
    if (row[3], row[4], row[10]) != last.described:
        return 0, 0
    among = "WHERE note_id = ? AND id BETWEEN ? AND ? ORDER BY id"
    old: Iterable[Any] = connection.execute(
        f"SELECT id, headings, turns FROM sections {among}",
        (last.note, last.first_section, last.last_section),
    )
    cuts = enumerate(entry.sections, last.first_section)
    sections = _alike(old, ((at, _told(_headings(cut)), cut.turns) for at, cut in cuts))
    old = connection.execute(
        f"SELECT id, section_id, start_line, end_line, text, annotations, shown FROM passages {among}",
        (last.note, last.first_passage, last.last_passage),
    )
    new = (
        (at, last.first_section + p.section, p.start_line, p.end_line, p.text, *_told_of(p))
        for at, p in enumerate(entry.passages, last.first_passage)
        if p.section < sections
    )
    kept = _alike(old, new)
    # The full text of one that ends in Chinese may go on in the next.
    return sections, kept - (kept > 0 and not entry.passages[kept - 1].text.isascii())


def _alike(old: Iterable[Any], new: Iterable[Any]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _headings(cut: Section) -> list[str]:
    return [heading[:LONGEST_HEADING] for heading in cut.headings]


def _told_of(p: Passage) -> tuple[str | None, str | None]:
    return _encode(p.annotations) if p.annotations else None, _encode(p.shown) if p.shown else None


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_told = json.JSONEncoder(ensure_ascii=False).encode


def insert(connection: apsw.Connection, rows: Rows) -> None:
    """Insert all but the full text, which waits in a temporary table for `publish`."""
    connection.execute("DELETE FROM meta WHERE key = 'scan'")
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS fresh("
        "id INTEGER PRIMARY KEY, struck INTEGER NOT NULL, body TEXT, header TEXT)"
    )
    connection.executemany(f"INSERT INTO notes VALUES({', '.join('?' * 16)})", rows.notes)
    connection.executemany("INSERT INTO sections VALUES(?, ?, ?, ?, ?, ?)", rows.sections)
    without_vector = f"{'?, ' * 7}NULL{', ?' * 6}"
    connection.executemany(f"INSERT INTO passages VALUES({without_vector})", rows.passages)
    for struck, texts in enumerate((rows.texts, rows.struck)):
        sql = f"INSERT INTO temp.fresh VALUES(?, {struck}, ?, ?)"
        connection.executemany(sql, texts)


def publish(connection: apsw.Connection) -> None:
    """Feed the full-text tables with what was inserted, each in one statement.

    FTS5 then tokenises a whole batch without coming back to Python, so another thread can cut the next
    files meanwhile. Text that was not rewritten is read from the passages themselves.
    """
    for struck, table in enumerate(("passages_fts", "struck_fts")):
        connection.execute(
            f"INSERT INTO {table}(rowid, body, header) SELECT f.id, coalesce(f.body, p.text), f.header"
            f" FROM temp.fresh f JOIN passages p ON p.id = f.id WHERE f.struck = {struck} ORDER BY f.id"
        )
    connection.execute("DELETE FROM temp.fresh")


def _note(note_id: int, entry: Entry, ranges: tuple[int, int, int, int]) -> tuple[Any, ...]:
    note, state = entry.note, entry.state
    metadata = json.dumps(dict(note.metadata), ensure_ascii=False, default=str) if note.metadata else None
    text = "\n".join(note.lines)
    # Of a conversation what is said counts, not the JSON around it. Of a note a byte is a quarter; a wide
    # character is a whole token and has three bytes.
    quarters = tokens.quarters(text) if state.format else state.size + tokens.wide(text)
    return (
        note_id, state.collection, state.path, note.title[:LONGEST_HEADING], note.date, note.kind, entry.hash,
        state.mtime_ns, state.size, len(note.lines), metadata, quarters, *ranges,
    )  # fmt: skip
