"""Code fences: where they stand, in items and quotations too, and what closes one.

Blocks are those of CommonMark 0.31 as far as writers use them: a fence closes with at least as many of the
same character, or ends with the item or the quotation around it; `<!-- … -->` and `<pre>` hold no fences.
Two extensions: a fence may open behind the box or the hour of an item (`- 14:05 ~~~sh`), and a bare mark to
the left of the item closes it, unless a further mark follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import turns

# The opening of a fence: quotation marks, items, the box and the hour of one, then the mark and the language.
_OPENS = lazy(
    r"(?P<quote>[ >]*)(?P<items>(?:(?:[-*+]|\d{1,9}[.)]) +)*)(?P<lead>(?:\[[ xX]\] +)?(?:\d\d:\d\d +)?)"
    r"(?P<mark>`{3,}(?=[^`]*$)|~{3,})"
)
_ITEM = lazy(r" *(?:[-*+]|\d{1,9}[.)])(?: +|$)")
RULE = lazy(r" {0,3}(?:(?:- *+){3,}|(?:\* *+){3,}|(?:_ *+){3,})$")
_BLOCK = lazy(r" {0,3}(?:>|#{1,6}(?: |$)|`{3}[^`]*$|~{3})")
_MARKS = lazy("(?:```|~~~).*")  # the first of each line
# Comments and elements whose content is no Markdown.
_HTML = lazy(r"<(?:!--|(?:pre|script|style|textarea)(?:[\s>]|$))", re.IGNORECASE | re.MULTILINE)
_HTML_OPENINGS = ("<!--", "<pre", "<script", "<style", "<textarea")  # as nearly all who use any write them
_HTML_ENDS = {"!": lazy("-->"), "": lazy(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)}
_CODE_INDENT = 4
_QUOTED = -1  # in the place of the width of an item
_MOST_LINES = 500  # that are looked at for the item around an indented fence


class Fence(NamedTuple):
    """A fence by its first and last line, from 1; `end` is the line that would close it.

    `is_open` of one that the text ends in.
    """

    first: int
    last: int
    end: str
    is_open: bool = False


def may_fence(text: str) -> bool:
    """Tell whether a text holds what may open or close a fence."""
    return "```" in text or "~~~" in text


def opens(line: str) -> bool:
    """Tell whether a line opens a fence at the margin."""
    return line[:3] in ("```", "~~~") and _OPENS.match(line) is not None


def around(lines: Iterable[str]) -> str:
    """Return a mark of a fence that is longer than any in these lines."""
    return "`" * max(3, *(len(run) + 1 for line in lines for run in re.findall("`{3,}", line)), 0)


def find(lines: Sequence[str], skip: int = 0) -> tuple[list[Fence], list[tuple[int, int]]]:
    """Find the fences below line `skip`, and the first and last lines of comments and of `<pre>`."""
    text = "\n".join(lines)
    has_html = "<" in text and any(map(text.__contains__, _HTML_OPENINGS))
    if not has_html and not may_fence(text):
        return [], []
    found, silent, done = list[Fence](), list[tuple[int, int]](), skip
    # Where each kind of HTML ends last: what opens it further below is text.
    ends = {
        kind: max((end.start() for end in ends.finditer(text)), default=-1)
        for kind, ends in _HTML_ENDS.items()
    }
    places = [sign.start() for sign in _MARKS.finditer(text)]
    if has_html:
        places += (tag.start() for tag in _HTML.finditer(text))
        places.sort()
    for number, place in zip(turns.line_numbers(text, places), places, strict=True):
        if number <= done:
            continue
        if text[place] == "<":
            kind = "!" if text[place + 1] == "!" else ""
            before = text[text.rfind("\n", 0, place) + 1 : place]
            if place < ends[kind] and not (before.strip(" \t>") and not _ITEM.fullmatch(before)):
                end = _HTML_ENDS[kind].search(text, place)
                done = number + text.count("\n", place, end.end() if end else place)
                silent.append((number, done))
        elif fence := _fence(lines, number, done):
            found.append(fence)
            done = fence.last
    return found, silent


def _fence(lines: Sequence[str], number: int, done: int) -> Fence | None:
    """Return the fence that a line opens; the last one ended in line `done`."""
    line = lines[number - 1].expandtabs(_CODE_INDENT)
    match = _OPENS.match(line)
    if match is None or (match["lead"] and not match["items"]):
        return None
    width, depth = match.start("lead"), len(match["quote"]) - match["quote"].rfind(">") - 1
    if not match["items"]:
        above = lines[max(done, number - _MOST_LINES) : number - 1] if depth else ()
        if ">" in match["quote"]:
            above = [one.replace(">", " ") for one in above]
        width = _item_above(above, match.start("mark"))
        if match.start("mark") - width >= _CODE_INDENT and depth >= _CODE_INDENT:
            return None
    end = re.sub(r"[^>]", " ", line[: match.start("mark")]) + match["mark"]
    last, is_closed = _end(lines, number, match["mark"], _QUOTED if ">" in match["quote"] else width)
    if match["lead"] and not is_closed:
        return None
    return Fence(number, last, end, is_open=not is_closed and last == len(lines))


def _end(lines: Sequence[str], first: int, mark: str, width: int) -> tuple[int, bool]:
    """Return the last line of a fence, and whether it closes it; its item's text is indented by `width`."""
    for at in range(first + 1, len(lines) + 1):
        own = lines[at - 1]
        bare = own.strip(" \t>" if width == _QUOTED else None)
        is_outside = own.lstrip()[:1] != ">" if width == _QUOTED else bool(bare) and indent(own) < width
        if may_fence(bare) and _closes(bare, mark):
            if not is_outside and (width == _QUOTED or indent(own) - width < _CODE_INDENT):
                return at, True
            below = next(filter(may_fence, (lines[n] for n in range(at, len(lines)))), "")
            if is_outside and width != _QUOTED and not _closes(below.strip(), bare):
                return at, True
        if is_outside:
            return at - 1, False
    return len(lines), False


