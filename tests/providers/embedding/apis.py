"""Providers as their documentation describes them, behind a scripted server: strict about what they are sent."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Sequence

from tests.providers.server import Reply, Request

KEY = "sk-test-0123456789abcdef"
DIMENSIONS = 8


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """What every fake model makes of a text: not normalised, computable by hand."""
    return [float(zlib.crc32(f"{place}{text}".encode()) % 1000 + 1) for place in range(dimensions)]


def exactly(body: dict, required: dict[str, type], optional: dict[str, type] | None = None) -> None:
    """Refuse keys that are missing, unknown or of another type."""
    allowed = required | (optional or {})
    assert required.keys() <= body.keys() <= allowed.keys(), body.keys()
    for name, value in body.items():
        assert isinstance(value, allowed[name]), (name, value)


def texts_of(values: Sequence[object], most: int) -> list[str]:
    assert 0 < len(values) <= most
    assert all(isinstance(value, str) and value.strip() for value in values), "providers refuse empty inputs"
    return list(values)


def listed(vectors: Sequence[object], *, shuffled: bool = False) -> Reply:
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    return Reply(
        {"object": "list", "data": data[::-1] if shuffled else data, "usage": {"total_tokens": len(vectors)}}
    )


def openai(request: Request) -> Reply:
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json
    exactly(body, {"model": str, "input": list, "encoding_format": str}, {"dimensions": int})
    assert body["encoding_format"] == "base64"
    rows = [vector(text, body.get("dimensions", DIMENSIONS)) for text in texts_of(body["input"], 2048)]
    return listed([base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() for row in rows])


def compatible(request: Request) -> Reply:
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    body = request.json
    exactly(body, {"model": str, "input": list, "encoding_format": str}, {"dimensions": int})
    assert body["encoding_format"] == "float"
    rows = [vector(text, body.get("dimensions", DIMENSIONS)) for text in texts_of(body["input"], 64)]
    return listed(rows, shuffled=True)


def gemini(request: Request) -> Reply:
    model = request.path.removeprefix("/v1/models/").removesuffix(":batchEmbedContents")
    assert request.path == f"/v1/models/{model}:batchEmbedContents"
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    exactly(request.json, {"requests": list})
    assert len(request.json["requests"]) <= 100
    rows = []
    for one in request.json["requests"]:
        task = {"taskType": str} if model != "gemini-embedding-2" else {}
        exactly(one, {"model": str, "content": dict} | task, {"outputDimensionality": int})
        assert one["model"] == f"models/{model}"
        assert one.get("taskType") in (None, "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT")
        (part,) = one["content"]["parts"]
        said = texts_of([part["text"]], 1)[0]
        rows.append(
            {"values": vector(said + one.get("taskType", ""), one.get("outputDimensionality", DIMENSIONS))}
        )
    return Reply({"embeddings": rows, "usageMetadata": {"promptTokenCount": len(rows)}})


def voyage(request: Request) -> Reply:
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json
    exactly(
        body, {"model": str, "input": list, "input_type": str, "truncation": bool}, {"output_dimension": int}
    )
    assert body["input_type"] in ("query", "document")
    assert body["truncation"] is False  # texts are cut by us, or else refused
    size = body.get("output_dimension", DIMENSIONS)
    return listed([vector(text + body["input_type"], size) for text in texts_of(body["input"], 1000)])


def mistral(request: Request) -> Reply:
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json
    exactly(body, {"model": str, "input": list, "encoding_format": str}, {"output_dimension": int})
    size = body.get("output_dimension", DIMENSIONS)
    return listed([vector(text, size) for text in texts_of(body["input"], 128)])


def cohere(request: Request) -> Reply:
    assert (request.method, request.path) == ("POST", "/v1/embed")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json
    required = {"model": str, "texts": list, "input_type": str, "embedding_types": list, "truncate": str}
    exactly(body, required, {"output_dimension": int})
    assert body["input_type"] in ("search_query", "search_document")
    assert (body["embedding_types"], body["truncate"]) == (["float"], "NONE")
    size = body.get("output_dimension", DIMENSIONS)
    rows = [vector(text + body["input_type"], size) for text in texts_of(body["texts"], 96)]
    return Reply(
        {"id": "x", "embeddings": {"float": rows}, "texts": body["texts"]} | counted("cohere", len(rows))
    )


def ollama(request: Request) -> Reply:
    assert (request.method, request.path) == ("POST", "/v1/api/embed")
    assert "authorization" not in request.headers
    body = request.json
    exactly(body, {"model": str, "input": list, "truncate": bool}, {"dimensions": int})
    assert body["truncate"] is False
    rows = [vector(text, body.get("dimensions", DIMENSIONS)) for text in texts_of(body["input"], 10_000)]
    return Reply(
        {"model": body["model"], "embeddings": rows, "total_duration": 1, "prompt_eval_count": len(rows)}
    )


APIS: dict[str, Callable[[Request], Reply]] = {
    "openai": openai,
    "compatible": compatible,
    "gemini": gemini,
    "voyage": voyage,
    "mistral": mistral,
    "cohere": cohere,
    "ollama": ollama,
}
# What an API makes of a text besides its prefix: the purpose that is sent beside it.
PURPOSES = {
    "gemini": {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"},
    "voyage": {"query": "query", "passage": "document"},
    "cohere": {"query": "search_query", "passage": "search_document"},
}


def answering(provider: str, rows: list[object]) -> object:
    """An answer of a provider that holds just these vectors."""
    if provider == "gemini":
        return {"embeddings": [{"values": row} for row in rows]}
    if provider == "cohere":
        return {"embeddings": {"float": rows}}
    if provider == "ollama":
        return {"embeddings": rows}
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


def counted(provider: str, tokens: object) -> dict[str, object]:
    """Where a provider's answer says how many tokens it took."""
    if provider == "gemini":
        return {"usageMetadata": {"promptTokenCount": tokens}}
    if provider == "cohere":
        return {"meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": tokens}}}
    if provider == "ollama":
        return {"prompt_eval_count": tokens}
    return {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
