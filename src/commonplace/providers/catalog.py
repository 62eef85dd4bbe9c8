"""The providers of each kind by name: tables of rows, rows of other packages, and the models made of them.

A provider's module is imported when its first model is made; one specification gives one model a process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from commonplace.base import fork
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config import credentials
from commonplace.config.credentials import NO_KEY, Secret

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Embedder
    from commonplace.providers.llm.base import Model

T = TypeVar("T")
LLM_KEY = "COMMONPLACE_LLM_KEY"  # the variable with a key for language models, wherever they are
_HERE = "commonplace.providers"
_SERVED = "embedding.remote:load"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a model is made from, as the owner configured it; empty fields take the provider's defaults.

    `base_url` is the address of an endpoint, `path` a local file or folder, `command` a local program with
    its arguments. `dimensions` asks for shorter vectors where a model can give them, `context` is the number
    of tokens that a language model in this process has room for. `deadline_s` bounds one call for passages
    with all its retries, `query_deadline_s` one that a question waits for: a vector, or a reranker's scores.
    """

    provider: str
    model: str = ""
    base_url: str = ""
    path: str = ""
    key: Secret = NO_KEY
    dimensions: int | None = None
    command: tuple[str, ...] = ()
    context: int = 8192
    deadline_s: float = 120.0
    query_deadline_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of a table of providers: who makes a model, and what that takes.

    `factory` is `module:function`, a function of a `Spec`. `extra` is the extra of this package that it
    needs, `keys` the environment variables that may hold its key, `model` the default model, `local` whether
    texts stay on this machine (None: as with most providers of its kind, see `Catalog`).
    """

    name: str
    factory: str
    about: str
    extra: str = ""
    keys: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    local: bool | None = None


class Reranker(Protocol):
    """A model that reads a question together with each text."""

    @property
    def name(self) -> str:
        """What people call it: `provider:model`."""

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the question, from 0 to 1, higher is better.

        Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError; then there is no score of any text.
        """

    def close(self) -> None:
        """Close what it keeps open; the next call opens it again."""


class Catalog(Generic[T]):
    """Rows by name, and the models `T` made so far; safe to use from several threads."""

    def __init__(
        self,
        rows: Iterable[Provider],
        kind: str,
        group: str,
        noun: str = "provider",
        *,
        variable: str = "",
        local: bool = False,
    ) -> None:
        """Take the built-in rows. Others come as `Provider` objects from an entry point group.

        `kind` is the table of settings that names one, `noun` what people call it, `variable` an environment
        variable whose key is for all providers of the kind, `local` what holds of rows that do not say it.
        """
        self.rows: Mapping[str, Provider] = {row.name: row for row in rows}
        self.made: dict[Spec, T] = {}
        self.renew()
        fork.renew_in_child(self, Catalog.renew)
        self.kind, self.group, self.noun, self.variable, self.local = kind, group, noun, variable, local

    def renew(self) -> None:
        """Begin with a lock that no thread holds: new, or in a child after a fork."""
        self.lock = threading.Lock()

    def find(self, name: str) -> Provider:
        """Return the row of a name, built in or installed. Raises ConfigError, with the known names."""
        row = self.rows.get(name)
        if row is None:
            from importlib.metadata import entry_points

            points = (point.load() for point in entry_points(group=self.group))
            installed = {row.name: row for row in points if isinstance(row, Provider)}
            if name not in installed:
                known = ", ".join([*self.rows, *installed, "none"])
                raise ConfigError(f"{self.kind}.provider", f"unknown {self.noun} {name!r}; known: {known}")
            row = installed[name]
        return row if row.local is not None else replace(row, local=self.local)

    def create(self, spec: Spec | str) -> T:
        """Return the model of a specification, made once a process and shared by all its callers.

        Raises ConfigError for an unknown provider or what it lacks, MissingExtra, ProviderError.
        """
        spec = Spec(spec) if isinstance(spec, str) else spec
        module, _, function = self.find(spec.provider).factory.partition(":")
        with self.lock:
            if spec not in self.made:
                self.made[spec] = getattr(import_module(module), function)(spec)
            return self.made[spec]

    def key(self, spec: Spec, environ: Mapping[str, str] | None = None) -> Secret:
        """Return the key to send: as configured, or of the environment.

        A provider's own variable is for its own address only. Raises ConfigError for an unknown provider.
        """
        row = self.find(spec.provider)
        key = spec.key or (
            credentials.from_environment([self.variable], environ) if self.variable else spec.key
        )
        return credentials.at_address(key, row.keys, spec.base_url, row.base_url, environ)

    def needed_key(self, spec: Spec) -> Secret:
        """Return the key to send. Raises ProviderError where the provider's own address is asked without."""
        row, key = self.find(spec.provider), self.key(spec)
        if row.keys and not key and credentials.is_own(spec.base_url, row.base_url):
            raise ProviderError(row.name, f"no key: set {' or '.join(row.keys)}", permanent=True)
        return key


def _chat(name: str, about: str, base_url: str, *keys: str, model: str = "", local: bool = False) -> Provider:
    """A row of a server that speaks OpenAI's chat completions."""
    place = f"{_HERE}.llm.chat:ChatModel"
    return Provider(name, place, about, keys=keys, model=model, base_url=base_url, local=local)