def _item_above(lines: Sequence[str], column: int) -> int:
    """Return where the text begins of the item that a column below some lines is in; 0 outside of items."""
    for at in range(len(lines) - 1, -1, -1):
        line, before = lines[at].expandtabs(_CODE_INDENT), lines[at - 1] if at else ""
        item, is_rule = _ITEM.match(line), RULE.match(line) is not None
        if not line.strip() or (_ITEM.fullmatch(line) and before.strip() and not _ITEM.match(before)):
            continue  # no empty item interrupts a paragraph
        if item and not is_rule and item.end() <= column:
            return item.end()
        is_first = not before.strip() or _ITEM.fullmatch(before) is not None
        if item or is_rule or is_first or _BLOCK.match(line):  # no line that continues a paragraph
            column = min(column, indent(line))
    return 0


def _closes(bare: str, mark: str) -> bool:
    return len(bare) >= len(mark) and bare == mark[0] * len(bare)


def indent(line: str) -> int:
    """Return how many columns a line is indented; a tab reaches to the next fourth one."""
    line = line.expandtabs(_CODE_INDENT) if "\t" in line else line
    return len(line) - len(line.lstrip())


def unclosed(lines: Sequence[str], skip: int = 0) -> Fence | None:
    """Return the fence that a text ends in: it may swallow whatever is put below."""
    found, _ = find(lines, skip)
    return found[-1] if found and found[-1].is_open else None


def closed(text: str) -> str:
    """Return a part of a text with the fence closed that it leaves open."""
    if not (match := _OPENS.match(left_open(text.split("\n")).expandtabs(_CODE_INDENT))):
        return text
    return "\n".join([text, re.sub("[^>]", " ", match[0][: match.start("mark")]) + match["mark"]])


def left_open(lines: Iterable[str]) -> str:
    """Return the line that opens the fence in which a part of a text ends, else an empty text."""
    opened = mark = ""
    for line in filter(may_fence, lines):
        if mark and _closes(line.strip(" \t>"), mark):
            opened = mark = ""
        elif not mark and (match := _OPENS.match(line.expandtabs(_CODE_INDENT))):
            opened, mark = line, match["mark"]
    return opened
