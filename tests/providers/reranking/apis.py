"""Rerank endpoints as their documentation describes them, strict about what they are sent."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

from tests.providers.embedding.apis import exactly
from tests.providers.server import Reply, Request

KEY = "sk-test-0123456789abcdef"
KEYLESS = ("compatible",)


def chance(question: str, text: str) -> float:
    """What every endpoint makes of a pair, computable by hand: between 0.001 and 0.999."""
    return (zlib.crc32(f"{question}\n{text}".encode()) % 999 + 1) / 1001


def logit(question: str, text: str) -> float:
    return math.log(chance(question, text) / (1 - chance(question, text))) * 10


def ranked(pairs: Sequence[tuple[int, float]], name: str = "relevance_score") -> list[dict[str, object]]:
    """Results as endpoints list them: the best one first."""
    return [{"index": index, name: score} for index, score in sorted(pairs, key=lambda pair: -pair[1])]


def scored(body: dict, texts: str, score: Callable[[str, str], float] = chance) -> list[tuple[int, float]]:
    assert body["query"].strip()
    assert all(isinstance(text, str) and text.strip() for text in body[texts])
    return [(index, score(body["query"], text)) for index, text in enumerate(body[texts])]


def checked(request: Request, *, key: bool = True) -> dict:
    assert (request.method, request.path) == ("POST", "/v1/rerank")
    assert request.headers.get("authorization") == (f"Bearer {KEY}" if key else None)
    return request.json


def cohere(request: Request) -> Reply:
    body = checked(request)
    exactly(body, {"model": str, "query": str, "documents": list}, {"top_n": int, "max_tokens_per_doc": int})
    assert 1 <= body["top_n"] == len(body["documents"]) <= 10_000
    meta = {
        "api_version": {"version": "2"},
        "billed_units": {"search_units": 1},
        "tokens": {"input_tokens": 7},
    }
    return Reply({"id": "x", "results": ranked(scored(body, "documents")), "meta": meta})


def jina(request: Request) -> Reply:
    body = checked(request)
    exactly(body, {"model": str, "query": str, "documents": list}, {"top_n": int, "return_documents": bool})
    assert body["return_documents"] is False
    assert 1 <= body["top_n"] == len(body["documents"]) <= 64
    results = ranked(scored(body, "documents"))
    return Reply({"model": body["model"], "object": "list", "usage": {"total_tokens": 7}, "results": results})


def voyage(request: Request) -> Reply:
    body = checked(request)
    optional = {"top_k": int, "return_documents": bool, "truncation": bool}
    exactly(body, {"model": str, "query": str, "documents": list}, optional)
    assert 1 <= body["top_k"] == len(body["documents"]) <= 1000
    data = ranked(scored(body, "documents"))
    return Reply({"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": 7}})


def compatible(request: Request) -> Reply:
    """llama.cpp: what models give, not made probabilities."""
    body = checked(request, key=False)
    exactly(body, {"query": str, "documents": list}, {"model": str, "top_n": int})
    results = ranked(scored(body, "documents", logit))
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return Reply({"model": "x", "object": "list", "usage": usage, "results": results})


APIS: dict[str, Callable[[Request], Reply]] = {
    "cohere": cohere,
    "jina": jina,
    "voyage": voyage,
    "compatible": compatible,
}


def listing(provider: str, results: object) -> object:
    """An answer of a provider that holds just these results."""
    return {"data" if provider == "voyage" else "results": results}
