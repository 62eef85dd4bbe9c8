"""Models of an Ollama server. Protocol: docs.ollama.com/api/embed."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.embedding.base import Spec
from commonplace.embedding.packing import Limits
from commonplace.embedding.remote import Call, RemoteEmbedder, Service, count_at


def load(spec: Spec) -> RemoteEmbedder:
    """Make a model that an Ollama server runs; whether it is there shows at the first call."""
    return RemoteEmbedder(spec, OLLAMA)


def _body(call: Call) -> dict[str, object]:
    # Since 0.13.5 the server refuses what is too long whatever `truncate` says; older ones would cut it.
    body: dict[str, object] = {"model": call.model, "input": list(call.inputs), "truncate": False}
    return body | ({"dimensions": call.dimensions} if call.dimensions else {})


def _vectors(answer: object) -> Sequence[object]:
    found: Sequence[object] = answer["embeddings"]  # type: ignore[index]
    return found


OLLAMA = Service(
    "ollama",
    lambda call: "api/embed",
    _body,
    _vectors,
    # One machine works on them: two requests keep it busy, small ones keep a question from waiting.
    Limits(inputs=32, tokens=8192, input_tokens=8192, concurrency=2),
    key_needed=False,
    usage=count_at("prompt_eval_count"),
)
