"""Questions made of an owner's notes, and where the search finds the lines they were made of.

A question is two words of a line, and not its rarest: as little as people remember of what they look for.
Whole sentences with a blank are found nearly always, headings by their own words; of all ways tried, two
words come nearest to questions that people wrote (`docs/measuring.md`). Notes are read as the index reads
them; private parts, lines in which a secret was redacted, struck text and collections that a search leaves
out are never asked about. The same notes, the same seed, the same questions.
"""

from __future__ import annotations

import json
import os
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from commonplace import config
from commonplace.base.errors import ConfigError, NoteNotFound
from commonplace.base.paths import shown
from commonplace.base.records import translated
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.index.reading import note_of
from commonplace.language.scripts import is_wide
from commonplace.markdown import struck, structure
from commonplace.notes import scan
from commonplace.redaction.redact import MARK
from commonplace.render import count, screen
from commonplace.search.query import terms
from commonplace.types.progress import Progress, silent

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.memory import Memory
    from commonplace.types import Note, Section

FILE = "gold.jsonl"
ASKED = 2  # words of a question
LEAST_WORDS = 4  # of a line that makes a question
RAREST = 3  # one in so many words of a line, the rarest, is not asked by
MOST = 10  # hits that are looked at


class GoldQuestion(NamedTuple):
    """A question, the line that answers it, and the note of the line when the question was made."""

    question: str
    answer: str
    path: str


class Found(NamedTuple):
    """Where the answer to a question stands among the hits, from 1; None if it is not among them."""

    number: int
    question: str
    answer: str
    path: str
    rank: int | None


class Score(NamedTuple):
    """How many questions have their answer in the first hit, the first five, beyond ten; milliseconds."""

    questions: int
    first: int
    first_five: int
    missed: int
    median_ms: float
    found: tuple[Found, ...]


# --- made of notes --------------------------------------------------------------------------------------


def read_notes(root: Path, settings: Settings) -> Iterator[Note]:
    """Yield the notes of a workspace and its collections by path, as a search without `-c` finds them.

    Struck text and notes that cannot be read are left out. A note's path is the one that a hit shows.
    """
    sources = scan.sources(os.fspath(root), settings)
    names = config.by_default(settings)
    for state in sorted(scan.scan([one for one in sources if not names or one.name in names])):
        path = scan.shown(state.collection, state.path)
        try:
            note = note_of(state.read(), path, state.format)
        except OSError:  # gone since, or not ours to read
            continue
        yield struck.rest(note, struck.of_note(note))


