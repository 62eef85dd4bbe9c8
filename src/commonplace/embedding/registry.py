"""Models by the name of their provider; each one's module is imported when it is asked for.

Built-in providers are rows of a table; others come through the entry point group `commonplace.embedders`,
whose objects are `Provider` rows as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.catalog import Catalog
from commonplace.embedding.base import Embedder, Spec

GROUP = "commonplace.embedders"


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table: who makes a model, and what it takes.

    `factory` is `module:function`, a function of a `Spec`. `extra` is the one of ours that it needs,
    `keys` the environment variables that may hold its key, `model` the default model, `paid` whether a call
    costs money, `local` whether texts stay on this machine.
    """

    name: str
    factory: str
    about: str
    extra: str = ""
    keys: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    paid: bool = False
    local: bool = True


_BUILT_IN = (
    Provider(
        "builtin",
        "commonplace.embedding.builtin:load",
        "the bundled model, English; nothing to set up",
        model="all-MiniLM-L6-v2",
    ),
    Provider(
        "onnx",
        "commonplace.embedding.onnx:load",
        "an exported ONNX model in a folder of yours: model.onnx and tokenizer.json",
    ),
    Provider(
        "fastembed",
        "commonplace.embedding.fastembed:load",
        "models by name, such as paraphrase-multilingual-MiniLM-L12-v2 (0.2 GB), BAAI/bge-small-zh-v1.5"
        " (0.1 GB) or intfloat/multilingual-e5-large (2.2 GB); fetched once, when asked",
        extra="fastembed",
        model="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    ),
    Provider(
        "gguf",
        "commonplace.embedding.gguf:load",
        "a GGUF file of yours, such as embeddinggemma-300M-Q8_0.gguf; llama.cpp is compiled for minutes",
        extra="gguf",
    ),
    Provider("fake", "commonplace.embedding.fake:load", "counts words, for tests"),
    Provider(
        "openai",
        "commonplace.embedding.openai:load",
        "OpenAI's models",
        keys=("OPENAI_API_KEY",),
        model="text-embedding-3-small",
        base_url="https://api.openai.com/v1",
        paid=True,
        local=False,
    ),
    Provider(
        "compatible",
        "commonplace.embedding.openai:load_compatible",
        "any server that speaks OpenAI's language: llama.cpp, LM Studio, vLLM, DeepInfra",
        local=False,
    ),
    Provider(
        "gemini",
        "commonplace.embedding.gemini:load",
        "Google's models, many languages",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        model="gemini-embedding-001",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        paid=True,
        local=False,
    ),
    Provider(
        "voyage",
        "commonplace.embedding.voyage:load",
        "Voyage AI's models, many languages",
        keys=("VOYAGE_API_KEY",),
        model="voyage-4-large",
        base_url="https://api.voyageai.com/v1",
        paid=True,
        local=False,
    ),
    Provider(
        "mistral",
        "commonplace.embedding.mistral:load",
        "Mistral AI's model",
        keys=("MISTRAL_API_KEY",),
        model="mistral-embed",
        base_url="https://api.mistral.ai/v1",
        paid=True,
        local=False,
    ),
    Provider(
        "cohere",
        "commonplace.embedding.cohere:load",
        "Cohere's models, many languages",
        keys=("COHERE_API_KEY", "CO_API_KEY"),
        model="embed-v4.0",
        base_url="https://api.cohere.com/v2",
        paid=True,
        local=False,
    ),
    Provider(
        "ollama",
        "commonplace.embedding.ollama:load",
        "models of an Ollama server, such as nomic-embed-text or bge-m3",
        model="nomic-embed-text",
        base_url="http://127.0.0.1:11434",
    ),
)
_CATALOG: Catalog[Provider, Spec, Embedder] = Catalog(
    _BUILT_IN, Provider, GROUP, "embedding.provider", "model"
)
PROVIDERS = _CATALOG.rows


def find(name: str) -> Provider:
    """Return the row of a provider, built in or installed. Raises ConfigError, with the known names."""
    return _CATALOG.find(name)


def create(spec: Spec | str) -> Embedder:
    """Return the model of a specification, made once a process and shared by all its callers.

    Raises ConfigError for an unknown provider, MissingExtra, ProviderError if it cannot be loaded.
    """
    return _CATALOG.create(Spec(spec) if isinstance(spec, str) else spec)
