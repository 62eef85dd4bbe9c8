"""Which lines of notes were found and then opened by several different questions, by the record of use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.memory import Memory

OFTEN = 3  # different questions
Lines = Sequence[tuple[int, int, int]]  # first line, last line, how many different questions
# Hits of which lines were read within half an hour, by the same agent; a daily note grows, so the lines count
# whatever else was appended to it since.
_OPENED = """
SELECT h.path, h.start_line, h.end_line, count(DISTINCT q.question)
FROM openings o JOIN questions q ON q.at BETWEEN o.at - 1800 AND o.at AND q.agent = o.agent
JOIN hits h ON h.question = q.id AND h.path = o.path
    AND h.end_line >= o.start_line AND h.start_line <= o.end_line
GROUP BY 1, 2, 3 HAVING count(DISTINCT q.question) >= ?
"""


def often(memory: Memory) -> Mapping[str, Lines]:
    """Return the lines that enough questions led to, by path; nothing without a record that can be read."""
    from commonplace.errors import CommonplaceError
    from commonplace.usage import journal

    path = journal.place(memory.workspace)
    if not path.exists():
        return {}
    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    try:
        with journal.patient(path) as database, database.reading() as connection:
            for note, first, last, count in connection.execute(_OPENED, (OFTEN,)):
                found[note].append((first, last, count))
    except CommonplaceError:
        return {}
    return found
