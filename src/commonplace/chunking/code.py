"""Programs cut into sections and passages: definitions by themselves, what lies between them in groups.

A section is a definition of several lines, or the lines of one (a class, the file) that its own definitions
leave. Its headings are the file's name and the names of the definitions around it. Definitions are found by
the words that open them, and reach as far as what is indented below. A section that is too large is cut
between paragraphs, where the indentation is least.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

from commonplace.base.tuples import NamedTuple
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.markdown import structure
from commonplace.types import Note, Passage, Section

# Larger files are generated or minified, without structure in their indentation.
_WIDEST, _LARGEST = 400, 4_000_000  # characters a line on average, characters of a file
_LEAST_FILL = 4  # a passage has at least this part of the limit
_UNEVEN = 3.0  # what a passage costs that is off its share by the limit, against levels of indentation
# Cost of a cut, besides one for each level of indentation.
PARAGRAPH, CLOSER, COMMENT, STRING = 0.5, 2.0, 6.0, 6.0
_DEEPEST = 6  # names of a heading path; what is nested deeper belongs to the last of them
_INDENT = 4  # columns that count as one level
_LONGEST_NAME, _LONGEST_LINE = 80, 1_000
_MOST_LEADERS = 200  # lines above a definition that are looked at for comments and decorators
_CLOSES = re.compile(r"[\s)\]}>;,]*(?:(?:else|finally)\b[\s{:]*)?")
_COMMENTED = re.compile(r"\s*(?:#|//|/?\*)")
_QUOTES = re.compile("\"\"\"|'''")
_LEADS = ("#", "//", "/*", "*", "@")
_BEFORE = (
    r"[ \t]*(?:(?:export|default|declare|abstract|async|static|public|private|protected|readonly|override"
    r"|unsafe|const|pub(?:\([^()]*\))?)[ \t]+)*"
)
# Openings of definitions in Python, JavaScript, TypeScript, Go and Rust, and whether these are looked into.
_DEFINITIONS = [
    (re.compile(_BEFORE + form), is_class)
    for form, is_class in (
        (r"(?:class|namespace|module|trait|mod)[ \t]+([\w$.]+)", True),
        (r"impl\b(?:<[^{]*?>)?[ \t]+(?:[^{]*?[ \t]for[ \t]+)?([\w:]+)", True),
        (r"(?:interface|enum|type|struct|union)[ \t]+([\w$]+)", False),
        (r"([A-Z]\w*)[ \t]+(?:struct|interface)[ \t]*\{", False),
        (r"func[ \t]+\((?:\w+[ \t]+)?\*?(\w+)[^()]*\)[ \t]*(\w+)", False),
        (r"(?:def|function\b[ \t]*\*?|fn|func|macro_rules!)[ \t]*([\w$]+)", False),
        (r"(?:(?:let|var|const)[ \t]+)?([\w$.]+)[^=(]*=[ \t]*(?:async\b[ \t]*)?class\b", True),
        (
            r"(?:(?:let|var|const)[ \t]+)?([\w$.]+)[^=(]*=[ \t]*(?:async\b[ \t]*)?"
            r"(?:function\b|[\w$]+[ \t]*=>|\(.*=>)",
            False,
        ),
        (
            r"(?:(?:get|set)[ \t]+|[*#])?(?!(?:if|for|while|switch|catch|return|with)\b)([\w$]+)[ \t]*"
            r"(?:<[^>]*>)?\([^;]*\{[ \t]*$",
            False,
        ),
    )
]


class Scope(NamedTuple):
    """A definition that stands by itself: its names from outside in, its first and last line (0-based)."""

    names: tuple[str, ...]
    first: int
    last: int


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a program into sections and passages, which together cover every non-blank line once."""
    lines, scopes, strings = note.lines, list[Scope](), _strings(note.lines)
    sums = list(accumulate((structure.width(line) + 1 for line in lines), initial=0))
    if 0 < sums[-1] <= min(_LARGEST, _WIDEST * len(lines)):
        scopes = list(_scopes(lines, sums, strings, settings.code))
    costs = _costs(lines, strings)
    sections: list[Section] = []
    passages: list[Passage] = []
    for names, rows in _runs(scopes, lines):
        sections.append(Section((note.title, *names), rows[0] + 1, rows[-1] + 1))
        for first, last, text in _cut(rows, lines, sums, costs, settings):
            passages.append(Passage(len(sections) - 1, first + 1, last + 1, text))
    return sections, passages


