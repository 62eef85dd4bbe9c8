"""Standing instructions: what somebody wants whenever a matter comes up ("always … when I ask about X").

Its matter is what it must be found by: a question about X shares neither words nor meaning with what is to be
done then. So it is a passage alone, and what is embedded of it is X. The forms are rules of each language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from commonplace.language import rules
from commonplace.markdown import structure, turns

LONGEST = 600  # characters of a line that is one instruction
LEAST, MOST = 2, 120  # characters of its matter


def matter(line: str) -> str:
    """Return what a line of the owner is an instruction for; empty for any other line."""
    if len(line) > LONGEST or not _has_mark(line):
        return ""
    for form in _forms():
        if match := form.search(line):
            found = str(match[1]).strip(" \t*_`\"'.,:;!?，。：；！？、“”「」")
            if LEAST <= len(found) <= MOST:
                return found if (turns.speaker(line) or "me") in turns.OWNER else ""
    return ""


def instructions(lines: Sequence[str], first: int = 1) -> dict[int, str]:
    """Return what lines of a section, counted from `first`, are for that are instructions of the owner."""
    has_mark = _has_mark("\n".join(lines))
    found = {at: own for at, line in enumerate(lines, first) if has_mark and (own := matter(line))}
    if not found:  # as in nearly all sections
        return found
    whose = dict(enumerate(_speakers(lines), first))
    return {at: own for at, own in found.items() if (whose[at] or "me") in turns.OWNER}


def _speakers(lines: Sequence[str]) -> Iterator[str | None]:
    """Yield who says each line: whom it names, or whoever said the one before, as far as a turn goes.

    It ends with its paragraph, or with the next item of its list; below a line that only says who speaks, and
    where the owner speaks with an assistant, with the next turn alone.
    """
    named = [turns.speaker(line) for line in lines]
    is_transcript = not turns.OWNER.isdisjoint(named)
    current: str | None = None
    goes_on, item = False, -1  # whether a turn goes on behind a blank line, the column of the item that it is
    for line, who in zip(lines, named, strict=True):
        is_item = structure.ITEM.match(line) is not None
        if who is not None:
            current, goes_on = who, is_transcript or turns.opening(line) is not None
            item = structure.indent(line) if is_item else -1
        elif (is_item and structure.indent(line) <= item) or not (goes_on or line.strip()):
            current = None
        yield current


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(form.replace("_", r"\s{1,3}"), re.IGNORECASE)
        for language in rules.LANGUAGES
        for form in rules.listed(language, "standing")
    )


def _has_mark(text: str) -> bool:
    text = text.lower()
    return any(mark in text for mark in _marks())


@cache
def _marks() -> tuple[str, ...]:
    """Texts of which one stands in every instruction."""
    return tuple(mark for language in rules.LANGUAGES for mark in rules.listed(language, "standing_marks"))
