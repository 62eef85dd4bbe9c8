"""Gemini's embedding models. Protocol: ai.google.dev/api/embeddings (batchEmbedContents).

Vectors shorter than the model's own come unnormalised; all are made unit rows. The key goes into a header,
because addresses end up in logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from commonplace.embedding import families
from commonplace.embedding.base import Spec
from commonplace.embedding.packing import Limits
from commonplace.embedding.remote import Call, RemoteEmbedder, Service, count_at

TASKS = {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"}


def load(spec: Spec) -> RemoteEmbedder:
    """Make a model of Gemini. Raises ProviderError without a key."""
    return RemoteEmbedder(spec, GEMINI)


def resource(model: str) -> str:
    """Return a model's name as the API writes it: `models/gemini-embedding-001`."""
    return "models/" + quote(model.removeprefix("models/"), safe="")


def request(call: Call, text: str) -> dict[str, object]:
    """Return the request for one text. Later models take their task as a prefix (`families`), not here."""
    parts: dict[str, object] = {"model": resource(call.model), "content": {"parts": [{"text": text}]}}
    if not families.find(call.model).query:
        parts["taskType"] = TASKS[call.kind]
    return parts | ({"outputDimensionality": call.dimensions} if call.dimensions else {})


def _vectors(answer: object) -> Sequence[object]:
    return [item["values"] for item in answer["embeddings"]]  # type: ignore[index]


GEMINI = Service(
    "gemini",
    lambda call: f"{resource(call.model)}:batchEmbedContents",
    lambda call: {"requests": [request(call, text) for text in call.inputs]},
    _vectors,
    Limits(inputs=100, tokens=16_000, input_tokens=8192),  # 100 is its own limit
    header="x-goog-api-key",
    scheme="",
    usage=count_at("usageMetadata", "promptTokenCount"),  # not in every answer
)
