"""The embedding services that are known: how each one is asked, what its answers look like, its limits.

To add one, write its `Service` here and a row in `providers.catalog`. Protocols:
OpenAI platform.openai.com/docs/api-reference/embeddings (so do llama.cpp, LM Studio, vLLM, DeepInfra),
Mistral docs.mistral.ai/api, Voyage docs.voyageai.com/reference/embeddings-api,
Cohere docs.cohere.com/reference/embed (version 2), Gemini ai.google.dev/api/embeddings (batchEmbedContents),
Ollama docs.ollama.com/api/embed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from commonplace.providers.embedding import families
from commonplace.providers.embedding.base import Kind
from commonplace.providers.guard import count_at
from commonplace.providers.packing import Limits


@dataclass(frozen=True, slots=True)
class Call:
    """What one request asks for; `dimensions` is None unless shorter vectors are wanted."""

    model: str
    inputs: Sequence[str]
    kind: Kind
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's API. `path` and `body` make a request, `vectors` takes the vectors out of its answer.

    A vector is a list of numbers or, as OpenAI may send it, base64 of little-endian float32. `header` and
    `scheme` say how the key travels. `usage` reads how many tokens an answer says it took, None where it does
    not. `placed` adds the address to the identity of a model, where a name alone does not say which it is.
    """

    name: str
    path: Callable[[Call], str]
    body: Callable[[Call], dict[str, object]]
    vectors: Callable[[Any], Sequence[object]]
    limits: Limits
    header: str = "Authorization"
    scheme: str = "Bearer "
    placed: bool = False
    usage: Callable[[object], int | None] = lambda answer: None


_GEMINI_TASKS = {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"}
_VOYAGE_KINDS = {"query": "query", "passage": "document"}


def openai_body(call: Call, encoding: str = "float", dimensions: str = "dimensions") -> dict[str, object]:
    """Return a request in OpenAI's form; `dimensions` is what the provider calls the length of a vector.

    OpenAI itself sends vectors as base64, which is a third of the size; other servers are asked for numbers,
    which all of them know.
    """
    body: dict[str, object] = {"model": call.model, "input": list(call.inputs), "encoding_format": encoding}
    return body | _shorter(call, dimensions)


def openai_vectors(answer: object) -> Sequence[object]:
    """Take the vectors out of `{"data": [{"index": 0, "embedding": [...]}]}`, in the order of the inputs."""
    data = answer["data"]  # type: ignore[index]
    if all("index" in item for item in data):
        data = sorted(data, key=lambda item: item["index"])
        if [item["index"] for item in data] != list(range(len(data))):
            raise ValueError("indices are not those of the inputs")
    return [item["embedding"] for item in data]


def openai_usage(answer: object) -> int | None:
    """Return the tokens of `{"usage": {"prompt_tokens": 8, "total_tokens": 8}}`; one of the two is enough."""
    return count_at("usage", "total_tokens")(answer) or count_at("usage", "prompt_tokens")(answer)


def voyage_settings(call: Call) -> dict[str, object]:
    """Return everything of a request but its texts, which are cut here by a rule that is known."""
    body = {"model": call.model, "input_type": _VOYAGE_KINDS[call.kind], "truncation": False}
    return body | _shorter(call, "output_dimension")


def gemini_resource(model: str) -> str:
    """Return a model's name as the API writes it: `models/gemini-embedding-001`."""
    return "models/" + quote(model.removeprefix("models/"), safe="")


def gemini_request(call: Call, text: str) -> dict[str, object]:
    """Return the request for one text. Later models take their task as a prefix (`families`), not here."""
    parts: dict[str, object] = {"model": gemini_resource(call.model), "content": {"parts": [{"text": text}]}}
    if not families.find(call.model).query:
        parts["taskType"] = _GEMINI_TASKS[call.kind]
    return parts | _shorter(call, "outputDimensionality")


def _shorter(call: Call, name: str) -> dict[str, object]:
    return {name: call.dimensions} if call.dimensions else {}


_ROWS = (
    Service(
        "openai",
        lambda call: "embeddings",
        partial(openai_body, encoding="base64"),
        openai_vectors,
        Limits(inputs=256, tokens=32_000, input_tokens=8191),  # 2048, 300,000 and 8192 are allowed
        usage=openai_usage,
    ),
    Service(
        "compatible",
        lambda call: "embeddings",
        openai_body,
        openai_vectors,
        Limits(inputs=64, tokens=8192, input_tokens=8192),
        placed=True,
        usage=openai_usage,
    ),
    Service(
        "mistral",
        lambda call: "embeddings",
        partial(openai_body, dimensions="output_dimension"),
        openai_vectors,
        Limits(inputs=128, tokens=8192, input_tokens=8192),  # 16,384 tokens are allowed
        usage=openai_usage,
    ),
    Service(
        "voyage",
        lambda call: "embeddings",
        lambda call: {"input": list(call.inputs), **voyage_settings(call)},
        openai_vectors,
        # 1,000 and 120,000 are allowed, but 10,000 tokens a minute to who has given no means of payment: a
        # larger request would be refused for ever. Its tokenizer makes up to three times as many of code and
        # figures.
        Limits(inputs=256, tokens=8000, input_tokens=32_000),
        usage=openai_usage,
    ),
    Service(
        "cohere",
        lambda call: "embed",
        lambda call: {
            "model": call.model,
            "texts": list(call.inputs),
            "input_type": "search_query" if call.kind == "query" else "search_document",
            "embedding_types": ["float"],
            "truncate": "NONE",
            **_shorter(call, "output_dimension"),
        },
        lambda answer: answer["embeddings"]["float"],
        Limits(inputs=96, tokens=32_000, input_tokens=8192),  # 96 is its own limit
        usage=count_at("meta", "billed_units", "input_tokens"),
    ),
    # Vectors shorter than the model's own come unnormalised; all are made unit rows. The key goes into a
    # header, because addresses end up in logs.
    Service(
        "gemini",
        lambda call: f"{gemini_resource(call.model)}:batchEmbedContents",
        lambda call: {"requests": [gemini_request(call, text) for text in call.inputs]},
        lambda answer: [item["values"] for item in answer["embeddings"]],
        Limits(inputs=100, tokens=16_000, input_tokens=8192),  # 100 is its own limit
        header="x-goog-api-key",
        scheme="",
        usage=count_at("usageMetadata", "promptTokenCount"),  # not in every answer
    ),
    Service(
        "ollama",
        lambda call: "api/embed",
        # Since 0.13.5 the server refuses what is too long whatever `truncate` says; older ones would cut it.
        lambda call: {
            "model": call.model,
            "input": list(call.inputs),
            "truncate": False,
            **_shorter(call, "dimensions"),
        },
        lambda answer: answer["embeddings"],
        # One machine works on them: two requests keep it busy, small ones keep a question from waiting.
        Limits(inputs=32, tokens=8192, input_tokens=8192, concurrency=2),
        usage=count_at("prompt_eval_count"),
    ),
)
SERVICES = {row.name: row for row in _ROWS}
