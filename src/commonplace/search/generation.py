"""One answer to a question: the language model writes it from what was recalled, and cites it by number.

The model is given nothing but the question and the passages, which are framed as data. What comes back is
checked: numbers that it was not given are taken out and named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from commonplace.base.errors import ConfigError, NoModel
from commonplace.base.tuples import NamedTuple
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Message, without_thoughts
from commonplace.redaction import recalled
from commonplace.redaction.redact import holds_secret
from commonplace.render import screen
from commonplace.search import pack, wording
from commonplace.search.language_model import LanguageModel
from commonplace.types import Answer, Recall

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config import Settings
    from commonplace.providers.llm.base import Completion

PURPOSE = "answer"
MAX_TOKENS = 1024  # a few sentences, and room for models that think first
DEADLINE_S = 120.0  # a model on a machine without a GPU reads a recall for a minute
NOTHING = "NOTHING"  # what the prompt asks for where the passages do not say it
UNCITED = "the answer names no passage, so nothing says where it is from"
_ONE = r"\d{1,4}(?:\s*[–-]\s*\d{1,4})?"
# Code, in which brackets are not citations, or a group of numbers: [1], [1, 3], [2-4], 【1】, 〔1〕, ［1］.
_CITED = re.compile(
    r"(?P<code>(?P<mark>`+)(?!`).*?(?<!`)(?P=mark)(?!`))"
    rf"|[ \t]?[\[【〔［](?P<numbers>{_ONE}(?:\s*[,，、;]\s*{_ONE})*)[\]】〕］](?!\()",
    re.DOTALL,
)
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")


class Cited(NamedTuple):
    """A text whose citations are numbered in the order they come, and which passages (from 1) they are."""

    text: str
    numbers: tuple[int, ...]
    invented: tuple[int, ...]


class Writer:
    """Asks the language model of the settings, opened once, for whoever asks a workspace."""

    def __init__(self, workspace: Workspace, settings: Settings) -> None:
        """Bind to settings; nothing is opened before a question is to be answered."""
        self._llm = LanguageModel(workspace, settings)

    def check(self, text: str) -> None:
        """Raise NoModel where none is set, ConfigError for a question that must not be sent to one."""
        if not self._llm.is_set:
            raise NoModel("an answer")
        if isinstance(text, str) and holds_secret(text):
            told = "holds what looks like a secret, so it was sent to nobody; ask without it"
            raise ConfigError("text", told)

    def answer(self, recall: Recall, today: date) -> Answer:
        """Answer from a recall; nothing recalled, nobody is asked.

        Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError.
        """
        answer = Answer(recall.query, "", weak=recall.weak, stale=recall.stale, warnings=recall.warnings)
        if not recall.hits:
            return answer
        llm = self._llm.load()
        completion = llm.complete(
            messages(recall, today), max_tokens=MAX_TOKENS, deadline_s=DEADLINE_S, purpose=PURPOSE
        )
        text = screen.clean(without_thoughts(completion.text)).strip()
        cited = Cited("", (), ()) if text.strip(" .。*`") == NOTHING else cite(text, len(recall.hits))
        return replace(
            answer,
            text=cited.text,
            citations=tuple(recall.hits[number - 1] for number in cited.numbers),
            model=llm.name,
            given=len(recall.hits),
            invented=cited.invented,
            tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out,
            warnings=(*recall.warnings, *_doubts(cited, completion)),
        )


def messages(recall: Recall, today: date) -> tuple[Message, ...]:
    """Compose what the model is asked: the passages by number, in the frame of a recall, and the question."""
    return prompting.load("answer").messages(
        passages=pack.numbered(recall.hits),
        question=recalled.disarm(wording.asked(recall.query)),
        today=today.isoformat(),
    )


def cite(text: str, given: int) -> Cited:
    """Number citations anew in the order they come; those beyond `given` passages are taken out."""
    numbers: list[int] = []
    invented: list[int] = []

    def renumber(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        known = []
        for number in _numbers(match["numbers"]):
            if not 1 <= number <= given:
                invented.append(number)
                continue
            if number not in numbers:
                numbers.append(number)
            known.append(f"[{numbers.index(number) + 1}]")
        blank = match[0][:1] if match[0][:1] in " \t" and known else ""
        return blank + "".join(dict.fromkeys(known))

    cited = _CITED.sub(renumber, text)
    return Cited(cited.strip(), tuple(numbers), tuple(dict.fromkeys(invented)))


def _numbers(group: str) -> list[int]:
    """The numbers of a citation; a range stands for all of it, unless it is longer than any recall."""
    numbers: list[int] = []
    for part in re.split(r"[,，、;]", group):
        ends = _RANGE.search(part)
        first, last = (int(ends[1]), int(ends[2])) if ends else (int(part), int(part))
        numbers += range(first, last + 1) if first <= last < first + 100 else [first, last]
    return numbers


def _doubts(cited: Cited, completion: Completion) -> Sequence[str]:
    """What a reader should know of an answer."""
    doubts = []
    if cited.invented:
        listed = ", ".join(f"[{number}]" for number in cited.invented)
        doubts.append(f"the model cited {listed}, which it was not given; that was taken out")
    if cited.text and not cited.numbers:
        doubts.append(UNCITED)
    if completion.finish == "length":
        doubts.append("the answer is cut off: the model spent all tokens that it may")
    return doubts
