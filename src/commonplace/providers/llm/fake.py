"""A model that says what it is told, for tests of this library and of what is built on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace

from commonplace.base.errors import ProviderError
from commonplace.providers.llm.base import Completion, Request, counted
from commonplace.providers.spec import Spec

Answer = str | Completion | Exception
Rule = Callable[[Request], Answer]


class FakeModel:
    """Answers by a rule, or with the next of a list; an exception is raised, a text becomes a completion.

    Tokens are estimated unless a `Completion` says how many. `requests` are those it got, in order.
    """

    def __init__(self, answers: Rule | Iterable[Answer], name: str = "fake", provider: str = "fake") -> None:
        """Make a model of a rule or a list of answers."""
        self.provider = provider
        self.name = name
        self.fingerprint = f"{provider}:{name}"
        self.requests: list[Request] = []
        self._rule = answers if callable(answers) else None
        self._list = iter(()) if callable(answers) else iter(answers)
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Completion:
        """Give the next answer. Raises ProviderError when the list has come to its end."""
        with self._lock:
            self.requests.append(request)
            answer = None if self._rule else next(self._list, None)
        if self._rule:
            answer = self._rule(request)
        if answer is None:
            raise ProviderError(self.provider, "no answer is left in the script", permanent=True)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return counted(Completion(answer, self.name), request)

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Give the next answer word by word."""
        whole = self.answer(request)
        for piece in whole.text.splitlines(keepends=True) or [""]:
            words = piece.split(" ")
            spaced = (word if place == len(words) else f"{word} " for place, word in enumerate(words, 1))
            yield from filter(None, spaced)
        return replace(whole)


def load(spec: Spec) -> FakeModel:
    """Make a fake that repeats the last message."""
    return FakeModel(lambda request: request.messages[-1].content, spec.model or "fake")
