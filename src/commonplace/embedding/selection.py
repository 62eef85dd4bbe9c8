"""Choosing another model: what its name and a few flags make of the settings, and what answers until then."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from commonplace.config import keys
from commonplace.config.settings import Embedding
from commonplace.config.table import EMBEDDERS
from commonplace.embedding import automatic, configured, registry
from commonplace.embedding.automatic import AUTO
from commonplace.errors import CommonplaceError, ConfigError

NONE = "none"
# What belongs to a provider and goes with it when another is chosen.
OWN = ("model", "dimensions", "base_url", "path", "key_file", "keyring")
_PLACE = ("base_url", "path", "key_file", "keyring")
_SERVER = ("model", "dimensions", "base_url", "key_file", "keyring")
_LOCAL = ("model", "dimensions", "path")
_TAKES: Mapping[str, tuple[str, ...]] = {
    NONE: (), AUTO: (), "builtin": (), "fake": (), "onnx": _LOCAL, "gguf": _LOCAL, "fastembed": _LOCAL
}  # fmt: skip
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "onnx": ("path",),
    "gguf": ("path",),
    "compatible": ("base_url", "model"),
}


def select(name: str, former: Embedding, flags: Mapping[str, object] | None = None) -> Embedding:
    """Return settings with another model, by `PROVIDER` or `PROVIDER/MODEL`, and flags by the names of `OWN`.

    What belonged to the former provider is left out; with the same provider, its address and key stay. Raises
    ConfigError for an unknown provider, for what it does not take, and for what it lacks.
    """
    provider, _, model = name.partition("/")
    _check_provider(provider)
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    if model and given.setdefault("model", model) != model:
        raise ConfigError("embedding.model", f"{model} and {given['model']} are two models; name one")
    if provider in configured.SHIPPED and given.get("model") == registry.find(provider).model:
        del given["model"]  # the only one it has
    _check_taken(provider, given)
    given = {key: _checked(key, value) for key, value in given.items()}
    kept = _kept(provider, former, given)
    values: dict[str, Any] = {
        key: given.get(key, kept.get(key, keys.find(f"embedding.{key}", "").default)) for key in OWN
    }
    for key in _NEEDS.get(provider, ()):
        if not values[key]:
            raise ConfigError(f"embedding.{key}", f"{provider} needs one; add --{key.replace('_', '-')}")
    chosen = former._replace(provider=provider, **values)
    return chosen._replace(fallback=tuple(n for n in former.fallback if n not in (provider, named(chosen))))


def takes(provider: str) -> tuple[str, ...]:
    """Return which settings of `OWN` a provider makes use of."""
    return _TAKES.get(provider, _SERVER if provider in registry.PROVIDERS else OWN)


def named(settings: Embedding) -> str:
    """Return the model that settings want as `PROVIDER/MODEL`, or as the provider alone for its default."""
    provider, model = automatic.choose(settings)
    return f"{provider}/{model}" if model else provider


def keep_former(former: Embedding, chosen: Embedding) -> tuple[Embedding, str]:
    """Let the former model answer until the vectors of the chosen one are there, where settings can say so.

    Only models that the settings name are asked, so it becomes the first that stands in, where it does not
    ship or is at the same place anyway. Returns the settings and a line that says what answers until then.
    """
    provider = automatic.choose(former).provider
    if chosen.provider == NONE or _same(former, chosen):
        return chosen, ""
    if provider == NONE:
        return chosen, "full text answers until then"
    if provider in configured.SHIPPED or _at_same_place(former, chosen):
        return chosen, f"the vectors of {named(former)} answer until then"
    if trouble := _trouble(former):
        return chosen, f"full text answers until then ({named(former)} cannot: {trouble})"
    if provider not in EMBEDDERS or any(getattr(former, key) for key in (*_PLACE, "dimensions")):
        told = "an address, a path, a key or dimensions of its own cannot be named in embedding.fallback"
        return chosen, f"full text answers until then ({named(former)} cannot: {told})"
    name = named(former)
    others = (other for other in chosen.fallback if other != name)
    told = f"{name} was put first into embedding.fallback, so its vectors answer until then"
    return chosen._replace(fallback=(name, *others)), told


def _trouble(settings: Embedding) -> str:
    """Why the model that settings want cannot even be made; empty if it can."""
    try:
        registry.create(configured.specs(settings)[0])
    except CommonplaceError as error:
        return str(error)
    return ""


def _same(former: Embedding, chosen: Embedding) -> bool:
    rest = ("dimensions", *_PLACE)
    return named(former) == named(chosen) and all(getattr(former, k) == getattr(chosen, k) for k in rest)


def _at_same_place(former: Embedding, chosen: Embedding) -> bool:
    """Whether another model of the same server is chosen, with the same key."""
    provider = automatic.choose(former).provider
    if provider != chosen.provider or takes(provider) != _SERVER:
        return False
    return all(getattr(former, key) == getattr(chosen, key) for key in _PLACE)


def _check_provider(provider: str) -> None:
    if provider in (NONE, AUTO, *registry.PROVIDERS):
        return
    try:
        registry.find(provider)  # one that another package brings
    except ConfigError:
        near = keys.near(provider, (*registry.PROVIDERS, AUTO, NONE))
        told = f"unknown provider {keys.quoted(provider)}{near}"
        raise ConfigError("embedding.provider", told) from None


def _check_taken(provider: str, given: Mapping[str, object]) -> None:
    """Raise ConfigError for a flag that would do nothing."""
    for key in given:
        if key not in takes(provider):
            raise ConfigError(f"embedding.{key}", f"{provider} makes no use of it; leave it out")


def _checked(name: str, value: object) -> object:
    key = keys.find(f"embedding.{name}", "as a flag")
    if name in ("path", "key_file"):
        value = os.path.abspath(os.path.expanduser(str(value)))
    return keys.checked(key, value, "as a flag")


def _kept(provider: str, former: Embedding, given: Mapping[str, object]) -> dict[str, object]:
    """What stays of the settings of the same provider: its place, and all of it for the same model."""
    if automatic.choose(former).provider != provider:
        return {}
    moved = not given.keys().isdisjoint(("base_url", "path"))  # a key is for an address
    model = automatic.choose(former).model
    same = not moved and given.get("model", model) == model
    kept = {key: getattr(former, key) for key in _PLACE if not moved and key in takes(provider)}
    return {**kept, "model": model, "dimensions": former.dimensions} if same else kept