def _row(name: str, place: str, about: str, **fields: Any) -> Provider:  # noqa: ANN401
    """A row whose factory is `module:function` of this package."""
    return Provider(name, f"{_HERE}.{place}", about, **fields)


# fmt: off
EMBEDDERS: Catalog[Embedder] = Catalog(
    (
        _row("builtin", "embedding.builtin:load", "the bundled model, English; nothing to set up",
             model="all-MiniLM-L6-v2"),
        _row("onnx", "local:load_onnx",
             "an exported ONNX model in a folder of yours: model.onnx and tokenizer.json"),
        _row("fastembed", "fastembed:load",
             "models by name, such as paraphrase-multilingual-MiniLM-L12-v2 (0.2 GB), BAAI/bge-small-zh-v1.5"
             " (0.1 GB) or intfloat/multilingual-e5-large (2.2 GB); fetched once, when asked",
             extra="fastembed", model="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"),
        _row("gguf", "gguf:load",
             "a GGUF file of yours, such as embeddinggemma-300M-Q8_0.gguf; llama.cpp is compiled for minutes",
             extra="gguf"),
        _row("fake", "fake:load_embedder", "counts words, for tests"),
        _row("openai", _SERVED, "OpenAI's models", keys=("OPENAI_API_KEY",), model="text-embedding-3-small",
             base_url="https://api.openai.com/v1", local=False),
        _row("compatible", _SERVED,
             "any server that speaks OpenAI's language: llama.cpp, LM Studio, vLLM, DeepInfra", local=False),
        _row("gemini", _SERVED, "Google's models, many languages", keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
             model="gemini-embedding-001", base_url="https://generativelanguage.googleapis.com/v1beta",
             local=False),
        _row("voyage", _SERVED, "Voyage AI's models, many languages", keys=("VOYAGE_API_KEY",),
             model="voyage-4-large", base_url="https://api.voyageai.com/v1", local=False),
        _row("mistral", _SERVED, "Mistral AI's model", keys=("MISTRAL_API_KEY",), model="mistral-embed",
             base_url="https://api.mistral.ai/v1", local=False),
        _row("cohere", _SERVED, "Cohere's models, many languages", keys=("COHERE_API_KEY", "CO_API_KEY"),
             model="embed-v4.0", base_url="https://api.cohere.com/v2", local=False),
        _row("ollama", _SERVED, "models of an Ollama server, such as nomic-embed-text or bge-m3",
             model="nomic-embed-text", base_url="http://127.0.0.1:11434"),
    ),
    "embedding", "commonplace.embedders", "model", local=True,
)
LLMS: Catalog[Model] = Catalog(
    (
        _chat("openai", "OpenAI's models", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        _chat("anthropic", "Anthropic's models", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        _chat("gemini", "Google's models", "https://generativelanguage.googleapis.com/v1beta/openai",
              "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        _chat("deepseek", "DeepSeek's models", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        _chat("openrouter", "many providers' models", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        _chat("ollama", "models of an Ollama server", "http://127.0.0.1:11434/v1", local=True),
        _chat("llamacpp", "llama.cpp's server", "http://127.0.0.1:8080/v1", model="default", local=True),
        _chat("lmstudio", "models of LM Studio", "http://127.0.0.1:1234/v1", local=True),
        _chat("vllm", "models of a vLLM server", "http://127.0.0.1:8000/v1", local=True),
        _chat("compatible", "any other server that speaks OpenAI's language", ""),
        _row("command", "llm.command:CommandModel", "a program of yours: prompt in, answer out"),
        _row("gguf", "gguf:GgufModel", "a model file, in this process", extra="gguf", local=True),
        _row("fake", "fake:load_llm", "says what it is told, for tests", local=True),
    ),
    "llm", "commonplace.llms", variable=LLM_KEY,
)
# The language model as a reranker is no row: it needs more than a `Spec` (`opening`).
RERANKERS: Catalog[Reranker] = Catalog(
    (
        _row("fastembed", "fastembed:load_reranker",
             "models by name, such as jinaai/jina-reranker-v1-tiny-en (0.1 GB, English) or"
             " BAAI/bge-reranker-v2-m3-int8 (0.6 GB, many languages); fetched once, when asked",
             extra="fastembed", model="Xenova/ms-marco-MiniLM-L-6-v2", local=True),
        _row("onnx", "local:load_onnx_reranker",
             "an exported cross-encoder in a folder of yours: model.onnx and tokenizer.json", local=True),
        _row("compatible", "reranking:load",
             "any server with a rerank endpoint: llama.cpp, vLLM, Infinity, text-embeddings-inference"),
        _row("cohere", "reranking:load", "Cohere's rerankers, many languages",
             keys=("COHERE_API_KEY", "CO_API_KEY"), model="rerank-v4.0-fast",
             base_url="https://api.cohere.com/v2"),
        _row("jina", "reranking:load", "Jina AI's rerankers, many languages", keys=("JINA_API_KEY",),
             model="jina-reranker-v3", base_url="https://api.jina.ai/v1"),
        _row("voyage", "reranking:load", "Voyage AI's rerankers, many languages", keys=("VOYAGE_API_KEY",),
             model="rerank-2.5", base_url="https://api.voyageai.com/v1"),
        _row("fake", "fake:load_reranker", "counts words that both hold, for tests", local=True),
    ),
    "reranking", "commonplace.rerankers",
)
# fmt: on
