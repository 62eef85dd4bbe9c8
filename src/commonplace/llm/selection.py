"""Choosing another language model: what its name and a few flags make of the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from commonplace.config import keys
from commonplace.config.settings import Llm
from commonplace.errors import ConfigError
from commonplace.llm import registry
from commonplace.llm.opening import NONE

# What belongs to a provider and goes with it when another is chosen.
OWN = ("model", "base_url", "path", "key_file", "keyring")
_PLACE = ("base_url", "path", "key_file", "keyring")
_SERVER = ("model", "base_url", "key_file", "keyring")
_TAKES: Mapping[str, tuple[str, ...]] = {
    NONE: (),
    "fake": ("model",),
    "command": ("model",),
    "gguf": ("model", "path"),
}


def select(name: str, former: Llm, flags: Mapping[str, object] | None = None) -> Llm:
    """Return settings with another language model, by `PROVIDER` or `PROVIDER/MODEL`, and flags by name.

    What belonged to the former provider is left out; with the same provider, its address and key stay. Raises
    ConfigError for an unknown provider, for what it does not take, and for what it lacks.
    """
    provider, _, model = name.partition("/")
    _check_provider(provider)
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    if model and given.setdefault("model", model) != model:
        raise ConfigError("llm.model", f"{model} and {given['model']} are two models; name one")
    for key in given:
        if key not in takes(provider):
            raise ConfigError(f"llm.{key}", f"{provider} makes no use of it; leave it out")
    given = {key: _checked(key, value) for key, value in given.items()}
    moved = not given.keys().isdisjoint(("base_url", "path"))  # a key is for an address
    stays = _PLACE if former.provider == provider and not moved else ()
    values: dict[str, Any] = {
        key: given.get(key, getattr(former, key) if key in stays else "") for key in OWN
    }
    chosen = former._replace(provider=provider, **values)
    _check_whole(chosen)
    return chosen


def takes(provider: str) -> tuple[str, ...]:
    """Return which settings of `OWN` a provider makes use of."""
    return _TAKES.get(provider, _SERVER if provider in registry.PROVIDERS else OWN)


def _check_provider(provider: str) -> None:
    if provider in (NONE, *registry.PROVIDERS):
        return
    try:
        registry.find(provider)  # one that another package brings
    except ConfigError:
        near = keys.near(provider, (*registry.PROVIDERS, NONE))
        raise ConfigError("llm.provider", f"unknown provider {keys.quoted(provider)}{near}") from None


def _checked(name: str, value: object) -> object:
    if name in ("path", "key_file"):
        value = os.path.abspath(os.path.expanduser(str(value)))
    return keys.checked(keys.find(f"llm.{name}", "as a flag"), value, "as a flag")


def _check_whole(chosen: Llm) -> None:
    """Raise ConfigError for what a provider cannot do without."""
    provider = chosen.provider
    if provider == "command" and not chosen.command:
        told = "needs a program; set it first with `commonplace config set llm.command PROGRAM ARGUMENT…`"
        raise ConfigError("llm.command", told)
    if provider == "gguf" and not chosen.path:
        raise ConfigError("llm.path", "gguf needs one; add --path")
    row = registry.PROVIDERS.get(provider)
    if row is None or takes(provider) != _SERVER:
        return
    if not (chosen.base_url or row.base_url):
        raise ConfigError("llm.base_url", f"{provider} needs one; add --base-url")
    if not (chosen.model or row.model):
        raise ConfigError("llm.model", f"{provider} needs one; name it as {provider}/MODEL")
