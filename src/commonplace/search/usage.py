"""From the record of use to its figures; what was opened is worked out here, not when it is written."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import clock
from commonplace.base.tuples import NamedTuple
from commonplace.search import journal
from commonplace.search.journal import patient
from commonplace.types import NoteUse, Unanswered, Usage, UsageDay, cite

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from commonplace.search.journal import Journal, Kind
    from commonplace.types import NoteInfo

OPENED_S = 1800.0  # what is read so long after the last question that found it was opened because of that
MOST = 10  # notes in a list, and questions
MOST_NEWS = 500  # questions at a time, and openings
_DAY = "strftime('%Y-%m-%d', {}, 'unixepoch', 'localtime')"
_COUNTS = f"""
SELECT {_DAY.format("at")}, kind, count(*), sum(tokens), sum(all_tokens) FROM questions
WHERE at >= ?1 GROUP BY 1, 2
UNION ALL SELECT {_DAY.format("at")}, 'get', count(*), 0, 0 FROM openings WHERE at >= ?1 GROUP BY 1
"""
_UNANSWERED = f"""
SELECT question, count(*), {_DAY.format("max(at)")} FROM questions WHERE at >= ? AND hits = 0
GROUP BY question ORDER BY 2 DESC, max(at) DESC LIMIT {MOST}
"""
_FOUND = """
SELECT h.path, h.docid, count(DISTINCT q.id) FROM questions q JOIN hits h ON h.question = q.id
WHERE q.at >= ? GROUP BY 1, 2
"""
# Notes that were opened, each with the last question before it, by the same agent, that found it.
_OPENED = f"""
WITH led AS (
    SELECT o.path, (
        SELECT q.id FROM questions q JOIN hits h ON h.question = q.id AND h.path = o.path
        WHERE q.at BETWEEN o.at - {OPENED_S} AND o.at AND q.agent = o.agent
        ORDER BY q.at DESC, q.id DESC LIMIT 1) AS question
    FROM openings o WHERE o.at >= ?1)
