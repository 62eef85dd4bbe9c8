"""OpenAI, and what speaks its language: llama.cpp, LM Studio, vLLM, DeepInfra and other servers.

Protocol: platform.openai.com/docs/api-reference/embeddings. OpenAI itself sends vectors as base64, which is
a third of the size; other servers are asked for numbers, which all of them know.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from commonplace.providers.embedding.remote import Call, RemoteEmbedder, Service, count_at
from commonplace.providers.packing import Limits


def body(call: Call, encoding: str = "float", dimensions: str = "dimensions") -> dict[str, object]:
    """Return a request; `dimensions` is what the provider calls the length of a vector."""
    request: dict[str, object] = {
        "model": call.model,
        "input": list(call.inputs),
        "encoding_format": encoding,
    }
    return request | ({dimensions: call.dimensions} if call.dimensions else {})


def vectors(answer: object) -> Sequence[object]:
    """Take the vectors out of `{"data": [{"index": 0, "embedding": [...]}]}`, in the order of the inputs."""
    data = answer["data"]  # type: ignore[index]
    if all("index" in item for item in data):
        data = sorted(data, key=lambda item: item["index"])
        if [item["index"] for item in data] != list(range(len(data))):
            raise ValueError("indices are not those of the inputs")
    return [item["embedding"] for item in data]


def usage(answer: object) -> int | None:
    """Return the tokens of `{"usage": {"prompt_tokens": 8, "total_tokens": 8}}`; one of the two is enough."""
    return count_at("usage", "total_tokens")(answer) or count_at("usage", "prompt_tokens")(answer)


OPENAI = Service(
    "openai",
    lambda call: "embeddings",
    partial(body, encoding="base64"),
    vectors,
    Limits(inputs=256, tokens=32_000, input_tokens=8191),  # 2048, 300,000 and 8192 are allowed
    usage=usage,
)
COMPATIBLE = Service(
    "compatible",
    lambda call: "embeddings",
    body,
    vectors,
    Limits(inputs=64, tokens=8192, input_tokens=8192),
    placed=True,
    usage=usage,
)
load = partial(RemoteEmbedder, service=OPENAI)
load_compatible = partial(RemoteEmbedder, service=COMPATIBLE)
