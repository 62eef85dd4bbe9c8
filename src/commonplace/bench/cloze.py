"""A line of a note as a question with a blank: pure functions, two languages, nothing to do with a model.

What is blanked is what people look things up for: a date, a number, a name, a term that is set off. A
question must hold enough besides its blank to be a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.index.lexicon import CJK
from commonplace.notes.headings import plain
from commonplace.search.query import terms
from commonplace.search.stopwords import ENGLISH

BLANK = "____"
LEAST_TERMS = 3  # words (for CJK: pairs of characters) that say something, besides the blank
LEAST_TERMS_CJK = 4
LONGEST = 240  # characters of a sentence; a longer one is a paragraph, not a fact
LONGEST_ANSWER = 40
_MARKER = re.compile(r"^\s*(?:>\s*)*(?:[-*+]|\d{1,3}[.)])?\s*(?:\[[ xX]\]\s+)?(?:\d{1,2}:\d{2}\s+(?:-\s+)?)?")
_EMPHASIS = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|__")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[\"“(A-Z0-9])|(?<=[。！？；])")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_NUMBER = r"\d+(?:[.,:/-]\d+)*"
_ZH_NUMBER = rf"(?:{_NUMBER}|[零一二两三四五六七八九十百千万亿半]+)"
_ZH_UNIT = r"\s?(?:小时|分钟|公里|公斤|星期|个?月|[年日号点岁元块天周次人层楼分秒米斤克])"

_DATE = (
    rf"\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}} {_MONTH}(?: \d{{4}})?|{_MONTH} (?:\d{{1,2}}(?:, \d{{4}})?|\d{{4}})"
)
_ZH_DATE = (
    rf"(?:{_ZH_NUMBER}\s?年\s?)?{_ZH_NUMBER}\s?月\s?{_ZH_NUMBER}\s?[日号]|{_ZH_NUMBER}\s?年\s?{_ZH_NUMBER}\s?月"
    r"|(?:下|上|这)?(?:周|星期)[一二三四五六日天]"
)

# In the order in which one is preferred to another; a sentence has one blank.
_ANSWERS = tuple(
    (kind, re.compile(expression))
    for kind, expression in (
        ("date", rf"\b(?:{_DATE})\b"),
        ("date", _ZH_DATE),
        ("term", r"(?<=`)[^`\s]{2,40}(?=`)|(?<=《)[^《》]{2,20}(?=》)|(?<=「)[^「」]{2,20}(?=」)"),
        ("number", rf"(?:{_ZH_NUMBER}{_ZH_UNIT})+"),
        ("number", rf"(?<![\w.])[$€£]?{_NUMBER}(?:\s?%|\s?(?:ms|s|kg|km|MB|GB|TB|am|pm)\b)?(?![\w])"),
        ("name", r"(?<=[a-z0-9,;:] )[A-Z][\w'’-]+(?: (?:of |the |van |de )?[A-Z][\w'’-]+){0,3}"),
        ("name", rf"(?<=[{CJK}])[A-Za-z][\w.+-]{{1,30}}|[A-Za-z][\w.+-]{{1,30}}(?=[{CJK}])"),
        ("name", rf"(?<=[{CJK}][在叫是])[{CJK}]{{2,4}}(?=[，。！？、的了吃教说买住]|$)"),
        ("term", r"\b[a-z]+[A-Z]\w+\b|\b\w+_\w+\b|\b[a-z]+(?:-[a-z]+){1,3}\b"),
        ("term", r"(?<= )[a-z]{8,}(?=[.,;!?]|$)"),
    )
)


class Cloze(NamedTuple):
    """A sentence with its answer blanked; `sentence` is the whole of it, `kind` what the answer is."""

    question: str
    answer: str
    kind: str
    sentence: str


def clozes(line: str) -> Iterator[Cloze]:
    """Yield a question for each sentence of a line that has something to ask for."""
    text = _EMPHASIS.sub("", plain(_MARKER.sub("", line, count=1)))
    for sentence in _ENDS.split(text):
        found = cloze(sentence.strip())
        if found is not None:
            yield found


def cloze(sentence: str) -> Cloze | None:
    """Blank the best answer of a sentence, or return None where what is left would be no question."""
    if len(sentence) > LONGEST:
        return None
    for kind, expression in _ANSWERS:
        for found in expression.finditer(sentence):
            answer = found[0].strip()
            question = _blanked(sentence, *found.span())
            if len(answer) <= LONGEST_ANSWER and answer not in question and says_enough(question):
                return Cloze(question, answer, kind, sentence)
    return None


def says_enough(question: str) -> bool:
    """Whether there are words enough to look for besides the blank."""
    left = [term for term in terms(question.replace(BLANK, " ")) if term not in ENGLISH]
    wide = sum(not term.isascii() for term in left)
    return wide >= LEAST_TERMS_CJK or len(left) - wide >= LEAST_TERMS or (bool(wide) and len(left) > wide + 1)


def _blanked(sentence: str, start: int, end: int) -> str:
    """Put the blank in, and a question mark at the end."""
    question = f"{sentence[:start]}{BLANK}{sentence[end:]}".replace("`", "").rstrip(" .!。！；;，,:：")
    wide = re.search(f"[{CJK}]", question)
    return question if question.endswith(("?", "？")) else f"{question}{'？' if wide else '?'}"
