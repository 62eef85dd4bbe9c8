"""What the requests and answers of each provider look like.

Cohere: docs.cohere.com/reference/rerank (version 2). Jina AI: api.jina.ai/docs. Voyage AI:
docs.voyageai.com/reference/reranker-api. llama.cpp, vLLM, Infinity and others speak Jina's language;
text-embeddings-inference one of its own (huggingface.github.io/text-embeddings-inference).
"""

from __future__ import annotations

from commonplace.embedding.packing import Limits
from commonplace.embedding.remote import count_at
from commonplace.reranking.base import Spec
from commonplace.reranking.remote import Call, RemoteReranker, Service


def load_compatible(spec: Spec) -> RemoteReranker:
    """Make a reranker of any server. Raises ConfigError without `base_url`."""
    return RemoteReranker(spec, COMPATIBLE)


def load_cohere(spec: Spec) -> RemoteReranker:
    """Make a reranker of Cohere. Raises ProviderError without a key."""
    return RemoteReranker(spec, COHERE)


def load_jina(spec: Spec) -> RemoteReranker:
    """Make a reranker of Jina AI. Raises ProviderError without a key."""
    return RemoteReranker(spec, JINA)


def load_voyage(spec: Spec) -> RemoteReranker:
    """Make a reranker of Voyage AI. Raises ProviderError without a key."""
    return RemoteReranker(spec, VOYAGE)


def _documents(call: Call) -> dict[str, object]:
    model: dict[str, object] = {"model": call.model} if call.model else {}
    texts = list(call.texts)
    return model | {"query": call.question, "documents": texts, "top_n": len(texts)}


def _jina(call: Call) -> dict[str, object]:
    return _documents(call) | {"return_documents": False}


def _texts(call: Call) -> dict[str, object]:
    return {"query": call.question, "texts": list(call.texts), "truncate": True}


def _voyage(call: Call) -> dict[str, object]:
    texts = list(call.texts)
    return {"model": call.model, "query": call.question, "documents": texts, "top_k": len(texts)}


def _listed(answer: object) -> object:
    """The results of an answer: `results`, as most call them, `data`, or the answer itself."""
    if isinstance(answer, dict):
        return answer.get("results", answer.get("data"))
    return answer


# 10,000 documents, and 4096 tokens of each where a request does not ask for more; from 100 documents on a
# request counts as two searches, so it makes no difference how they are packed.
COHERE = Service(
    "cohere",
    _documents,
    _listed,
    Limits(inputs=100, tokens=400_000, input_tokens=4000),
    usage=count_at("meta", "tokens", "input_tokens"),
)
# Version 3 reads up to 64 documents in one context of 131,000 tokens; the others take more.
JINA = Service(
    "jina",
    _jina,
    _listed,
    Limits(inputs=64, tokens=64_000, input_tokens=4000),
    usage=count_at("usage", "total_tokens"),
)
# 1000 documents and 600,000 tokens, the question counted with each of them; the smallest model takes half.
VOYAGE = Service(
    "voyage",
    _voyage,
    _listed,
    Limits(inputs=1000, tokens=200_000, input_tokens=4000),
    usage=count_at("usage", "total_tokens"),
)
# 32 texts are what text-embeddings-inference takes unless its owner says otherwise.
COMPATIBLE = Service(
    "compatible",
    _documents,
    _listed,
    Limits(inputs=32, tokens=32_000, input_tokens=4000),
    key_needed=False,
    otherwise=_texts,
    wanted=r"\btexts\b",
    usage=count_at("usage", "total_tokens"),
)
