"""What is shown of a hit: its lines completed to what stands by itself, as `markdown.shown` found them.

The lines come from the passages beside the hit, without those that the question excludes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from commonplace.markdown import fences

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.markdown.shown import Shown
    from commonplace.types import Hit

REACH = 4  # passages on either side of a hit that are read

Passages = Callable[[Sequence[int]], Iterable["Candidate"]]
Admitted = Callable[[Iterable[int]], Collection[int]]

Span = tuple[int, int]  # first and last line, 1-based and inclusive


def complete(
    passages: Passages, admitted: Admitted, pairs: Sequence[tuple[Candidate, Hit]], limit: int
) -> list[Hit]:
    """Complete hits, the best first; one whose lines a better one shows already is left out.

    `passages` reads passages by their ids, `admitted` says which of some a question does not exclude.
    """
    known: dict[int, list[Span]] = {}  # lines that are shown, by note
    hits: list[Hit] = []
    step = max(1, limit)
    for start in range(0, len(pairs), step):
        batch = [(_Part(own), hit) for own, hit in pairs[start : start + step]]
        ids = {passage for part, _ in batch for passage in part.beside}
        rows = {own.id: own for own in passages(sorted(ids))} if ids else {}
        joined = admitted(rows) if rows else ()
        rows = {passage: row for passage, row in rows.items() if passage in joined}
        for part, hit in batch:
            if len(hits) >= limit:
                return hits
            spans = known.setdefault(part.own.note_id, [])
            part.join(rows)
            if (span := part.free(spans)) is not None:
                hits.append(part.completed(hit, span, rows, spans))
                spans.append(span)
    return hits


class _Part:
    """A passage, and the lines around it that are shown with it."""

    def __init__(self, own: Candidate) -> None:
        self.own = self._top = own
        self._first, self._last, self._header, _ = _shown(own)
        self._lines, self._start, self._end = own.text.split("\n"), own.start_line, own.end_line

    @property
    def beside(self) -> Collection[int]:
        """The passages that may hold what is shown."""
        if not self.own.shown:
            return ()
        reach = range(self.own.id - REACH, self.own.id + REACH + 1)
        return [*reach, *(self.own.id - back for back, _ in self._header)]

    def join(self, rows: Mapping[int, Candidate]) -> None:
        """Join the passages above and below, as far as they are shown and `rows` has them."""
        while (upper := rows.get(self._top.id - 1)) and self._first <= upper.end_line < self._start:
            gap = [""] * (self._start - upper.end_line - 1)
            self._top, self._start = upper, upper.start_line
            self._lines = [*upper.text.split("\n"), *gap, *self._lines]
        number = self.own.id + 1
        while (lower := rows.get(number)) and self._end < lower.start_line <= self._last:
            self._lines += [*[""] * (lower.start_line - self._end - 1), *lower.text.split("\n")]
            self._end, number = lower.end_line, number + 1

    def free(self, known: Iterable[Span]) -> Span | None:
        """Return the lines to show without what better hits show of them; None if these show the passage."""
        lines = self.own.start_line, self.own.end_line  # pieces of one long line have the same
        start, end = max(self._first, self._start), min(self._last, self._end)
        for first, last in known:
            if first <= lines[0] and lines[1] <= last and (first, last) != lines:
                return None
            if first <= lines[0] and start <= last < lines[1]:
                start = last + 1
            if lines[1] <= last and lines[0] < first <= end:
                end = first - 1
        return start, end

    def completed(self, hit: Hit, span: Span, rows: Mapping[int, Candidate], known: Sequence[Span]) -> Hit:
        """Return the hit with some of the lines below their header, its fences closed.

        `known` are lines that other hits show.
        """
        if not self.own.shown:
            return hit
        first, last = (number - self._start for number in span)
        while first < last and not self._lines[first].strip():
            first += 1
        start = first + self._start
        header = [
            row.text.split("\n")[line - row.start_line]
            for back, line in self._header
            if line < start and not any(a <= line <= b for a, b in known)
            if (row := rows.get(self.own.id - back)) and row.start_line <= line <= row.end_line
        ]
        opened = fences.left_open([_shown(self._top)[3], *self._lines[:first]])
        header += [opened] if opened else []
        text = fences.closed("\n".join([*header, *self._lines[first : last + 1]]))
        if text == hit.text:
            return hit
        return replace(hit, text=text, start_line=start, end_line=span[1], lead=len(header))


def _shown(own: Candidate) -> Shown:
    return json.loads(own.shown) if own.shown else (own.start_line, own.end_line, (), "")
