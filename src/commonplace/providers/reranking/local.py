"""Rerankers that run on this machine: loaded late, given back when idle, one pair at a time.

An exported cross-encoder in a folder of the owner's, run by onnxruntime, or one that fastembed knows by name.
Question and text are read as a pair. Of too long a pair the text is cut; a question keeps half of the room
at most. Pairs run one by one, several at a time: a score depends on nothing but its pair.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.base import paths
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers import fastembed, folders, runtime
from commonplace.providers.loading import Shared
from commonplace.providers.reranking.base import sigmoid
from commonplace.providers.runtime import CHARACTERS_A_TOKEN
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from commonplace.providers.runtime import Port

UNSAID_TOKENS = 512  # of a tokenizer that names no limit; fastembed sets one wherever it is told one


class Pairing(NamedTuple):
    """A loaded model: its tokenizer, where a pair is cut, and what gives the probability of a pair."""

    tokenizer: Tokenizer
    max_tokens: int
    score: Callable[[str, str], float]
    model: Any = None


class LocalReranker:
    """A model whose weights are loaded at its first pair; safe in several threads.

    `fingerprint` changes with anything that changes a score.
    """

    def __init__(
        self,
        spec: Spec,
        model: str,
        fingerprint: str,
        load: Callable[[], Pairing],
        max_tokens: int = folders.MAX_TOKENS,
    ) -> None:
        """Put a model together; nothing is loaded."""
        self.name = f"{spec.provider}:{model}"
        self.model, self.fingerprint = model, fingerprint
        self.shared = Shared(load)
        self._provider, self._timeout_s = spec.provider, spec.query_deadline_s
        self._characters = max_tokens * CHARACTERS_A_TOKEN

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, also when time is over.

        Loading does not count: it happens once, and would otherwise never come to its end.
        """
        if not texts:
            return []
        with self.shared.use() as model:
            deadline = Deadline(self._timeout_s)
            question = runtime.clean(question, self._characters)
            asked = runtime.run(
                self._provider, lambda: shorten(model.tokenizer, question, model.max_tokens // 2)
            )

            def work(text: str) -> float:
                if not deadline.left_s():
                    message = f"the model did not score {len(texts)} texts within {deadline.seconds:g} s"
                    raise ProviderError(self._provider, message)
                pair = runtime.clean(text, self._characters)
                return runtime.run(self._provider, lambda: model.score(asked, pair))

            return runtime.each(work, texts)

    def close(self) -> None:
        """Nothing is kept open; the model is given back when it is idle."""


def shorten(tokenizer: Tokenizer, question: str, most: int) -> str:
    """Return a question cut behind its first tokens, where it has more of them."""
    # As the second of a pair: the first one is never cut, and a tokenizer fails on one that is too long.
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question[: encoding.offsets[most - 1][1]] if len(encoding.ids) > most > 0 else question


def load_onnx(spec: Spec) -> LocalReranker:
    """Make the reranker in the folder `spec.path`, or of the graph there; `spec.model` may name it.

    It is loaded for its first pair. Raises ConfigError without a path, ProviderError for a folder that holds
    no model.
    """
    if not spec.path:
        message = "the onnx provider needs the path of a folder with model.onnx and tokenizer.json"
        raise ConfigError("reranking.path", message)
    path = Path(os.path.abspath(os.path.expanduser(spec.path)))
    if not path.exists():
        raise ProviderError("onnx", f"{paths.shown(path)} is not there", permanent=True)
    runtime.check("onnx")
    exported = folders.read("onnx", path, spec.model)

    def load() -> Pairing:
        graph = runtime.open_graph("onnx", exported, "text-classification", _output, "only_second")

        def score(question: str, text: str) -> float:
            return _probability(graph.run(graph.tokenizer.encode(question, text)), graph.output)

        return Pairing(graph.tokenizer, exported.max_tokens, score, graph)

    return LocalReranker(spec, exported.name, f"{exported.name}@{exported.graph}", load, exported.max_tokens)


def _output(ports: Sequence[Port]) -> str:
    names = [port.name for port in ports]
    if "logits" in names or len(names) == 1:
        return "logits" if "logits" in names else names[0]
    message = f"the graph gives {', '.join(names)}; it needs logits: export it for text-classification"
    raise ProviderError("onnx", message, permanent=True)


def _probability(answer: object, output: str) -> float:
    """The probability that the answer of a graph tells. Raises ProviderError for an output that is none."""
    import numpy as np

    array = np.asarray(answer, np.float64)
    logits = [float(logit) for logit in array.reshape(-1)]
    if array.shape[:1] != (1,) or len(logits) not in (1, 2):
        shape = " x ".join(map(str, array.shape))
        message = f"the output {output} is {shape}, not 1 x 1 or 1 x 2: it is no cross-encoder"
        raise ProviderError("onnx", message, permanent=True)
    if not np.isfinite(array).all():
        raise ProviderError("onnx", "the model failed (its score is no number)")
    # Of two logits the second is that of the class `relevant` (softmax).
    return sigmoid(logits[0]) if len(logits) == 1 else sigmoid(logits[1] - logits[0])


def load_fastembed(spec: Spec) -> LocalReranker:
    """Make a reranker by its name in fastembed's table; it is loaded for its first pair.

    `spec.path` may name a folder with its files. Raises MissingExtra, ConfigError for an unknown name,
    ProviderError for one that is not on this machine.
    """
    row = fastembed.find(spec.model, "reranking")
    name = str(row["model"])
    at = Path(os.path.abspath(os.path.expanduser(spec.path))) if spec.path else None
    if at is None and not fastembed.is_here(row):
        raise fastembed.absent(name)

    def load() -> Pairing:
        model = fastembed.opened(row, at, "reranking")
        tokenizer = model.model.tokenizer
        limits = tokenizer.truncation
        room = int(limits["max_length"]) if limits else UNSAID_TOKENS
        tokenizer.enable_truncation(room, strategy="only_second")

        def score(question: str, text: str) -> float:
            (logit,) = model.rerank(question, [text])  # one pair by itself, so that nothing is padded
            return sigmoid(float(logit))

        return Pairing(tokenizer, room, score, model)

    return LocalReranker(spec, name, f"{name}@{at or ''}", load)
