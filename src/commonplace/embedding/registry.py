"""Models by name; each one's module is imported when it is asked for."""

from __future__ import annotations

import threading
from importlib import import_module

from commonplace.embedding.base import Embedder
from commonplace.errors import ConfigError

# name -> module and function that makes it. `none` is not here: it means no model at all.
PROVIDERS = {
    "builtin": ("commonplace.embedding.builtin", "load"),
    "fake": ("commonplace.embedding.fake", "load"),
}

_made: dict[str, Embedder] = {}
_lock = threading.Lock()


def create(name: str) -> Embedder:
    """Return the model of this name, loaded once a process and shared by all its callers.

    Raises ConfigError for an unknown name, ProviderError if the model cannot be loaded.
    """
    if name not in PROVIDERS:
        raise ConfigError(
            "embedding.provider", f"unknown model {name!r}; known: {', '.join([*PROVIDERS, 'none'])}"
        )
    with _lock:
        if name not in _made:
            module, function = PROVIDERS[name]
            _made[name] = getattr(import_module(module), function)()
        return _made[name]
