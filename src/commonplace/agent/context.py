"""The block that goes into a prompt: long-term memory, the last days, files, and the recall for a message.

All of it stands in one frame, cited, inside one token budget; what did not get in is reported. The order of
precedence is long-term memory, the notes of the last days, files of convention, then the recall; none of the
first three may take more than its cap, so that the recall always keeps the room that is its own.

A prompt takes notes in pieces: sections of long-term memory, entries of a day, whole files. A piece is a hit
without a question: cited lines with what a reader must know of them. What is tentative or no longer holds is
left out, as a recall leaves it out; what is struck is in no piece.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, NamedTuple

from commonplace.agent.seen import Injected, trimmed
from commonplace.base import paths
from commonplace.base import tokens as estimates
from commonplace.base.errors import (
    CommonplaceError,
    ConfigError,
    NoteNotFound,
    NoteUnreadable,
    OutsideRoots,
    UnknownCollection,
)
from commonplace.config import loading
from commonplace.config.settings import WORKSPACE_COLLECTION, Prompt
from commonplace.language import dates
from commonplace.markdown import statements, struck, structure
from commonplace.markdown.comments import Annotations
from commonplace.markdown.document import decode, parse
from commonplace.markdown.metadata import kind_of
from commonplace.markdown.structure import ITEM
from commonplace.memory import Memory, sources
from commonplace.notes.scan import Globs
from commonplace.render import count
from commonplace.search import pack, ranking
from commonplace.search.dedupe import Repeats
from commonplace.search.pack import OUTDATED
from commonplace.types import Hit, Level, Note, Recall, Section
from commonplace.types.results import WEAK

LONG_TERM, DAILY, FILES, OPEN, RECALL = "long-term", "daily", "files", "open", "recall"
# Of a sparing recall: the least score of the best passage (of few notes even a greeting is near to some), and
# the share of it that the others must have.
LEAST_BEST, NEAR_BEST = 0.3, 0.6
OPEN_DAYS = 14  # of daily notes in which open matters are looked for
GIVEN = "in this session already"
SAID = "said above"


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of one note in the block: of which part, their text, and where they come from."""

    name: str
    text: str
    tokens: int
    citation: str

    JSON: ClassVar = "name citation tokens text"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What did not get into the block, why, and about how many tokens it has, where that is known."""

    what: str
    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """A block for a prompt, empty where there is nothing (new) to say, and how it came about.

    `passages` are the hits that the block is made of; `level`, `stale` and `warnings` are those of the
    recall, `level` None where none was made.
    """

    text: str
    tokens: int
    budget: int
    parts: tuple[Part, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    session: str = ""
    passages: tuple[Hit, ...] = ()
    level: Level | None = None
    stale: int = 0
    warnings: tuple[str, ...] = ()

    JSON: ClassVar = "text tokens budget session level stale warnings parts left_out"


class ContextBuilder:
    """Builds the context of prompts from a memory; safe from any thread.

    `settings` stand in for those of the workspace, `injected` for a memory of sessions in this process alone.
    """

    def __init__(
        self, memory: Memory, settings: Prompt | None = None, *, injected: Injected | None = None
    ) -> None:
        self.memory = memory
        self.settings = memory.settings.prompt if settings is None else settings
        self.injected = injected or Injected()

    def build(
        self,
        message: str,
        *,
        session: str = "",
        now: datetime | date | None = None,
        files: bool | None = None,
        budget: int | None = None,
        open_matters: bool = False,
        sparing: bool = False,
    ) -> Context:
        """Compose the block for a message and note it as given to the session.

        A session is not given twice what it has; `files` adds the files of convention (default:
        `prompt.files`), `open_matters` tasks and what summaries name as open; `sparing` leaves out of the
        recall what answers far less than the best passage; `now` is today. What cannot be read is reported,
        never raised.
        """
        context = self.compose(
            message,
            session=session,
            now=now,
            files=files,
            budget=budget,
            open_matters=open_matters,
            sparing=sparing,
        )
        self.given(context)
        return context

    def compose(
        self,
        message: str,
        *,
        session: str = "",
        now: datetime | date | None = None,
        files: bool | None = None,
        budget: int | None = None,
        open_matters: bool = False,
        sparing: bool = False,
    ) -> Context:
        """Compose the block without noting that it was given: for a host that may not use it."""
        settings, workspace = self.settings, self.memory.workspace
        today = day_of(now)
        block = Block(self.memory, self.injected, session, settings.budget if budget is None else budget)
        with_files = settings.files if files is None else files
        # Where the budget has no room for all parts, each may use the same share of its cap.
        caps = settings.long_term + settings.daily + (settings.file_tokens if with_files else 0)
        share = min(1.0, block.budget / max(1, caps + self.memory.settings.recall.budget))
        read = partial(self._read, block, today)

        path = workspace.memory_file.relative_to(workspace.root).as_posix()
        if settings.long_term:
            block.take(LONG_TERM, read(path, of_sections), int(settings.long_term * share))
        days = [today - timedelta(days=back) for back in range(min(settings.days, today.toordinal()))]
        entries = [piece for place in self._daily(block, days) for piece in read(place, of_entries)]
        newest_first = sorted(entries, key=lambda piece: piece.newness, reverse=True)
        block.take(DAILY, newest_first, int(settings.daily * share))
        if with_files:
            pieces: list[Piece] = []
            for name in settings.file_names:
                sections = read(name, of_sections, missing_ok=True)
                pieces += sorted(sections, key=lambda piece: piece.hits[0].start_line)
            block.take(FILES, pieces, int(settings.file_tokens * share))
        if open_matters and settings.open_matters:
            days = [today - timedelta(days=back) for back in range(min(OPEN_DAYS, today.toordinal()))]
            places = [path, *self._daily(block, days)]
            matters = [piece for place in places for piece in read(place, of_open_matters)]
            block.take(OPEN, sorted(matters, key=_newness, reverse=True), settings.open_matters)
        if message.strip():
            block.recall(message, today, sparing=sparing)
        return block.context()

    def given(self, context: Context) -> None:
        """Note that the session of a context was given it."""
        self.injected.add(context.session, context.passages)

    def forget(self, session: str) -> None:
        """Let a session be given everything again, as after its conversation was shortened."""
        self.injected.forget(session)

    def _daily(self, block: Block, days: Sequence[date]) -> list[str]:
        """The paths of the notes of some days, in their order."""
        try:
            return [path for day in days for path in daily_notes(self.memory, day)]
        except NoteUnreadable as error:
            block.left_out.append(LeftOut(DAILY, str(error)))
            return []

    def _read(
        self,
        block: Block,
        today: date,
        path: str,
        cut: Callable[..., list[Piece]],
        missing_ok: bool = False,
    ) -> list[Piece]:
        """The pieces of a note; none, and a line in the report, where it cannot be read."""
        try:
            note = read(self.memory, path)
        except CommonplaceError as error:
            if not (missing_ok and isinstance(error, NoteNotFound)):
                block.left_out.append(LeftOut(path, str(error).removeprefix(f"{path}: ")))
            return []
        return cut(note, today, tentative=self.memory.settings.recall.tentative)


class Block:
    """A block while it is put together: what fits, what is said above; sizes are in quarters of a token."""

    def __init__(self, memory: Memory, injected: Injected, session: str, budget: int) -> None:
        self.budget = budget
        self.left_out: list[LeftOut] = []
        self._memory, self._injected, self._session = memory, injected, session
        self._told = Repeats()
        self._lines: set[tuple[str, str]] = set()  # of the block, each with its note
        self._parts: list[Part] = []
        self._passages: list[Hit] = []
        self._recall: Recall | None = None
        self._used = 0

    def take(self, name: str, pieces: Iterable[Piece], cap: int) -> None:
        """Take the first pieces that fit into the cap of a part; what does not is passed over."""
        room = min(4 * cap, 4 * self.budget - estimates.quarters(pack.enclosed([])) - self._used)
        chosen: list[Piece] = []
        size = 0
        for piece in pieces:
            rest = self._rest(piece)
            if rest is None:
                continue
            grown = _grown(size, chosen, rest)
            if grown > room:
                self._leave(piece, f"no room in the {cap} tokens of this part")
                continue
            chosen.append(rest)
            size = grown
            for hit in rest.hits:
                self._told.add(hit)
                self._lines |= {(hit.path, line.strip()) for line in hit.text.split("\n")}
        self._used += _size(chosen)
        self._show(name, joined(self._fresh(chosen)))

    def _fresh(self, chosen: Sequence[Piece]) -> Iterator[Piece]:
        """The pieces of which the session was not given every hit."""
        news = iter(self._injected.new(self._session, [hit for piece in chosen for hit in piece.hits]))
        for piece in chosen:
            if True in [next(news) for _ in piece.hits]:
                yield piece
            else:
                self._leave(piece, GIVEN)

    def recall(self, message: str, today: date, *, sparing: bool) -> None:
        """Add the recall for a message, without what the block holds already.

        A `sparing` one leaves out what answers far less than the best passage does.
        """
        budget = min((4 * self.budget - self._used) // 4, self._memory.settings.recall.budget)
        # The first hits may all be in the block already.
        # Nobody asked for it, so nothing is given where nothing clearly answers.
        ask = partial(self._memory.recall, budget=budget + -(-self._used // 4), now=today, strict=True)
        recall = self._ask(message, ask)
        if recall is None:
            return
        self._recall = recall
        if recall.tentative:
            self.left_out.append(LeftOut(f"{count(recall.tentative, 'passage')} of the recall", "tentative"))
        unsaid: list[Hit] = []
        for hit in _near_best(recall.hits) if sparing else recall.hits:
            rest = trimmed(hit, lambda line, path=hit.path: (path, line.strip()) in self._lines)  # type: ignore[misc]
            if (rest := self._told.rest(rest) if rest is not None else None) is not None:
                unsaid.append(rest)
            else:
                self._leave(Piece((hit,)), SAID)
        composed = pack.compose(unsaid, budget)
        if unfit := recall.left_out + composed.left_out:
            lost = max(0, _tokens(unsaid) - _tokens(composed.hits))
            why = f"no room in the {budget} tokens of this part"
            self.left_out.append(LeftOut(f"{count(unfit, 'passage')} of the recall", why, lost))
        rests = self._injected.rest(self._session, composed.hits)
        for hit, new in zip(composed.hits, rests, strict=True):
            if new is None:
                self._leave(Piece((hit,)), GIVEN)
        self._show(RECALL, [new for new in rests if new is not None])

    def _ask(self, message: str, recall: Callable[..., Recall]) -> Recall | None:
        """Recall for a message; None, and a line in the report, where that fails."""
        try:
            try:
                return recall(message, layer="full")
            except (ConfigError, UnknownCollection):  # a message may read as a mistaken query
                words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in message)
                return recall(" ".join(words.split()), layer="full")
        except (CommonplaceError, OSError) as error:
            self.left_out.append(LeftOut(RECALL, str(error)))
            return None

    def context(self) -> Context:
        """The block with what it holds now."""
        text = pack.enclosed(part.text for part in self._parts) if self._parts else ""
        recall, trouble = self._recall, self._injected.trouble
        warnings = (*(recall.warnings if recall else ()), *self._memory.settings.warnings)
        return Context(
            text=text,
            tokens=estimates.about(text),
            budget=self.budget,
            parts=tuple(self._parts),
            left_out=tuple(self.left_out),
            session=self._session,
            passages=tuple(self._passages),
            level=recall.level if recall else None,
            stale=recall.stale if recall else 0,
            warnings=(*warnings, trouble) if trouble else warnings,
        )

    def _rest(self, piece: Piece) -> Piece | None:
        """A piece without what the block says already; None, and a line in the report, if nothing is left."""
        told = [] if piece.why else [self._told.rest(hit) for hit in piece.hits]
        hits = tuple(hit for hit in told if hit is not None)
        if not hits:
            self._leave(piece, piece.why or SAID)
            return None
        return piece._replace(hits=hits)

    def _leave(self, piece: Piece, why: str) -> None:
        self.left_out.append(LeftOut(piece.citation, why, _tokens(piece.hits)))

    def _show(self, name: str, hits: Sequence[Hit]) -> None:
        self._passages += hits
        for joined, text in pack.blocks(hits):
            self._parts.append(Part(name, text, estimates.about(text), joined.citation))


def _near_best(hits: Sequence[Hit]) -> list[Hit]:
    """The hits that answer about as well as the best one, if that does at all.

    What triggers and instructions call for comes however little it answers.
    """
    least = max(LEAST_BEST, NEAR_BEST * max((hit.score for hit in hits), default=0.0))
    return [hit for hit in hits if hit.score >= least or WEAK in hit.labels]


def _size(chosen: Sequence[Piece]) -> int:
    """What pieces take in the block, their line ends included."""
    return sum(estimates.quarters(text) + 1 for _, text in pack.blocks(joined(chosen)))


def _grown(size: int, chosen: Sequence[Piece], piece: Piece) -> int:
    """What pieces take together with one more."""
    ends = [(hit.path, hit.start_line - 1, hit.end_line + 1) for hit in piece.hits]
    touched = any(
        other.path == path and first <= other.end_line and other.start_line <= last
        for one in chosen
        for other in one.hits
        for path, first, last in ends
    )
    # What touches nothing that is chosen is cited by itself: then the rest is not composed again.
    return _size([*chosen, piece]) if touched else size + _size([piece])


def _tokens(hits: Sequence[Hit]) -> int:
    return sum(estimates.about(hit.text) for hit in hits)


# --- notes in pieces ------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Hits that are shown together or not at all, how new they are, and why they are left out, if so.

    `gap` counts the blank lines behind it.
    """

    hits: tuple[Hit, ...]
    newness: tuple[str, str, int] = ("", "", 0)
    why: str = ""
    gap: int = 0

    @property
    def citation(self) -> str:
        """The lines from the first hit to the last."""
        first, last = self.hits[0], self.hits[-1]
        return first.citation if first is last else f"{first.path}#L{first.start_line}-L{last.end_line}"


