"""A question widened by a language model: what else to look for, in lines that weigh less than it.

The model gets the words of the question and the languages of the notes; a question that holds a secret is not
sent. Whatever goes wrong, the search goes on without further lines and says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError
from commonplace.base.tuples import NamedTuple
from commonplace.language import stopwords
from commonplace.language.scripts import is_wide
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import without_thoughts
from commonplace.redaction.redact import MARK, holds_secret
from commonplace.render import screen
from commonplace.search import query
from commonplace.search.query import EXPANDED, Kind, Line
from commonplace.types.results import SearchResult

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.providers.llm.client import Client
    from commonplace.search.request import Outcome, Request

PURPOSE = "expand"
MAX_TOKENS = 512  # some eight lines, and room for models that think first
# With a best hit of this relevance, and so much more than the second has, `auto` asks no model: a wider
# question could only move down what is found already.
CLEAR, LEAD = 0.85, 0.15
# The most lines of each kind that are taken, and characters of each; more dilute what the first ones say.
MOST: dict[Kind, tuple[int, int]] = {"lex": (4, 200), "vec": (2, 300), "hyde": (1, 600)}
_MOST_ANSWER = 20_000  # characters that are looked at
_NOT = "the question was not expanded"
_FENCE = re.compile(r"^[ \t\r\f\v]*+```.*$", re.MULTILINE)
# `lex: …` with what models put around it: bullets, numbers, quotation marks, emphasis.
_TYPED = re.compile(
    r"^[ \t\r\f\v>*•\d.)(\[\]\"'`_|-]*+(lex|vec|hyde)[\s\"'`*_]*+[:：][\s\"'`*_]*+(.*)$",
    re.IGNORECASE | re.ASCII | re.MULTILINE,
)

Answer = Callable[["Request"], "tuple[SearchResult, Outcome]"]


class Expander(NamedTuple):
    """Asks a language model for further lines; `languages` looks up those of the notes."""

    settings: Settings
    languages: Callable[[], Sequence[str]]
    llm: Callable[[], Client]

    @property
    def is_set(self) -> bool:
        """Tell whether a language model is set."""
        return self.settings.llm.provider != "none"

    def expand(self, text: str) -> tuple[tuple[Line, ...], str]:
        """Ask for further lines; return them, and a warning if there are not any."""
        question = query.parse(text).words
        if not query.terms(question):
            return (), ""
        if not self.is_set:
            return (), f"{_NOT}: no language model is set; {remedies.say('models.llm.named')}"
        if MARK in text or holds_secret(text) or holds_secret(question):
            return (), f"{_NOT}: it holds what looks like a secret, so it was sent to nobody"
        languages = self.languages()
        written = " and ".join(languages) or "the language of the question"
        try:
            answer = self.llm().complete(
                prompting.load("expand").messages(question=question, languages=written),
                max_tokens=MAX_TOKENS,
                deadline_s=self.settings.limits.wait_s,
                purpose=PURPOSE,
            )
        except CommonplaceError as error:
            return (), f"{_NOT} ({error})"
        lines = tuple(_worthwhile(read(answer.text), question, both=len(languages) > 1))
        return lines, "" if lines else f"{_NOT}: the language model gave nothing of use"


def search(expander: Expander, request: Request, answer: Answer, *, always: bool) -> SearchResult:
    """Answer a question as `answer` does, with further lines where they are wanted and can be had.

    Unless they are wanted always, it looks first, and asks for them only if no hit is clear and the question
    does not demand exact matches. A question for a day alone is never widened. Raises as `answer` does.
    """
    asked = query.parse(request.text)
    days = query.days(asked, request.now)
    if days is not None and days.alone:
        return answer(request)[0]
    first = None
    if not always:
        first, outcome = answer(request)
        is_exact = asked.lists or bool(asked.required or asked.prefixes)
        best, second = [*sorted((r.relevance for r in outcome.ranked), reverse=True)[:2], 0.0, 0.0][:2]
        is_clear = best >= CLEAR and best - second >= LEAD  # further lines cannot help
        if not expander.is_set or is_exact or is_clear:
            return first
    began = time.perf_counter()
    lines, warning = expander.expand(request.text)
    spent = {"expansion": (time.perf_counter() - began) * 1000}
    result = first if first and not lines else answer(request._replace(lines=lines))[0]
    return replace(
        result,
        warnings=(*result.warnings, *filter(None, [warning])),
        timings_ms=spent | dict(result.timings_ms),
        expanded=tuple(f"{line.kind}: {line.query.words}" for line in lines),
    )


def read(answer: str) -> list[tuple[Kind, str]]:
    """Find typed lines in what a language model wrote."""
    text = _FENCE.sub("", without_thoughts(answer[:_MOST_ANSWER]))
    lines = ((kind.lower(), said.rstrip(" \t\r\f\v\"'`*_,")) for kind, said in _TYPED.findall(text))
    return [(cast("Kind", kind), said) for kind, said in lines if said.strip()]


def _worthwhile(found: Iterable[tuple[Kind, str]], question: str, *, both: bool) -> Iterator[Line]:
    """Yield the lines that add something to the question; `both` if the notes are in two scripts.

    A line must share a word with the question, or it is about something else. Between two scripts no word can
    be shared, so one line of full text in the other may pass without.
    """
    said = {_identity(kind, question) for kind in MOST}
    left = {kind: most for kind, (most, _) in MOST.items()}
    foreign = both
    for kind, written in found:
        asked = query.plain(query.clean(written[: MOST[kind][1]]))
        identity = _identity(kind, asked.words)
        if not left[kind] or not asked.terms or identity in said:
            continue
        if not (_holds(_content(question), asked.words) or _holds(_content(asked.words), question)):
            if not (foreign and kind == "lex" and is_wide(question) is not is_wide(asked.words)):
                continue
            foreign = False
        said.add(identity)
        left[kind] -= 1
        yield Line(kind, asked, EXPANDED)


def _identity(kind: Kind, text: str) -> tuple[str, frozenset[str]]:
    """Return a key for duplicates: the terms of a full-text line, the words of a vector line."""
    return kind, frozenset(query.terms(text) if kind == "lex" else re.findall(r"\w+", text.lower()))


def _content(text: str) -> Sequence[str]:
    return [term for term in query.terms(text) if term != "i" and term not in stopwords.ENGLISH]


def _holds(terms: Sequence[str], text: str) -> bool:
    """Tell if a text holds one of some terms, whatever its ending."""
    pattern = screen.matcher(terms)
    return pattern is not None and pattern.search(text) is not None
