"""Statements of the daily notes that long-term memory may rest on, and the later state of those it rests on.

The model chooses which of them matter. Excluded: results of tools, strangers' words, generated statements,
and those that are struck, tentative, over or private.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.language import compare, rules
from commonplace.markdown import comments, metadata, references, statements, struck, turns
from commonplace.markdown.document import decode, parse
from commonplace.markdown.structure import atx
from commonplace.memory import Memory, sources
from commonplace.notes import layout, scan
from commonplace.redaction.recalled import strip_recalled
from commonplace.search import journal
from commonplace.storage import writes
from commonplace.types.notes import Note, Statement
from commonplace.upkeep import prose, summaries
from commonplace.upkeep.consolidation import evidence
from commonplace.upkeep.consolidation.evidence import Said
from commonplace.upkeep.consolidation.page import MemoryEntry
from commonplace.upkeep.labels import DASH, LABELS

Read = Callable[[str], bytes | None]
# By the lines of entries: the present lines of their sources, by path and the line that they name.
Moves = Mapping[int, Mapping[str, Mapping[int, int]]]
Lines = Sequence[tuple[int, int, int]]  # first line, last line, how many different questions

OFTEN = 3  # different questions that led to a line
OBSERVATIONS = frozenset({"observations", "观察", "观察记录", "tool observations"})
_SUMMARIES = frozenset(summaries.HEADINGS.values())
# Of a summary, what was decided and learned; the rest is what happened.
_LABELS = tuple(label + DASH for labels in LABELS.values() for label in labels)
_KEPT_LABELS = tuple(label + DASH for labels in LABELS.values() for label in labels[2:4])
_SPEAKS = 3  # turns with one label in a note, which make it that of a speaker
_HIDDEN = ("[REDACTED:", "�")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# Hits of which lines were read within half an hour, by the same agent; a daily note grows, so the lines count
# whatever else was appended to it since.
_OPENED = """
SELECT h.path, h.start_line, h.end_line, count(DISTINCT q.question)
FROM openings o JOIN questions q ON q.at BETWEEN o.at - 1800 AND o.at AND q.agent = o.agent
JOIN hits h ON h.question = q.id AND h.path = o.path
    AND h.end_line >= o.start_line AND h.start_line <= o.end_line
GROUP BY 1, 2, 3 HAVING count(DISTINCT q.question) >= ?
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A statement of a daily note: what it says on one line, the day of its note, and who speaks.

    `asked` is how many different questions found it and were followed by a look at it. `exposed` says that an
    agent, a tool or a summary says it, in a session that took in what strangers write or that has no name.
    """

    statement: Statement
    text: str
    day: date
    speaker: str = ""
    importance: int = 5
    asked: int = 0
    exposed: bool = False

    @property
    def label(self) -> str:
        """How it is named in the prompt: the note and its first line."""
        return f"{self.statement.path}#L{self.statement.first}"

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above it, without the note's title and those that code writes."""
        return tuple(h for h in self.statement.headings if not _DAY.match(h) and h not in _SUMMARIES)

    @property
    def said(self) -> Said:
        """Return its words with their context."""
        return Said(self.text, self.day, self.headings, self.speaker)


# --- what may be one ----------------------------------------------------------------------------------------


def read(memory: Memory, days: int, now: datetime) -> list[Source]:
    """Return the sources of the notes of the last `days`, today included, in their order."""
    first = now.date() - timedelta(days - 1)
    often, strange = recalled(memory), strange_sessions(memory)
    notes = _notes(memory, first, now.date())
    return [one for path, day, data in notes for one in of_note(path, data, day, now.date(), often, strange)]


def find_again(memory: Memory, shown: Sequence[Source], today: date, read: Read) -> dict[str, Source]:
    """Return the present sources for the labels of an earlier prompt, matched by their words."""
    often, strange = recalled(memory), strange_sessions(memory)
    fresh: dict[str, list[Source]] = {}
    found: dict[str, Source] = {}
    for source in shown:
        path = source.statement.path
        if path not in fresh:
            data = writes.attributed(memory.workspace, read(path) or b"")
            fresh[path] = of_note(path, data, source.day, today, often, strange)
        same = [other for other in fresh[path] if other.said == source.said]
        if same:
            found[source.label] = min(
                same, key=lambda other: abs(other.statement.first - source.statement.first)
            )
    return found