def read(memory: Memory, path: str) -> Note:
    """Read a file of the workspace as it may be shown: private parts blanked, secrets redacted.

    Raises NoteNotFound, OutsideRoots for a link that leaves the workspace or leads to a
    hidden file, NoteUnreadable.
    """
    own = next(source for source in sources(memory) if source.name == WORKSPACE_COLLECTION)
    if own.ignore and Globs(own.ignore)(path):
        raise NoteNotFound(path, reason="left out by index.ignore")
    roots = [memory.workspace.root]
    real = os.path.relpath(paths.contain(Path(path), roots), os.path.realpath(roots[0]))
    if loading.is_hidden(real) and not loading.is_hidden(path):
        raise OutsideRoots(path, "a link to a hidden file")
    return parse(decode(paths.read_contained(Path(path), roots)), path)


def day_of(now: datetime | date | None) -> date:
    """Return the day of a moment; today for None."""
    return now.date() if isinstance(now, datetime) else now or date.today()


def daily_notes(memory: Memory, day: date) -> list[str]:
    """The paths of the notes of a day in `memory/`, also those with words behind the day.

    Raises NoteUnreadable for a folder that cannot be listed.
    """
    folder = memory.workspace.memory_dir
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error
    names_of_day = (f"{folder.name}/{name}" for name in names if name.startswith(day.isoformat()))
    return [path for path in names_of_day if kind_of(path) == "daily"]


