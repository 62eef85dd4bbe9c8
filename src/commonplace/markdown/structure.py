"""The blocks of Markdown lines: items, headings, sections, and the labels of who says a line.

Headings, ATX and setext, are those of CommonMark 0.31 that stand at the margin; fences are found by `fences`.
All of it is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter

from commonplace.base.expressions import lazy
from commonplace.markdown import fences, turns

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.markdown.fences import Fence
    from commonplace.types import Heading, Note, Section

ITEM = lazy(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
# A line that may be a heading, or underline one, behind a newline, which `re` finds fast.
_SIGNS = lazy(r"\n(?:#{1,6}(?=[ \t\n]|\Z)|(?:=+|-+)[ \t]*(?=\n|\Z))")
_MOST_HEADINGS = 100_000  # what stands behind them is text: each is a section, and costs as one
# HTML in headings, unlike `List<String>`.
_TAG = lazy(
    r"</?(?:a|img|b|i|em|strong|code|kbd|br|sub|sup|span|small|u|p|div|center|picture|source)(?:[\s/][^<>]*)?>",
    re.IGNORECASE,
)
_LINK = lazy(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
_ATX = lazy(r"(#{1,6})(?:[ \t]+(.*))?")
_SETEXT = lazy(r"(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = lazy(r"[-*+>|]|\d+[.)]|_(?:[ \t]*_){2,}[ \t]*$|\s|$")
_ANCHOR = lazy(r"[ \t]+\{#[\w:.-]+\}$")  # {#name} behind a heading, by which links name it
_OPENS_ATX = lazy(r"#{1,6}(?:[ \t]|\Z)")
# A line of images alone, as Markdown or HTML, whatever they link to.
_IMAGES = lazy(
    r"(?:\[?+(?:!\[[^\[\]]*+\](?:\([^()]*+\)|\[[^\[\]]*+\])|<img\b[^<>]*+>)"
    r"(?:\]\([^()]*+\)|(?!))?+\s*+|(?!))++$"
)
# The marks of a quotation; what opens a callout in it; the name that a link gives a block, at its end.
_QUOTATION = lazy(r"(?:[ \t]*>)+[ \t]?")
CALLOUT = lazy(r"\[![^\[\]\n]{1,100}\][-+]?(?:[ \t]+|$)")
_NAMED = lazy(r"[ \t]+(\^[A-Za-z0-9-]{1,100})(?=[ \t]*(?:<!--(?:(?!-->).)*-->[ \t]*)*$)")
# A row of a table, and the one below its header.
ROW = lazy(r"\s*\|")
DIVIDER = lazy(r"\s*\|?[\s|:-]*-[\s|:-]*$")
SILENT_ENDS = frozenset("-*_)]>")  # the last character of a silent line without \u200e
# A row of a table, a rule, a property of an outline's block, the name of a block alone.
_SILENT = lazy(r"\s*\|| {0,3}(?:[-*_][ \t]*){3,}$|[ \t]+[\w./-]+::(?:\s|$)|\s*\^[A-Za-z0-9-]+\s*$")
_MARKS = r"(?:[-*+•]\s+|#{1,6}\s+|>\s*|\d{1,3}[.)]\s+)+"
_LINE = attrgetter("line")


indent = fences.indent


def width(line: str) -> int:
    """Return the size of a line in UTF-8: a CJK character counts as three."""
    return len(line) if line.isascii() else len(line.encode("utf-8", "replace"))


# --- headings -------------------------------------------------------------------------------------------


def atx(line: str) -> tuple[int, str] | None:
    """Return level (1 to 6) and text of a heading; None for other lines."""
    match = _ATX.fullmatch(line)
    return (len(match[1]), unclosed(match[2] or "")) if match else None


def setext(text: str, under: str) -> tuple[int, str] | None:
    """Return level (1 or 2) and text of a heading that the line below underlines; None for no heading."""
    if under.strip("-= \t") or not (match := _SETEXT.match(under)) or _NOT_PARAGRAPH.match(text):
        return None
    return 1 if match[1][0] == "=" else 2, text.strip()


def unmarked(line: str) -> str:
    """Return a line without the marks of items, headings and quotations that it begins with."""
    marks = re.match(_MARKS, line)
    return line[marks.end() if marks else 0 :].strip()


def quoted(line: str) -> int:
    """Return the place behind the quotation marks of a line; 0 outside of quotations."""
    quotation = _QUOTATION.match(line) if line.lstrip()[:1] == ">" else None
    return quotation.end() if quotation else 0


def opening(line: str) -> int:
    """Return where the words of an entry begin: behind quotation marks, and that of a list or a callout."""
    start = quoted(line)
    mark = ITEM.match(line, start) or (CALLOUT.match(line, start) if start else None)
    return mark.end() if mark else len(line) - len(line[start:].lstrip())


def unnamed(line: str) -> tuple[str, str]:
    """Return a line without the name that links give its block (`^name` at the end), and that name."""
    name = _NAMED.search(line) if "^" in line else None
    return (line[: name.start()] + line[name.end() :], name[1]) if name else (line, "")


def unclosed(text: str) -> str:
    """Strip a heading's text, and the run of `#` that may close it."""
    text = text.strip()
    if not text or text[-1] != "#":
        return text
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()