SELECT DISTINCT q.id, h.path, h.docid
FROM led JOIN questions q ON q.id = led.question JOIN hits h ON h.question = q.id AND h.path = led.path
WHERE q.at >= ?1
"""


def of(record: Journal, notes: Sequence[tuple[NoteInfo, float]], days: int | None = None) -> Usage:
    """Sum up a record: all of it, or the last days with today. `notes` are all, each with its time of change.

    Notes never found are those of the whole record. Raises NoteUnreadable.
    """
    empty = Usage(record.records, str(record.path), late=journal.late(record.path)[0])
    if not record.path.exists():
        return empty
    since = 0.0 if days is None else clock.began(date.today() - timedelta(days - 1))
    with patient(record.path) as database:
        with database.transaction() as connection:
            journal.drop_old(connection)
        with database.reading() as connection:
            ((began,),) = _rows(connection, "SELECT min(at) FROM questions")
            if began is None:
                return empty
            now_at = _places(note for note, _ in notes)
            opened = {(id_, now_at(*note)) for id_, *note in _rows(connection, _OPENED, since)}
            found, ever = (_found(_rows(connection, _FOUND, start), now_at) for start in (since, 0.0))
            times = _rows(connection, "SELECT ms, hits FROM questions WHERE at >= ? ORDER BY ms", since)
            counts = _days(_rows(connection, _COUNTS, since))
            unanswered = _rows(connection, _UNANSWERED, since)
            prompts = "SELECT count(*), sum(used > 0) FROM receipts WHERE at >= ?"
            ((given, used),) = _rows(connection, prompts, since)
    openings = Counter(path for _, path in opened)
    uses = [NoteUse(path, count, openings[path]) for path, count in found.items()]
    return replace(
        empty,
        since=time.strftime("%Y-%m-%d", time.localtime(began)),
        days=counts,
        answered=sum(hits > 0 for _, hits in times),
        opened=len({id_ for id_, _ in opened}),
        median_ms=float(times[len(times) // 2][0]) if times else 0.0,
        tokens=sum(day.tokens for day in counts),
        all_tokens=sum(day.all_tokens for day in counts),
        given=given,
        used=used or 0,
        most_found=tuple(sorted(uses, key=lambda use: (-use.found, -use.opened, use.path))[:MOST]),
        unanswered=tuple(Unanswered(*row) for row in unanswered),
        never_found=tuple(note for note, changed in notes if changed < began and note.path not in ever),
    )


def _places(notes: Iterable[NoteInfo]) -> Callable[[str, str], str]:
    """Return a lookup of where a note of some path and docid is now: a moved one is known by its content."""
    by_docid: dict[str, list[str]] = defaultdict(list)
    for note in notes:
        by_docid[note.docid].append(note.path)
    held = {path for paths in by_docid.values() for path in paths}
    moved = {docid: found[0] for docid, found in by_docid.items() if len(found) == 1}
    return lambda path, docid: path if path in held else moved.get(docid, path)


def _days(rows: Sequence[Any]) -> tuple[UsageDay, ...]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for day, kind, count, tokens, all_tokens in rows:
        counts[day].update({kind: count, "tokens": tokens, "all_tokens": all_tokens})
    columns = ("search", "recall", "get", "tokens", "all_tokens")
    return tuple(UsageDay(day, *map(of.__getitem__, columns)) for day, of in sorted(counts.items()))


def _found(rows: Sequence[Any], now_at: Callable[[str, str], str]) -> Counter[str]:
    """How many questions found each note."""
    found: Counter[str] = Counter()
    for path, docid, count in rows:
        found[now_at(path, docid)] += count
    return found


def _rows(connection: apsw.Connection, statement: str, *values: float | str) -> list[Any]:
    return connection.execute(statement, values).fetchall()


# --- what is new in it ----------------------------------------------------------------------------------


class Use(NamedTuple):
    """A question of the record, or lines that were read (`get`): who, when, where, how many hits or lines.

    `at` is in seconds of the epoch.
    """

    kind: Kind | Literal["get"]
    at: float
    agent: str
    places: tuple[str, ...]
    found: int
    question: str = ""
    tokens: int = 0
    all_tokens: int = 0
    ms: float = 0.0


def news(path: Path, rows: tuple[int, int] | None, most: int) -> tuple[list[Use], tuple[int, int]]:
    """Return what a record got behind some rows, or the last of it, and its last rows now.

    At most so many questions and so many openings, each oldest first. Rows that were deleted meanwhile are
    given again to others: where fewer are left than were seen, what comes next is news.

    Raises NoteUnreadable.
    """
    if not path.exists():
        return [], (0, 0)
    with patient(path) as database, database.reading() as connection:

        def behind(columns: str, table: str, seen: int | None) -> tuple[list[Any], int]:
            last = connection.execute(f"SELECT ifnull(max(id), 0) FROM {table}").get
            seen = last - most if seen is None else min(seen, last)
            statement = f"SELECT id, at, agent, {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT ?"
            found = _rows(connection, statement, seen, most)
            return found, found[-1][0] if found else seen

        columns = "kind, hits, question, tokens, all_tokens, ms"
        asked, last_asked = behind(columns, "questions", rows and rows[0])
        read, last_read = behind("path, start_line, end_line", "openings", rows and rows[1])
        hits = "SELECT path, start_line, end_line FROM hits WHERE question = ? ORDER BY rank LIMIT 10"
        uses = [
            Use(kind, at, agent, tuple(cite(*hit) for hit in _rows(connection, hits, id_)), *rest)
            for id_, at, agent, kind, *rest in asked
        ]
    uses += [Use("get", at, agent, (cite(*place),), place[2] - place[1] + 1) for _, at, agent, *place in read]
    return uses, (last_asked, last_read)
