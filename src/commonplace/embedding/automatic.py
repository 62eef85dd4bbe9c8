"""Which provider the settings mean where they name none: told by what else they set, never by what is found.

A key that lies in the environment, or a server that happens to run, is no leave to send notes there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from commonplace.embedding import registry

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding

AUTO = "auto"
_OLLAMA_PORT = 11434
# Names that are one provider's own. What has an owner (`BAAI/bge-small-zh-v1.5`) is fastembed's manner of
# naming, and what has none is Ollama's.
_OWN = (
    ("openai", re.compile(r"text-embedding-(?:3-|ada)")),
    ("gemini", re.compile(r"(?:models/)?gemini-embedding-")),
    ("voyage", re.compile(r"voyage-")),
    ("mistral", re.compile(r"(?:mistral|codestral)-embed")),
    ("cohere", re.compile(r"embed-(?:v\d|english|multilingual)")),
)


class Choice(NamedTuple):
    """A provider and a model of it; no model is the provider's own choice."""

    provider: str
    model: str

    @property
    def shown(self) -> str:
        """As people write it, and `fallback` takes it."""
        return f"{self.provider}/{self.model}" if self.model else self.provider


def choose(settings: Embedding) -> Choice:
    """Return the provider and model that settings name, or that the rest of them implies."""
    if settings.provider != AUTO:
        return Choice(settings.provider, settings.model)
    if settings.path:
        return Choice("gguf" if settings.path.lower().endswith(".gguf") else "onnx", settings.model)
    if settings.base_url:
        return Choice(_server(settings.base_url), settings.model)
    return _by_model(settings.model) if settings.model else Choice("builtin", "")


def _server(base_url: str) -> str:
    try:
        place = urlsplit(base_url)
        own = place.port == _OLLAMA_PORT and place.path.strip("/") == ""
    except ValueError:
        own = False
    return "ollama" if own else "compatible"


def _by_model(model: str) -> Choice:
    owner, _, name = model.partition("/")
    if name and owner in registry.PROVIDERS:
        return Choice(owner, name)
    for provider, pattern in _OWN:
        if pattern.match(model):
            return Choice(provider, model)
    return Choice("fastembed" if name else "ollama", model)