def strange_sessions(memory: Memory) -> frozenset[str] | None:
    """Return the sessions that took in strangers' words, by all daily notes; None for every session.

    A session reads on one day and writes on the next, so its days do not matter; the notes of months hold the
    daily notes that were rolled up. If tools are not observed, the reading of sessions is unknown.
    """
    if not memory.settings.observe.enabled:
        return None
    notes = _notes(memory, date.min, date.max, months=True)
    told = (
        statements.read(parse(decode(data), path)) for path, _, data in notes if b"untrusted" in data.lower()
    )
    return frozenset().union(*map(_strange, told))


def _strange(told: Sequence[Statement]) -> set[str]:
    """The sessions of what strangers wrote."""
    return {one.said.get("session", "") for one in told if one.said.get("by") == "untrusted"}


def _notes(
    memory: Memory, first: date, last: date, *, months: bool = False
) -> Iterator[tuple[str, date, bytes]]:
    """Yield the daily notes between two days; one that cannot be read is passed over, the index says so."""
    dated: list[tuple[str, str]] = []
    for path in (state.path for state in scan.scan(sources(memory)[:1])):
        month = metadata.month_of(path) if months else None
        day = f"{month}-01" if month else metadata.date_of(path)
        if day and (month or metadata.kind_of(path) == "daily"):
            dated.append((day, path))
    for day, path in sorted(dated):
        if first <= date.fromisoformat(day) <= last:
            with suppress(CommonplaceError):
                data = paths.read_contained(memory.workspace.root / path, [memory.workspace.root])
                yield path, date.fromisoformat(day), writes.attributed(memory.workspace, data)


def recalled(memory: Memory) -> Mapping[str, Lines]:
    """Return the lines that enough questions led to, by path; empty without a readable record."""
    path = memory.workspace.usage
    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    if not path.exists():
        return found
    try:
        with journal.patient(path) as database, database.reading() as connection:
            for note, first, last, count in connection.execute(_OPENED, (OFTEN,)):
                found[note].append((first, last, count))
    except CommonplaceError:
        return {}
    return found


def of_note(
    path: str,
    data: bytes,
    day: date,
    today: date,
    often: Mapping[str, Lines] | None = None,
    strange: Collection[str] | None = (),
) -> list[Source]:
    """The sources of one note; `strange` are the sessions that took in strangers' words, None for all."""
    note = parse(decode(data), path)
    lines = (often or {}).get(path, ())
    stated = statements.read(note)
    people = _people(stated)
    answers = _answers(note, stated)
    if strange is not None:
        strange = {"", *strange, *_strange(stated)}
    found = []
    for statement in stated:
        if statement.first in answers or not _is_eligible(statement, today):
            continue
        text = " ".join(statement.text.split())
        text = text.removeprefix(next(filter(text.startswith, _KEPT_LABELS), ""))
        speaker = turns.speaker(text) or ""
        if speaker in rules.words("people"):
            text = text[turns.behind(text) :].lstrip("*_ ")
        if not compare.content(compare.read(text).tokens):
            continue
        asked = [n for first, last, n in lines if first <= statement.last and last >= statement.first]
        importance = int(statement.said.get("importance", "5"))
        who, exposed = speaker if speaker in people else "", _is_exposed(statement, strange)
        found.append(Source(statement, text, day, who, importance, max(asked, default=0), exposed))
    return found


def _people(stated: Sequence[Statement]) -> set[str]:
    """The labels of those who speak: the owner's, and what begins several statements of a note."""
    labels = Counter(turns.speaker(statement.text) for statement in stated)
    return {label for label, count in labels.items() if label and count >= _SPEAKS} | rules.words("people")


def _is_exposed(statement: Statement, strange: Collection[str] | None) -> bool:
    """Tell whether a stranger may have planted it: machine-written, in a session with strangers' text."""
    by_owner = statement.said.get("by", "owner") == "owner"
    if by_owner and _SUMMARIES.isdisjoint(statement.headings):
        return False
    return strange is None or statement.said.get("session", "") in strange


