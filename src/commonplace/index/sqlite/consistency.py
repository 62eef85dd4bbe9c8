"""Whether the tables of an index file agree with each other."""

from __future__ import annotations

from commonplace.index.base import UNSERVED
from commonplace.index.sqlite.file import IndexFile

_USED = f"SELECT vector_id FROM passages WHERE vector_id > {UNSERVED}"
_DISAGREEMENTS = {
    # Of rows that outlived their note another one may have the id; its ranges leave them out.
    "passages belong to no note": "SELECT count(*) FROM passages p WHERE NOT EXISTS (SELECT 1 FROM notes n"
    " WHERE n.id = p.note_id AND p.id BETWEEN n.first_passage AND n.last_passage)",
    "sections belong to no note": "SELECT count(*) FROM sections s WHERE NOT EXISTS (SELECT 1 FROM notes n"
    " WHERE n.id = s.note_id AND s.id BETWEEN n.first_section AND n.last_section)",
    "notes lack passages": "SELECT count(*) FROM notes n WHERE last_passage - first_passage + 1 <> (SELECT"
    " count(*) FROM passages p WHERE p.id BETWEEN n.first_passage AND n.last_passage AND p.note_id = n.id)",
    "notes are smaller than nothing": "SELECT count(*) FROM notes WHERE size < 0 OR quarters < 0",
    "passages belong to no section": "SELECT count(*) FROM passages WHERE section_id NOT IN"
    " (SELECT id FROM sections)",
    "passages are missing from the full text": "SELECT count(*) FROM passages WHERE id NOT IN"
    " (SELECT id FROM passages_fts_docsize UNION ALL SELECT id FROM struck_fts_docsize)",
    "entries of the full text have no passage": "SELECT count(*) FROM (SELECT id, 0 AS struck FROM"
    " passages_fts_docsize UNION ALL SELECT id, 1 FROM struck_fts_docsize) AS t"
    " WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = t.id AND (p.until IS NOT NULL) = t.struck)",
    "passages have a vector that is missing": f"SELECT count(*) FROM passages WHERE vector_id > {UNSERVED}"
    " AND vector_id NOT IN (SELECT id FROM vectors)",
}
# What is JSON in the tables: of what kind, and whether what is in it is text.
_JSON = {
    ("notes", "metadata"): ("object", False),
    ("sections", "headings"): ("array", True),
    ("passages", "annotations"): ("object", True),
    ("passages", "shown"): ("array", False),
}
# What is a day, if it is not empty: SQLite reads other text as none, or turns it into another day.
_DAYS = (("notes", "date"), ("passages", "day"), ("passages", "until"))


def disagreements(file: IndexFile) -> dict[str, int]:
    """Count the rows of each kind that contradict others; empty where all agree. Raises IndexUnavailable."""
    counts = {told: int(file.rows(sql)[0][0]) for told, sql in _DISAGREEMENTS.items()}
    for table in ("notes", "sections", "passages"):
        told = f"rows of {table} hold what nobody wrote"
        counts[told] = int(file.rows(f"SELECT count(*) FROM {table} WHERE {_unlike(file, table)}")[0][0])
    return {told: count for told, count in counts.items() if count}


def _unlike(file: IndexFile, table: str) -> str:
    """The condition on rows of a table of which a value has another type than its column, or is no day."""
    parts = []
    for _, name, kind, is_required, *_ in file.rows(f"PRAGMA table_info({table})"):
        none = "" if is_required else ", 'null'"
        parts.append(f"typeof({name}) NOT IN ('{kind.lower()}'{none})")
    for (of, name), (kind, holds_text) in _JSON.items():
        if of == table:
            inside = f"EXISTS (SELECT 1 FROM json_each({name}) WHERE type <> 'text')" if holds_text else "0"
            is_other = f"json_type({name}) <> '{kind}' OR {inside}"
            parts.append(f"CASE WHEN json_valid({name}) THEN {is_other} ELSE {name} IS NOT NULL END")
    parts += [f"{name} <> '' AND {name} IS NOT date({name})" for of, name in _DAYS if of == table]
    return " OR ".join(parts)


def vector_lengths(file: IndexFile) -> list[int]:
    """Return the lengths of vectors in bytes, each once. Raises IndexUnavailable."""
    return sorted(row[0] for row in file.rows("SELECT DISTINCT length(vector) FROM vectors"))


def unused_vectors(file: IndexFile) -> int:
    """Count the vectors that no passage has. Raises IndexUnavailable."""
    return int(file.rows(f"SELECT count(*) FROM vectors WHERE id NOT IN ({_USED})")[0][0])
