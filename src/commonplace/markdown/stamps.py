"""The days that the stamps of a chat give to its lines (`[05/03/2026, 20:10:00] Ann: …`).

The formats are those of `turns`. A stamp with a day gives it to all lines up to the next turn, and to turns
below that have only a time. A heading ends it, and behind the last turn of a section so does the end of its
paragraph: the text below may be outside of the chat. A stamp with an unknown day (`Today at 10:32`, the
31st of June) gives no day.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import pairwise

from commonplace.markdown import metadata, structure, turns
from commonplace.types import Note

_BEFORE = 24  # characters before the colon in which the date and the hour stand
_DAY = re.compile(r"(\d{1,4})[-/.年](\d{1,2})[-/.月](\d{1,4})")
_DATED = re.compile(rf"{_DAY.pattern}日?,?\s{{0,2}}{turns.CLOCK}")
_SAYS_DAY = re.compile(turns.DATE)
_CLOCK = re.compile(turns.CLOCK)
# Without brackets, a dash or the number of a member, as appointments are written, too.
_PLAIN = re.compile(rf"\s*(?:[-*+]\s+)?{turns.DATE},?\s*{turns.CLOCK}\s*")
_PIVOT = 69  # years of two digits from here on are of the last century, as POSIX has it


def days(note: Note) -> tuple[tuple[int, int, str], ...]:
    """Return first line, last line and day (ISO) of stretches of chats in a note, in order; 1-based.

    Stamps in fences and front matter do not count. Stamps without brackets count where one of the names comes
    twice.
    """
    lines, text = note.lines, "\n".join(note.lines)
    times = turns.times(text)
    if not any(_DATED.search(text, max(0, time.start() - _BEFORE), time.end() + 1) for time in times):
        return ()  # as in nearly all notes
    passed = structure.lines_of(*note.fences, note.front_matter)
    timed = [
        (number, *turn, structure.ITEM.match(line) is not None)
        for number, line in turns.timed_lines(text)
        if number not in passed and (turn := turns.stamped(line)) and _CLOCK.search(turn[1])
        if not turns.is_nobody(turn[0])
    ]
    dated = [(line, name, stamp) for line, name, stamp, _ in timed if _DAY.search(stamp)]
    recurs = any(count > 1 for count in Counter(name for _, name, _ in dated).values())
    dated = [turn for turn in dated if recurs or not _PLAIN.fullmatch(turn[2])]
    known = dict(zip((turn[0] for turn in dated), _read([turn[2] for turn in dated]), strict=True))
    headings = [heading.line for heading in note.headings]
    found: list[tuple[int, int, str]] = []
    day, of_item, section = "", False, 0  # what the turn above gives, whether an item said it, its section
    for at, (line, _, stamp, is_item) in enumerate(timed if known else ()):
        above, section = section, bisect_right(headings, line)
        if line in known or _SAYS_DAY.search(stamp):
            day, of_item = known.get(line, ""), is_item
        elif section != above or of_item != is_item:
            day = ""
        last = headings[section] - 1 if section < len(headings) else len(lines)
        if at + 1 < len(timed) and timed[at + 1][0] <= last:
            last = timed[at + 1][0] - 1
        else:
            last = _paragraph_end(lines, line, last)
        end = _item_end(lines, line, last) if is_item else last
        if day and found and section == above and found[-1][1:] == (line - 1, day):
            found[-1] = (found[-1][0], end, day)
        elif day:
            found.append((line, end, day))
        day = day if end == last else ""  # an item in between is no turn
    return tuple(found)


def _paragraph_end(lines: Sequence[str], first: int, last: int) -> int:
    """Return the last line of the last turn of a section, which begins in line `first`."""
    end = first
    if turns.opening(lines[first - 1], chat=True):  # the words follow below, perhaps behind a blank line
        while end < last and not lines[end].strip():
            end += 1
        end += end < last
    while end < last and lines[end].strip():
        end += 1
    return end


def _item_end(lines: Sequence[str], first: int, last: int) -> int:
    """The line before the next item that is not nested in the one in line `first`; at most `last`."""
    deep = structure.indent(lines[first - 1])
    for number in range(first + 1, last + 1):
        line = lines[number - 1]
        if structure.ITEM.match(line) and structure.indent(line) <= deep:
            return number - 1
    return last


# --- stamps as days -----------------------------------------------------------------------------------------


def _read(stamps: Sequence[str]) -> list[str]:
    """Return the day (ISO) of each stamp that holds one, empty for one that is impossible.

    The order of day and month is decided once for all: a stamp that can be only one way
    decides, else the order in which fewer of them go back, else the day comes first.
    """
    ways = [_ways(*match.groups()) for match in map(_DAY.search, stamps) if match]
    sure = {by_month is not None for by_day, by_month in ways if (by_day is None) != (by_month is None)}
    if len(sure) == 1:
        month_first = sure.pop()
    else:
        back_by_day = _steps_back(by_day or by_month for by_day, by_month in ways)
        month_first = _steps_back(by_month or by_day for by_day, by_month in ways) < back_by_day
    days = ((by_month or by_day) if month_first else (by_day or by_month) for by_day, by_month in ways)
    return [day.isoformat() if day else "" for day in days]


def _steps_back(days: Iterable[date | None]) -> int:
    """How many days are earlier than the one before."""
    return sum(later < earlier for earlier, later in pairwise(filter(None, days)))


def _ways(first: str, second: str, third: str) -> tuple[date | None, date | None]:
    """Return the day of three numbers with the day first, and with the month first; None if impossible."""
    if len(first) == 4:
        day = _date(first, second, third)
        return day, day
    return _date(third, second, first), _date(third, first, second)


def _date(year: str, month: str, day: str) -> date | None:
    if len(year) == 2:
        year = f"{19 if int(year) >= _PIVOT else 20}{year}"
    try:
        found = date(*map(int, (year, month, day)))
    except ValueError:
        return None
    return found if found.year in metadata.YEARS else None
