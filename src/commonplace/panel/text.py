"""Foreign text as the panel shows it: never markup, never a control sequence; words marked, diffs coloured.

Styles are bold, underline, strike and colours of the theme; colour alone never carries a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from textual.content import Content, Span

from commonplace.render import screen

MARK = "bold underline $text-warning"
_DIFF = {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}


def line(text: str) -> str:
    """Clean a line of a note for the screen."""
    return screen.clean(text.replace("\n", " ")).expandtabs(4)


def plain(text: str, style: str = "") -> Content:
    """Return a foreign text on one line as content without markup."""
    shown = line(text)
    return Content.styled(shown, style) if style else Content(shown)


def marked(text: str, pattern: re.Pattern[str] | None) -> Content:
    """Return a line of a note with the words of a question marked."""
    shown = line(text)
    return Content(shown, [Span(start, end, MARK) for start, end in screen.matches(shown, pattern)])


def diff(text: str) -> Iterator[Content]:
    """Yield the lines of a unified diff."""
    for row in text.rstrip("\n").split("\n") if text else ():
        head = row.startswith(("--- ", "+++ "))
        yield plain(row, "bold" if head else _DIFF.get(row[:1], ""))


def joined(*parts: tuple[str, str] | str) -> Content:
    """Put pieces of foreign text, each with a style, on one line; empty ones are left out."""
    pieces = [(part, "") if isinstance(part, str) else part for part in parts]
    return Content("  ").join([plain(text, style) for text, style in pieces if text])


def bars(rows: Sequence[tuple[str, float, str]]) -> Iterator[Content]:
    """Yield the factors of a score, a line each: a bar for its size, its value, its name and note."""
    largest = max((abs(value) for _, value, _ in rows), default=0.0) or 1.0
    for name, value, note in rows:
        bar = "█" * max(1, round(10 * abs(value) / largest)) if value else ""
        style = "$text-error" if value < 0 else "$text-success"
        yield Content.assemble(
            (bar.ljust(11), style), f" {value:+.4f} ", (line(name), "bold"), f"  {line(note)}".rstrip()
        )
