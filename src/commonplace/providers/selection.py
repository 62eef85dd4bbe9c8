"""Choosing another model: settings from its name and a few flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.base.errors import ConfigError
from commonplace.config import credentials, keys
from commonplace.config.settings import Embedding, Llm
from commonplace.providers import opening
from commonplace.providers.catalog import EMBEDDERS, LLMS, Catalog
from commonplace.providers.opening import AUTO, NONE

# Settings of a provider, which go with it when another is chosen.
_PLACE = ("base_url", "key")
OWN: Mapping[str, tuple[str, ...]] = {
    "embedding": ("model", "dimensions", *_PLACE),
    "llm": ("model", *_PLACE),
}
# Of these a provider makes use; of one that is not here, of all.
_TAKES: Mapping[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys((("embedding", name) for name in (NONE, AUTO, "builtin", "fake")), ()),
    ("embedding", "fastembed"): ("model", "dimensions"),
    ("llm", NONE): (),
    ("llm", "fake"): ("model",),
}


def select(name: str, former: Embedding, flags: Mapping[str, object] | None = None) -> Embedding:
    """Return settings with another embedding model, by `PROVIDER` or `PROVIDER/MODEL`, and flags by name.

    Settings of the former provider are left out; with the same provider, its address and key stay, and
    with the same model all of it. Raises ConfigError for an unknown provider, for what it does not take, and
    for what it lacks.
    """
    active = opening.choose(former)
    provider, values = _checked(name, former, active.provider, flags, EMBEDDERS, (AUTO, NONE))
    if _stays(active.provider, provider, flags) and values.get("model", active.model) == active.model:
        values = {"model": active.model, "dimensions": former.dimensions} | values
    chosen = former._replace(provider=provider, **_all("embedding", values))
    for key in ("base_url", "model") if provider == "compatible" else ():
        if not getattr(chosen, key):
            raise ConfigError(f"embedding.{key}", f"{provider} needs one; add --{key.replace('_', '-')}")
    others = (n for n in former.fallback if n not in (provider, opening.choose(chosen).shown))
    return chosen._replace(fallback=tuple(others))


def select_llm(name: str, former: Llm, flags: Mapping[str, object] | None = None) -> Llm:
    """Return settings with another language model, as `select` does."""
    provider, values = _checked(name, former, former.provider, flags, LLMS, (NONE,))
    chosen = former._replace(provider=provider, **_all("llm", values))
    row = LLMS.rows.get(provider)
    remedies = {"base_url": "add --base-url", "model": f"name it as {provider}/MODEL"}
    for key, remedy in remedies.items() if row and ("llm", provider) not in _TAKES else ():
        if not (getattr(chosen, key) or getattr(row, key)):
            raise ConfigError(f"llm.{key}", f"{provider} needs one; {remedy}")
    return chosen


def llm_overrides(former: Llm, model: str | None, base_url: str | None) -> dict[str, object]:
    """Return the settings that MODEL or PROVIDER/MODEL and an address stand for, by dotted key.

    Without both the result is empty. A change of provider drops address and key. Raises ConfigError, as
    `select_llm` does.
    """
    if model is None and base_url is None:
        return {}
    provider, rest = former.provider, ""
    if base_url is not None:  # whose models may have names with a slash
        provider = "compatible"
    elif model is not None and model.partition("/")[0] in LLMS.rows:
        provider, _, rest = model.partition("/")
    if provider == NONE:
        raise ConfigError("llm.provider", f"none is set; say --model PROVIDER/{model} or --base-url")
    chosen = select_llm(provider, former, {"model": rest or model or former.model, "base_url": base_url})
    return {f"llm.{key}": getattr(chosen, key) for key in ("provider", *OWN["llm"])}


def meanwhile(former: Embedding, chosen: Embedding) -> str:
    """Say what answers until a sync has made the vectors of the chosen model; empty without a change."""
    active, other = opening.choose(former), opening.choose(chosen)
    same_place = all(getattr(former, key) == getattr(chosen, key) for key in _PLACE)
    is_same = same_place and former.dimensions == chosen.dimensions and active.shown == other.shown
    if chosen.provider == NONE or is_same:
        return ""
    if active.provider in opening.SHIPPED or (same_place and active.provider == other.provider):
        return f"the vectors of {active.shown} answer until then"
    return "full text answers until then"


def takes(provider: str, kind: str = "embedding") -> tuple[str, ...]:
    """Return which settings of `OWN` a provider makes use of; of one of another package, all."""
    return _TAKES.get((kind, provider), OWN[kind])


def _stays(active: str, provider: str, flags: Mapping[str, object] | None) -> bool:
    """Tell whether address and key stay; a key is for an address, and goes with it."""
    return active == provider and (flags or {}).get("base_url") is None


def _all(kind: str, values: Mapping[str, object]) -> dict[str, Any]:
    return {key: values.get(key, keys.find(f"{kind}.{key}", "").default) for key in OWN[kind]}


def _checked(
    name: str,
    former: Embedding | Llm,
    active: str,
    flags: Mapping[str, object] | None,
    catalog: Catalog[Any],
    others: tuple[str, ...],
) -> tuple[str, dict[str, object]]:
    """Return the provider of a name, and the values that stay or are given, each checked as a setting."""
    kind = catalog.kind
    provider, _, model = name.partition("/")
    try:
        if provider not in others:
            catalog.find(provider)
    except ConfigError:
        near = keys.near(provider, (*catalog.rows, *others))
        raise ConfigError(f"{kind}.provider", f"unknown provider {keys.quoted(provider)}{near}") from None
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    if model and given.setdefault("model", model) != model:
        raise ConfigError(f"{kind}.model", f"{model} and {given['model']} are two models; name one")
    ships = kind == "embedding" and provider in opening.SHIPPED
    if ships and given.get("model") == catalog.rows[provider].model:
        del given["model"]  # the only one it has
    taken = takes(provider, kind)
    for key, value in given.items():
        if key not in taken:
            raise ConfigError(f"{kind}.{key}", f"{provider} makes no use of it; leave it out")
        whole = str(credentials.file_of(str(value)) or value) if key == "key" else value
        given[key] = keys.checked(keys.find(f"{kind}.{key}", "as a flag"), whole, "as a flag")
    kept = [key for key in _PLACE if key in taken] if _stays(active, provider, flags) else []
    return provider, {key: getattr(former, key) for key in kept} | given
