"""A language model as a reranker: yes or no with its probability, or else grades for all texts at once.

Where the endpoint tells how likely the tokens of an answer are, each text is asked about by itself, several
at a time, and p(yes) / (p(yes) + p(no)) of the first token is its score. Where it does not, one request
grades all texts from 0 to 10, which is cheaper than one request a text and coarser. Questions and texts
stand in frames that they cannot close, and the prompts say that they are data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts, packing, services
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import NoText

if TYPE_CHECKING:
    from commonplace.providers.llm.base import Completion, Schema
    from commonplace.providers.llm.client import Client

PURPOSE = "rerank"
LIKELY = 5  # tokens told at each place: `yes` and `no` in both cases, and one more; few servers tell fewer
ANSWER_TOKENS = 8  # a word and its end
GRADE_TOKENS, ROOM_TOKENS = 16, 512  # for a grade, and for models that think first
QUESTION_TOKENS, TEXT_TOKENS = 500, 1000  # of which so much is shown
AT_ONCE = 8
BEST = 10
_FRAME = re.compile(r"<(?=/?\s*(?:question|passage)\b)", re.IGNORECASE)
_GRADES: Schema = {
    "type": "object",
    "properties": {
        "grades": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "minimum": 1},
                    "grade": {"type": "integer", "minimum": 0, "maximum": BEST},
                },
                "required": ["number", "grade"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["grades"],
    "additionalProperties": False,
}


class LlmReranker:
    """The language model of the settings; safe to share between threads."""

    def __init__(self, client: Client, timeout_s: float) -> None:
        """Put it over a client, which caches, budgets and records."""
        model = client.model
        self.name = f"llm:{client.name}"
        self.fingerprint = f"llm:{model.fingerprint}"
        self._client = client
        self._provider = model.provider
        self._timeout_s = timeout_s
        self._grades = not services.chat(model.provider).logprobs

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError."""
        if not texts:
            return []
        deadline = Deadline(self._timeout_s)
        asked = _framed(question, QUESTION_TOKENS)
        shown = [_framed(text, TEXT_TOKENS) for text in texts]
        chances = None if self._grades else self._chances(asked, shown, deadline)
        if chances is None:
            return packing.ask_in_parts(partial(self._graded, asked, deadline), shown)
        return chances

    def close(self) -> None:
        """Close the connections that are kept."""
        close = getattr(self._client.model, "close", None)
        if close is not None:
            close()

    def _chances(self, question: str, texts: Sequence[str], deadline: Deadline) -> list[float] | None:
        """The probability of `yes` for each text, None where the endpoint does not tell it.

        The first text is asked about alone: what it tells holds for the others.
        """

        def chance(text: str) -> float | None:
            messages = prompting.load("rerank").messages(question=question, passage=text)
            left_s = self._left_s(deadline)
            try:
                completion = self._client.complete(
                    messages, max_tokens=ANSWER_TOKENS, logprobs=LIKELY, deadline_s=left_s, purpose=PURPOSE
                )
            except NoText:  # a model that thinks first, and has no room for that here
                return None
            return yes_of(completion)

        first = chance(texts[0])
        if first is None:
            self._grades = True
            return None
        chances = [first, *attempts.side_by_side(chance, texts[1:], AT_ONCE, deadline)]
        scores = [score for score in chances if score is not None]
        # Told for one text and not for another: grades are on one scale at least.
        return scores if len(scores) == len(chances) else None

    def _graded(self, question: str, deadline: Deadline, texts: Sequence[str]) -> list[float]:
        """Grades of all texts in one request, as scores."""
        count = len(texts)
        passages = "\n".join(
            f'<passage number="{number}">\n{text}\n</passage>' for number, text in enumerate(texts, 1)
        )
        messages = prompting.load("grade").messages(question=question, passages=passages)
        room, left_s = ROOM_TOKENS + GRADE_TOKENS * count, self._left_s(deadline)
        completion = self._client.complete(
            messages, _GRADES, max_tokens=room, deadline_s=left_s, purpose=PURPOSE
        )
        rows = completion.data["grades"] if isinstance(completion.data, dict) else []
        grades = {row["number"]: row["grade"] / BEST for row in rows}
        ordered = [grades[number] for number in range(1, count + 1) if number in grades]
        if len(rows) == len(grades) == len(ordered) == count:
            return ordered
        fault = "grades texts that were not sent"
        if len(grades) != len(rows):
            fault = "grades a text twice"
        elif len(ordered) < count:
            fault = f"leaves out {count - len(ordered)} of {count} texts"
        raise ProviderError(self._provider, f"the answer {fault}")

    def _left_s(self, deadline: Deadline) -> float:
        left = deadline.left_s()
        if not left:
            raise ProviderError(self._provider, f"no scores within {deadline.seconds:g} s")
        return left


def yes_of(completion: Completion) -> float | None:
    """Return p(yes) / (p(yes) + p(no)) of the first token that is no blank, whatever case and blanks around.

    None where the answer tells no probabilities, or begins with neither word.
    """
    first = next((chance for chance in completion.logprobs if chance.token.strip()), None)
    if first is None:
        return None
    spellings = dict(first.alternatives)
    spellings.setdefault(first.token, first.logprob)
    yes, no = (
        sum(math.exp(min(0.0, p)) for token, p in spellings.items() if token.strip().lower() == word)
        for word in ("yes", "no")
    )
    return yes / (yes + no) if yes + no > 0 else None


def _framed(text: str, most: int) -> str:
    """The part of a text that is shown, changed so that it cannot close its frame."""
    return _FRAME.sub("&lt;", packing.cut(text, most))
