"""Models whose answers can be worked out by hand, for tests of this library and of what is built on it."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from commonplace.base.errors import ProviderError
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding.base import Kind
from commonplace.providers.llm.base import Completion, Request, counted

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

Answer = str | Completion | Exception
Rule = Callable[[Request], Answer]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class FakeEmbedder:
    """Counts words: each adds 1 to dimension crc32(word) mod `dimensions`; none is the first unit vector."""

    def __init__(self, dimensions: int = 64, scripts: frozenset[str] = frozenset({"latin"})) -> None:
        """Make a model of some size that claims to serve some scripts."""
        self.name, self.dimensions, self.scripts = "fake", dimensions, scripts
        self.fingerprint = f"fake-1:{dimensions}"
        self.calls: list[int] = []  # texts per call, for tests that count what was embedded

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows."""
        import numpy as np

        self.calls.append(len(texts))
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _words(text):
                row[zlib.crc32(word.encode("utf-8", "replace")) % self.dimensions] += 1
            row[0] += not row.any()
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class FakeModel:
    """Answers by a rule, or with the next of a list; an exception is raised. `requests` are those it got."""

    def __init__(self, answers: Rule | Iterable[Answer], name: str = "fake", provider: str = "fake") -> None:
        """Make a model of a rule or a list of answers."""
        self.provider, self.name, self.fingerprint = provider, name, f"{provider}:{name}"
        self.requests: list[Request] = []
        script = iter(()) if callable(answers) else iter(answers)
        self._rule = answers if callable(answers) else lambda request: next(script, None)
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Completion:
        """Give the next answer. Raises ProviderError when the list has come to its end."""
        with self._lock:
            self.requests.append(request)
            answer = self._rule(request)
        if isinstance(answer, Exception | None):
            raise answer or ProviderError(self.provider, "no answer is left in the script", permanent=True)
        return answer if isinstance(answer, Completion) else counted(Completion(answer, self.name), request)


class FakeReranker:
    """Scores a text by the share of the question's words that it holds; `calls` are what it got, in order."""

    def __init__(self, model: str = "words") -> None:
        """Make one of any name."""
        self.name = f"fake:{model}"
        self.calls: list[tuple[str, tuple[str, ...]]] = []

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the share of words for each text."""
        self.calls.append((question, tuple(texts)))
        asked = set(_words(question))
        return [len(asked & set(_words(text))) / max(1, len(asked)) for text in texts]


def load_embedder(spec: Spec) -> FakeEmbedder:
    """Make the default fake, or one of other dimensions."""
    return FakeEmbedder(spec.dimensions or 64)


def load_llm(spec: Spec) -> FakeModel:
    """Make a fake that repeats the last message."""
    return FakeModel(lambda request: request.messages[-1].content, spec.model or "fake")


def load_reranker(spec: Spec) -> FakeReranker:
    """Make a fake of the name that is set."""
    return FakeReranker(spec.model or "words")
