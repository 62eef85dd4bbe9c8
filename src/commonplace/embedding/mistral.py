"""Mistral AI. Protocol: docs.mistral.ai/api (embeddings), the form of OpenAI's."""

from __future__ import annotations

from commonplace.embedding.base import Spec
from commonplace.embedding.openai import usage, vectors
from commonplace.embedding.packing import Limits
from commonplace.embedding.remote import Call, RemoteEmbedder, Service


def load(spec: Spec) -> RemoteEmbedder:
    """Make a model of Mistral. Raises ProviderError without a key."""
    return RemoteEmbedder(spec, MISTRAL)


def _body(call: Call) -> dict[str, object]:
    body: dict[str, object] = {"model": call.model, "input": list(call.inputs), "encoding_format": "float"}
    return body | ({"output_dimension": call.dimensions} if call.dimensions else {})


MISTRAL = Service(
    "mistral",
    lambda call: "embeddings",
    _body,
    vectors,
    Limits(inputs=128, tokens=8192, input_tokens=8192),  # 16,384 tokens are allowed
    usage=usage,
)
