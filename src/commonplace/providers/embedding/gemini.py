"""Gemini's embedding models. Protocol: ai.google.dev/api/embeddings (batchEmbedContents).

Vectors shorter than the model's own come unnormalised; all are made unit rows. The key goes into a header,
because addresses end up in logs.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from commonplace.providers.embedding import families
from commonplace.providers.embedding.remote import Call, RemoteEmbedder, Service, count_at
from commonplace.providers.packing import Limits

TASKS = {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"}


def resource(model: str) -> str:
    """Return a model's name as the API writes it: `models/gemini-embedding-001`."""
    return "models/" + quote(model.removeprefix("models/"), safe="")


def request(call: Call, text: str) -> dict[str, object]:
    """Return the request for one text. Later models take their task as a prefix (`families`), not here."""
    parts: dict[str, object] = {"model": resource(call.model), "content": {"parts": [{"text": text}]}}
    if not families.find(call.model).query:
        parts["taskType"] = TASKS[call.kind]
    return parts | ({"outputDimensionality": call.dimensions} if call.dimensions else {})


GEMINI = Service(
    "gemini",
    lambda call: f"{resource(call.model)}:batchEmbedContents",
    lambda call: {"requests": [request(call, text) for text in call.inputs]},
    lambda answer: [item["values"] for item in answer["embeddings"]],
    Limits(inputs=100, tokens=16_000, input_tokens=8192),  # 100 is its own limit
    header="x-goog-api-key",
    scheme="",
    usage=count_at("usageMetadata", "promptTokenCount"),  # not in every answer
)
load = partial(RemoteEmbedder, service=GEMINI)
