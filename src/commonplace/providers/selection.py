"""Choosing another model: settings from its name and a few flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from commonplace.base.errors import ConfigError
from commonplace.config import credentials, keys
from commonplace.config.settings import Embedding, Llm
from commonplace.providers import opening
from commonplace.providers.catalog import EMBEDDERS, LLMS, Catalog
from commonplace.providers.opening import AUTO, NONE, SHIPPED

Flags = Mapping[str, object]
Table = TypeVar("Table", Embedding, Llm)
_PLACE = ("base_url", "key")
# Settings of a provider, which go with it when another is chosen.
OWN: Mapping[str, tuple[str, ...]] = {
    "embedding": ("model", "dimensions", *_PLACE),
    "llm": ("model", *_PLACE),
}


def select(name: str, former: Embedding, flags: Flags | None = None) -> Embedding:
    """Return settings with another embedding model, by `PROVIDER` or `PROVIDER/MODEL`, and flags by name.

    Settings of the former provider are left out; with the same provider, its address and key stay. Raises
    ConfigError for an unknown provider and for what it lacks.
    """
    return _selected(name, former, opening.choose(former)[0], flags or {}, EMBEDDERS, (AUTO, NONE))


def select_llm(name: str, former: Llm, flags: Flags | None = None) -> Llm:
    """Return settings with another language model, as `select` does."""
    return _selected(name, former, former.provider, flags or {}, LLMS, (NONE,))


def llm_overrides(former: Llm, model: str | None, base_url: str | None) -> dict[str, object]:
    """Return the settings that MODEL or PROVIDER/MODEL and an address stand for, by dotted key.

    Without both the result is empty. A change of provider drops address and key. Raises ConfigError, as
    `select_llm` does.
    """
    if model is None and base_url is None:
        return {}
    # Models at an address may have names with a slash.
    provider, name = former.provider if base_url is None else "compatible", model or former.model
    if base_url is None and name.partition("/")[0] in LLMS.rows:
        provider, _, name = name.partition("/")
    if provider == NONE:
        raise ConfigError("llm.provider", f"none is set; say --model PROVIDER/{model} or --base-url")
    chosen = select_llm(provider, former, {"model": name, "base_url": base_url})
    return {f"llm.{key}": getattr(chosen, key) for key in ("provider", *OWN["llm"])}


def _selected(
    name: str, former: Table, active: str, flags: Flags, catalog: Catalog[Any], others: tuple[str, ...]
) -> Table:
    """Return settings with a provider, its address and key where it is the `active` one, and flags.

    `others` are names without a row.
    """
    kind = catalog.kind
    provider, _, model = name.partition("/")
    row = None if provider in others else catalog.find(provider)
    given: dict[str, object] = {"model": model} if model else {}
    given |= {key: value for key, value in flags.items() if value is not None}
    if row is None or (kind == "embedding" and provider in SHIPPED):
        if given.get("model") == (row and row.model):  # the only one it has
            given.pop("model", None)
        if given:
            raise ConfigError(f"{kind}.{min(given)}", f"{provider} makes no use of it; leave it out")
    for key, value in given.items():
        whole = str(credentials.file_of(str(value)) or value) if key == "key" else value
        given[key] = keys.checked(keys.find(f"{kind}.{key}", "as a flag"), whole, "as a flag")
    if active == provider and "base_url" not in given:  # a key is for an address, and goes with it
        given = {key: getattr(former, key) for key in _PLACE} | given
    own: dict[str, Any] = {key: given.get(key, keys.find(f"{kind}.{key}", "").default) for key in OWN[kind]}
    chosen = former._replace(provider=provider, **own)
    if row is not None and (row.base_url or provider == "compatible"):
        for key, remedy in (("base_url", "add --base-url"), ("model", f"name it as {provider}/MODEL")):
            if not (getattr(chosen, key) or getattr(row, key)):
                raise ConfigError(f"{kind}.{key}", f"{provider} needs one; {remedy}")
    return chosen
