"""A first question set from somebody's own notes, for them to look through.

Without a language model a question is two words of a line, and not its rarest: as little as people remember
of what they look for. Whole sentences with a blank are found nearly always, headings by their own words; of
all ways tried, two words come nearest to questions that people wrote (`docs/measuring.md`). Notes are read as
the index reads them, so private parts are never asked about; nor is a line in which a secret was redacted,
nor what a search leaves out unless it is asked for: struck text and excluded collections. The same
notes, the same seed, the same questions.
"""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace import config
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.paths import shown
from commonplace.base.records import translated
from commonplace.bench import questions
from commonplace.bench.metrics import Span
from commonplace.bench.questions import SELF
from commonplace.index.reading import note_of
from commonplace.markdown import struck, structure
from commonplace.notes import scan
from commonplace.redaction.redact import MARK
from commonplace.search.query import terms
from commonplace.types import Note, Section

if TYPE_CHECKING:
    from commonplace.config.settings import Settings

WORDS = "words"  # the category of these questions
ASKED = 2  # words of a question
LEAST_WORDS = 4  # of a line that says something by which it may be asked for
RAREST = 3  # one in so many words of a line, the rarest, is not asked by
# Measured on twelve question sets (`docs/measuring.md`).
CAVEAT = (
    "questions of two words compare one setting with another: their r@2000c is about .07 above that of what"
    " people ask, up to .26 in one memory"
)
_Member = TypeVar("_Member")


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that nobody has looked at, and the lines that answer it."""

    question: str
    answer: str
    category: str
    evidence: Span

    def as_record(self) -> dict[str, Any]:
        """Return it in the form of a question set; `review` says that somebody must look at it."""
        identity = f"{self.evidence}\0{self.question}".encode()
        return {
            "id": f"gold-{hashlib.sha256(identity).hexdigest()[:10]}",
            "workspace": SELF,
            "question": self.question,
            "category": self.category,
            "evidence": [self.evidence._asdict()],
            "answer": self.answer,
            "review": True,
        }


def read_notes(root: Path, settings: Settings) -> Iterator[Note]:
    """Yield the notes of a workspace and its collections by path, as a search that names none finds them.

    They are parsed as the index has them, without struck text. A note's path is the one that a hit shows.
    What cannot be read is left out, as a sync leaves it out.
    """
    sources = scan.sources(os.fspath(root), settings)
    names = config.by_default(settings)
    for state in sorted(scan.scan([one for one in sources if not names or one.name in names])):
        path = state.path if state.collection == sources[0].name else f"{state.collection}/{state.path}"
        try:
            note = note_of(state.read(), path, state.format)
        except OSError:  # gone since, or not ours to read
            continue
        yield struck.rest(note, struck.of_note(note))


def drafts(notes: Iterable[Note], seed: int = 0) -> list[Draft]:
    """Return a question for every line that says enough; lines that say the same have none."""
    said: dict[str, list[Span]] = {}
    for note in notes:
        for section in structure.sections(note):
            for number in usable_lines(note, section):
                said.setdefault(note.lines[number - 1].strip(), []).append(Span(note.path, number, number))
    words = {line: [word for word in terms(line) if not word.isdecimal()] for line in said}
    times = Counter(word for line, places in said.items() for word in words[line] * len(places))
    made = []
    for line, places in said.items():
        if len(places) == 1 and len(words[line]) >= LEAST_WORDS:
            rarest = sorted(words[line], key=lambda word: times[word])
            common = sorted(rarest[max(1, len(rarest) // RAREST) :])
            chance = Random(f"{seed} {line}")  # noqa: S311 - a sample, no secret
            question = " ".join(chance.sample(common, ASKED))
            made.append(Draft(question, line, WORDS, places[0]))
    asked = Counter(draft.question for draft in made)
    return [draft for draft in made if asked[draft.question] == 1]


def chosen(made: Sequence[Draft], count: int, seed: int) -> list[Draft]:
    """Choose `count` drafts spread over notes and languages, in the order of paths and lines."""
    taken = spread(made, count, seed, lambda one: (one.evidence.path, questions.language(one.question)))
    return sorted(taken, key=lambda one: (one.evidence, one.question))


def spread(
    members: Sequence[_Member], count: int, seed: int, group: Callable[[_Member], object]
) -> list[_Member]:
    """Take one of each group in turn; the order of groups and members depends on the seed alone."""
    chance = Random(seed)  # noqa: S311 - a sample, no secret
    groups: dict[object, list[_Member]] = {}
    for member in members:
        groups.setdefault(group(member), []).append(member)
    order = list(groups.values())
    chance.shuffle(order)
    for each in order:
        chance.shuffle(each)
    turns = zip_longest(*order)
    return [member for turn in turns for member in turn if member is not None][:count]


def check_free(path: Path) -> None:
    """Make sure, before a model is paid, that a question set can be written here: nothing is overwritten.

    Raises ConfigError where something is, NoteUnreadable where there is no such folder.
    """
    if os.path.lexists(path):
        raise ConfigError(shown(path), "is there already; name another with --out")
    if not os.access(path.absolute().parent, os.W_OK):
        raise NoteUnreadable(shown(path), "its folder cannot be written to")


def write(path: Path, drafts: Iterable[Draft]) -> None:
    """Write a question set that was not there. Raises ConfigError where there is one, NoteUnreadable."""
    text = "".join(json.dumps(draft.as_record(), ensure_ascii=False) + "\n" for draft in drafts)
    check_free(path)
    with translated(path), path.open("x", encoding="utf-8") as file:
        file.write(text)


def usable_lines(note: Note, section: Section) -> list[int]:
    """The lines of a section that may be asked about: text outside fences, without anything redacted."""
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
