"""A first question set from somebody's own notes, for them to look through: cloze questions and headings.

Notes are read as the index reads them, so private parts are never asked about; nor is a line in which a
secret was redacted. The same notes, the same seed, the same questions.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from commonplace.bench import datasets
from commonplace.bench.cloze import clozes, says_enough
from commonplace.bench.datasets import SELF
from commonplace.bench.metrics import Span
from commonplace.chunking import sections
from commonplace.errors import ConfigError, NoteUnreadable
from commonplace.index.reading import note_of
from commonplace.notes import scan
from commonplace.notes.redact import MARK
from commonplace.notes.scan import Source
from commonplace.paths import shown
from commonplace.types import Note, Section

_One = TypeVar("_One")
_DAY = re.compile(r"(?:\d{4}-\d{2}-\d{2}|\d{4}年).{0,12}$|[\d\s:./年月日-]+$")


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that nobody has looked at, with the lines that answer it; `about` tells duplicates."""

    question: str
    answer: str
    category: str
    evidence: Span
    about: str

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


def read_notes(sources: Sequence[Source]) -> Iterator[Note]:
    """Yield the notes of a workspace and its collections, parsed as the index has them, by path.

    A note's path is the one that a hit shows. What cannot be read is left out, as a sync leaves it out.
    """
    for state in sorted(scan.scan(sources)):
        path = state.path if state.collection == sources[0].name else f"{state.collection}/{state.path}"
        try:
            yield note_of(state.read(), path, state.format)
        except OSError:  # gone since, or not ours to read
            continue


def drafts(notes: Iterable[Note]) -> list[Draft]:
    """Return every question that the notes give, without those that two places would answer."""
    found = [draft for note in notes for draft in (*_of_lines(note), *_of_headings(note))]
    times = Counter(draft.about for draft in found)
    asked = Counter(draft.question.casefold() for draft in found)
    return [one for one in found if times[one.about] == 1 and asked[one.question.casefold()] == 1]


def chosen(found: Sequence[Draft], count: int, seed: int) -> list[Draft]:
    """Choose `count` drafts spread over notes and languages, in the order of paths and lines."""
    return sorted(spread(found, count, seed, _group), key=lambda one: (one.evidence, one.question))


def spread(found: Sequence[_One], count: int, seed: int, group: Callable[[_One], object]) -> list[_One]:
    """Take one of each group in turn; the order of groups and members depends on the seed alone."""
    chance = Random(seed)  # noqa: S311 - a sample, no secret
    groups: dict[object, list[_One]] = {}
    for one in found:
        groups.setdefault(group(one), []).append(one)
    order = list(groups.values())
    chance.shuffle(order)
    for members in order:
        chance.shuffle(members)
    turns = max(map(len, order), default=0)
    taken = [members[turn] for turn in range(turns) for members in order if turn < len(members)]
    return taken[:count]


def check_free(path: Path) -> None:
    """Make sure, before a model is paid, that a question set can be written here: nothing is overwritten.

    Raises ConfigError where something is, NoteUnreadable where there is no such folder.
    """
    if os.path.lexists(path):
        raise ConfigError(shown(path), "is there already; name another with --out")
    if not os.access(path.absolute().parent, os.W_OK):
        raise NoteUnreadable(shown(path), "its folder cannot be written to")


def write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a question set that was not there. Raises ConfigError where there is one, NoteUnreadable."""
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(shown(path), "is there already; name another with --out") from error
    except OSError as error:
        raise NoteUnreadable(shown(path), (error.strerror or type(error).__name__).lower()) from error


def usable_lines(note: Note, section: Section) -> list[int]:
    """The lines of a section that may be asked about: text outside fences, without anything redacted."""
    if note.front_matter and section.start_line <= note.front_matter[1]:
        return []
    skipped = sections.heading_lines(note, section)
    return [
        number
        for number in range(section.start_line, section.end_line + 1)
        if note.lines[number - 1].strip()
        and number not in skipped
        and MARK not in note.lines[number - 1]
        and not any(first <= number <= last for first, last in note.fences)
    ]


def _of_lines(note: Note) -> Iterator[Draft]:
    for section in sections.split(note):
        for number in usable_lines(note, section):
            for one in clozes(note.lines[number - 1]):
                span = Span(note.path, number, number)
                yield Draft(one.question, one.answer, f"cloze-{one.kind}", span, one.sentence.casefold())


def _of_headings(note: Note) -> Iterator[Draft]:
    """Ask what stands under a heading, where it says what it is about."""
    for section in sections.split(note):
        lines = usable_lines(note, section)
        heading = section.headings[-1] if section.headings else ""
        if not lines or not heading or _DAY.match(heading) or MARK in heading:
            continue
        above = section.headings[-2] if len(section.headings) > 1 else note.title
        where = "" if _DAY.match(above) or above == heading or MARK in above else above
        question = _about(heading, where)
        if says_enough(f"{heading} {where}"):
            span = Span(note.path, lines[0], lines[-1])
            yield Draft(question, note.lines[lines[0] - 1].strip(), "heading", span, question.casefold())


def _about(heading: str, where: str) -> str:
    if datasets.language(heading + where) == datasets.CJK:
        return f"{where}里关于{heading}记了什么？" if where else f"关于{heading}记了什么？"
    return f"What do the notes say about {heading}{f' ({where})' if where else ''}?"


def _group(draft: Draft) -> tuple[str, str]:
    return draft.evidence.path, datasets.language(draft.question)
