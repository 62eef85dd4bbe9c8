"""What the lines of a passage are to each other, so that a few rows of it can be shown by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.markdown import fences, structure, turns
from commonplace.render.hits import Line

_DAY = re.compile(r"[\W_]*(?:19|20)\d\d(?:[-./年]\d{1,2}){0,2}(?!\d)")  # behind the mark of an item, of a row


def read(lines: Sequence[str]) -> list[Line]:
    """Return what each line of a passage is: marks of fences, tables, days, turns, questions."""
    marks, tables = fences.marks(lines), structure.tables(lines)
    found = []
    for at, line in enumerate(lines):
        first = tables[at]
        opens = turns.opening(line, chat=True) is not None
        day = None if opens else _DAY.match(line)
        headed = first < at and structure.DIVIDER.match(lines[first + 1]) is not None
        found.append(
            Line(
                is_mark=at in marks or (headed and at == first + 1),
                header=first if headed else None,
                day=tuple(map(int, re.findall(r"\d+", day[0]))) if day else (),
                opens=opens,
                asks=turns.asks(line),
            )
        )
    return found
