"""Text on a terminal: colours, links, widths in cells, lines wrapped and marked; independent of notes."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence

from commonplace import language
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple

ELLIPSIS = "…"
# Of the 256 colours, which no theme changes, some that are read on black and on white: each has a contrast of
# 3.8 or more to both (WCAG 2.2, 1.4.3). `dim` is for what may be overlooked, such as the numbers of lines.
_CODES = {
    "bold": "1", "dim": "2", "cyan": "38;5;31", "green": "38;5;28", "red": "38;5;160",
    "warning": "38;5;130", "match": "1;38;5;163",
}  # fmt: skip
# Control characters, with which escape sequences begin. Tabs and newlines stay.
_CONTROLS = dict.fromkeys(
    (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)),
    "\N{REPLACEMENT CHARACTER}",
)
_IN_NAMES = _CONTROLS | dict.fromkeys((0x09, 0x0A), "\N{REPLACEMENT CHARACTER}")
_OWN = lazy(
    rf"(\x1b\[(?:0|{'|'.join(dict.fromkeys(_CODES.values()))})m|\x1b\]8;;[^\x00-\x1f\x7f-\x9f]*+\x1b\\)"
)
_CLOSING = "、。，．：；！？）」』】》〉”’…"  # punctuation that clings to the character before it
_OPENING = "（「『【《〈“‘"  # and to the one behind it
# Where a row may end: at white space, and around wide characters, to which punctuation and marks cling.
_NARROW = (  # those between them: a class of more characters takes longer to compile
    "\x00-\u10ff\u1160-\u2e7f\u303f-\u3040\u4dc0-\u4dff\ua4d0-\ua95f\ua97d-\uabff\ud7a4-\uf8ff\ufb00-\ufe0f"
    "\ufe1a-\ufe2f\ufe6c-\uff00\uff61-\uffdf\uffe7-\U0001f2ff\U0001f650-\U0001f67f\U0001f700-\U0001f8ff"
    "\U0001fa00-\U0001ffff\U0003fffe-\U0010ffff"
)
_CLINGING = f"{_CLOSING}\u0300-\u036f\u200b-\u200f\u2060-\u2064\u3099\u309a\ufe00-\ufe0f"
_BREAK = lazy(r"(?<=\s)(?=\S)|(?<=\S)(?=\s)")
_WIDE_BREAK = lazy(
    rf"(?<=\s)(?=\S)|(?<=\S)(?=\s)|(?<![\s{_OPENING}])(?![\s{_CLINGING}])"
    rf"(?:(?=[^{_NARROW}])|(?<=[^{_NARROW}])(?!\Z)|(?<=[^{_NARROW}][{_CLINGING}])(?!\Z))"
)
_ITEM = r"\s*(?:[-*+]|\d{1,3}[.)])\s+|\s+"
_LONGEST_TERM = 8000  # characters: as many as a question has at most
_SUFFIXES = ("ies", "ied", "ing", "es", "ed", "e", "s", "y")  # longest first
# A word ends where the next character is no Latin letter or digit (Chinese writes no blanks), and
# at the parts of getUserName, HTTPServer and iPhone15.
_LATIN = "0-9A-Za-z\u00c0-\u024f"
_PART = r"(?-i:(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9]))"
_BEGINS = f"(?:(?<![{_LATIN}])|{_PART})"
_ENDS = f"(?:(?![{_LATIN}])|{_PART})"

Span = tuple[int, int]  # half-open range of characters


class Look(NamedTuple):
    """The abilities of an output stream; `width` is None for a stream without wrapping."""

    color: bool = False
    links: bool = False
    width: int | None = None
    editor_uri: str = "file://{path}"

    def style(self, text: str, name: str) -> str:
        """Colour a text, where colours are wanted."""
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.color and text else text

    def fit(self, text: str, beside: int = 0) -> str:
        """Cut a text to the width of a terminal minus `beside` cells; without a terminal keep it."""
        return text if self.width is None else shorten(text, self.width - beside)

    def link(self, text: str, path: str, line: int) -> str:
        """Make a text a hyperlink (OSC 8) to a line of a file, where links are wanted."""
        if not self.links or not path:
            return text
        from urllib.parse import quote

        uri = self.editor_uri.replace("{path}", quote(os.fsencode(path))).replace("{line}", str(line))
        return f"\x1b]8;;{uri}\x1b\\{text}\x1b]8;;\x1b\\"


PLAIN = Look()


def clean(text: str) -> str:
    """Replace what a terminal would obey instead of showing; a carriage return at the end of a line goes."""
    return text.replace("\r\n", "\n").removesuffix("\r").translate(_CONTROLS)


def guarded(text: str) -> str:
    """Replace what a terminal would obey in a text that may be styled: only colours and links stay.

    For what is about to be printed, whoever composed it; foreign text is cleaned before it is styled.
    """
    if text.isprintable():
        return text
    parts = _OWN.split(text)  # texts, with one of our sequences after each but the last
    parts[::2] = map(clean, parts[::2])
    return "".join(parts)


def one_line(text: str) -> str:
    """Clean a text and put it on one line."""
    return clean(" ".join(text.split()))


def name(text: str) -> str:
    """Put a path or a citation on one line: what breaks it, or a terminal would obey, is replaced."""
    return text.translate(_IN_NAMES)


def cells(text: str) -> int:
    """Count the terminal cells of a text: East Asian wide characters two, combining marks zero."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    wide = sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
    return wide - sum(category(c) in ("Mn", "Me", "Cf") for c in text)


