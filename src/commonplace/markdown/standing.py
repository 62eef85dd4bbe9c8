"""Standing instructions: what somebody wants whenever a matter comes up ("always … when I ask about X").

Its matter is what it must be found by: a question about X shares neither words nor meaning with what is to be
done then. So it is a passage alone, and what is embedded of it is X. The forms are rules of each language.
"""

from __future__ import annotations

import re
from functools import cache

from commonplace.language import rules
from commonplace.markdown import turns

LONGEST = 600  # characters of a line that is one instruction
LEAST, MOST = 2, 120  # characters of its matter


def matter(line: str) -> str:
    """Return what a line of the owner is an instruction for; empty for any other line."""
    found = _matter(line)
    return found if found and (turns.speaker(line) or "me") in turns.OWNER else ""


def _matter(line: str) -> str:
    lower = line.lower()
    if len(line) > LONGEST or not any(mark in lower for mark in _marks()):
        return ""
    for form in _forms():
        if match := form.search(line):
            found = str(match[1]).strip(" \t*_`\"'.,:;!?，。：；！？、“”「」")
            if LEAST <= len(found) <= MOST:
                return found
    return ""


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(form.replace("_", r"\s{1,3}"), re.IGNORECASE)
        for language in rules.LANGUAGES
        for form in rules.listed(language, "standing")
    )


@cache
def _marks() -> tuple[str, ...]:
    """Texts of which one stands in every instruction: most lines are told by them."""
    return tuple(mark for language in rules.LANGUAGES for mark in rules.listed(language, "standing_marks"))
