"""The blocks of Markdown lines: items, headings, sections, and the labels of who says a line.

Blocks follow CommonMark 0.31 where it matters for memory: ATX and setext headings, what `fences` finds.
All of it is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from commonplace.base.expressions import lazy
from commonplace.markdown import fences, turns

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.markdown.fences import Fence
    from commonplace.types import Heading, Note, Section

ITEM = lazy(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
# A line that may be a heading, or underline one, behind a newline, which `re` finds fast.
_SIGNS = lazy(r"\n {0,3}(?:#{1,6}(?=[ \t\n]|\Z)|(?:=+|-+)[ \t]*(?=\n|\Z))")
_MARGIN_ITEM = lazy(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_LONGEST_ITEM = 500  # lines that are looked back at; what is longer is no entry
_MOST_HEADINGS = 100_000  # what stands behind them is text: each is a section, and costs as one
# HTML in headings, unlike `List<String>`.
_TAG = lazy(
    r"</?(?:a|img|b|i|em|strong|code|kbd|br|sub|sup|span|small|u|p|div|center|picture|source)(?:[\s/][^<>]*)?>",
    re.IGNORECASE,
)
_LINK = lazy(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
_ATX = lazy(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_SETEXT = lazy(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = lazy(r" {0,3}(?:[-*+>|]|\d+[.)]|_(?:[ \t]*_){2,}[ \t]*$)|\s{4}|\s*$")
_ANCHOR = lazy(r"[ \t]+\{#[\w:.-]+\}$")  # {#name} behind a heading, by which links name it
_OPENS_ATX = lazy(r" {0,3}#{1,6}(?:[ \t]|\Z)")
# A rule, and a line of images alone, as Markdown or HTML, whatever they link to.
RULE = lazy(r" {0,3}(?:(?:-[ \t]*+){3,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,})$")
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
    if end in "-*_)]>" and bare[:1] in "-*_![<" and (RULE.match(bare) or _IMAGES.match(bare)):
        return True
    return (end in ">]" or "\u200e" in bare) and turns.is_remark(bare)


# --- blocks ---------------------------------------------------------------------------------------------


def read(lines: Sequence[str], skip: int = 0) -> tuple[list[Heading], list[Fence]]:
    """Find headings, the first 100,000, and fences below line `skip`; lines are 1-based and inclusive."""
    from commonplace.types import Heading  # a search knows who says a line, and reads no note

    headings: list[Heading] = []
    found, silent = fences.find(lines, skip)
    passed = sorted([*((one.first, one.last) for one in found), *silent], reverse=True)
    margins: list[int] = []
    text = "\n".join(["", *lines])
    for number in turns.line_numbers(text, (sign.start() for sign in _SIGNS.finditer(text))):
        while passed and passed[-1][1] < number:
            skip = passed.pop()[1]  # neither the end of a fence nor a heading is the text of another
        if number <= skip or (passed and passed[-1][0] <= number):
            continue
        if len(headings) < _MOST_HEADINGS and (heading := _heading(lines, number, skip, margins)):
            headings.append(Heading(*heading))
            skip = number
    return headings, found


def _heading(lines: Sequence[str], number: int, skip: int, margins: list[int]) -> tuple[int, str, int] | None:
    """Level, text and line of the heading that a line is, or that it underlines.

    `margins` are filled with the lines, from 0, that begin at the margin, where they are needed.
    """
    line, first = lines[number - 1], number
    if "#" in line[:4]:
        match = atx(line)
    else:
        match = setext(lines[number - 2], line) if number >= 2 + skip else None
        first = number - 1
    if match is None:
        return None
    if line[0] == " ":  # an indented line may belong to the item above it, as further lines of an entry do
        if not margins:
            margins += [at for at, text in enumerate(lines) if text and not text[0].isspace()]
        above = bisect_left(margins, number - 1) - 1
        opener = margins[above] if above >= 0 else -1
        if opener >= max(skip, number - _LONGEST_ITEM) and _MARGIN_ITEM.match(lines[opener]):
            return None
    return match[0], plain(match[1]), first


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