def _runs(scopes: Sequence[Scope], lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Yield names and non-blank lines (0-based) of the same innermost definition."""
    owners: list[Scope | None] = [None] * len(lines)
    for scope in scopes:  # the inner ones behind the outer ones
        owners[scope.first : scope.last + 1] = [scope] * (scope.last + 1 - scope.first)
    rows, before = list[int](), None
    for row, owner in enumerate(owners):
        if lines[row].strip():
            opens = owner is not None and owner.first == row
            if rows and owner is not before and (opens or not closes(lines[row])):
                yield before.names if before else (), rows
                rows = []
            before = before if rows else owner
            rows.append(row)
    if rows:
        yield before.names if before else (), rows


def _cut(
    rows: Sequence[int],
    lines: Sequence[str],
    sums: Sequence[int],
    costs: Sequence[float],
    settings: ChunkSettings,
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of a run's passages; what is far too long is cut inside it."""
    start = 0
    while start < len(rows):
        first = rows[start]
        size = sums[first + 1] - sums[first] - 1
        if size > settings.line:
            limit = max(40, settings.piece * len(lines[first]) // size)
            for piece in breakpoints.pieces(lines[first], limit):
                yield first, first, piece
            start += 1
            continue
        end = _end(rows, start, sums, costs, settings.code)
        yield first, rows[end - 1], "\n".join(lines[first : rows[end - 1] + 1])
        start = end


def _end(rows: Sequence[int], start: int, sums: Sequence[int], costs: Sequence[float], limit: int) -> int:
    """Return where in `rows` the passage that begins at `start` ends: at the cheapest line near its share."""

    def size(end: int) -> int:
        return sums[rows[end - 1] + 1] - sums[rows[start]] - 1

    end = start + 1
    while end < len(rows) and size(end + 1) <= limit:
        end += 1
    if end == len(rows):
        return end
    rest = size(len(rows))
    share = rest / -(-rest // limit)
    best, where = math.inf, end
    for place in range(end, start, -1):
        if size(place) * _LEAST_FILL < limit and best < math.inf:
            break
        cost = costs[rows[place]] + _UNEVEN * ((size(place) - share) / limit) ** 2
        if cost < best:
            best, where = cost, place
    return where


# --- what is known of a program before it is cut ------------------------------------------------------------


def closes(line: str) -> bool:
    """Tell whether a line only closes the lines above it, such as `});` or `} else {`."""
    return _CLOSES.fullmatch(line) is not None


def _costs(lines: Sequence[str], strings: Collection[int]) -> list[float]:
    """Return the cost of a cut before each line: indentation, closing brackets, comments above, strings."""
    costs: list[float] = []
    for row, (line, above) in enumerate(zip(lines, ["", *lines], strict=False)):
        cost = len(line[: len(line) - len(line.lstrip())].expandtabs(_INDENT)) / _INDENT
        cost += PARAGRAPH if above.strip() else 0.0
        cost += CLOSER if closes(line) else 0.0
        cost += STRING if row in strings else 0.0
        costs.append(cost + (COMMENT if line.strip() and _COMMENTED.match(above) else 0.0))
    return costs


def _strings(lines: Sequence[str]) -> set[int]:
    """Return the lines, from the second on, of strings over several lines, as Python has them."""
    found, quote, first = set[int](), "", 0
    for row, line in enumerate(lines):
        for mark in _QUOTES.findall(line):
            if not quote:
                quote, first = mark, row
            elif mark == quote:
                found |= {*range(first + 1, row + 1)}
                quote = ""
    return found


def _scopes(
    lines: Sequence[str], sums: Sequence[int], strings: Collection[int], limit: int
) -> Iterator[Scope]:
    """Yield definitions of several lines in order, the outer before the inner.

    A definition is looked into if it is a class, or larger than `limit`.
    """
    around: list[tuple[Scope, bool]] = []
    for row, line in enumerate(lines):
        while around and around[-1][0].last < row:
            around.pop()
        names = around[-1][0].names if around else ()
        if row in strings or (around and not around[-1][1]) or len(names) >= _DEEPEST:
            continue
        matches = ((form.match(line, 0, _LONGEST_LINE), is_class) for form, is_class in _DEFINITIONS)
        match, is_class = next((one for one in matches if one[0]), (None, False))
        if match and (last := _last(lines, row, strings)) > row:
            first = _first(lines, row, around[-1][0].first + 1 if around else 0)
            own = [name[:_LONGEST_NAME] for name in match.groups()]
            around.append(
                (Scope((*names, *own), first, last), is_class or sums[last + 1] - sums[first] > limit)
            )
            yield around[-1][0]


def _first(lines: Sequence[str], row: int, least: int) -> int:
    """Return the first line of the comments and decorators above a definition."""
    depth, first = structure.indent(lines[row]), row
    for above in range(row - 1, max(least, row - _MOST_LEADERS) - 1, -1):
        line = lines[above]
        own, bare = structure.indent(line), line.strip()
        if own == depth and bare.startswith(_LEADS):
            first = above
        elif (own <= depth and bare) or (not bare and first - above > 1):
            break
    return first


def _last(lines: Sequence[str], row: int, strings: Collection[int]) -> int:
    """Return the last line of what a line opens: what is indented or in strings below it, what closes it."""
    depth, last = structure.indent(lines[row]), row
    for below in range(row + 1, len(lines)):
        line = lines[below].rstrip()
        if not line:
            continue
        if structure.indent(line) <= depth and below not in strings:
            goes_on = line.lstrip()[0] in ")]{" or (line.lstrip()[0] == "}" and line[-1] in "{(:>")
            if not goes_on:
                return below if line.lstrip()[0] == "}" and structure.indent(line) == depth else last
        last = below
    return last
