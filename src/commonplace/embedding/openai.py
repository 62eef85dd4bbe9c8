"""OpenAI, and what speaks its language: llama.cpp, LM Studio, vLLM, DeepInfra and other servers.

Protocol: platform.openai.com/docs/api-reference/embeddings. OpenAI itself sends vectors as base64, which is
a third of the size; other servers are asked for numbers, which all of them know.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.embedding.base import Spec
from commonplace.embedding.packing import Limits
from commonplace.embedding.remote import Call, RemoteEmbedder, Service, count_at

_ALL = count_at("usage", "total_tokens")
_PROMPT = count_at("usage", "prompt_tokens")


def load(spec: Spec) -> RemoteEmbedder:
    """Make a model of OpenAI. Raises ProviderError without a key."""
    return RemoteEmbedder(spec, OPENAI)


def load_compatible(spec: Spec) -> RemoteEmbedder:
    """Make a model of any compatible server. Raises ProviderError without `base_url` or `model`."""
    return RemoteEmbedder(spec, COMPATIBLE)


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
    return _ALL(answer) or _PROMPT(answer)


def _body(call: Call, encoding: str) -> dict[str, object]:
    body: dict[str, object] = {"model": call.model, "input": list(call.inputs), "encoding_format": encoding}
    return body | ({"dimensions": call.dimensions} if call.dimensions else {})


def _path(call: Call) -> str:
    return "embeddings"


OPENAI = Service(
    "openai",
    _path,
    lambda call: _body(call, "base64"),
    vectors,
    Limits(inputs=256, tokens=32_000, input_tokens=8191),  # 2048, 300,000 and 8192 are allowed
    usage=usage,
)
COMPATIBLE = Service(
    "compatible",
    _path,
    lambda call: _body(call, "float"),
    vectors,
    Limits(inputs=64, tokens=8192, input_tokens=8192),
    key_needed=False,
    placed=True,
    usage=usage,
)
