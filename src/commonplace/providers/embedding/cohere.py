"""Cohere. Protocol: docs.cohere.com/reference/embed (version 2)."""

from __future__ import annotations

from functools import partial

from commonplace.providers.embedding.remote import Call, RemoteEmbedder, Service, count_at
from commonplace.providers.packing import Limits

KINDS = {"query": "search_query", "passage": "search_document"}


def _body(call: Call) -> dict[str, object]:
    body: dict[str, object] = {
        "model": call.model,
        "texts": list(call.inputs),
        "input_type": KINDS[call.kind],
        "embedding_types": ["float"],
        "truncate": "NONE",
    }
    return body | ({"output_dimension": call.dimensions} if call.dimensions else {})


COHERE = Service(
    "cohere",
    lambda call: "embed",
    _body,
    lambda answer: answer["embeddings"]["float"],
    Limits(inputs=96, tokens=32_000, input_tokens=8192),  # 96 is its own limit
    usage=count_at("meta", "billed_units", "input_tokens"),
)
load = partial(RemoteEmbedder, service=COHERE)
