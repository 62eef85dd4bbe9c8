"""From the record of use to its figures; what was opened is worked out here, not when it is written."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.base.tuples import NamedTuple
from commonplace.search.journal import patient
from commonplace.types.data import cite
from commonplace.types.reports import NoteUse, Unanswered, Usage, UsageDay

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from commonplace.search.journal import Journal, Kind
    from commonplace.types import NoteInfo

OPENED_S = 1800.0  # what is read so long after the last question that found it was opened because of that
MOST = 10  # notes in a list, and questions
MOST_NEWS = 500  # questions at a time, and openings
_DAY = "strftime('%Y-%m-%d', {}, 'unixepoch', 'localtime')"
# Notes that were opened, each with the last question before it, by the same agent, that found it.
_OPENED = f"""
WITH led AS (
    SELECT o.path, (
        SELECT q.id FROM questions q JOIN hits h ON h.question = q.id AND h.path = o.path
        WHERE q.at BETWEEN o.at - {OPENED_S} AND o.at AND q.agent = o.agent
        ORDER BY q.at DESC, q.id DESC LIMIT 1) AS question
    FROM openings o WHERE o.at >= :since)
SELECT DISTINCT q.id, h.path, h.docid
FROM led JOIN questions q ON q.id = led.question JOIN hits h ON h.question = q.id AND h.path = led.path
WHERE q.at >= :since
"""


def of(journal: Journal, notes: Sequence[tuple[NoteInfo, float]], days: int | None = None) -> Usage:
    """Sum up a record: all of it, or the last days with today. `notes` are all, each with its time of change.

    Notes never found are those of the whole record. Raises NoteUnreadable.
    """
    path = journal.path
    empty = Usage(journal.records, str(path), missed=journal.missed(), late=journal.late()[0])
    if not path.exists():
        return empty
    journal.drop_old()
    since = 0.0
    if days is not None:  # from the moment at which the first of the last days began here
        from datetime import date, timedelta

        from commonplace.base import clock

        since = clock.began(date.today() - timedelta(days - 1))
    with patient(path) as database, database.reading() as connection:
        ((began,),) = _rows(connection, "SELECT min(at) FROM questions")
        return empty if began is None else _summed(connection, empty, notes, began, since)


def _summed(
    connection: apsw.Connection,
    empty: Usage,
    notes: Sequence[tuple[NoteInfo, float]],
    began: float,
    since: float,
) -> Usage:
    now_at = _Places(note for note, _ in notes)
    opened, openings = _opened(connection, since, now_at)
    found = _found(connection, since, now_at)
    ever = _found(connection, 0.0, now_at) if since else found
    ((answered, tokens, all_tokens),) = _rows(
        connection,
        "SELECT ifnull(sum(hits > 0), 0), ifnull(sum(tokens), 0), ifnull(sum(all_tokens), 0)"
        " FROM questions WHERE at >= ?",
        since,
    )
    times = _rows(connection, "SELECT ms FROM questions WHERE at >= ? ORDER BY ms", since)
    unanswered = _rows(
        connection,
        f"SELECT question, count(*), {_DAY.format('max(at)')} FROM questions WHERE at >= ? AND hits = 0"
        f" GROUP BY question ORDER BY 2 DESC, max(at) DESC LIMIT {MOST}",
        since,
    )
    uses = [NoteUse(note, count, openings.get(note, 0)) for note, count in found.items()]
    return Usage(
        empty.recording,
        empty.store,
        time.strftime("%Y-%m-%d", time.localtime(began)),
        _days(connection, since),
        answered,
        opened,
        float(times[len(times) // 2][0]) if times else 0.0,
        tokens,
        all_tokens,
        tuple(sorted(uses, key=lambda use: (-use.found, -use.opened, use.path))[:MOST]),
        tuple(Unanswered(*row) for row in unanswered),
        tuple(note for note, changed in notes if changed < began and note.path not in ever),
        empty.missed,
        empty.late,
    )


class _Places:
    """Where the notes of hits are now: one that was moved is known by its content."""

    def __init__(self, notes: Iterable[NoteInfo]) -> None:
        """Take the notes that there are."""
        by_docid = defaultdict(list)
        self._paths = set()
        for note in notes:
            self._paths.add(note.path)
            by_docid[note.docid].append(note.path)
        self._moved = {docid: found[0] for docid, found in by_docid.items() if len(found) == 1}

    def __call__(self, path: str, docid: str) -> str:
        """Return where a note that stood at a path is now; of one that is gone, the path."""
        return path if path in self._paths else self._moved.get(docid, path)


def _days(connection: apsw.Connection, since: float) -> tuple[UsageDay, ...]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for day, kind, count, tokens, all_tokens in connection.execute(
        f"SELECT {_DAY.format('at')}, kind, count(*), sum(tokens), sum(all_tokens) FROM questions"
        f" WHERE at >= :since GROUP BY 1, 2 UNION ALL SELECT {_DAY.format('at')}, 'get', count(*), 0, 0"
        " FROM openings WHERE at >= :since GROUP BY 1",
        {"since": since},
    ):
        counts[day].update({kind: count, "tokens": tokens, "all_tokens": all_tokens})
    columns = ("search", "recall", "get", "tokens", "all_tokens")
    return tuple(UsageDay(day, *map(of.__getitem__, columns)) for day, of in sorted(counts.items()))


def _found(connection: apsw.Connection, since: float, now_at: _Places) -> Mapping[str, int]:
    """How many questions found each note."""
    found: Counter[str] = Counter()
    for path, docid, count in _rows(
        connection,
        "SELECT h.path, h.docid, count(DISTINCT q.id) FROM questions q JOIN hits h ON h.question = q.id"
        " WHERE q.at >= ? GROUP BY 1, 2",
        since,
    ):
        found[now_at(path, docid)] += count
    return found


def _opened(connection: apsw.Connection, since: float, now_at: _Places) -> tuple[int, Mapping[str, int]]:
    """How many questions led to an opened note, and how many each note was opened for."""
    pairs = {(id_, now_at(*note)) for id_, *note in connection.execute(_OPENED, {"since": since})}
    return len({id_ for id_, _ in pairs}), Counter(note for _, note in pairs)


def _rows(connection: apsw.Connection, statement: str, *values: float | str) -> list[Any]:
    return connection.execute(statement, values).fetchall()


def lines_used(path: Path, note: str) -> list[tuple[int, int, int]]:
    """Return which lines of a note were opened or among the first three hits, and how often, most first.

    `path` is that of the record. Raises NoteUnreadable.
    """
    if not path.exists():
        return []
    with patient(path) as database, database.reading() as connection:
        return _rows(
            connection,
            "SELECT start_line, end_line, count(*) FROM ("
            "SELECT start_line, end_line FROM openings WHERE path = ?1 UNION ALL "
            "SELECT start_line, end_line FROM hits WHERE path = ?1 AND rank <= 3"
            f") GROUP BY 1, 2 ORDER BY 3 DESC LIMIT {MOST_NEWS}",
            note,
        )


# --- what is new in it ----------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A question of the record: when (seconds of the epoch), by whom, what was found and where."""

    at: float
    kind: Kind
    agent: str
    question: str
    hits: int
    tokens: int
    all_tokens: int
    ms: float
    places: tuple[str, ...] = ()


