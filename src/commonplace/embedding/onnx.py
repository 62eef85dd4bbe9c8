"""An exported ONNX model in a folder of the owner's, run by onnxruntime; nothing is downloaded.

`folders.py` says what the files around the graph decide. A graph that gives sentence embeddings itself is
believed; of any other the token vectors are pooled here. Vectors are always scaled to length 1.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base.root import open_named, read_named
from commonplace.embedding import cards, feeds, folders, runtime
from commonplace.embedding.base import Kind, Spec
from commonplace.embedding.folders import Exported, Pooling
from commonplace.embedding.loading import Shared
from commonplace.embedding.local import LocalEmbedder, Probed, Traits, learn, location
from commonplace.errors import ProviderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from commonplace.embedding.base import Floats
    from commonplace.embedding.runtime import Port, Session

PROVIDER = "onnx"
TASK = "feature-extraction"
READY = "sentence_embedding"
TOKENS = ("token_embeddings", "last_hidden_state")
POOLED = "pooler_output"  # BERT's was trained for another end; it counts where there is nothing else
# Weights outside a graph (`external_data` of onnx.proto): key `location`, then a file name, under 128 bytes.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded graph: what it is fed, which output counts, and how that becomes one vector."""

    session: Session
    tokenizer: Tokenizer
    inputs: feeds.Inputs
    output: str
    pooling: Pooling | None

    def vector(self, text: str) -> Floats:
        """Run one text; return its vector, (d,) float32, not yet scaled."""
        import numpy as np

        fed = feeds.feed(self.inputs, self.tokenizer.encode(text))
        found = np.asarray(self.session.run([self.output], fed)[0], np.float32)
        return _pool(found, self.pooling, self.output)


def _pool(found: NDArray[np.float32], pooling: Pooling | None, output: str) -> Floats:
    """Make (1, d), or (1, tokens, d) with a pooling, one (d,)."""
    if found.ndim != (2 if pooling is None else 3) or not found.shape[-1]:
        wanted = "1 x dimensions" if pooling is None else "1 x tokens x dimensions"
        shape = " x ".join(map(str, found.shape))
        raise ProviderError(PROVIDER, f"the output {output} is {shape}, not {wanted}", permanent=True)
    rows: Floats = found[0]
    if pooling is None:
        return rows
    if pooling == "mean":
        mean: Floats = rows.mean(axis=0)
        return mean
    row: Floats = rows[0 if pooling == "cls" else -1]
    return row


def open_network(exported: Exported) -> Network:
    """Load graph and tokenizer. Raises ProviderError for a graph that cannot be fed or gives no vectors."""
    try:
        data = read_named(exported.tokenizer)
    except OSError as error:
        raise ProviderError(
            PROVIDER, f"{exported.tokenizer.name} cannot be read ({error.strerror})"
        ) from error
    # By path, not bytes: weights of more than 2 GB lie in files beside the graph.
    session = runtime.session(PROVIDER, str(exported.graph))
    output, pooling = _output(session.get_outputs(), exported)
    tokenizer = runtime.tokenizer(PROVIDER, data, exported.max_tokens)
    return Network(session, tokenizer, feeds.inputs(PROVIDER, session, TASK), output, pooling)


def _output(ports: Sequence[Port], exported: Exported) -> tuple[str, Pooling | None]:
    """The output that counts, and the pooling it needs."""
    names = [port.name for port in ports]
    if READY in names:
        return READY, None
    if exported.dense:
        told = f"a dense layer follows the pooling and the graph has no {READY}"
        raise ProviderError(PROVIDER, f"{told}: export it with optimum as a sentence model", permanent=True)
    found = [port for port in ports if port.name in TOKENS or len(names) == 1]
    if found:
        return found[0].name, None if len(found[0].shape) == 2 else exported.pooling
    if POOLED in names:
        return POOLED, None
    told = f"the graph gives {', '.join(names)}; it needs {READY} or {TOKENS[1]}"
    raise ProviderError(PROVIDER, f"{told}: export it for {TASK}", permanent=True)


def _weights(graph: Path) -> list[Path]:
    """The graph, and the files beside it that hold its weights."""
    try:
        with open_named(graph) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            ends = [(found.end(), found[1][0]) for found in _LOCATION.finditer(data)]
            names = {data[end : end + length].decode("utf-8", "replace") for end, length in ends}
    except (OSError, ValueError) as error:  # ValueError: it is empty
        raise ProviderError(PROVIDER, f"{graph.name} cannot be read ({error})", permanent=True) from error
    return [graph, *(graph.parent / name for name in sorted(names))]


def load(spec: Spec) -> LocalEmbedder[Network]:
    """Make the model in the folder `spec.path`, or of the graph there; `spec.model` may name it.

    The first time it is loaded to learn its dimensions, later only for its first text. Raises ConfigError
    without a path, ProviderError for a folder or a graph that cannot be used.
    """
    path = location(spec, "a folder with model.onnx and tokenizer.json")
    runtime.check(PROVIDER)
    exported = folders.read(PROVIDER, path, spec.model)

    def reload() -> Network:
        cards.verify(PROVIDER, card)
        return open_network(exported)

    shared = Shared(reload)

    def probe() -> Probed:
        network = open_network(exported)
        width = len(runtime.run(PROVIDER, partial(network.vector, "a")))
        shared.put(network)
        return Probed(width)

    key = f"{exported.graph}:{exported.tokenizer}:{exported.pooling}"
    card = learn(PROVIDER, key, lambda: [*_weights(exported.graph), exported.tokenizer], probe)
    traits = Traits(
        PROVIDER,
        exported.name,
        exported.scripts,
        exported.max_tokens,
        exported.query_prefix,
        exported.passage_prefix,
        (exported.pooling,),
    )
    return LocalEmbedder(traits, card, shared, _run, spec.dimensions)


def _run(network: Network, text: str, kind: Kind) -> Floats:
    return network.vector(text)
