"""Files as rows of the index's tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from commonplace.base import tokens
from commonplace.chunking.settings import STRUCK
from commonplace.index.base import LONGEST_HEADING, Entry, bodies, headers, traits

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_headings = json.JSONEncoder(ensure_ascii=False).encode
Rows = dict[str, list[tuple[Any, ...]]]  # by table, in the order of its columns
TABLES = {"notes": 16, "sections": 6, "passages": 14}  # columns


def compose(entries: Sequence[Entry], note: int, section: int, passage: int) -> Rows:
    """Return files as rows of each table, with ids that count on from these three."""
    rows: Rows = {name: [] for name in (*TABLES, "passages_fts", "struck_fts")}
    for entry in entries:
        first_section, first_passage = section, passage
        paths = [[heading[:LONGEST_HEADING] for heading in cut.headings] for cut in entry.sections]
        above = list(headers(entry.note, paths))
        for cut, path in zip(entry.sections, paths, strict=True):
            rows["sections"].append((section, note, _headings(path), cut.start_line, cut.end_line, cut.turns))
            section += 1
        for p, body in zip(entry.passages, bodies(entry.note, entry.passages), strict=True):
            own = p.annotations or {}
            until = own.get("until", "") if STRUCK in own else None
            rows["passages"].append((
                passage, note, first_section + p.section, p.start_line, p.end_line, p.text,
                _encode(own) if own else None, None, own.get("since"), until, *traits(p),
                _encode(p.shown) if p.shown else None,
            ))  # fmt: skip
            rows["passages_fts" if until is None else "struck_fts"].append((passage, body, above[p.section]))
            passage += 1
        rows["notes"].append(_note(note, entry, (first_section, section - 1, first_passage, passage - 1)))
        note += 1
    return rows


def _note(note_id: int, entry: Entry, ranges: tuple[int, int, int, int]) -> tuple[Any, ...]:
    note, state = entry.note, entry.state
    metadata = json.dumps(dict(note.metadata), ensure_ascii=False, default=str) if note.metadata else None
    text = "\n".join(note.lines)
    # Of a conversation the messages count, not the JSON around them. Of a note a byte is a quarter; a wide
    # character is a whole token and has three bytes.
    quarters = tokens.quarters(text) if state.format else state.size + tokens.wide(text)
    return (
        note_id, state.collection, state.path, note.title[:LONGEST_HEADING], note.date, note.kind, entry.hash,
        state.mtime_ns, state.size, len(note.lines), metadata, quarters, *ranges,
    )  # fmt: skip
