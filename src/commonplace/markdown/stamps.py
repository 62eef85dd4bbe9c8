"""The days that the stamps of a chat give to its lines (`[05/03/2026, 20:10:00] Ann: …`).

The formats are those of `turns`. Stamps count where a name comes twice with a day. One gives its day to all
lines up to the next stamp that says another day, to a heading or an item; of an item, to that item alone. A
stamp with an unknown day (`Today at 10:32`, the 31st of June) gives no day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise

from commonplace.base.expressions import lazy
from commonplace.markdown import metadata, structure, turns
from commonplace.types import Note

_BEFORE = 24  # characters before the colon in which the date and the hour stand
_DAY = lazy(r"(\d{1,4})[-/.年](\d{1,2})[-/.月](\d{1,4})")
_DATED = lazy(rf"\d{{1,4}}[-/.年]\d{{1,2}}[-/.月]\d{{1,4}}日?,?\s{{0,2}}{turns.CLOCK}")
_SAYS_DAY = lazy(turns.DATE)
_PIVOT = 69  # years of two digits from here on are of the last century, as POSIX has it


def days(note: Note) -> tuple[tuple[int, int, str], ...]:
    """Return first line, last line and day (ISO) of stretches of chats in a note, in order; 1-based."""
    text = "\n".join(note.lines)
    times = turns.times(text)
    if not any(_DATED.search(text, max(0, time.start() - _BEFORE), time.end() + 1) for time in times):
        return ()  # as in nearly all notes
    passed = structure.lines_of(*note.fences, note.front_matter)
    stamped = ((n, turns.stamped(line)) for n, line in turns.timed_lines(text) if n not in passed)
    said = {n: turn for n, turn in stamped if turn and not turns.is_nobody(turn[0])}
    dated = {n: match for n, (_, stamp) in said.items() if (match := _DAY.search(stamp))}
    if max(Counter(said[n][0] for n in dated).values(), default=0) < 2:
        return ()  # appointments
    month_first = _is_month_first([match.groups() for match in dated.values()])
    ends = {heading.line: "" for heading in note.headings}
    ends |= {n: "" for n, line in enumerate(note.lines, 1) if structure.ITEM.match(line)}
    ends |= {n: "" for n, (_, stamp) in said.items() if _SAYS_DAY.search(stamp)}
    ends |= {n: _day(*match.groups(), month_first=month_first) for n, match in dated.items()}
    found = list[tuple[int, int, str]]()
    for first, below in pairwise([*sorted(ends), len(note.lines) + 1]):
        if found and found[-1][1:] == (first - 1, ends[first]):
            found[-1] = (found[-1][0], below - 1, ends[first])
        elif ends[first]:
            found.append((first, below - 1, ends[first]))
    return tuple(found)


def _is_month_first(stamps: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether stamps have the month before the day: by those that can be only one way, else not."""
    first = {int(a) > 12 for a, b, _ in stamps if len(a) < 4 and (int(a) > 12) != (int(b) > 12)}
    return first == {False}


def _day(first: str, second: str, third: str, *, month_first: bool) -> str:
    """Return a day as ISO, empty for an impossible one; it is tried in the other order as well."""
    if len(first) == 4:
        ways = [(first, second, third)]
    else:
        ways = [(third, second, first), (third, first, second)][:: -1 if month_first else 1]
    for year, month, day in ways:
        with suppress(ValueError):
            century = "" if len(year) != 2 else "19" if int(year) >= _PIVOT else "20"
            found = date(int(century + year), int(month), int(day))
            return found.isoformat() if found.year in metadata.YEARS else ""
    return ""
