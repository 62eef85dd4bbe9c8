"""What the lines of a passage are to each other, so that a few rows of it can be shown by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.markdown import structure, turns
from commonplace.render.hits import Line


def read(lines: Sequence[str]) -> list[Line]:
    """Return what each line of a passage is: marks of fences, tables, turns, questions."""
    marks, tables = structure.fence_marks(lines), structure.tables(lines)
    found = []
    for at, line in enumerate(lines):
        first = tables[at]
        headed = first < at and structure.DIVIDER.match(lines[first + 1]) is not None
        found.append(
            Line(
                is_mark=at in marks or (headed and at == first + 1),
                header=first if headed else None,
                opens=turns.opening(line, chat=True) is not None,
                asks=turns.asks(line),
            )
        )
    return found
