"""The providers of embeddings, language models and rerankers: a row each, as data.

`providers.catalog` makes models of them; the settings take their names from here.
"""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple

LLM = "llm"  # the language model as a reranker: without a row, since it needs more than a `Spec`
_SERVED = ".embedding.remote:RemoteEmbedder"


class Provider(NamedTuple):
    """A row of a table of providers: who makes a model, and what that takes.

    `factory` is `module:function`, a function of a `Spec`; a module with a leading point lies in `providers`.
    `extra` is the extra of this package that it needs, `keys` the environment variables that may hold its
    key, `model` the default model, `local` whether texts stay on this machine (None: as with most providers
    of its kind, see `Catalog`).
    """

    name: str
    factory: str
    about: str
    extra: str = ""
    keys: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    local: bool | None = None


def _chat(name: str, about: str, base_url: str, *keys: str, model: str = "", local: bool = False) -> Provider:
    """A row of a server that speaks OpenAI's chat completions."""
    place = ".llm.chat:ChatModel"
    return Provider(name, place, about, keys=keys, model=model, base_url=base_url, local=local)


# fmt: off
EMBEDDERS = (
    Provider("builtin", ".embedding.builtin:load", "bundled, English and Chinese", model="all-MiniLM-L6-v2"),
    Provider("large", ".embedding.large:LargeEmbedder", extra="large", model="english-chinese",
             about="multilingual-e5-small beside the bundled model; `large/all-languages` for others"),
    Provider("fastembed", ".fastembed:LocalEmbedder",
             "models by name, such as paraphrase-multilingual-MiniLM-L12-v2 (0.2 GB), BAAI/bge-small-zh-v1.5"
             " (0.1 GB) or intfloat/multilingual-e5-large (2.2 GB); fetched once, when asked",
             extra="fastembed", model="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"),
    Provider("openai", _SERVED, "OpenAI's models", keys=("OPENAI_API_KEY",), model="text-embedding-3-small",
             base_url="https://api.openai.com/v1", local=False),
    Provider("compatible", _SERVED,
             "any server that speaks OpenAI's language: llama.cpp, LM Studio, vLLM, DeepInfra", local=False),
    Provider("gemini", _SERVED, "Google's models, many languages", keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
             model="gemini-embedding-001", base_url="https://generativelanguage.googleapis.com/v1beta",
             local=False),
    Provider("voyage", _SERVED, "Voyage AI's models, many languages", keys=("VOYAGE_API_KEY",),
             model="voyage-4-large", base_url="https://api.voyageai.com/v1", local=False),
    Provider("mistral", _SERVED, "Mistral AI's model", keys=("MISTRAL_API_KEY",), model="mistral-embed",
             base_url="https://api.mistral.ai/v1", local=False),
    Provider("cohere", _SERVED, "Cohere's models, many languages", keys=("COHERE_API_KEY", "CO_API_KEY"),
             model="embed-v4.0", base_url="https://api.cohere.com/v2", local=False),
    Provider("ollama", _SERVED, "models of an Ollama server, such as nomic-embed-text or bge-m3",
             model="nomic-embed-text", base_url="http://127.0.0.1:11434"),
    Provider("fake", ".fake:load_embedder", "counts words, for tests"),
)
LLMS = (
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
    Provider("fake", ".fake:load_llm", "says what it is told, for tests", local=True),
)
RERANKERS = (
    Provider("fastembed", ".fastembed:LocalReranker",
             "models by name, such as jinaai/jina-reranker-v1-tiny-en (0.1 GB, English) or"
             " BAAI/bge-reranker-v2-m3-int8 (0.6 GB, many languages); fetched once, when asked",
             extra="fastembed", model="Xenova/ms-marco-MiniLM-L-6-v2", local=True),
    Provider("compatible", ".reranking:RemoteReranker",
             "any server with a rerank endpoint: llama.cpp, vLLM, Infinity"),
    Provider("cohere", ".reranking:RemoteReranker", "Cohere's rerankers, many languages",
             keys=("COHERE_API_KEY", "CO_API_KEY"), model="rerank-v4.0-fast", base_url="https://api.cohere.com/v2"),
    Provider("jina", ".reranking:RemoteReranker", "Jina AI's rerankers, many languages",
             keys=("JINA_API_KEY",), model="jina-reranker-v3", base_url="https://api.jina.ai/v1"),
    Provider("voyage", ".reranking:RemoteReranker", "Voyage AI's rerankers, many languages",
             keys=("VOYAGE_API_KEY",), model="rerank-2.5", base_url="https://api.voyageai.com/v1"),
    Provider("fake", ".fake:load_reranker", "counts words that both hold, for tests", local=True),
)
# fmt: on
