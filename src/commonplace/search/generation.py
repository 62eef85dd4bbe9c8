"""One answer to a question: the language model writes it from what was recalled, and cites it by number.

The model gets the question and the passages, framed as data. Its answer is checked: numbers of passages that
it did not get are taken out and named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
from commonplace.types import Answer, Recall

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.providers.llm.base import Completion
    from commonplace.providers.llm.client import Client

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


class Cited(NamedTuple):
    """A text whose citations are numbered in the order they come, and which passages (from 1) they are."""

    text: str
    numbers: tuple[int, ...]
    invented: tuple[int, ...]


def check(settings: Settings, text: str) -> None:
    """Raise NoModel without a language model, ConfigError for a question with a secret."""
    if settings.llm.provider == "none":
        raise NoModel("an answer")
    if isinstance(text, str) and holds_secret(text):
        told = "holds what looks like a secret, so it was sent to nobody; ask without it"
        raise ConfigError("text", told)


def answer(open_llm: Callable[[], Client], recall: Recall, today: date) -> Answer:
    """Answer from a recall; without hits the model is not opened.

    Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError.
    """
    answer = Answer(recall.query, "", weak=recall.weak, stale=recall.stale, warnings=recall.warnings)
    if not recall.hits:
        return answer
    llm = open_llm()
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
    """Compose the messages for the model: numbered passages in the frame of a recall, and the question."""
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
            elif number not in numbers:
                numbers.append(number)
            if number in numbers:
                known.append(f"[{numbers.index(number) + 1}]")
        blank = match[0][:1] if match[0][:1] in " \t" and known else ""
        return blank + "".join(dict.fromkeys(known))

    cited = _CITED.sub(renumber, text)
    return Cited(cited.strip(), tuple(numbers), tuple(dict.fromkeys(invented)))


def _numbers(group: str) -> list[int]:
    """The numbers of a citation; a range stands for all of it, unless it is longer than any recall."""
    numbers: list[int] = []
    for part in re.split(r"[,，、;]", group):
        first, *further = map(int, re.findall(r"\d+", part))
        last = further[0] if further else first
        numbers += range(first, last + 1) if first <= last < first + 100 else [first, last]
    return numbers


def _doubts(cited: Cited, completion: Completion) -> Sequence[str]:
    """Warnings about an answer."""
    doubts = []
    if cited.invented:
        listed = ", ".join(f"[{number}]" for number in cited.invented)
        doubts.append(f"the model cited {listed}, which it was not given; that was taken out")
    if cited.text and not cited.numbers:
        doubts.append(UNCITED)
    if completion.finish == "length":
        doubts.append("the answer is cut off: the model spent all tokens that it may")
    return doubts
