"""Rows of text set in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Align rows below a head: columns named in `left` to the left, the others to the right."""
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(_width(row[i]) for row in table) for i in range(len(head))]
    return "\n".join(_line(row, widths, left) for row in table)


def _line(row: Sequence[str], widths: Sequence[int], left: Sequence[int]) -> str:
    padding = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
    cells = [
        cell + pad if i in left else pad + cell
        for i, (cell, pad) in enumerate(zip(row, padding, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
