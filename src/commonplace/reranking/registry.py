"""Rerankers by the name of their provider; each one's module is imported when it is asked for.

Built-in providers are rows of a table; others come through the entry point group `commonplace.rerankers`,
whose objects are `Provider` rows as well. The language model is no row: it needs more than a `Spec`
(`opening`).
"""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.catalog import Catalog
from commonplace.reranking.base import Reranker, Spec

GROUP = "commonplace.rerankers"


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table: who makes a reranker, and what it takes.

    `factory` is `module:function`, a function of a `Spec`. `extra` is the one of ours that it needs,
    `keys` the environment variables that may hold its key, `model` the default model, `local` whether texts
    stay on this machine.
    """

    name: str
    factory: str
    about: str
    extra: str = ""
    keys: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    local: bool = False


_BUILT_IN = (
    Provider(
        "fastembed",
        "commonplace.reranking.fastembed:load",
        "models by name, such as jinaai/jina-reranker-v1-tiny-en (0.1 GB, English) or"
        " BAAI/bge-reranker-v2-m3-int8 (0.6 GB, many languages); fetched once, when asked",
        extra="fastembed",
        model="Xenova/ms-marco-MiniLM-L-6-v2",
        local=True,
    ),
    Provider(
        "onnx",
        "commonplace.reranking.onnx:load",
        "an exported cross-encoder in a folder of yours: model.onnx and tokenizer.json",
        local=True,
    ),
    Provider(
        "compatible",
        "commonplace.reranking.services:load_compatible",
        "any server with a rerank endpoint: llama.cpp, vLLM, Infinity, text-embeddings-inference",
    ),
    Provider(
        "cohere",
        "commonplace.reranking.services:load_cohere",
        "Cohere's rerankers, many languages",
        keys=("COHERE_API_KEY", "CO_API_KEY"),
        model="rerank-v4.0-fast",
        base_url="https://api.cohere.com/v2",
    ),
    Provider(
        "jina",
        "commonplace.reranking.services:load_jina",
        "Jina AI's rerankers, many languages",
        keys=("JINA_API_KEY",),
        model="jina-reranker-v3",
        base_url="https://api.jina.ai/v1",
    ),
    Provider(
        "voyage",
        "commonplace.reranking.services:load_voyage",
        "Voyage AI's rerankers, many languages",
        keys=("VOYAGE_API_KEY",),
        model="rerank-2.5",
        base_url="https://api.voyageai.com/v1",
    ),
    Provider("fake", "commonplace.reranking.fake:load", "counts words that both hold, for tests", local=True),
)
_CATALOG: Catalog[Provider, Spec, Reranker] = Catalog(
    _BUILT_IN, Provider, GROUP, "reranking.provider", "provider"
)
PROVIDERS = _CATALOG.rows


def find(name: str) -> Provider:
    """Return the row of a provider, built in or installed. Raises ConfigError, with the known names."""
    return _CATALOG.find(name)


def create(spec: Spec | str) -> Reranker:
    """Return the reranker of a specification, made once a process and shared by all its callers.

    Raises ConfigError for an unknown provider or what it lacks, MissingExtra, ProviderError.
    """
    return _CATALOG.create(Spec(spec) if isinstance(spec, str) else spec)
