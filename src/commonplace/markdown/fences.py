"""Code fences: where they stand, in items and quotations too, and what closes one.

The blocks are those of CommonMark 0.31: a fence closes with at least as many of the same character, or ends
with the item or the quotation around it; `<!-- … -->` and `<pre>` hold no fences. Two extensions follow the
intent of writers: a fence may open behind the box or the hour of an item (`- 14:05 ~~~sh`), and a bare mark
to the left of the item closes it, unless a further mark follows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property

from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import turns

_FENCE = lazy(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_ITEM = lazy(r"(?P<mark>[-*+]|(?P<number>\d{1,9})[.)])(?P<blanks> +|$)")
_LEAD = lazy(r" *(?:\[[ xX]\] +)?(?:\d\d:\d\d +)?")
_RULE = lazy(r"(?:(?:- *+){3,}|(?:\* *+){3,}|(?:_ *+){3,})$")
_HEADING = lazy(r"#{1,6}(?: |$)")
_UNDERLINE = lazy(r" {0,3}(?:=+|-+) *$")
_HTML = lazy(r"<(?:!--|(?:pre|script|style|textarea)(?:[\s>]|$))", re.IGNORECASE)
_HTML_OPENINGS = ("<!--", "<pre", "<script", "<style", "<textarea")  # as nearly all who use any write them
_HTML_ENDS = {"<!": lazy("-->"), "<": lazy(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)}
_TICKS = "`{3,}"
_MARKS = lazy("```|~~~")
_CODE_INDENT = 4
_QUOTE = -1  # in the place of an item's width


class Fence(NamedTuple):
    """A fence by its first and last line, from 1; `lead` and `mark` are what closes it.

    `is_open` of one that the text ends in.
    """

    first: int
    last: int
    mark: str
    lead: str = ""
    is_closed: bool = True
    is_open: bool = False


def may_fence(text: str) -> bool:
    """Tell whether a text holds what may open or close a fence."""
    return "```" in text or "~~~" in text


def mark_of(line: str) -> str:
    """Return the mark of the fence that a line opens, empty for other lines."""
    match = _FENCE.match(line) if may_fence(line) else None
    return match["mark"] if match and not (match["mark"][0] == "`" and "`" in match["info"]) else ""


def closes(line: str, mark: str) -> bool:
    """Tell whether a line closes the fence opened by `mark`."""
    bare = line.strip()
    return len(bare) >= len(mark) and bare == mark[0] * len(bare) and line[:4] != "    "


def around(lines: Iterable[str]) -> str:
    """Return a mark of a fence that is longer than any in these lines."""
    return "`" * max(3, *(len(run) + 1 for line in lines for run in re.findall(_TICKS, line)), 0)


def find(
    lines: Sequence[str], skip: int = 0, *, is_part: bool = False
) -> tuple[list[Fence], list[tuple[int, int]]]:
    """Find the fences below line `skip`, and the first and last lines of comments and of `<pre>`.

    A part of a note (`is_part`) may begin at any depth.
    """
    text = "\n".join(lines)
    if not may_fence(text) and ("<" not in text or not any(map(text.__contains__, _HTML_OPENINGS))):
        return [], []
    return _Reader(lines, text, skip, is_part=is_part).read()


def left_open(lines: Sequence[str], skip: int = 0) -> Fence | None:
    """Return the fence that a text ends in: it may swallow whatever is put below."""
    found, _ = find(lines, skip)
    return found[-1] if found and found[-1].is_open else None


def closed(text: str) -> str:
    """Return a part of a text with the fence closed that it leaves open."""
    if not may_fence(text):
        return text
    end = next(reversed(marks(text.split("\n")).values()), "")
    return f"{text}\n{end}" if end else text


def marks(lines: Sequence[str]) -> dict[int, str]:
    """Return the lines (from 0) that open a fence or close one, of a part of a text, however deep it begins.

    Each has the line that would close the fence open below it, empty outside of fences.
    """
    found: dict[int, str] = {}
    for fence in find(lines, is_part=True)[0]:
        found[fence.first - 1] = fence.lead + fence.mark if fence.is_closed or fence.is_open else ""
        if fence.is_closed:
            found[fence.last - 1] = ""
    return found


class _Reader:
    """The blocks of lines, as far as fences need them; linear in the text.

    `_around` are the items and quotations around a line, by the width of their marks and indentation.
    Reading begins outside of them: at a line at the margin below a blank one.
    """

    def __init__(self, lines: Sequence[str], text: str, skip: int, *, is_part: bool = False) -> None:
        self._lines, self._skip, self._is_part = lines, skip, is_part
        marks = turns.line_numbers(text, (mark.start() for mark in _MARKS.finditer(text)))
        self._marks = list(dict.fromkeys(marks))  # the lines that may open or close a fence
        self._html_lines = set(turns.line_numbers(text, (tag.start() for tag in _HTML.finditer(text))))
        self._deepest = len(max(lines, key=len, default="")) + 1 if is_part else _CODE_INDENT
        self._found: list[Fence] = []
        self._silent: list[tuple[int, int]] = []
        self._around: list[int] = []
        self._is_paragraph = False
        self._begun = 0  # the line of an item that is empty so far
        self._fence: Fence | None = None
        self._is_sure = True  # whether the fence counts without a closing mark
        self._html, self._html_from = "", 0  # what ends the HTML that is read, and its first line

    def read(self) -> tuple[list[Fence], list[tuple[int, int]]]:
        """Read the lines around what may be a fence, a comment or `<pre>`."""
        lines, number = self._lines, self._skip
        for sign in sorted({*self._marks, *self._html_lines}):
            if sign <= number:
                continue
            fresh = sign
            while fresh > number + 1 and (lines[fresh - 1][:1].isspace() or lines[fresh - 2].strip()):
                fresh -= 1
            if fresh > number + 1:
                self._around, self._is_paragraph = [], False
            for at in range(fresh, sign + 1):
                self._line(at, lines[at - 1])
            number = sign
            while (self._fence or self._html) and number < len(lines):
                number = self._next(number)
                if number <= len(lines):
                    self._line(number, lines[number - 1])
        self._end(len(lines), is_last=True)
        return self._found, self._silent

    def _next(self, number: int) -> int:
        """The next line to look at; in a fence at the margin only marks count."""
        if not self._fence or self._around:
            return number + 1
        place = bisect_right(self._marks, number)
        return self._marks[place] if place < len(self._marks) else len(self._lines) + 1

    def _line(self, number: int, line: str) -> None:
        """Read a line inside of the items and quotations around it."""
        if "\t" in line:
            line = line.expandtabs(_CODE_INDENT)
        goes_on, at = self._goes_on(line)
        if self._fence or self._html:
            if goes_on == len(self._around):
                self._inside(number, line[at:])
                return
            if self._fence and self._is_end(number, line[at:]):
                self._around = self._around[:goes_on]
                self._close(number)
                return
            self._end(number - 1)
        if not line[at:].strip():
            is_empty = self._begun == number - 1 and goes_on == len(self._around)
            self._around = self._around[: goes_on - is_empty]
            self._is_paragraph = False
            return
        self._open(number, line, goes_on, at)

    def _goes_on(self, line: str) -> tuple[int, int]:
        """How many of the items and quotations around go on in a line, and where its own text begins."""
        at, last = 0, len(line.rstrip())
        for place, width in enumerate(self._around):
            depth = _blanks(line, at)
            if width == _QUOTE:
                if depth >= _CODE_INDENT or line[at + depth : at + depth + 1] != ">":
                    return place, at
                at += depth + 1
                at += line[at : at + 1] == " "
            elif depth >= width:
                at += width
            elif at + depth < last:
                return place, at
        return len(self._around), at

    def _inside(self, number: int, text: str) -> None:
        """Read a line of the fence or the HTML that is open."""
        if self._fence:
            if closes(text.lstrip() if self._is_part else text, self._fence.mark):
                self._close(number)
        elif _HTML_ENDS[self._html].search(text):
            self._silent.append((self._html_from, number))
            self._html = ""

    def _is_end(self, number: int, text: str) -> bool:
        """Tell whether a line to the left of a fence's item closes the fence rather than open one."""
        if not self._fence or not closes(text, self._fence.mark):
            return False
        place = bisect_right(self._marks, number)
        return place == len(self._marks) or not closes(self._lines[self._marks[place] - 1], text.strip())

    def _close(self, number: int) -> None:
        if self._fence:
            self._found.append(self._fence._replace(last=number))
        self._fence, self._is_paragraph = None, False

    def _end(self, number: int, *, is_last: bool = False) -> None:
        """End the open fence with its item or quotation; HTML without an end is text."""
        if self._fence and self._is_sure:
            self._found.append(self._fence._replace(last=number, is_closed=False, is_open=is_last))
        self._fence, self._html = None, ""

    def _open(self, number: int, line: str, goes_on: int, at: int) -> None:
        """Read a line outside of code: the items and quotations it opens, then what is in them."""
        opened: list[int] = []
        is_paragraph = self._is_paragraph and goes_on == len(self._around)
        while (depth := _blanks(line, at)) < self._deepest:
            width = self._width(line, at, depth, is_paragraph=is_paragraph and not opened)
            if not width:
                break
            opened.append(width)
            at += width if width != _QUOTE else depth + 1 + (line[at + depth + 1 : at + depth + 2] == " ")
        text = line[at:]
        if opened:
            self._around[goes_on:] = opened
            self._begun = 0 if text.strip() else number
            self._is_paragraph = False
        elif is_paragraph and _UNDERLINE.match(text):
            self._is_paragraph = False
            return
        elif self._is_paragraph and self._goes_with(text):
            return
        else:
            del self._around[goes_on:]
        self._leaf(number, line, at, is_item=bool(opened) and opened[-1] != _QUOTE)

    def _width(self, line: str, at: int, depth: int, *, is_paragraph: bool) -> int:
        """Return the width of an item's mark with its blanks, _QUOTE for a quotation, 0 for other text."""
        bare = line[at + depth :]
        if bare[:1] == ">":
            return _QUOTE
        match = _ITEM.match(bare)
        if not match or _RULE.match(bare):
            return 0
        is_empty = match.end() >= len(bare.rstrip())
        if is_paragraph and (is_empty or int(match["number"] or 1) != 1):
            return 0
        blanks = len(match["blanks"])
        return depth + len(match["mark"]) + (1 if is_empty or blanks > _CODE_INDENT else blanks)

    def _goes_with(self, text: str) -> bool:
        """Tell whether a line continues a paragraph, also without the marks of the items around it."""
        bare = text.lstrip()
        return len(text) - len(bare) >= self._deepest or not (mark_of(bare) or _is_block(bare))

    def _leaf(self, number: int, line: str, at: int, *, is_item: bool) -> None:
        """Read what opens behind the marks of items and quotations."""
        text = line[at:]
        bare = text.lstrip()
        depth = len(text) - len(bare)
        self._is_paragraph = False
        if not bare or depth >= self._deepest:
            return
        lead = _LEAD.match(bare) if is_item and bare[0] in "[0123456789" else None
        self._is_sure = not lead or not lead.end()
        if mark := mark_of(bare[lead.end() :] if lead else bare):
            self._fence = Fence(number, number, mark, re.sub(r"[^>\s]", " ", line[: at + depth]))
            return
        kind = bare[:2] if bare.startswith("<!") else "<"
        if _HTML.match(bare) and self._last_ends[kind] >= number:
            self._html, self._html_from = kind, number
            self._inside(number, bare)
        else:
            self._is_paragraph = not _is_block(bare)

    @cached_property
    def _last_ends(self) -> dict[str, int]:
        """The last line that ends each kind of HTML; behind it what opens one is text."""
        lines = [*enumerate(self._lines, 1)]
        found = {kind: [n for n, line in lines if end.search(line)] for kind, end in _HTML_ENDS.items()}
        return {kind: numbers[-1] if numbers else 0 for kind, numbers in found.items()}


def _is_block(bare: str) -> bool:
    """Tell whether a line without its indent is a heading, a rule or the beginning of HTML."""
    return any(kind.match(bare) for kind in (_HEADING, _RULE, _HTML))


def _blanks(line: str, at: int) -> int:
    """How many blanks stand at a place of a line."""
    return len(line) - at - len(line[at:].lstrip(" "))
