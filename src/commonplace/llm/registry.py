"""Language models by the name of their provider; each one's module is imported when it is asked for.

Built-in providers are rows of a table; others come through the entry point group `commonplace.llms`, whose
objects are `Provider` rows as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.catalog import Catalog
from commonplace.config import credentials
from commonplace.config.credentials import Secret
from commonplace.llm.base import Model, Spec

GROUP = "commonplace.llms"
KEY_VARIABLE = "COMMONPLACE_LLM_KEY"  # a key for language models, wherever they are


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table: who makes a model, and what it takes.

    `factory` is `module:function`, a function of a `Spec`. `extra` is the one of ours that it needs,
    `keys` the environment variables that may hold its key, `model` the default model, `local` whether prompts
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


def _chat(name: str, about: str, base_url: str, *keys: str, model: str = "", local: bool = False) -> Provider:
    """A row of a server that speaks OpenAI's chat completions."""
    return Provider(name, "commonplace.llm.openai:load", about, "openai", keys, model, base_url, local)


_BUILT_IN = (
    _chat("openai", "OpenAI's models", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    _chat("anthropic", "Anthropic's models", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    _chat(
        "gemini",
        "Google's models",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
    ),
    _chat("deepseek", "DeepSeek's models", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    _chat("openrouter", "many providers' models", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _chat("ollama", "models of an Ollama server", "http://127.0.0.1:11434/v1", local=True),
    _chat("llamacpp", "llama.cpp's server", "http://127.0.0.1:8080/v1", model="default", local=True),
    _chat("lmstudio", "models of LM Studio", "http://127.0.0.1:1234/v1", local=True),
    _chat("vllm", "models of a vLLM server", "http://127.0.0.1:8000/v1", local=True),
    _chat("compatible", "any other server that speaks OpenAI's language", ""),
    Provider("command", "commonplace.llm.command:load", "a program of yours: prompt in, answer out"),
    Provider("gguf", "commonplace.llm.gguf:load", "a model file, in this process", "gguf", local=True),
    Provider("fake", "commonplace.llm.fake:load", "says what it is told, for tests", local=True),
)
_CATALOG: Catalog[Provider, Spec, Model] = Catalog(_BUILT_IN, Provider, GROUP, "llm.provider", "provider")
PROVIDERS = _CATALOG.rows


def find(name: str) -> Provider:
    """Return the row of a provider, built in or installed. Raises ConfigError, with the known names."""
    return _CATALOG.find(name)


def create(spec: Spec | str) -> Model:
    """Return the model of a specification, made once a process and shared by all its callers.

    Raises ConfigError for an unknown provider or what it lacks, MissingExtra, ProviderError.
    """
    return _CATALOG.create(Spec(spec) if isinstance(spec, str) else spec)


def own_key(environ: Mapping[str, str] | None = None) -> Secret:
    """Return the key that was set for language models, whoever provides them."""
    return credentials.from_environment([KEY_VARIABLE], environ)


def provider_key(row: Provider, environ: Mapping[str, str] | None = None) -> Secret:
    """Return the key that was set for a provider."""
    return credentials.from_environment(row.keys, environ)