def made(notes: Iterable[Note], count: int, seed: int = 0) -> list[GoldQuestion]:
    """Make at most `count` questions of lines that say enough, spread over notes and languages.

    Lines that occur twice are left out, and questions that would be asked twice.
    """
    said: dict[str, list[str]] = {}
    for note in notes:
        for section in structure.sections(note):
            for number in _usable_lines(note, section):
                said.setdefault(note.lines[number - 1].strip(), []).append(note.path)
    words = {line: [word for word in terms(line) if len(word) > 1 and not word.isdecimal()] for line in said}
    times = Counter(word for line, places in said.items() for word in words[line] * len(places))
    drafts = []
    for line, places in said.items():
        if len(places) == 1 and len(words[line]) >= LEAST_WORDS:
            rarest = sorted(words[line], key=lambda word: times[word])
            common = sorted(rarest[max(1, len(rarest) // RAREST) :])
            chance = Random(f"{seed} {line}")  # noqa: S311 - a sample, no secret
            drafts.append(GoldQuestion(" ".join(chance.sample(common, ASKED)), line, places[0]))
    asked = Counter(draft.question for draft in drafts)
    return _spread([draft for draft in drafts if asked[draft.question] == 1], count, seed)


def _spread(drafts: Sequence[GoldQuestion], count: int, seed: int) -> list[GoldQuestion]:
    """Take one of each note and language in turn, by chance."""
    chance = Random(seed)  # noqa: S311 - a sample, no secret
    groups: dict[tuple[str, bool], list[GoldQuestion]] = {}
    for draft in drafts:
        groups.setdefault((draft.path, is_wide(draft.question)), []).append(draft)
    order = list(groups.values())
    chance.shuffle(order)
    for each in order:
        chance.shuffle(each)
    turns = [draft for turn in zip_longest(*order) for draft in turn if draft is not None]
    return sorted(turns[:count], key=lambda one: (one.path, one.answer))


def _usable_lines(note: Note, section: Section) -> list[int]:
    """The lines of a section for questions: text outside fences, without redactions."""
    if note.front_matter and section.start_line <= note.front_matter[1]:
        return []
    skipped = structure.heading_lines(note, section)

    def is_fenced(number: int) -> bool:
        place = bisect_right(note.fences, (number, len(note.lines))) - 1
        return place >= 0 and number <= note.fences[place][1]

    return [
        number
        for number in range(section.start_line, section.end_line + 1)
        if note.lines[number - 1].strip()
        and number not in skipped
        and MARK not in note.lines[number - 1]
        and not is_fenced(number)
    ]


# --- kept in a file -------------------------------------------------------------------------------------


def write(root: Path, questions: Iterable[GoldQuestion]) -> None:
    """Write questions that were not there. Raises ConfigError where there are some, NoteUnreadable."""
    file = root / FILE
    if os.path.lexists(file):
        raise ConfigError(shown(file), "is there already; delete it to make others")
    with translated(file):
        Root(root).create(FILE, _lines(questions))


def read(root: Path) -> list[GoldQuestion]:
    """Read the questions of a workspace. Raises NoteNotFound, NoteUnreadable, ConfigError for a bad line."""
    file = root / FILE
    if not file.exists():
        raise NoteNotFound(shown(file), reason="no questions yet; `commonplace eval init` makes some")
    with translated(file):
        rows = Root(root).read(FILE).decode("utf-8", "replace").splitlines()
    questions = []
    for number, row in enumerate(rows, 1):
        try:
            record = json.loads(row)
            questions.append(GoldQuestion(*(str(record[name]) for name in GoldQuestion._fields)))
        except (ValueError, TypeError, KeyError, RecursionError):
            wanted = ", ".join(GoldQuestion._fields)
            raise ConfigError(f"{shown(file)}:{number}", f"no JSON object with {wanted}") from None
    return questions


def drop(root: Path, numbers: Iterable[int]) -> list[GoldQuestion]:
    """Take questions out of the file by their numbers from 1, and return them. Raises as `read`."""
    questions, gone = read(root), sorted(set(numbers))
    if wrong := [number for number in gone if not 1 <= number <= len(questions)]:
        raise ConfigError(str(wrong[0]), f"no question of this number; there are {len(questions)}")
    with translated(root / FILE):
        Root(root).exchange(FILE, _lines(one for at, one in enumerate(questions, 1) if at not in gone))
    return [questions[number - 1] for number in gone]


def _lines(questions: Iterable[GoldQuestion]) -> bytes:
    rows = (json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in questions)
    return "".join(rows).encode("utf-8", "replace")


# --- asked ----------------------------------------------------------------------------------------------


def ask(memory: Memory, questions: Sequence[GoldQuestion], progress: Progress = silent) -> Score:
    """Ask a memory each question as its owner would; the line may have moved since it was made."""
    found, times = [], []
    for number, one in enumerate(questions, 1):
        started = time.perf_counter()
        hits = memory.search(one.question, limit=MOST).hits
        times.append((time.perf_counter() - started) * 1000)
        ranks = (rank for rank, hit in enumerate(hits, 1) if _plain(one.answer) in _plain(hit.text))
        found.append(Found(number, *one, next(ranks, None)))
        progress("questions", number, len(questions))
    placed = [one.rank for one in found if one.rank]
    return Score(
        questions=len(found),
        first=placed.count(1),
        first_five=sum(rank <= 5 for rank in placed),
        missed=len(found) - len(placed),
        median_ms=round(median(times), 1) if times else 0.0,
        found=tuple(found),
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def as_text(score: Score, look: screen.Look = screen.PLAIN) -> str:
    """The questions whose answer is not the first hit, with its rank, then how many are found where."""
    rows = [
        (str(one.number), str(one.rank or "-"), screen.one_line(one.question), screen.shorten(one.answer, 60))
        for one in score.found
        if one.rank != 1
    ]
    table = [screen.headed([("", "rank", "question", "answer"), *rows], (0, 1), look)] if rows else []
    summary = (
        f"{count(score.questions, 'question')} · {score.first} first · {score.first_five} in the first five"
        f" · {score.missed} not found · {score.median_ms:.0f} ms"
    )
    return "\n\n".join([*table, summary])
