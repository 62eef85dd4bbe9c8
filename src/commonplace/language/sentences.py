"""Where the sentences of a statement begin and end, in English and Chinese."""

from __future__ import annotations

import re

from commonplace.language import rules

# Runs of marks are taken from their first one and as a whole: what does not end a sentence is seen once.
_END = r"(?<![.!?…])[.!?…]++[\"'”’)\]*_~]*+(?=\s)|[。！？…]++[”’』」）~]*+"
_BETWEEN_CLAUSES = r"(?<=\s)(?=\S)|(?<=[，、：])"
_LONGEST_SHORT = 8  # characters of an abbreviation with its full stop and what stands before it
_ABBREVIATIONS = "|".join(map(re.escape, rules.listed("en", "abbreviations")))
_SHORT = rf"(?i)(?:^|[\s(\[])(?:{_ABBREVIATIONS}|[a-z])\.$"
_NUMBERED = r"(?:^|[:\n])[^\w:\n]*\d{1,3}\.$"  # the number of a step, at the beginning of its sentence


def spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of every sentence of a text, blanks between them left out.

    A full stop after an abbreviation, a single letter or the number of a step does not end a sentence, nor
    does a full stop before a small letter.
    """
    sentences: list[tuple[int, int]] = []
    start = _next(text, 0)
    for end in re.finditer(_END, text):
        after = _next(text, end.end())
        if end.end() <= start or (after < len(text) and _goes_on(text, start, end, after)):
            continue
        sentences.append((start, end.end()))
        start = after
    if start < len(text):
        sentences.append((start, len(text.rstrip())))
    return sentences


def clauses(text: str) -> list[str]:
    """Cut a text behind blanks and full-width commas and colons; joined, the parts are the text."""
    return re.split(_BETWEEN_CLAUSES, text)


def _goes_on(text: str, start: int, end: re.Match[str], after: int) -> bool:
    if "." not in end[0]:
        return False
    stop = end.start() + 1
    near = max(0, stop - _LONGEST_SHORT)
    short = re.compile(_SHORT).search(text, near, stop) or re.search(_NUMBERED, text[max(start, near) : stop])
    return text[after].islower() or short is not None


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def leans(text: str) -> bool:
    """Tell whether the subject of a statement is its heading or its speaker ("prefers tea")."""
    latin, wide = ("|".join(rules.listed(language, "leaning")) for language in ("en", "zh"))
    return re.match(rf"(?i)(?:{latin})\b|{wide}", text) is not None
