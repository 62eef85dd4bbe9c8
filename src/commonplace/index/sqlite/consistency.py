"""Contradictions between the tables of an index file, for `doctor`."""

from __future__ import annotations

from commonplace.index.sqlite.file import IndexFile

_DISAGREEMENTS = {
    # Of rows that outlived their note another one may have the id; its ranges leave them out.
    "passages belong to no note": "SELECT count(*) FROM passages p WHERE NOT EXISTS (SELECT 1 FROM notes n"
    " WHERE n.id = p.note_id AND p.id BETWEEN n.first_passage AND n.last_passage)",
    "notes lack passages": "SELECT count(*) FROM notes n WHERE last_passage - first_passage + 1 <> (SELECT"
    " count(*) FROM passages p WHERE p.id BETWEEN n.first_passage AND n.last_passage AND p.note_id = n.id)",
    "passages are missing from the full text": "SELECT count(*) FROM passages WHERE id NOT IN"
    " (SELECT id FROM passages_fts_docsize UNION ALL SELECT id FROM struck_fts_docsize)",
    "passages have a vector that is missing": "SELECT count(*) FROM passages WHERE vector_id > 0"
    " AND vector_id NOT IN (SELECT id FROM vectors)",
}


def disagreements(index: IndexFile) -> dict[str, int]:
    """Count the rows of each kind that contradict others; empty where all agree. Raises IndexUnavailable."""
    counts = {told: int(index.rows(sql)[0][0]) for told, sql in _DISAGREEMENTS.items()}
    return {told: count for told, count in counts.items() if count}
