"""Voyage AI. Protocol: docs.voyageai.com/reference/embeddings-api."""

from __future__ import annotations

from functools import partial

from commonplace.providers.embedding.openai import usage, vectors
from commonplace.providers.embedding.remote import Call, RemoteEmbedder, Service
from commonplace.providers.packing import Limits

KINDS = {"query": "query", "passage": "document"}


def settings(call: Call) -> dict[str, object]:
    """Return everything of a request but its texts, which are cut here by a rule that is known."""
    body: dict[str, object] = {"model": call.model, "input_type": KINDS[call.kind], "truncation": False}
    return body | ({"output_dimension": call.dimensions} if call.dimensions else {})


VOYAGE = Service(
    "voyage",
    lambda call: "embeddings",
    lambda call: {"input": list(call.inputs), **settings(call)},
    vectors,
    # 1,000 and 120,000 are allowed, but 10,000 tokens a minute to who has given no means of payment: a larger
    # request would be refused for ever. Its tokenizer makes up to three times as many of code and figures.
    Limits(inputs=256, tokens=8000, input_tokens=32_000),
    usage=usage,
)
load = partial(RemoteEmbedder, service=VOYAGE)
