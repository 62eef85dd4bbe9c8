"""Lines as a screen should break them: what an editor broke at its margin is one line again.

Code, tables, headings, items, quotations, turns of a chat and breaks that were meant stay as they are. A
break was the editor's where the first word of the next line did not fit any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commonplace.base.expressions import lazy
from commonplace.markdown import fences, structure, turns
from commonplace.render import screen
from commonplace.render.screen import Flowing

LEAST_CELLS = 40  # of the longest line of a paragraph; where all are shorter, whoever wrote them broke them
_CODE_INDENT = 4
# What begins a line of its own: HTML, a quotation, a footnote, a time or a day, a setext underline.
_BEGINS = lazy(r"\s*(?:[<>|]|\[\^|\[?\d{1,4}[-:./年]\d|={3,}\s*$|-{3,}\s*$)")
_ENDS = ("  ", "\\", ":", "：", "-->", "|")  # what ends a line that was meant to end there
_WORD = lazy(r"\s*(\S+)")


def flow(lines: Sequence[str]) -> list[Flowing]:
    """Join what was one line before an editor broke it; linear in the text."""
    fixed = _fixed(lines)
    goes_on = [
        at > 0 and not (fixed[at] or fixed[at - 1]) and _may_follow(lines[at - 1], line)
        for at, line in enumerate(lines)
    ]
    broken: list[range] = []  # the lines that each line was broken into
    for first, last in _runs(goes_on):
        width = max(map(screen.cells, lines[first:last]))
        for at in range(first, last):
            if at > first and width >= LEAST_CELLS and not _fits(lines[at - 1], lines[at], width):
                broken[-1] = range(broken[-1].start, at + 1)
            else:
                broken.append(range(at, at + 1))
    return [
        Flowing(
            one.start,
            _joined(lines[one.start : one.stop]),
            not (fixed[one.start] or structure.ROW.match(lines[one.start])),
        )
        for one in broken
    ]


def _runs(goes_on: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The lines, half-open, of each paragraph."""
    first = 0
    for at in range(1, len(goes_on) + 1):
        if at == len(goes_on) or not goes_on[at]:
            yield first, at
            first = at


def _fixed(lines: Sequence[str]) -> list[bool]:
    """Which lines are front matter or code, fenced or indented, the marks of fences included."""
    marks, fixed = fences.marks(lines), []
    in_fence, in_list, in_code = False, False, False
    front = bool(lines) and lines[0].rstrip() == "---" and "---" in map(str.rstrip, lines[1:])
    for at, line in enumerate(lines):
        if at in marks:
            in_fence = bool(marks[at])
        if structure.ITEM.match(line):
            in_list = True
        elif line.strip() and not line[0].isspace():
            in_list = False
        is_deep = structure.indent(line) >= _CODE_INDENT and not in_list
        in_code = is_deep and (in_code or at == 0 or not lines[at - 1].strip())
        fixed.append(front or in_fence or at in marks or in_code)
        front = front and (at == 0 or line.rstrip() != "---")
    return fixed


def _may_follow(above: str, line: str) -> bool:
    """Whether a line may be what the one above it went on with."""
    if not above.strip() or not line.strip() or above.endswith(_ENDS):
        return False
    if _BEGINS.match(line) or structure.ITEM.match(line) or structure.RULE.match(above):
        return False
    if structure.atx(line) or structure.atx(above) or above.lstrip()[:1] in "<>|":
        return False
    return not any(turns.opening(one, chat=True) or turns.stamped(one) for one in (above, line))


def _fits(above: str, line: str, width: int) -> bool:
    """Whether the first word of a line, or its first wide characters, would have stood in the one above."""
    match = _WORD.match(line)
    word = match[1] if match else ""
    size = screen.cells(word)
    if word and screen.cells(word[0]) > 1:
        size = min(size, 4)  # a wide character, and punctuation that clings to it
    return screen.cells(above) + 1 + size <= width


def _joined(lines: Sequence[str]) -> str:
    """Join lines with a blank, or with none where both are wide, as Chinese is written."""
    if len(lines) == 1:
        return lines[0]
    parts = [lines[0].rstrip()]
    for line in map(str.strip, lines[1:]):
        is_wide = screen.cells(parts[-1][-1:]) > 1 and screen.cells(line[:1]) > 1
        parts += ["" if is_wide else " ", line]
    return "".join(parts)