def _answers(note: Note, stated: Sequence[Statement]) -> set[int]:
    """The first lines of what a machine said in a conversation, below headings of its own too."""
    machines, people = rules.words("machines"), rules.words("people")
    levels = {heading.line: heading.level for heading in note.headings if atx(note.lines[heading.line - 1])}
    texts = {statement.first: statement.text for statement in stated}
    found: set[int] = set()
    level, inside, answers = 0, 0, False
    for number, line in enumerate(note.lines, 1):
        level = levels.get(number, level)
        answers = answers and not (number in levels and level <= inside)
        # A speaker in bold counts in any line: a block of code left open may hide it.
        label = turns.speaker(texts.get(number, line if "**" in line else ""))
        if label in machines:
            answers, inside = True, level
        elif label in people:
            answers = False
        if answers and number in texts:
            found.add(number)
    return found


def _is_eligible(statement: Statement, today: date) -> bool:
    """Tell whether a statement may be a source at all, whatever it says."""
    said, text = statement.said, statement.text
    if statement.struck or struck.MARK in text or said.get("status") or "superseded-by" in said:
        return False
    if "until" in said or said.get("valid-until", "9999-12-31") < today.isoformat():
        return False
    if said.get("by") in layout.FOREIGN or "from" in said or any(mark in text for mark in _HIDDEN):
        return False
    # A recalled block in it is memory already.
    return not _is_derived(statement) and strip_recalled(text) == text


def _is_derived(statement: Statement) -> bool:
    """Tell whether we derived it from other text: observations, extracts, the work done in a summary."""
    text, in_summary = statement.text, not _SUMMARIES.isdisjoint(statement.headings)
    if not OBSERVATIONS.isdisjoint(heading.strip().casefold() for heading in statement.headings):
        return True
    if in_summary and not text.startswith(_KEPT_LABELS):
        return True
    return text.startswith(_LABELS) and not text.startswith(_KEPT_LABELS)


# --- what became of them ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Orphan:
    """A generated entry with a source that is gone, struck, or says something else now."""

    entry: MemoryEntry
    reference: str
    reason: str


def check(entries: Sequence[MemoryEntry], read: Read) -> tuple[list[Orphan], Moves]:
    """Look up every source of the generated entries; return those without, and sources that were moved."""
    orphans: list[Orphan] = []
    moves: dict[int, dict[str, dict[int, int]]] = {}
    note = cache(lambda path: stated(path, read))
    for entry in (entry for entry in entries if entry.generated and not entry.statement.struck):
        for reference in comments.sources(entry.statement.said):
            try:
                place = references.parse_reference(reference)
                now, reason = _where(entry, place.path, place.first, note(place.path))
            except CommonplaceError:
                orphans.append(Orphan(entry, reference, "is no reference"))
                continue
            if reason:
                orphans.append(Orphan(entry, reference, reason))
            elif now != place.first:
                moves.setdefault(entry.statement.first, {}).setdefault(place.path, {})[place.first] = now
    return orphans, moves


def stated(path: str, read: Read) -> Sequence[Statement]:
    """Return the statements of a note; empty if it cannot be read."""
    try:
        data = read(path)
    except CommonplaceError:
        data = None
    return statements.read(parse(decode(data), path)) if data is not None else ()


def _where(entry: MemoryEntry, path: str, line: int, note: Sequence[Statement]) -> tuple[int, str]:
    """Return the line where a source of an entry stands now in its note; if it is lost, the reason.

    An entry that another was merged from is struck, and holds in it.
    """
    is_merged = path.endswith(("MEMORY.md", "archive.md"))
    there = [statement for statement in note if statement.first <= line <= statement.last]
    if is_merged and any(statement.struck for statement in there):
        return line, ""
    day = metadata.date_of(path) or entry.since
    carrying = [statement for statement in note if _carries(statement, day, entry.text)]
    living = [statement for statement in carrying if is_merged or not statement.struck]
    if not living:
        return 0, "is struck" if carrying else "says something else" if there else "is gone"
    if any(statement in living for statement in there):
        return line, ""
    return min(living, key=lambda statement: abs(statement.first - line)).first, ""


def _carries(statement: Statement, day: str, text: str) -> bool:
    """Tell whether a statement of a note says what an entry says, in any of its sentences."""
    if "from" in statement.said:
        return False
    source = Source(statement, " ".join(statement.text.split()), date.fromisoformat(day) if day else date.min)
    said = Said(source.text, source.day if day else None, source.headings)
    return any(not evidence.missing(one, [said]) for one in prose.sentences(text))