class Opened(NamedTuple):
    """Lines of a note that were read: when, by whom, where, how many."""

    at: float
    agent: str
    place: str
    lines: int


class News(NamedTuple):
    """What was recorded behind some rows, and the last rows by now: of a question and of an opening."""

    questions: tuple[Asked, ...]
    openings: tuple[Opened, ...]
    rows: tuple[int, int]


def news(path: Path, rows: tuple[int, int] | None, most: int) -> News:
    """Return what a record got behind some rows, or the last of it, at most so many of each; oldest first.

    Rows that were deleted meanwhile are given again to others: where fewer are left than were seen, what
    comes next is news. Raises NoteUnreadable.
    """
    if not path.exists():
        return News((), (), (0, 0))
    with patient(path) as database, database.reading() as connection:
        ends = [
            connection.execute(f"SELECT ifnull(max(id), 0) FROM {t}").get for t in ("questions", "openings")
        ]
        seen = [end - most for end in ends] if rows is None else list(map(min, rows, ends))
        asked = _rows(
            connection,
            "SELECT id, at, kind, agent, question, hits, tokens, all_tokens, ms FROM questions"
            " WHERE id > ? ORDER BY id LIMIT ?",
            seen[0],
            most,
        )
        places = "SELECT path, start_line, end_line FROM hits WHERE question = ? ORDER BY rank LIMIT 10"
        questions = [
            Asked._make([*row[1:], tuple(cite(*hit) for hit in _rows(connection, places, row[0]))])
            for row in asked
        ]
        opened = _rows(
            connection,
            "SELECT id, at, agent, path, start_line, end_line FROM openings WHERE id > ? ORDER BY id LIMIT ?",
            seen[1],
            most,
        )
    read = [Opened(at, agent, cite(path_, a, b), b - a + 1) for _, at, agent, path_, a, b in opened]
    last = (asked[-1][0] if asked else seen[0], opened[-1][0] if opened else seen[1])
    return News(tuple(questions), tuple(read), last)
