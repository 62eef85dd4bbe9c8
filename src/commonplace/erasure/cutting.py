"""What is forgotten taken out of one note: statements, lines, words; all other lines stay as they are."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from commonplace.chunking.struck import says_something
from commonplace.erasure.pages import Page
from commonplace.erasure.wanted import Block, Wanted
from commonplace.notes import comments
from commonplace.notes.headings import atx
from commonplace.types.statements import Statement

_TELLS = re.compile(r"[^\W_]")
# Marks that stand around words, and say nothing around none.
_PAIRS = (
    ("~~", "~~"), ("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ("(", ")"), ('"', '"'), ("“", "”"),
    ("「", "」"), ("《", "》"), ("（", "）"), ("[[", "]]"),
)  # fmt: skip
_BESIDE = 3  # lines that go, beside one that stays
_NEAR = 4000  # characters of a line in which the other of a mark is looked for
_STRONG = ("~~", "**", "__", "*", "_")
_EMPHASIS = re.compile(r"\*{1,3}|_{1,3}|~~|`")
# The hour at the beginning of an entry, however it is written.
_WRITTEN = re.compile(r"^((?:[\s>]|[-+]|\d{1,9}[.)](?=\s)|\[[ xX]\])*)\d{1,2}:\d\d(?::\d\d)?:?(?=\s|$)")
_FLOW = re.compile(r"(?P<key>[^\[\]#]*:\s*)\[(?P<inner>[^\[\]]*)\](?P<rest>\s*)")
_EMPTY_ITEM = ((re.compile(r",\s*(?=[,\]])"), ""), (re.compile(r"\[\s*,\s*"), "["))


class Gone(NamedTuple):
    """Lines of a note that go, or lose words, and what they say; `whole` where they go.

    `shown` is what they say as it may be shown.
    """

    first: int
    last: int
    text: str
    shown: str
    whole: bool


class Cut(NamedTuple):
    """A note without what is forgotten: its bytes (None: no note is left), what goes, which lines do."""

    data: bytes | None
    gone: tuple[Gone, ...]
    lines: frozenset[int]
    ordered: Sequence[int] = ()

    def moved(self, number: int) -> int | None:
        """Where a line stands now; None where it is gone."""
        if number in self.lines:
            return None
        return number - bisect_left(self.ordered, number)


def cut(path: str, data: bytes, wanted: Wanted) -> Cut | None:
    """Return a note without what is forgotten, None where it holds nothing of it."""
    page = Page(path, data)
    if wanted.owns(path):
        last = len(page.lines)
        every = range(1, last + 1)
        gone = Gone(1, last, page.text.strip(), page.shown(1, last).strip(), True)
        return Cut(None, (gone,), frozenset(every), every)
    lines = whole(page, wanted)
    changed = _parts(page, wanted, lines)
    if not lines and not changed:
        return None
    kept = [changed.get(n, line) for n, line in enumerate(page.lines, 1) if n not in lines]
    after = page.encoded(kept) if any(line.strip("\ufeff \t\r\n") for line in kept) else None
    return Cut(after, tuple(_gone(page, lines, changed)), frozenset(lines), sorted(lines))


def whole(page: Page, wanted: Wanted) -> set[int]:
    """The lines that go whole: those asked for, those of a session, what mentions a person."""
    lines: set[int] = set()
    for block in wanted.blocks:
        if block.path == page.path:
            lines |= set(_found(page, block))
    if wanted.told_sessions and "session" in page.text:
        for statement in page.statements:
            if statement.said.get("session") in wanted.told_sessions:
                lines |= set(range(statement.first, statement.end + 1))
    for first, last in wanted.whole.spans(page.text):
        for number in range(page.line_at(first), page.line_at(max(first, last - 1)) + 1):
            if number not in lines and not _is_list(page, number):
                lines.update(page.unit(number))
    return page.whole(lines) if lines else lines


def _found(page: Page, block: Block) -> range:
    """Where the lines of a block stand now; nowhere once one of its equals is gone."""
    places = page.places(block.lines)
    if not places or len(places) < block.times:
        return range(0)
    if block.nth and len(places) == block.times:
        first = places[block.nth - 1]
    else:
        first = min(places, key=lambda place: abs(place - block.first))
    return range(first, first + len(block.lines))


# --- words cut out --------------------------------------------------------------------------------------


def _parts(page: Page, wanted: Wanted, lines: set[int]) -> dict[int, str]:
    """Lines that lose words, as they are then; those that then say nothing are added to `lines`."""
    pieces: dict[int, list[tuple[int, int]]] = {}
    spans = sorted({span for run in _staying(page, lines) for span in _spans(page, wanted, run)})
    for first, last in (piece for span in spans for piece in _balanced(page.text, *span)):
        for number in range(page.line_at(first), page.line_at(max(first, last - 1)) + 1):
            start, line = page.starts[number - 1], page.bare(number)
            least = 0 if first >= start else _margin(line)  # what is indented or quoted stays so
            piece = (max(first - start, least), min(last - start, len(line)))
            if number not in lines and piece[0] < piece[1]:
                pieces.setdefault(number, []).append(piece)
    changed = _shorter_lists(page, wanted, lines)
    changed |= {n: _without(page.bare(n), found) for n, found in pieces.items() if n not in changed}
    for number in changed:
        if page.in_front(number):
            changed[number] = _repaired(changed[number])
    _drop_silent(page, changed, lines)
    return {n: line + page.ending(n) for n, line in changed.items() if n not in lines}


def _staying(page: Page, lines: set[int]) -> Iterator[range]:
    """The runs of lines that stay, with a few that go on both sides, where words may begin or end."""
    edges = [0, *sorted(lines), len(page.lines) + 1]
    for before, behind in pairwise(edges):
        if behind - before > 1:
            yield range(max(1, before + 1 - _BESIDE), min(len(page.lines), behind - 1 + _BESIDE) + 1)


def _spans(page: Page, wanted: Wanted, run: range) -> Iterator[tuple[int, int]]:
    """Where the words stand that are cut out, in some lines; a run of all of them is the text itself."""
    start = page.starts[run[0] - 1]
    for first, last in wanted.parts.spans("".join(page.lines[run[0] - 1 : run[-1]])):
        yield start + first, start + last


def _margin(line: str) -> int:
    """How far a line is indented, marks of quotation included."""
    return len(line) - len(line.lstrip(" \t>"))


def _balanced(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """What is to be cut out, such that each mark of emphasis inside goes with its other, or stays for it."""
    marks = list(_EMPHASIS.finditer(text, first, last))
    told = [found[0] for found in marks]
    for found in marks:
        mark = found[0]
        if told.count(mark) % 2 == 0:
            continue
        if text.endswith(mark, 0, first):
            return _balanced(text, first - len(mark), last)
        if text.startswith(mark, last):
            return _balanced(text, first, last + len(mark))
        return _parted(text, first, found, last)
    around = _EMPHASIS.match(text, last)
    if around and text.endswith(around[0], 0, first):
        return _balanced(text, first - len(around[0]), around.end())
    return [_tightened(text, first, last)]


def _tightened(text: str, first: int, last: int) -> tuple[int, int]:
    """What is to be cut out beside a mark that stays, with the blanks that would part it from its words.

    `~~ late~~` strikes nothing: what was struck would stand again.
    """
    line = max(text.rfind("\n", 0, first) + 1, first - _NEAR)
    opening = next((mark for mark in _STRONG if text.endswith(mark, line, first)), "")
    if opening and text.count(opening, line, first) % 2:
        while text.startswith(" ", last):
            last += 1
    closing = next((mark for mark in _STRONG if text.startswith(mark, last)), "")
    if closing and text.count(closing, line, first) % 2:
        while text.endswith(" ", line, first):
            first -= 1
    return first, last


def _parted(text: str, first: int, mark: re.Match[str], last: int) -> list[tuple[int, int]]:
    """What stands before and behind a mark that stays, with the blanks that would part it from its words."""
    line = max(text.rfind("\n", 0, first) + 1, first - _NEAR)
    if text.count(mark[0], line, first) % 2:  # it ends what begins before
        while text.endswith(" ", 0, first):
            first -= 1
    else:
        while text.startswith(" ", last):
            last += 1
    return [(first, mark.start()), (mark.end(), last)]


def _is_list(page: Page, number: int) -> bool:
    """Whether a line of front matter is a list in brackets, which loses elements."""
    return page.in_front(number) and _FLOW.fullmatch(page.bare(number)) is not None


def _shorter_lists(page: Page, wanted: Wanted, lines: set[int]) -> dict[int, str]:
    """Lists of front matter without the elements that mention a person; one of nothing else goes."""
    found: dict[int, str] = {}
    front = page.note.front_matter if wanted.whole.found(page.text) else None
    for number in range(front[0], front[1]) if front else ():
        flow = _FLOW.fullmatch(page.bare(number))
        if flow is None or number in lines or not wanted.whole.found(page.bare(number)):
            continue
        kept = [one.strip() for one in flow["inner"].split(",") if not wanted.whole.found(one)]
        found[number] = f"{flow['key']}[{', '.join(kept)}]{flow['rest']}"
        if not kept or wanted.whole.found(found[number]):
            del found[number]
            lines.add(number)
    return found


def _without(line: str, pieces: Sequence[tuple[int, int]]) -> str:
    """A line without some of its places, the blanks and the marks that stood around them."""
    margin = len(line) - len(line.lstrip())
    after: list[str] = []  # the characters behind a piece that stay, last first
    telling = 0  # how many of them are no blanks
    stop = len(line)
    for first, last in reversed(pieces):
        after += reversed(line[last:stop])
        telling += sum(not character.isspace() for character in line[last:stop])
        stop = first
        while pair := next((p for p in _PAIRS if line.endswith(p[0], 0, stop) and _opens(after, p[1])), None):
            stop -= len(pair[0])
            del after[-len(pair[1]) :]
            telling -= len(pair[1])
        if stop <= margin or line[stop - 1].isspace():
            while after and after[-1] in " \t":
                after.pop()
        while not telling and stop > margin and line[stop - 1].isspace():
            stop -= 1
    return line[:stop] + "".join(reversed(after))


def _opens(after: Sequence[str], mark: str) -> bool:
    """Whether characters, last first, begin with a mark."""
    return after[: -len(mark) - 1 : -1] == list(mark)


def _repaired(line: str) -> str:
    """A line of front matter whose list may have lost an element."""
    for expression, instead in _EMPTY_ITEM:
        line = expression.sub(instead, line)
    return line


def _drop_silent(page: Page, changed: dict[int, str], lines: set[int]) -> None:
    """Let go of lines and statements that say nothing any more."""
    settled: set[int] = set()  # statements, by their first lines
    for number in sorted(changed):
        if number in lines or page.is_mark(number):
            continue
        owner = page.owner(number) if page.fence(number) is None else None
        if owner is not None:
            if owner.first not in settled:
                _settle(page, owner, changed, lines)
            settled.add(owner.first)
        elif not _says(page, number, changed[number]):
            lines |= {number, *_underline(page, number)}


def _settle(page: Page, statement: Statement, changed: dict[int, str], lines: set[int]) -> None:
    """Decide what of a statement stays: nothing, its mark because others are nested in it, or its lines."""
    own = range(statement.first, statement.last + 1)
    told = {number: _EMPHASIS.sub("", changed.get(number, page.bare(number))) for number in own}
    told[statement.first] = _WRITTEN.sub(r"\1", told[statement.first])
    if any(says_something(comments.without(line)) for line in told.values()):
        lines |= {n for n in own if n in changed and n != statement.first and not changed[n].strip()}
        return
    nested = set(range(statement.last + 1, statement.end + 1)) - lines
    lines |= set(own)
    for number in range(statement.last + 1, len(page.lines) + 1):  # what is said of it below
        line = page.bare(number)
        if not line[:1].isspace() or not line.strip() or comments.without(line).strip():
            break
        lines.add(number)
    if any(page.lines[number - 1].strip() for number in nested):
        lines.discard(statement.first)
        changed[statement.first] = statement.item.rstrip()


def _says(page: Page, number: int, line: str) -> bool:
    """Whether a line outside statements still says something; it never had to, if it did not before."""
    if found := atx(page.bare(number)):
        return bool(found[1].strip() and _TELLS.search(line))
    if page.in_front(number):
        return bool(line.strip(" -\t"))
    return bool(_TELLS.search(line)) or (page.fence(number) is not None and bool(line.strip()))


def _underline(page: Page, number: int) -> set[int]:
    """The line below a heading that makes it one, if it is written so."""
    return {number + 1} if page.is_heading(number) and not atx(page.bare(number)) else set()


def _gone(page: Page, lines: set[int], changed: dict[int, str]) -> list[Gone]:
    """What goes, as it may be shown: runs of lines, and lines that lose words."""
    found: list[Gone] = []
    for number in sorted({*lines, *changed}):
        is_whole = number in lines
        last = found[-1] if found else None
        if is_whole and last and last.whole and last.last == number - 1 and not page.begins(number):
            found[-1] = last._replace(last=number)
        else:
            found.append(Gone(number, number, "", "", is_whole))
    told = (one._replace(text="\n".join(map(page.bare, range(one.first, one.last + 1)))) for one in found)
    return [one._replace(shown=page.shown(one.first, one.last)) for one in told if one.text.strip()]
