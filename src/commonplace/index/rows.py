"""Files as rows of the index's tables: what is stored of a passage, and the tokens that find it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from commonplace.base import filetypes, tokens
from commonplace.chunking.settings import STRUCK
from commonplace.index.base import Entry, Traits
from commonplace.language import lexicon, scripts
from commonplace.markdown import visible
from commonplace.markdown.metadata import name_of
from commonplace.types import Note, Passage

LONGEST_HEADING = 500  # characters, also of a title: it stands with each passage below, and is cited

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_headings = json.JSONEncoder(ensure_ascii=False).encode
Rows = dict[str, list[tuple[Any, ...]]]  # by table, in the order of its columns


def compose(entries: Sequence[Entry], note: int, section: int, passage: int) -> Rows:
    """Return files as rows of each table, with ids that count on from these three."""
    rows: Rows = {name: [] for name in ("notes", "sections", "passages", "passages_fts", "struck_fts")}
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


def headers(note: Note, sections: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield what passages of sections are indexed with: title, headings, date, tags and names, each once."""
    tags = note.metadata.get("tags")
    below = [note.date or "", *map(str, tags if isinstance(tags, list) else ()), *names(note)]
    for headings in sections:
        parts = dict.fromkeys([note.title[:LONGEST_HEADING], *headings, *below])
        yield " › ".join(map(_read, filter(None, parts)))


_read = lru_cache(1024)(lambda part: lexicon.index_text(visible.text(part)))


def names(note: Note) -> list[str]:
    """Return the names of a note and of the folders around it that say something, the nearest first.

    A date does not, nor do `memory` around all notes, MEMORY.md, and the names of programs and transcripts.
    """
    if note.kind not in ("note", "daily") or filetypes.is_code(note.path):
        return []
    *folders, name = note.path.removeprefix("memory/").split("/")
    return [part for part in (name_of(name), *reversed(folders)) if any(map(str.isalpha, part))]


def bodies(note: Note, passages: Sequence[Passage]) -> Sequence[str]:
    """Return the tokens of each passage of a note as a text: what a reader sees; of a program all of it.

    Chinese that an editor broke at the end of a passage has the character that goes on in the next one.
    Front matter has the note's title and name, as its properties do not say whose they are.
    """
    is_plain = visible.is_plain("\n".join(note.lines))
    is_read = not filetypes.is_code(note.path)
    front = note.front_matter[1] if note.front_matter else 0
    read: list[str] = []
    for passage, below in zip_longest(passages, passages[1:]):
        text = seen = passage.text
        if is_read and not (is_plain and text.isascii()):
            seen = visible.of_lines(text, passage.start_line, note.fences)
        if is_read and below and not text[-1:].isascii() and below.start_line == passage.end_line + 1:
            seen += "".join(lexicon.cjk_runs(below.text.lstrip(" \t>")[:1])) * bool(
                lexicon.cjk_runs(text[-1])
            )
        if passage.start_line < front:
            seen = "\n".join([seen, *dict.fromkeys([note.title[:LONGEST_HEADING], *names(note)[:1]])])
        read.append(seen)
    return lexicon.index_texts(read)


def traits(passage: Passage) -> Traits:
    """Return the traits of a passage."""
    wide = lexicon.cjk_share(passage.text)
    return Traits("\n".join(passage.speakers), wide, scripts.wide_script(passage.text) if wide else "")
