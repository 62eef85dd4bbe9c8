"""Mistral AI. Protocol: docs.mistral.ai/api (embeddings), the form of OpenAI's."""

from __future__ import annotations

from functools import partial

from commonplace.providers.embedding.openai import body, usage, vectors
from commonplace.providers.embedding.remote import RemoteEmbedder, Service
from commonplace.providers.packing import Limits

MISTRAL = Service(
    "mistral",
    lambda call: "embeddings",
    partial(body, dimensions="output_dimension"),
    vectors,
    Limits(inputs=128, tokens=8192, input_tokens=8192),  # 16,384 tokens are allowed
    usage=usage,
)
load = partial(RemoteEmbedder, service=MISTRAL)