def shorten(text: str, width: int) -> str:
    """Cut a text to a number of cells, with an ellipsis if something had to go."""
    if _within(text, 0, len(text), width) == len(text):
        return text
    return text[: _within(text, 0, len(text), width - 1)].rstrip() + ELLIPSIS if width > 0 else ""


def middle(text: str, width: int) -> str:
    """Cut a text to a number of cells in its middle, so that a path keeps its folder and its name's end."""
    if cells(text) <= width:
        return text
    tail = shorten(text[::-1], (width + 1) // 2)[::-1]  # with the ellipsis before it
    return text[: _within(text, 0, len(text), width - cells(tail))] + tail if width > 1 else tail[:width]


def _within(text: str, start: int, end: int, width: int) -> int:
    """Where as much of a stretch of a text ends as fits into a number of cells."""
    if text.isascii() or 2 * (end - start) <= width:  # no character takes more than two
        return min(end, start + max(0, width))
    used = 0
    for place in range(start, end):
        used += cells(text[place])
        if used > width:
            return place
    return end


def pad(text: str, width: int) -> str:
    """Fill a text with spaces up to a number of cells."""
    return text + " " * max(0, width - cells(text))


def place(path: str, first: int, last: int) -> str:
    """Return `path:12-18`, or `path:12` for a single line."""
    return f"{name(path)}:{first}" + (f"-{last}" if last != first else "")


def table(lines: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Put cells of the same column below each other, those of the columns `right` at their right edge."""
    if not lines:
        return []
    widths = [max(cells(line[column]) for line in lines) for column in range(len(lines[0]))]
    return [
        "  ".join(
            " " * (width - cells(cell)) + cell if column in right else pad(cell, width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def headed(lines: Sequence[Sequence[str]], right: Collection[int] = (), look: Look = PLAIN) -> str:
    """Render a table whose first line is its head, which is bold."""
    head, *rest = table(lines, right)
    return "\n".join([look.style(head, "bold"), *rest])


def wrapped(text: str, look: Look, lead: str, indent: int, hang: int = 0) -> Iterator[str]:
    """Yield a text on one line behind a lead of `indent` cells; on a terminal in as many rows as it needs.

    Further rows begin below the text, `hang` cells further in.
    """
    line = one_line(text)
    for start, end in rows(line, look.width and look.width - indent, hang):
        yield (" " * (indent + hang) if start else lead) + line[start:end]


def size(count: int) -> str:
    """Return a number of bytes as people read it: `812 bytes`, `23.4 MB`, `2.24 GB`."""
    if count < 1000:
        return f"{count} bytes"
    power = min(3, (len(str(count)) - 1) // 3)
    return f"{count / 1000**power:.3g} {('', 'kB', 'MB', 'GB')[power]}"


def rows(line: str, width: int | None, hang: int = 0) -> Iterator[Span]:
    """Wrap one line: yield the range of each row, at most `width` cells wide where possible.

    Rows after the first leave room for an indent of `hang` cells. Without a width the line is one row.
    """
    if not width:
        yield 0, len(line)
        return
    start = end = used = 0
    for piece in _pieces(line, width - hang):
        size = cells(line[piece[0] : piece[1]])
        blank = line[piece[0] : piece[1]].isspace()
        if used + size > width and used and not blank:
            yield start, end
            start, used = piece[0], hang
        if blank and start and end <= start:  # the row is still empty
            start = piece[1]
            continue
        used += size
        end = end if blank else piece[1]
    yield start, max(start, end)


def laid_out(lines: Iterable[str], width: int | None) -> Iterator[tuple[int | None, str]]:
    """Yield the rows of cleaned lines, each with the number of its line (from 0); None for further rows.

    Without a width each line is one row as it is.
    """
    for number, line in enumerate(lines):
        text = clean(line) if width is None else clean(line).expandtabs(4).rstrip()
        indent = hang(text)
        for start, end in rows(text, width, indent):
            yield (None, " " * indent + text[start:end]) if start else (number, text[start:end])


def hang(line: str) -> int:
    """How far the further rows of a line are indented: to where the text of a list item starts."""
    marker = re.match(_ITEM, line)
    return min(marker.end(), 12) if marker else 0


def _pieces(line: str, width: int) -> Iterator[Span]:
    """Yield the pieces that stay on one row: white space, a word, a wide character; long words are cut."""
    start = 0
    for piece in (_BREAK if line.isascii() else _WIDE_BREAK).split(line):
        end = start + len(piece)
        while start < end:
            cut = end if piece.isspace() else max(start + 1, _within(line, start, end, width))
            yield start, cut
            start = cut


def matcher(terms: Iterable[str]) -> re.Pattern[str] | None:
    """Compile what finds the words of a question, with common English endings; None for no words.

    A term that ends in `*` is a prefix; terms longer than any question are ignored. Lines are to
    be folded before, as `matches` does.
    """
    short = (term for term in terms if len(term) <= _LONGEST_TERM and any(map(str.isalnum, term)))
    patterns = {_pattern(language.fold(term)) for term in short}
    if not patterns:
        return None
    # In a lookahead, so that bigrams which overlap are all found.
    return re.compile(f"(?=({'|'.join(sorted(patterns, key=len, reverse=True))}))", re.IGNORECASE)


def _pattern(term: str) -> str:
    words = re.findall(r"[^\W_]+", term)
    begins, ends = (_BEGINS, _ENDS) if term.isascii() else ("", "")
    if term.endswith("*") and words:
        return begins + r"[\W_]{0,3}".join(map(re.escape, words)) + r"[^\W_]{0,99}"
    if not term.isascii() or len(words) != 1 or len(term) < 4 or not term.isalpha():
        return begins + r"[\W_]{0,3}".join(map(re.escape, words)) + ends
    stem = _stem(term)
    return rf"{begins}{stem}{stem[-1]}?[yi]?(?:ing|es|ed|er|e|s)?{ends}"


def _stem(word: str) -> str:
    """An English word without its ending, where three letters are left."""
    stem = next((word.removesuffix(end) for end in _SUFFIXES if word.endswith(end)), word)
    is_doubled = stem != word and stem[-1:] == stem[-2:-1]  # running, planned
    return word if len(stem) < 3 else stem[:-1] if is_doubled else stem


def matches(line: str, pattern: re.Pattern[str] | None) -> list[Span]:
    """Return the ranges of a question's words in a line, joined where they touch."""
    spans: list[Span] = []
    for match in pattern.finditer(language.fold(line)) if pattern else ():
        start, end = match.span(1)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif end > start:
            spans.append((start, end))
    return spans


def inside(spans: Sequence[Span], row: Span) -> Sequence[Span]:
    """Return those of some spans that reach into a row; the spans are in order, without overlap."""
    first = bisect_right(spans, row[0], key=lambda span: span[1])
    return spans[first : bisect_left(spans, row[1], key=lambda span: span[0])]


def mark(line: str, row: Span, spans: Sequence[Span], look: Look) -> str:
    """Return one row of a line with its matches coloured."""
    parts, place = [], row[0]
    for start, end in inside(spans, row) if look.color else ():
        start, end = max(start, place), min(end, row[1])
        parts += [line[place:start], look.style(line[start:end], "match")]
        place = end
    return "".join([*parts, line[place : row[1]]])
