"""An exported cross-encoder in a folder of the owner's, run by onnxruntime; nothing is downloaded.

Question and text are read as a pair. Of too long a pair the text is cut; a question keeps half of the room
at most. Pairs run one by one, several at a time: a score depends on nothing but its pair.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import paths
from commonplace.base.root import read_named
from commonplace.embedding import feeds, folders, runtime
from commonplace.embedding.folders import Exported
from commonplace.embedding.loading import Shared
from commonplace.errors import ConfigError, ProviderError
from commonplace.reranking import scores
from commonplace.reranking.base import Spec
from commonplace.reranking.local import LocalReranker, Traits

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from commonplace.embedding.runtime import Port, Session

PROVIDER = "onnx"
TASK = "text-classification"
LOGITS = "logits"


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded graph: what it is fed, and which output counts."""

    session: Session
    tokenizer: Tokenizer
    inputs: feeds.Inputs
    output: str
    max_tokens: int

    def shorten(self, question: str) -> str:
        """Return as much of a question as leaves half of the room to a text."""
        return shorten(self.tokenizer, question, self.max_tokens // 2)

    def score(self, question: str, text: str) -> float:
        """Run one pair; return its probability. Raises ProviderError for an output that is none."""
        import numpy as np

        fed = feeds.feed(self.inputs, self.tokenizer.encode(question, text))
        found = np.asarray(self.session.run([self.output], fed)[0], np.float64)
        logits = [float(one) for one in found.reshape(-1)]
        if found.shape[:1] != (1,) or len(logits) not in (1, 2):
            shape = " x ".join(map(str, found.shape))
            told = f"the output {self.output} is {shape}, not 1 x 1 or 1 x 2"
            raise ProviderError(PROVIDER, f"{told}: it is no cross-encoder", permanent=True)
        if not np.isfinite(found).all():
            raise ProviderError(PROVIDER, "the model failed (its score is no number)")
        return scores.sigmoid(logits[0]) if len(logits) == 1 else scores.second_of(logits)


def shorten(tokenizer: Tokenizer, question: str, most: int) -> str:
    """Return a question cut behind its first tokens, where it has more of them."""
    # As the second of a pair: the first one is never cut, and a tokenizer fails on one that is too long.
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question[: encoding.offsets[most - 1][1]] if len(encoding.ids) > most > 0 else question


def open_network(exported: Exported) -> Network:
    """Load graph and tokenizer. Raises ProviderError for what cannot be read, fed or understood."""
    try:
        data = read_named(exported.tokenizer)
    except OSError as error:
        told = f"{exported.tokenizer.name} cannot be read ({error.strerror})"
        raise ProviderError(PROVIDER, told) from error
    # By path, not bytes: weights of more than 2 GB lie in files beside the graph.
    session = runtime.session(PROVIDER, str(exported.graph))
    output = _output(session.get_outputs())
    tokenizer = runtime.tokenizer(PROVIDER, data, exported.max_tokens, "only_second")
    return Network(session, tokenizer, feeds.inputs(PROVIDER, session, TASK), output, exported.max_tokens)


def _output(ports: Sequence[Port]) -> str:
    names = [port.name for port in ports]
    if LOGITS in names or len(names) == 1:
        return LOGITS if LOGITS in names else names[0]
    told = f"the graph gives {', '.join(names)}; it needs {LOGITS}"
    raise ProviderError(PROVIDER, f"{told}: export it for {TASK}", permanent=True)


def load(spec: Spec) -> LocalReranker[Network]:
    """Make the reranker in the folder `spec.path`, or of the graph there; `spec.model` may name it.

    It is loaded for its first pair. Raises ConfigError without a path, ProviderError for a folder that holds
    no model.
    """
    if not spec.path:
        told = "the onnx provider needs the path of a folder with model.onnx and tokenizer.json"
        raise ConfigError("reranking.path", told)
    path = Path(os.path.abspath(os.path.expanduser(spec.path)))
    if not path.exists():
        raise ProviderError(PROVIDER, f"{paths.shown(path)} is not there", permanent=True)
    runtime.check(PROVIDER)
    exported = folders.read(PROVIDER, path, spec.model)
    fingerprint = f"{exported.name}@{exported.graph}"
    traits = Traits(PROVIDER, exported.name, fingerprint, exported.max_tokens, Network.shorten, Network.score)
    return LocalReranker(traits, Shared(lambda: open_network(exported)), spec.timeout_s)
