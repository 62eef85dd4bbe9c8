"""Cohere. Protocol: docs.cohere.com/reference/embed (version 2)."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.embedding.base import Spec
from commonplace.embedding.packing import Limits
from commonplace.embedding.remote import Call, RemoteEmbedder, Service, count_at

KINDS = {"query": "search_query", "passage": "search_document"}


def load(spec: Spec) -> RemoteEmbedder:
    """Make a model of Cohere. Raises ProviderError without a key."""
    return RemoteEmbedder(spec, COHERE)


def _body(call: Call) -> dict[str, object]:
    body: dict[str, object] = {
        "model": call.model,
        "texts": list(call.inputs),
        "input_type": KINDS[call.kind],
        "embedding_types": ["float"],
        "truncate": "NONE",
    }
    return body | ({"output_dimension": call.dimensions} if call.dimensions else {})


def _vectors(answer: object) -> Sequence[object]:
    found: Sequence[object] = answer["embeddings"]["float"]  # type: ignore[index]
    return found


COHERE = Service(
    "cohere",
    lambda call: "embed",
    _body,
    _vectors,
    Limits(inputs=96, tokens=32_000, input_tokens=8192),  # 96 is its own limit
    usage=count_at("meta", "billed_units", "input_tokens"),
)
