"""The shown text of a hit: its lines completed to whole units, as `markdown.shown` found them.

The lines come from the passages around the hit, without those that the question excludes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from commonplace.markdown import fences, structure
from commonplace.search import updates

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.markdown.shown import Shown
    from commonplace.search.candidates import Question
    from commonplace.types import Hit

_MARKS = {0: ("- ", "* ", "+ "), 2: ("| ",)}  # of items, and of rows below two lines of a header
REACH = 4  # passages on either side of a hit that are read

ON_ONE_MATTER = 2  # words that an item shares with the other items of a list

Span = tuple[int, int]  # first and last line, 1-based and inclusive


def complete(
    question: Question, pairs: Sequence[tuple[Candidate, Hit]], limit: int, asked: Collection[str] = ()
) -> list[Hit]:
    """Complete hits, the best first; one whose lines a better one shows already is left out.

    Of a list only the item that answers is shown, where the words `asked` say which.
    """
    known: dict[int, list[Span]] = {}  # lines that are shown, by note
    hits: list[Hit] = []
    for start in range(0, len(pairs), max(1, limit)):
        batch = pairs[start : start + max(1, limit)]
        rows = _around(question, [own for own, _ in batch if own.shown])
        for own, hit in batch:
            if len(hits) >= limit:
                return hits
            spans = known.setdefault(own.note_id, [])
            if (whole := _completed(own, hit, rows, spans)) is not None:
                hits.append(whole if own.turns else _answering(whole, asked))
                spans.append((hits[-1].start_line, hits[-1].end_line))
    return hits


def _around(question: Question, passages: Sequence[Candidate]) -> dict[int, Candidate]:
    """Return the passages around some that the question does not exclude, by id."""
    ids = {own.id + at for own in passages for at in range(-REACH, REACH + 1)}
    ids |= {own.id - back for own in passages for back, _ in _shown(own)[2]}
    rows = {row.id: row for row in question.index.passages(sorted(ids))} if ids else {}
    return {own: rows[own] for own in question.admitted(rows)} if rows else {}


def _completed(own: Candidate, hit: Hit, rows: Mapping[int, Candidate], known: Iterable[Span]) -> Hit | None:
    """Complete a hit with lines of the passages above and below, below their header, its fences closed.

    Lines that better hits show, `known`, are left out; None if these show the passage.
    """
    first, last, header, _ = _shown(own)
    top, bottom, lines = own, own, _numbered(own)
    while (upper := rows.get(top.id - 1)) and first <= upper.end_line < top.start_line:
        top, lines = upper, lines | _numbered(upper)
    while (lower := rows.get(bottom.id + 1)) and bottom.end_line < lower.start_line <= last:
        bottom, lines = lower, lines | _numbered(lower)
    begin, finish = own.start_line, own.end_line  # pieces of one long line have the same
    start, end = max(first, top.start_line), min(last, bottom.end_line)
    for a, b in known:
        if a <= begin and finish <= b and (a, b) != (begin, finish):
            return None
        start = b + 1 if a <= begin and start <= b < finish else start
        end = a - 1 if finish <= b and begin < a <= end else end
    if not own.shown:
        return hit
    while start < end and not lines.get(start, "").strip():
        start += 1
    head = [
        text
        for back, line in header
        if line < start and not any(a <= line <= b for a, b in known) and own.id - back in rows
        if (text := _numbered(rows[own.id - back]).get(line)) is not None
    ]
    above = (lines.get(number, "") for number in range(top.start_line, start))
    head += filter(None, [fences.left_open([_shown(top)[3], *above])])
    text = fences.closed("\n".join([*head, *(lines.get(number, "") for number in range(start, end + 1))]))
    return (
        hit if text == hit.text else replace(hit, text=text, start_line=start, end_line=end, lead=len(head))
    )


def _numbered(own: Candidate) -> dict[int, str]:
    """The lines of a passage by their numbers."""
    return dict(enumerate(own.text.split("\n"), own.start_line))


def _shown(own: Candidate) -> Shown:
    return json.loads(own.shown) if own.shown else (own.start_line, own.end_line, (), "")


def _answering(hit: Hit, asked: Collection[str]) -> Hit:
    """Cut a list to the item that alone holds words of a question, two or a third of these.

    Words of the title and the headings count for no item. Items that share words are on one matter and stay.
    """
    wanted = set(asked) - updates.words(" ".join([hit.title, *hit.headings]))
    shown = item(hit, lambda text: len(updates.words(text) & wanted), least=1 if len(wanted) <= 3 else 2)
    rest = "\n".join(line for line in hit.text.split("\n") if line not in shown.text)
    return hit if len(updates.words(shown.text) & updates.words(rest)) >= ON_ONE_MATTER else shown


def item(hit: Hit, held: Callable[[str], int], least: int = 1) -> Hit:
    """Cut a list, or a table, to the only item that holds something, if it holds at least so much."""
    lines = hit.text.split("\n")
    head = 2 * (len(lines) > 2 and lines[0][:1] == "|" and structure.DIVIDER.match(lines[1]) is not None)
    starts = [at for at, line in enumerate(lines) if at >= head and line[:2] in _MARKS[head]]
    others = {*range(head + 1, len(lines))}.difference(starts)  # lines of items, if they are indented
    is_list = len(starts) > 1 and starts[0] == head and not any(lines[at][:1].strip() for at in others)
    if not is_list or hit.lead not in (0, head) or len(lines) - hit.lead != hit.end_line - hit.start_line + 1:
        return hit
    items = ["\n".join(lines[a:b]).rstrip() for a, b in pairwise([*starts, len(lines)])]
    counts = [*map(held, items)]
    if max(counts) < least or sum(counts) > max(counts):
        return hit
    at = counts.index(max(counts))
    first = hit.start_line - hit.lead + starts[at]
    last = first + items[at].count("\n")
    return replace(
        hit, text="\n".join([*lines[:head], items[at]]), start_line=first, end_line=last, lead=head
    )
