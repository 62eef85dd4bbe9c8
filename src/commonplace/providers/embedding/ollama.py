"""Models of an Ollama server. Protocol: docs.ollama.com/api/embed."""

from __future__ import annotations

from functools import partial

from commonplace.providers.embedding.remote import Call, RemoteEmbedder, Service, count_at
from commonplace.providers.packing import Limits


def _body(call: Call) -> dict[str, object]:
    # Since 0.13.5 the server refuses what is too long whatever `truncate` says; older ones would cut it.
    body: dict[str, object] = {"model": call.model, "input": list(call.inputs), "truncate": False}
    return body | ({"dimensions": call.dimensions} if call.dimensions else {})


OLLAMA = Service(
    "ollama",
    lambda call: "api/embed",
    _body,
    lambda answer: answer["embeddings"],
    # One machine works on them: two requests keep it busy, small ones keep a question from waiting.
    Limits(inputs=32, tokens=8192, input_tokens=8192, concurrency=2),
    usage=count_at("prompt_eval_count"),
)
load = partial(RemoteEmbedder, service=OLLAMA)
