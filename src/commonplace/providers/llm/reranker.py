"""A language model as a reranker: does a text answer the question, yes or no, and how probably.

Each text has a request of its own, several at a time. p(yes) / (p(yes) + p(no)) of the first token is its
score where the endpoint reports probabilities, else 1 for yes and 0 for no. Questions and texts are framed
so that they cannot close the frame, and the prompt says that they are data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts, packing, services
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import without_thoughts

if TYPE_CHECKING:
    from commonplace.providers.llm.base import Completion
    from commonplace.providers.llm.client import Client

PURPOSE = "rerank"
LIKELY, AT_ONCE = 5, 8  # tokens reported at each place: `yes` and `no` in both cases, and one more
ANSWER_TOKENS, THINKING_TOKENS = 8, 512  # a word and its end; the same after thinking
QUESTION_TOKENS, TEXT_TOKENS = 500, 1000
_FRAME = re.compile(r"<(?=/?\s*(?:question|passage)\b)", re.IGNORECASE)
_WORD = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class LlmReranker:
    """The language model of the settings as a reranker; safe to share between threads."""

    def __init__(self, client: Client, timeout_s: float) -> None:
        """Put it over a client, which caches, budgets and records."""
        self.name = f"llm:{client.name}"
        self._client, self._timeout_s = client, timeout_s
        self.close, self.forget_failures = client.close, client.forget_failures
        self._provider = client.model.provider
        self._logprobs = LIKELY if services.chat(self._provider).logprobs else 0

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError."""
        deadline, asked = Deadline(self._timeout_s), _framed(question, QUESTION_TOKENS)
        prompt = prompting.load("rerank")

        def score(text: str) -> float:
            left_s = deadline.left_s()
            if not left_s:
                raise ProviderError(self._provider, f"no scores within {deadline.seconds:g} s")
            completion = self._client.complete(
                prompt.messages(question=asked, passage=_framed(text, TEXT_TOKENS)),
                max_tokens=ANSWER_TOKENS if self._logprobs else THINKING_TOKENS,
                logprobs=self._logprobs,
                deadline_s=left_s,
                purpose=PURPOSE,
            )
            chance = yes_of(completion)
            if chance is None:
                raise ProviderError(self._provider, "the answer is neither yes nor no")
            return chance

        return attempts.side_by_side(score, texts, AT_ONCE, deadline)


def yes_of(completion: Completion) -> float | None:
    """Return p(yes) / (p(yes) + p(no)) of the first token, in any case and spacing.

    Without probabilities 1 or 0, as the text begins; None where it begins with neither word.
    """
    yes, no = (
        sum(math.exp(min(0.0, p)) for token, p in completion.logprobs if token.strip().lower() == word)
        for word in ("yes", "no")
    )
    if yes + no > 0:
        return yes / (yes + no)
    word = _WORD.match(without_thoughts(completion.text))
    return None if word is None else float(word[1].lower() == "yes")


def _framed(text: str, most: int) -> str:
    """The part of a text that is shown, changed so that it cannot close its frame."""
    return _FRAME.sub("&lt;", packing.cut(text, most))
