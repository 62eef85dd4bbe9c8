"""What is shown of a hit: its lines completed to what stands by itself.

Passages of a few lines rank best (`chunking.passages`). Whoever reads one needs the whole sentence, item,
fence or short section around it; of a long fence the mark that opens it, of a table its header, of a nested
item those around it. The lines come from the passages beside the hit, as the index holds them.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import accumulate

from commonplace.base import filetypes
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import DEFAULT
from commonplace.markdown import fences, statements, structure, turns

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.markdown.statements import Place
    from commonplace.types import Hit

# Sizes in characters, a wide one counting as several (`ChunkSettings`): of what is shown at most, of a
# section and a fence that are shown whole, of the items nested in one.
SHOWN = DEFAULT.shown
SECTION, FENCE, NESTED = 0.5 * SHOWN, 2.0 * SHOWN, 0.4 * SHOWN
REACH = 4  # passages on either side of a hit that are read
FAR = 512  # and above it, where a fence or a table may have begun
OUTER = 3  # items that one may be nested in for all of them to be named
TALK = 0.5  # share of turns from which a section is talk, whose lines are complete
_ENDS = lazy(r"""(?:[.!?:。！？：…][\"'”’」』）)*_`]*|\\|  )$""")
_GOES_ON = (",", "，", "、", ";", "；", "(", "（", "—")
_INTRODUCES = (":", "：")

Passages = Callable[[Sequence[int]], Iterable["Candidate"]]
Admitted = Callable[[Iterable[int]], Collection[int]]

Span = tuple[int, int]  # first and last line, 1-based and inclusive


class Around(NamedTuple):
    """The lines around a passage that belong to its section, the first of them numbered `start`.

    `begins` and `ends` say that the section has none above them, and none below. `fence` is the mark of the
    fence that they begin inside, where what opens it is not to be shown.
    """

    start: int
    lines: tuple[str, ...]
    begins: bool
    ends: bool
    fence: str = ""


def complete(
    passages: Passages, admitted: Admitted, pairs: Sequence[tuple[Candidate, Hit]], limit: int
) -> list[Hit]:
    """Complete hits, the best first; one whose lines a better one shows already is left out.

    `passages` reads passages by their ids, `admitted` says which of some a question does not exclude.
    """
    shown: dict[int, list[Span]] = {}  # by note
    hits: list[Hit] = []
    step = max(1, limit)
    for start in range(0, len(pairs), step):
        batch = pairs[start : start + step]
        sections = _sections(passages, admitted, [own for own, hit in batch if _is_part(own, hit)])
        for own, hit in batch:
            if len(hits) >= limit:
                return hits
            known = shown.setdefault(own.note_id, [])
            section = sections.get(own.id)
            lines = own.start_line, own.end_line
            span = _free(section.complete(*lines) if section else lines, own, known)
            if span is not None:
                hits.append(section.shown(hit, span, known) if section else hit)
                known.append(span)
    return hits


def _is_part(own: Candidate, hit: Hit) -> bool:
    """Whether more may belong to a passage: not of struck text, talk and programs."""
    return own.until is None and own.turns < TALK and not filetypes.of(hit.path)


def _free(span: Span, own: Candidate, known: Iterable[Span]) -> Span | None:
    """Lines without what better hits show of them; None if these show the whole passage."""
    start, end = span
    lines = own.start_line, own.end_line  # pieces of one long line have the same
    for first, last in known:
        if first <= lines[0] and lines[1] <= last and (first, last) != lines:
            return None
        if first <= lines[0] and start <= last < lines[1]:
            start = last + 1
        if lines[1] <= last and lines[0] < first <= end:
            end = first - 1
    return start, end


# --- the lines around a passage -------------------------------------------------------------------------


class _Run(NamedTuple):
    """Passages of a section one after the other.

    `begins` and `ends` say whether the section does with the first and the last. None: with no passage that
    was read beyond, which of a passage less than REACH away is known to be the end.
    """

    passages: Sequence[Candidate]
    begins: bool | None
    ends: bool | None


def _sections(passages: Passages, admitted: Admitted, owns: Sequence[Candidate]) -> dict[int, _Section]:
    """The lines around each of some passages that have more of their section beside them.

    They are read once for all passages of a run.
    """
    beside = {passage for own in owns for passage in range(own.id - REACH, own.id + REACH + 1)}
    rows = {one.id: one for one in passages(sorted(beside))}
    cut = [own for own in owns if _may_be_inside(own, rows)]
    above = {passage for own in cut for passage in range(own.id - FAR, own.id - REACH)}
    if above:
        rows |= {one.id: one for one in passages(sorted(above))}
    joined = {own.id for own in owns}.union(admitted(rows))
    runs: dict[int, _Run] = {}
    read: dict[tuple[int, bool, bool], _Section] = {}
    sections: dict[int, _Section] = {}
    for own in owns:
        if own.id not in runs:
            before, begins = _beside(own, rows, joined, -1)
            behind, ends = _beside(own, rows, joined, 1)
            run = _Run([*reversed(before), own, *behind], begins, ends)
            runs |= {one.id: run for one in run.passages}
        run = runs[own.id]
        first, last = run.passages[0].id, run.passages[-1].id
        fence = _open_fence(run.passages[0], rows) if run.begins is False else ""
        if first < last or fence or fences.may_fence(own.text):
            begins = own.id - first < REACH if run.begins is None else run.begins
            ends = last - own.id < REACH if run.ends is None else run.ends
            key = first, begins, ends
            if key not in read:
                read[key] = _section(_joined(run.passages, begins, ends, fence))
            sections[own.id] = read[key]
    return sections


def _beside(
    own: Candidate, rows: Mapping[int, Candidate], joined: Collection[int], step: int
) -> tuple[list[Candidate], bool | None]:
    """Passages one after the other from one on, and whether the section ends with the last, as in a run.

    Not beyond what the question excludes, or the note says something else of, nor beyond a line that is cut.
    """
    found: list[Candidate] = []
    last = own
    while (one := rows.get(last.id + step)) is not None and one.section_id == own.section_id:
        upper, lower = (one, last) if step < 0 else (last, one)
        other = one.until is not None or not _says_same(one, own) or one.id not in joined
        if other or upper.end_line >= lower.start_line:
            return found, False
        found.append(one)
        last = one
    return found, None if one is None else True


def _says_same(one: Candidate, other: Candidate) -> bool:
    """Whether a note says the same of two passages, but for the moment at which they were written."""
    if one.annotations == other.annotations:
        return True
    if not one.annotations or not other.annotations:
        return False
    first, second = (json.loads(own) for own in (one.annotations, other.annotations))
    return {**first, "at": ""} == {**second, "at": ""}


def _may_be_inside(own: Candidate, rows: Mapping[int, Candidate]) -> bool:
    """Whether a fence may be open, or a table begun, above the lines that were read of a section.

    The first mark of a fence that names its language opens one.
    """
    first = rows.get(own.id - REACH)
    if first is None or first.section_id != own.section_id:
        return False
    if structure.ROW.match(own.text):
        return True
    read = (rows.get(passage) for passage in range(own.id - REACH, own.id + REACH + 1))
    lines = (
        line
        for one in read
        if one is not None and fences.may_fence(one.text)
        for line in one.text.split("\n")
    )
    mark = next(filter(fences.may_fence, lines), "").strip()
    return mark != "" and not mark[-1].isalnum()


def _open_fence(first: Candidate, rows: Mapping[int, Candidate]) -> str:
    """The mark that closes the fence which a passage begins inside, by those above it; empty for none."""
    above: list[Candidate] = []
    number = first.id - 1
    while (one := rows.get(number)) is not None and one.section_id == first.section_id:
        above.append(one)
        number -= 1
    lines = [line for one in reversed(above) for line in one.text.split("\n")]
    return next(reversed(fences.marks(lines).values()), "")


def _joined(passages: Sequence[Candidate], begins: bool, ends: bool, fence: str) -> Around:
    lines: list[str] = []
    start = passages[0].start_line
    for one in passages:
        lines += [""] * (one.start_line - start - len(lines))
        lines += one.text.split("\n")
    return Around(start, tuple(lines), begins, ends, fence)


# --- what stands by itself ------------------------------------------------------------------------------


class _Section:
    """The lines of a section, or of a part of it."""

    def __init__(self, around: Around) -> None:
        # The mark of a fence that begins further above stands in the place of the line above.
        hidden = [around.fence] if around.fence else []
        self._away, self._hidden = around.start - 1 - len(hidden), len(hidden)
        self._lines, self._ends = [*hidden, *around.lines], around.ends
        self._whole = around.begins and around.ends
        found = fences.find(self._lines, is_part=True)[0]
        self._closed = {fence.first for fence in found if fence.is_closed}
        self._fenced = structure.lines_of(*((fence.first, fence.last) for fence in found))
        numbers = range(1, len(self._lines) + 1)  # inside, lines are numbered from 1
        self._places = statements.places(self._lines, numbers, self._fenced)
        self._firsts = [place.first for place in self._places]
        self._widths = [_width(line) for line in self._lines]
        self._sums = list(accumulate((width + (width > 0) for width in self._widths), initial=0))
        self._broadest: dict[int, int] = {}  # by the first line of a place

    def complete(self, first: int, last: int) -> Span:
        """Complete some of the lines."""
        first, last = first - self._away, last - self._away
        if self._whole and self._fits(1, len(self._lines), SECTION):
            first, last = 1, len(self._lines)
        elif self._places and self._firsts[0] <= first:
            first, last = self._introduced(*self._own(first, last))
        return max(first, self._hidden + 1) + self._away, last + self._away

    def shown(self, hit: Hit, span: Span, known: Sequence[Span]) -> Hit:
        """Show some of the lines as a hit, with its fences closed; `known` are lines that others show."""
        first, last = span[0] - self._away, span[1] - self._away
        while first < last and not self._lines[first - 1].strip():
            first += 1
        lead = [
            self._lines[number - 1]
            for number in self._lead(first)
            if number in self._fenced or not any(a <= number + self._away <= b for a, b in known)
        ]
        text = fences.closed("\n".join([*lead, *self._lines[first - 1 : last]]))
        if text == hit.text:
            return hit
        return replace(hit, text=text, start_line=first + self._away, end_line=span[1], lead=len(lead))

    def _at(self, number: int) -> int:
        """The place that a line stands in."""
        return max(0, bisect_right(self._firsts, number) - 1)

    def _fits(self, first: int, last: int, size: float = SHOWN) -> bool:
        return self._sums[last] - self._sums[first - 1] <= size

    def _is_fence(self, place: Place) -> bool:
        """Whether a place is a fence that is closed: an open one has all of the note below it.

        One that goes on below what was read is taken to be closed.
        """
        if place.first in self._fenced and not self._ends and place.last == len(self._lines):
            return True
        return place.first in self._closed

    def _own(self, first: int, last: int) -> tuple[int, int]:
        """Complete to whole fences, items and sentences, as far as these fit."""
        start, end = first, last
        opening, closing = self._places[self._at(first)], self._places[self._at(last)]
        if self._is_fence(opening):
            start = opening.first if self._fits(opening.first, max(last, opening.last), FENCE) else first
        while start > opening.first and self._goes_on(opening, start - 1) and self._fits(start - 1, first):
            start -= 1
        if self._is_fence(closing):
            return start, closing.last if self._fits(start, closing.last, FENCE) else end
        while end < closing.last and self._goes_on(closing, end) and self._fits(last, end + 1):
            end += 1
        if end == closing.last < closing.end and self._fits(end + 1, closing.end, NESTED):
            end = closing.end if self._fits(start, closing.end) else end
        return start, end

    def _goes_on(self, place: Place, number: int) -> bool:
        """Whether an item or a sentence goes on behind a line: by how that ends, or as it is full."""
        line, following = self._lines[number - 1], self._lines[number].lstrip()
        if place.is_silent or not following:
            return False
        if place.is_item and structure.indent(self._lines[number]) > place.depth:
            return True
        if _ENDS.search(line):
            return False
        bare = line.rstrip()
        if bare.endswith(_GOES_ON) or following[0].islower():
            return True
        if place.first not in self._broadest:
            self._broadest[place.first] = max(self._widths[place.first - 1 : place.last])
        word = following.split(None, 1)[0] if following[0].isascii() else following[0]
        return _width(bare) + 1 + _width(word) > self._broadest[place.first]

    def _introduced(self, start: int, end: int) -> tuple[int, int]:
        """Put what a sentence that ends with a colon introduces together with it."""
        at = self._at(start)
        if at and start == self._firsts[at] and self._introduces(at - 1):
            size = FENCE if self._is_fence(self._places[at]) else SHOWN
            if self._fits(self._firsts[at - 1], end, size):
                start = self._firsts[at - 1]
        at = head = self._at(end)
        while self._firsts[head] > start and _is_listed(self._places[head]):
            head -= 1
        if end == self._places[at].last and self._introduces(head):
            for number in range(at + 1, len(self._places)):
                below = self._places[number]
                size = FENCE if self._is_fence(below) else SHOWN
                belongs = _is_listed(below) or number == head + 1
                if not belongs or not self._fits(start, below.last, size):
                    break
                end = below.last
                if self._is_fence(below) or not _is_listed(below):
                    break
        return start, end

    def _introduces(self, at: int) -> bool:
        """Whether a place announces what follows it. Not what somebody says."""
        place = self._places[at]
        announces = self._lines[place.last - 1].rstrip(" *_").endswith(_INTRODUCES)
        if not announces or at + 1 == len(self._places) or place.is_silent:
            return False
        return turns.speaker(self._lines[place.first - 1]) is None

    def _lead(self, start: int) -> Iterator[int]:
        """Yield lines from further above without which a text is not understood; for most there are none."""
        place = self._places[self._at(start)] if self._places else None
        if place is None or not place.first <= start <= place.last:
            return
        outer, around = place.outer, list[int]()
        while outer is not None and len(around) < OUTER:
            around.append(outer.first)
            outer = outer.outer
        if self._size(around) <= NESTED:
            yield from reversed(around)
        if self._is_fence(place):
            if start > place.first:
                yield place.first
        elif structure.ROW.match(self._lines[start - 1]):
            header = self._tables[start - 1] + 1
            rows = range(header, min(start, header + 2))
            if rows and structure.DIVIDER.match(self._lines[header]) and self._size(rows) <= SHOWN:
                yield from rows

    @cached_property
    def _tables(self) -> list[int]:
        return structure.tables(self._lines)

    def _size(self, numbers: Iterable[int]) -> int:
        return sum(self._widths[number - 1] for number in numbers)


def _is_listed(place: Place) -> bool:
    return place.is_item or place.is_silent or place.outer is not None


@lru_cache(256)
def _section(around: Around) -> _Section:
    """Read the lines around a passage; a warm server shows the same ones again and again."""
    return _Section(around)


def _width(line: str) -> int:
    return breakpoints.width(line, DEFAULT.wide)
