"""Statements of the recent daily notes that may be refined into long-term memory, without a model.

Durable ones, those that were recalled often, and those marked important. What tools brought home, what
strangers wrote, what is struck, tentative or over, and what we wrote ourselves are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.chunking import statements, turns
from commonplace.lifecycle import parts, prose
from commonplace.lifecycle.consolidation import durable, recalled
from commonplace.lifecycle.consolidation.durable import Kind
from commonplace.notes import layout
from commonplace.notes.headings import atx
from commonplace.notes.parse import decode, parse
from commonplace.types.statements import Statement

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Note

IMPORTANT = 7
OBSERVATIONS = frozenset({"observations", "观察", "观察记录", "tool observations"})
_SUMMARIES = frozenset(parts.HEADINGS.values())
# Of a summary, what was decided and learned; the rest is what happened.
_KEPT_LABELS = re.compile(r"(?:Decided|Learned|决定|了解) – ")
_LABELS = re.compile(r"(?:Asked|Done|Open|Last answer|请求|完成|待办|最后的回答) – ")
_EXTRACTS = ("Extract of a session, put together without a language model", "会话摘录，未经语言模型整理")
_MACHINES = frozenset(
    {"assistant", "ai", "model", "bot", "chatgpt", "claude", "gemini", "system", "tool", "助手"}
)
_PEOPLE = frozenset({"user", "human", "me", "用户", "我"})
_SPEAKS = 3  # turns with one label in a note, which make it that of a speaker
_TURN = re.compile(r"\A[^:：]{1,48}[:：][*_]*\s*")
_OWN = re.compile(r"(?:i|i'm|i’m|i've|i’ve|my|our|we)\b|我", re.IGNORECASE)
_HIDDEN = re.compile(r"\[REDACTED:|�")
_STRUCK = re.compile(r"~~(?=\S)(?:(?!~~).)*\S~~")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that may be kept: what it says, the day of its note, its kind and its worth (1 to 10).

    `asked` is how many different questions found it and were followed by a look at it. `exposed` says that an
    agent, a tool or a summary says it, in a session that took in what strangers write or that has no name.
    """

    statement: Statement
    text: str
    day: date
    kind: Kind
    importance: int = 5
    asked: int = 0
    exposed: bool = False

    @property
    def label(self) -> str:
        """How it is named in the prompt: the note and its first line."""
        return f"{self.statement.path}#L{self.statement.first}"


def read(memory: Memory, days: int, now: datetime) -> list[Candidate]:
    """Return the candidates of the notes of the last `days`, today included, in their order.

    A note that cannot be read is passed over; the index says so elsewhere.
    """
    from commonplace import paths
    from commonplace.errors import CommonplaceError

    first = now.date() - timedelta(days - 1)
    often, strange = recalled.often(memory), strange_sessions(memory)
    found: list[Candidate] = []
    for path, day in daily(memory, first, now.date()):
        try:
            data = paths.read_contained(memory.workspace.root / path, [memory.workspace.root])
        except CommonplaceError:
            continue
        found += of_note(path, data, day, now.date(), often, strange)
    return found


def strange_sessions(memory: Memory) -> frozenset[str] | None:
    """Return the sessions that took in what strangers write, by all daily notes; None for every session.

    A session is read one day and writes the next, so its days do not matter. Where tools are not observed,
    nobody knows what a session read.
    """
    from commonplace import paths
    from commonplace.errors import CommonplaceError

    if not memory.settings.observe.enabled:
        return None
    found: set[str] = set()
    for path, _ in daily(memory, date.min, date.max):
        try:
            data = paths.read_contained(memory.workspace.root / path, [memory.workspace.root])
        except CommonplaceError:
            continue
        if b"untrusted" in data.lower():
            found |= _strange(statements.read(parse(decode(data), path)))
    return frozenset(found)


def _strange(told: Iterable[Statement]) -> set[str]:
    """The sessions of what strangers wrote."""
    return {one.said.get("session", "") for one in told if one.said.get("by") == "untrusted"}


def daily(memory: Memory, first: date, last: date) -> list[tuple[str, date]]:
    """The daily notes between two days, by path, those that the settings leave out left out."""
    from commonplace.memory import sources
    from commonplace.notes import scan

    found = []
    for state in scan.scan(sources(memory)[:1]):
        told = layout.date_of(state.path) if layout.kind_of(state.path) == "daily" else None
        if told and first <= (day := date.fromisoformat(told)) <= last:
            found.append((state.path, day))
    return sorted(found, key=lambda pair: (pair[1], pair[0]))


def of_note(
    path: str,
    data: bytes,
    day: date,
    today: date,
    often: Mapping[str, recalled.Lines] | None = None,
    strange: Collection[str] | None = (),
) -> list[Candidate]:
    """The candidates of one note; `strange` are the sessions that took in strangers' words, None for all."""
    note = parse(decode(data), path)
    lines = (often or {}).get(path, ())
    told = statements.read(note)
    labels = Counter(turns.speaker(statement.text) for statement in told)
    spoken = {label for label, count in labels.items() if label and count >= _SPEAKS}
    answers = _answers(note, told)
    if strange is not None:
        strange = {"", *strange, *_strange(told)}
    made = (
        _candidate(note, statement, day, today, lines, spoken)
        for statement in told
        if statement.first not in answers
    )
    return [replace(one, exposed=_is_exposed(one.statement, strange)) for one in made if one]


