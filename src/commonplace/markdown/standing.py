"""Standing instructions: what somebody wants whenever a matter comes up ("always … when I ask about X").

Its matter is what it must be found by: a question about X shares neither words nor meaning with what is to be
done then. So it is a passage alone, and what is embedded of it is X. The forms are rules of each language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from commonplace.language import fold_cases, rules
from commonplace.markdown import structure, turns

LONGEST = 600  # characters of a line that is one instruction
LEAST, MOST = 2, 120  # characters of its matter


def matter(line: str) -> str:
    """Return what a line of the owner is an instruction for; empty for any other line."""
    return _matter(line, candidates(line).get(1, ()))


def candidates(text: str) -> dict[int, list[str]]:
    """Return the lines of a text, from 1, that may be instructions, each with the languages it may be in."""
    lower, found = text.lower(), dict[int, list[str]]()
    for language in rules.LANGUAGES:
        for mark in rules.listed(language, "standing_marks"):
            mark = mark.replace("_", " ")
            number, done, at = 1, 0, lower.find(mark)
            while at >= 0:
                number += lower.count("\n", done, at)
                languages = found.setdefault(number, [])
                if language not in languages:
                    languages.append(language)
                done = lower.find("\n", at)
                at = lower.find(mark, done) if done >= 0 else -1
    return found


def instructions(
    lines: Sequence[str], first: int = 1, among: Mapping[int, Sequence[str]] | None = None
) -> dict[int, str]:
    """Return what lines of a section, counted from `first`, are for that are instructions of the owner.

    `among` are the candidates of the note, where they are known.
    """
    among = candidates("\n" * (first - 1) + "\n".join(lines)) if among is None else among
    numbered = range(first, first + len(lines))
    found = {at: own for at in among if at in numbered and (own := _matter(lines[at - first], among[at]))}
    if not found:  # as in nearly all sections
        return found
    whose = dict(enumerate(_speakers(lines), first))
    return {at: own for at, own in found.items() if (whose[at] or "me") in turns.OWNER}


def _matter(line: str, languages: Sequence[str]) -> str:
    forms = (form for language in languages for form in _forms(language)) if len(line) <= LONGEST else ()
    lower = fold_cases(line).lower()
    for match in filter(None, (form.search(lower) for form in forms)):
        found = line[slice(*match.span(1))].strip(" \t*_`\"'.,:;!?，。：；！？、“”「」")
        if LEAST <= len(found) <= MOST:
            return found if (turns.speaker(line) or "me") in turns.OWNER else ""
    return ""


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
def _forms(language: str) -> Sequence[re.Pattern[str]]:
    forms = rules.listed(language, "standing")
    return [re.compile(form.replace("_", r"\s{1,3}")) for form in forms]
