"""Language models by the name of their provider; each one's module is imported when it is asked for.

Built-in providers are rows of a table; others come through the entry point group `commonplace.llms`, whose
objects are `Provider` rows as well.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from commonplace.config import credentials
from commonplace.config.credentials import Secret
from commonplace.errors import ConfigError
from commonplace.llm.base import Model, Spec

GROUP = "commonplace.llms"
KEY_VARIABLE = "COMMONPLACE_LLM_KEY"  # a key for language models, wherever they are


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table: who makes a model, and what it takes.

    `factory` is `module:function`, a function of a `Spec`. `extra` is what to install (`commonplace[extra]`),
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
PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _BUILT_IN}

_made: dict[Spec, Model] = {}
_lock = threading.Lock()


def find(name: str) -> Provider:
    """Return the row of a provider, built in or installed. Raises ConfigError, with the known names."""
    row = PROVIDERS.get(name) or _installed().get(name)
    if row is None:
        known = ", ".join([*PROVIDERS, *_installed(), "none"])
        raise ConfigError("llm.provider", f"unknown provider {name!r}; known: {known}")
    return row


def create(spec: Spec | str) -> Model:
    """Return the model of a specification, made once a process and shared by all its callers.

    Raises ConfigError for an unknown provider or what it lacks, MissingExtra, ProviderError.
    """
    spec = Spec(spec) if isinstance(spec, str) else spec
    module, _, function = find(spec.provider).factory.partition(":")
    with _lock:
        if spec not in _made:
            _made[spec] = getattr(import_module(module), function)(spec)
        return _made[spec]


def own_key(environ: Mapping[str, str] | None = None) -> Secret:
    """Return the key that was set for language models, whoever provides them."""
    return credentials.from_environment([KEY_VARIABLE], environ)


def provider_key(row: Provider, environ: Mapping[str, str] | None = None) -> Secret:
    """Return the key that was set for a provider."""
    return credentials.from_environment(row.keys, environ)


def _installed() -> dict[str, Provider]:
    """Rows that other packages bring."""
    from importlib.metadata import entry_points

    found = (point.load() for point in entry_points(group=GROUP))
    return {row.name: row for row in found if isinstance(row, Provider)}