def of_sections(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece a section, newest first: by the newest day it names up to today, then the later one.

    A month, a quarter or a year (`founded in 2026`) is no day.
    """

    def newest_day(section: Section) -> str:
        lines = reader.lines[section.start_line - 1 : section.end_line]
        dated = (line for line in lines if any(character.isdigit() for character in line))
        spans = (span for line in dated for span in dates.spans(line, today) if not span.relative)
        days = (span.first for span in spans if span.names_a_day)
        return max((day for day in days if day <= today), default=date.min).isoformat()

    reader = _Reader(note, today, tentative)
    pieces: list[Piece] = []
    for section in structure.sections(note):
        newness = (newest_day(section), "", section.start_line)
        pieces += reader.pieces(section, reader.body(section), newness)
    return sorted(pieces, key=_newness, reverse=True)


def of_entries(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece an entry (a list item with what is indented below it, a paragraph), newest first.

    An entry is as new as the hour it begins with, or as the last one above it; of entries of one hour the
    later one is newer.
    """
    reader = _Reader(note, today, tentative)
    pieces: list[Piece] = []
    hour = ""
    for section in structure.sections(note):
        for entry in _entries(note, reader.body(section)):
            hour = statements.clock(note.lines[entry[0] - 1])[0] or hour
            pieces += reader.pieces(section, entry, (note.date or "", hour, entry[0]))
    return sorted(pieces, key=_newness, reverse=True)


@cache
def _open_matter() -> re.Pattern[str]:
    """A task that is not done, or the line of a summary with what is open."""
    from commonplace.upkeep import summaries

    labels = "|".join(summaries.OPEN_LABELS)
    return re.compile(rf"\s*[-*+]\s+(?:\[ \]\s+\S|(?:{labels}){summaries.DASH})")


def of_open_matters(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece a task that is not done, or what a summary of a session names as open, newest first."""
    reader, is_open = _Reader(note, today, tentative), _open_matter()
    pieces: list[Piece] = []
    for section in structure.sections(note):
        for number in reader.body(section):
            if is_open.match(note.lines[number - 1]):
                pieces += reader.pieces(section, [number], (note.date or "", "", number))
    return sorted(pieces, key=_newness, reverse=True)


_newness = attrgetter("newness")


def joined(pieces: Iterable[Piece]) -> list[Hit]:
    """The hits of pieces in the order of their lines; what only blank lines part becomes one."""
    hits: list[Hit] = []
    end = 0  # the line that the next piece begins on, if it goes on from here
    for piece in sorted(pieces, key=lambda piece: (piece.hits[0].path, piece.hits[0].start_line)):
        for hit in piece.hits:
            last = hits[-1] if hits else None
            same = last and (last.path, last.headings, last.labels) == (hit.path, hit.headings, hit.labels)
            if last and same and hit.start_line == end:
                between = "\n\n" if hit.start_line > last.end_line + 1 else "\n"
                text = f"{last.text}{between}{hit.text}"
                hits[-1] = replace(last, end_line=hit.end_line, text=text)
            else:
                hits.append(hit)
            end = hit.end_line + 1
        end += piece.gap
    return hits


class _Reader:
    """Makes pieces of one note."""

    def __init__(self, note: Note, today: date, tentative: bool) -> None:
        strikes = struck.of_note(note)
        self._note = struck.rest(note, strikes) if strikes else note
        self._annotations, self._today = Annotations(note), today
        self._hidden = OUTDATED if tentative else OUTDATED | {"tentative"}

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the note, without what is struck in them."""
        return self._note.lines

    def body(self, section: Section) -> list[int]:
        """The lines of a section below its heading; none of front matter."""
        if self._note.front_matter and section.start_line == 1:
            return []
        headings = structure.heading_lines(self._note, section)
        return [n for n in range(section.start_line, section.end_line + 1) if n not in headings]

    def pieces(
        self, section: Section, lines: Sequence[int], newness: tuple[str, str, int]
    ) -> Iterator[Piece]:
        """What may be shown of some lines as one piece, and one for each run of lines that may not."""
        note = self._note
        shown: list[Hit] = []
        # Blank lines belong to what is above them.
        for labels, run in groupby((n for n in lines if note.lines[n - 1].strip()), self._labels):
            numbers = list(run)
            hit = Hit(
                path=note.path,
                start_line=numbers[0],
                end_line=numbers[-1],
                text="\n".join(line.rstrip() for line in note.lines[numbers[0] - 1 : numbers[-1]]),
                score=1.0,
                title=note.title,
                headings=section.headings,
                date=note.date,
                collection=WORKSPACE_COLLECTION,
                docid="",
                labels=labels,
            )
            if why := next((label for label in labels if label in self._hidden), ""):
                yield Piece((hit,), newness, why)
            else:
                shown.append(hit)
        if shown:
            yield Piece(tuple(shown), newness, gap=lines[-1] - shown[-1].end_line)

    def _labels(self, number: int) -> tuple[str, ...]:
        return ranking.labels(self._annotations.of(number, number, standing=True) or {}, lambda: self._today)


def _entries(note: Note, lines: Sequence[int]) -> Iterator[list[int]]:
    """Lines in entries: a fence stays whole, an item keeps what is indented, a table its rows.

    An entry begins with a list item, or with a line behind a blank one, if that is not indented.
    """
    inside = {n for start, end in note.fences for n in range(start + 1, end + 1)}
    entry: list[int] = []
    for number in lines:
        if entry and number not in inside and _begins(note.lines[number - 1], note.lines[number - 2]):
            yield entry
            entry = []
        entry.append(number)
    if any(note.lines[number - 1].strip() for number in entry):
        yield entry


def _begins(line: str, before: str) -> bool:
    """Whether an entry begins with a line."""
    indented = not line.strip() or line[0] in " \t"
    return not indented and (ITEM.match(line) is not None or not before.strip())
