"""What the path of a note says: what kind of note it is, and the day it is about."""

from __future__ import annotations

import re
from datetime import date
from posixpath import basename

from commonplace.types import NoteKind

_DAILY = re.compile(r"(?:.*/)?memory/(?:.*/)?(\d{4}-\d{2}-\d{2})(?:[-_ ][^/]*)?\.md", re.IGNORECASE)
_LONG_TERM = frozenset({"MEMORY.md", "memory/MEMORY.md"})
# 2026-02-13, 2026_02_13, 2026.02.13, 20260213 (with or without a time after it), 2026年2月13日
_DAY = re.compile(
    r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})"
    r"(?:[T_ -]?(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?)?(?!\d)"
)
_CHINESE_DAY = re.compile(r"(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日")
_YEARS = range(1900, 2200)  # other eight-digit runs are numbers


def kind_of(path: str) -> NoteKind:
    """Tell what a note is from its posix path, relative to the workspace."""
    if path in _LONG_TERM:
        return "long-term"
    daily = _DAILY.fullmatch(path) if path.startswith("memory/") else None
    return "daily" if daily and date_of(path) == daily[1] else "note"


def date_of(path: str) -> str | None:
    """Return the first real day in a file's name as YYYY-MM-DD, or None; a month alone is not a day."""
    name = basename(path)
    days = [match.group(1, 3, 4) for match in _DAY.finditer(name)]
    for parts in [*days, *_CHINESE_DAY.findall(name)]:
        try:
            day = date(*map(int, parts))
        except ValueError:
            continue
        if day.year in _YEARS:
            return day.isoformat()
    return None