def _is_exposed(statement: Statement, strange: Collection[str] | None) -> bool:
    """Whether a stranger may have planted it: a machine wrote it in one of these sessions, None for any."""
    said = statement.said
    machine = said.get("by", "owner") != "owner" or not _SUMMARIES.isdisjoint(statement.headings)
    return machine and (strange is None or said.get("session", "") in strange)


def _answers(note: Note, told: Sequence[Statement]) -> set[int]:
    """The first lines of what a machine said in a conversation, below headings of its own too."""
    levels = {heading.line: heading.level for heading in note.headings if atx(note.lines[heading.line - 1])}
    found: set[int] = set()
    level, inside, last = 0, 0, 0
    answers = False
    for statement in told:
        for number in range(last + 1, statement.first):
            level = levels.get(number, level)
            if number in levels and level <= inside:
                answers = False
            elif label := _hidden_turn(note.lines[number - 1]):
                answers, inside = label in _MACHINES, level
        if (label := turns.speaker(statement.text)) in _MACHINES:
            answers, inside = True, level
        elif label in _PEOPLE:
            answers = False
        if answers:
            found.add(statement.first)
        last = statement.last
    return found


def _hidden_turn(line: str) -> str | None:
    """Who speaks, in bold, in a line that states nothing: a block of code left open above it may hide it."""
    label = turns.speaker(line) if "**" in line else None
    return label if label in _MACHINES or label in _PEOPLE else None


def _candidate(
    note: Note,
    statement: Statement,
    day: date,
    today: date,
    often: recalled.Lines,
    spoken: Collection[str],
) -> Candidate | None:
    if not is_eligible(note, statement, today):
        return None
    text = worded(statement)
    kind = _spoken(text, day) if turns.speaker(statement.text) in spoken else durable.kind_of(text, day)
    importance = int(statement.said.get("importance", "5"))
    asked = max(
        (count for first, last, count in often if first <= statement.last and last >= statement.first),
        default=0,
    )
    if kind is None:
        kept = (asked >= recalled.OFTEN or importance >= IMPORTANT) and _states(text, day)
        kind = "recalled" if kept else None
    return Candidate(statement, text, day, kind, importance, asked) if kind else None


def _spoken(text: str, day: date) -> Kind | None:
    """The kind of a turn of a conversation: of a sentence in which somebody speaks of themselves."""
    if len(text) > durable.LONGEST:
        return None
    said = _TURN.sub("", text, count=1) if turns.speaker(text) else text
    kinds = (
        durable.kind_of(sentence, day)
        for sentence in prose.sentences(said)
        if not sentence.endswith(("!", "！", "]")) and _OWN.match(sentence)
    )
    return next(filter(None, kinds), None)


def worded(statement: Statement) -> str:
    """What a statement says, on one line, without the label of a summary's part, or of the user's turn."""
    text = _KEPT_LABELS.sub("", " ".join(statement.text.split()), count=1)
    return _TURN.sub("", text, count=1) if turns.speaker(text) in _PEOPLE else text


def _states(text: str, day: date) -> bool:
    return len(text) <= durable.LONGEST and not durable.is_noise(text) and not durable.is_over(text, day)


def is_eligible(note: Note, statement: Statement, today: date) -> bool:
    """Whether a statement may be a source at all, whatever it says."""
    said = statement.said
    if statement.struck or _STRUCK.search(statement.text) or said.get("status") or "superseded-by" in said:
        return False
    if said.get("valid-until", "9999-12-31") < today.isoformat() or "until" in said:
        return False
    if said.get("by") in layout.FOREIGN or "from" in said or _HIDDEN.search(statement.text):
        return False
    return not _is_ours(statement) and not _is_cut(note, statement)


def _is_ours(statement: Statement) -> bool:
    """Whether we wrote it out of something else: observations, extracts, what a summary says was done."""
    headings = [heading.strip().casefold() for heading in statement.headings]
    if not OBSERVATIONS.isdisjoint(headings):
        return True
    summary = not _SUMMARIES.isdisjoint(statement.headings)
    if summary and not _KEPT_LABELS.match(statement.text):
        return True
    return bool(_LABELS.match(statement.text)) or statement.text.startswith(_EXTRACTS)


def _is_cut(note: Note, statement: Statement) -> bool:
    """Whether a recalled block stands in it, which is memory already."""
    from commonplace.notes.recalled import strip_recalled

    return strip_recalled(statement.text) != statement.text


def shown(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield candidates as a model is to see them: the newest and most recalled first."""
    yield from sorted(candidates, key=lambda c: (c.asked, c.day, c.importance, c.label), reverse=True)