def plain(text: str) -> str:
    """Return a heading's text as it is read: without HTML tags and anchor, of links and images the words."""
    if "<" in text:
        text = _TAG.sub("", text)
    for _ in range(2 if "](" in text else 0):  # an image may be what a link shows
        text = _LINK.sub(r"\1", text)
    if text.endswith("}"):
        text = _ANCHOR.sub("", text)
    return " ".join(text.split()) if "  " in text else text.strip()


def is_silent(line: str) -> bool:
    """Tell whether a line is a rule, images alone, or an export's placeholder for a picture."""
    bare = line.strip()
    end = bare[-1:]
    if end in "-*_)]>" and bare[:1] in "-*_![<" and (fences.RULE.match(bare) or _IMAGES.match(bare)):
        return True
    return (end in ">]" or "\u200e" in bare) and turns.is_remark(bare)


# --- blocks ---------------------------------------------------------------------------------------------


def read(lines: Sequence[str], skip: int = 0) -> tuple[list[Heading], list[Fence]]:
    """Find headings, the first 100,000, and fences below line `skip`; lines are 1-based and inclusive."""
    from commonplace.types import Heading  # a search knows who says a line, and reads no note

    headings: list[Heading] = []
    found, silent = fences.find(lines, skip)
    passed = sorted([*((one.first, one.last) for one in found), *silent], reverse=True)
    text = "\n".join(["", *lines])
    for number in turns.line_numbers(text, (sign.start() for sign in _SIGNS.finditer(text))):
        while passed and passed[-1][1] < number:
            skip = passed.pop()[1]  # neither the end of a fence nor a heading is the text of another
        if number <= skip or (passed and passed[-1][0] <= number) or len(headings) >= _MOST_HEADINGS:
            continue
        line, is_atx = lines[number - 1], lines[number - 1][0] == "#"
        match = atx(line) if is_atx else setext(lines[number - 2], line) if number >= 2 + skip else None
        if match:
            headings.append(Heading(match[0], plain(match[1]), number if is_atx else number - 1))
            skip = number
    return headings, found


# --- sections -------------------------------------------------------------------------------------------


def sections(note: Note) -> list[Section]:
    """Cut a note at its headings; a section starts with its heading's line.

    Front matter, and the lines before the first heading, form sections without headings.
    """
    from commonplace.types import Section

    last = len(note.lines)
    found: list[Section] = []
    first = 1
    if note.front_matter:
        found.append(Section((), 1, note.front_matter[1]))
        first = note.front_matter[1] + 1
    if first <= (before := note.headings[0].line - 1 if note.headings else last):
        found.append(Section((), first, before))
    path: list[tuple[int, str]] = []
    ends = [*(heading.line - 1 for heading in note.headings[1:]), last]
    for heading, end in zip(note.headings, ends, strict=False):
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.text))
        found.append(Section(tuple(text for _, text in path if text), heading.line, end))
    return found


def is_underlined(note: Note, heading: Heading) -> bool:
    """Tell whether a heading takes two lines, as setext ones do."""
    return not _OPENS_ATX.match(note.lines[heading.line - 1])


