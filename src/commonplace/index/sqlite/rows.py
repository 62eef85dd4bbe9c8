"""Cut files as rows of the index's tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from commonplace.chunking.settings import STRUCK
from commonplace.index.base import LONGEST_HEADING, Entry, header, traits
from commonplace.language import lexicon


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


def compose(entries: Sequence[Entry], note: int, section: int, passage: int) -> Rows:
    """Compose the rows of files, with ids that count on from these three."""
    rows = Rows()
    for entry in entries:
        first_section, first_passage = section, passage
        headers = []
        for cut in entry.sections:
            headings = [heading[:LONGEST_HEADING] for heading in cut.headings]
            told = json.dumps(headings, ensure_ascii=False)
            rows.sections.append((section, note, told, cut.start_line, cut.end_line, cut.turns))
            headers.append(lexicon.index_text(header(entry.note, headings)))
            section += 1
        for p in entry.passages:
            place = (p.start_line, p.end_line)
            own = p.annotations or {}
            said = _compact(own) if own else None
            until = own.get("until", "") if STRUCK in own else None
            days = own.get("since"), until
            read = traits(p.text, entry.sections[p.section].turns)
            ids = (passage, note, first_section + p.section)
            rows.passages.append((*ids, *place, p.text, said, *days, *read))
            body = lexicon.index_text(p.text)
            texts = rows.texts if until is None else rows.struck
            texts.append((passage, None if body is p.text else body, headers[p.section]))
            passage += 1
        rows.notes.append(_note(note, entry, (first_section, section - 1, first_passage, passage - 1)))
        note += 1
    return rows


def _compact(said: Mapping[str, str]) -> str:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def insert(connection: apsw.Connection, rows: Rows) -> None:
    """Insert all but the full text, which waits in a temporary table for `publish`."""
    connection.execute("DELETE FROM meta WHERE key = 'scan'")
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS fresh("
        "id INTEGER PRIMARY KEY, struck INTEGER NOT NULL, body TEXT, header TEXT)"
    )
    connection.executemany(f"INSERT INTO notes VALUES({', '.join('?' * 15)})", rows.notes)
    connection.executemany("INSERT INTO sections VALUES(?, ?, ?, ?, ?, ?)", rows.sections)
    without_vector = f"{'?, ' * 7}NULL{', ?' * 5}"
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
    return (
        note_id, state.collection, state.path, note.title[:LONGEST_HEADING], note.date, note.kind, entry.hash,
        state.mtime_ns, state.size, len(note.lines), metadata, *ranges,
    )  # fmt: skip
