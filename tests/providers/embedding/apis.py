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


def _api(
    path: str,
    most: int,
    told: dict[str, object],
    *,
    size: str = "dimensions",
    texts: str = "input",
    purposes: tuple[str, ...] = (),
    keyless: bool = False,
) -> Callable[[Request], tuple[str, list[list[float]]]]:
    """What an API in the form of OpenAI's takes, `told` beside model and texts: the vectors it makes of it."""

    def take(request: Request) -> tuple[str, list[list[float]]]:
        assert (request.method, request.path) == ("POST", path)
        assert keyless or request.headers["authorization"] == f"Bearer {KEY}"
        body = request.json
        required = {"model": str, texts: list, **{name: type(value) for name, value in told.items()}}
        exactly(body, required | ({"input_type": str} if purposes else {}), {size: int})
        assert {name: body[name] for name in told} == told
        assert not purposes or body["input_type"] in purposes
        purpose = body.get("input_type", "")
        sent = texts_of(body[texts], most)
        return body["model"], [vector(text + purpose, body.get(size, DIMENSIONS)) for text in sent]

    return take


_OPENAI = _api("/v1/embeddings", 2048, {"encoding_format": "base64"})
_COMPATIBLE = _api("/v1/embeddings", 64, {"encoding_format": "float"}, keyless=True)
_MISTRAL = _api("/v1/embeddings", 128, {"encoding_format": "float"}, size="output_dimension")
_OLLAMA = _api("/v1/api/embed", 10_000, {"truncate": False}, keyless=True)
# Texts are cut by us, or else refused.
_VOYAGE = _api(
    "/v1/embeddings", 1000, {"truncation": False}, size="output_dimension", purposes=("query", "document")
)
_COHERE = _api(
    "/v1/embed",
    96,
    {"embedding_types": ["float"], "truncate": "NONE"},
    size="output_dimension",
    texts="texts",
    purposes=("search_query", "search_document"),
)


def openai(request: Request) -> Reply:
    rows = _OPENAI(request)[1]
    return listed([base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() for row in rows])


def compatible(request: Request) -> Reply:
    return listed(_COMPATIBLE(request)[1], shuffled=True)


def cohere(request: Request) -> Reply:
    rows = _COHERE(request)[1]
    meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": len(rows)}}
    return Reply({"id": "x", "embeddings": {"float": rows}, "meta": meta})


def ollama(request: Request) -> Reply:
    model, rows = _OLLAMA(request)
    return Reply({"model": model, "embeddings": rows, "prompt_eval_count": len(rows)})


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


APIS: dict[str, Callable[[Request], Reply]] = {
    "openai": openai,
    "compatible": compatible,
    "gemini": gemini,
    "voyage": lambda request: listed(_VOYAGE(request)[1]),
    "mistral": lambda request: listed(_MISTRAL(request)[1]),
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