def heading_lines(note: Note, section: Section | None = None) -> set[int]:
    """Return the lines of a note, or of a section, that are headings; underlines of setext ones included."""
    found: set[int] = set()
    place, last = 0, len(note.lines)
    if section is not None:
        place, last = bisect_left(note.headings, section.start_line, key=_LINE), section.end_line
    # Not over a slice, which would copy all further headings for every section.
    while place < len(note.headings) and (line := note.headings[place].line) <= last:
        found.add(line)
        if is_underlined(note, note.headings[place]):
            found.add(line + 1)
        place += 1
    return found


def extents(headings: Sequence[Heading], total: int) -> dict[int, tuple[int, int]]:
    """Return the lines of all that stands under each heading, its further headings included, by its line.

    `total` is how many lines there are.
    """
    found: dict[int, tuple[int, int]] = {}
    around: list[tuple[int, int]] = []  # levels and lines of headings that go on
    for level, line in [*((h.level, h.line) for h in headings), (0, total + 1)]:
        while around and around[-1][0] >= level:
            first = around.pop()[1]
            found[first] = first, line - 1
        around.append((level, line))
    return found


def lines_of(*spans: tuple[int, int] | None) -> set[int]:
    """Return the lines in fences and front matter, given by first and last; None stands for no lines."""
    return {number for span in spans if span for number in range(span[0], span[1] + 1)}


def begins_entry(line: str) -> bool:
    """Tell whether a line begins what stands by itself: a list item, or what somebody says."""
    if ITEM.match(line):
        return True
    return (":" in line or "：" in line) and turns.speaker(line) is not None


# --- what stands by itself ------------------------------------------------------------------------------


class StatementLines:
    """Where a statement stands: `first` to `last` are its own lines, and what is nested in it ends at `end`.

    A silent place is a fence, a row of a table or a rule. `outer` is the item around it.
    """

    __slots__ = ("_indent", "depth", "end", "first", "is_item", "is_silent", "last", "marks", "outer")

    def __init__(self, number: int, line: str, start: int, *, is_silent: bool) -> None:
        self.first = self.last = self.end = number
        self.depth, self.marks = indent(line), line.count(">", 0, start) if start else 0
        self._indent = indent(line[start:]) if start else self.depth
        self.is_silent, self.is_item = is_silent, ITEM.match(line, start) is not None
        self.outer: StatementLines | None = None

    def holds(self, other: StatementLines) -> bool:
        """Tell whether this is an item, and another place is indented more."""
        less = self._indent < other._indent if self.marks == other.marks else self.depth < other.depth
        return self.is_item and self.marks <= other.marks and less


def placed(note: Note) -> Iterator[tuple[Section, list[StatementLines]]]:
    """Yield each section of a note but its front matter, with the places below its heading."""
    fenced, headings = lines_of(*note.fences), heading_lines(note)
    for section in sections(note):
        first, last = section.start_line, section.end_line
        if not note.front_matter or first > 1:
            yield (
                section,
                places(note.lines, [n for n in range(first, last + 1) if n not in headings], fenced),
            )


def places(lines: Sequence[str], numbers: Sequence[int], fenced: Collection[int]) -> list[StatementLines]:
    """Return the places in some lines of a section, in order, silent ones included.

    `fenced` are the lines that are in fences.
    """
    places: list[StatementLines] = []
    gap, marks = True, 0
    for number in numbers:
        line = lines[number - 1]
        start = quoted(line) if ">" in line else 0
        text = line[start:] if start else line
        if number in fenced and number - 1 in fenced:
            gap = True
            if places:
                places[-1].last = number
        elif not text or text.isspace():
            gap = True
        else:
            is_silent = number in fenced or _SILENT.match(text) is not None
            before, marks = marks, line.count(">", 0, start) if start else 0
            if gap or is_silent or marks != before or begins_entry(text):
                places.append(StatementLines(number, line, start, is_silent=is_silent))
            places[-1].last = number
            gap = is_silent or (start > 0 and CALLOUT.match(text) is not None)
    _nest(places)
    return places


def _nest(places: Sequence[StatementLines]) -> None:
    """Say of each place where it ends, and in which item it stands: an item holds what is indented more."""
    around: list[StatementLines] = []  # that a line may belong to, outermost first: paragraphs only on top
    last = 0
    for place in places:
        while around and not around[-1].holds(place):
            around.pop().end = last
        place.outer = around[-1] if around else None
        if not place.is_silent:
            around.append(place)
        last = place.last
    for place in around:
        place.end = last
