"""The models that providers offer, and fetching one of fastembed's because the owner asked.

Files are fetched into the user's cache by a process of their own: the library that does it can be neither
hushed nor stopped, and Ctrl-C should end it at once. What had come stays, and another attempt goes on there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from commonplace.base import installation
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.providers import fastembed, program, services
from commonplace.providers.catalog import EMBEDDERS, LLMS, Catalog, Spec

Progress = Callable[[int, int], None]  # bytes that have come, bytes in all, about
_MOST_S = 86_400.0
_LIST_S = 10.0
_PROGRAM = "import sys; from commonplace.providers import fastembed; fastembed.download(*sys.argv[1:])"


class Fetched(NamedTuple):
    """A model that is here now: its name, where it lies, its bytes, and whether it was here before."""

    model: str
    place: str
    bytes: int
    before: bool = False


def fetch(spec: Spec, progress: Progress) -> Fetched:
    """Fetch a model of fastembed, a reranker too, or see that it is there.

    Raises ConfigError for another provider's or an unknown model, MissingExtra, ProviderError.
    """
    if spec.provider != fastembed.PROVIDER:
        message = f"only models of fastembed are fetched, not those of {spec.provider}"
        hint = f"; `ollama pull {spec.model}` fetches it" if spec.provider == "ollama" else ""
        raise ConfigError("models", message + hint)
    named = spec.model.lower()
    ranks = named and named in (str(row["model"]).lower() for row in fastembed.table("reranking"))
    kind: fastembed.Kind = "reranking" if ranks else "embedding"
    row = fastembed.find(spec.model, kind)
    name, total, folder = str(row["model"]), _size(row), fastembed.cache_of(row)
    if place := fastembed.place(row):
        return Fetched(name, str(place), size_of(place, follow=True), True)
    environ = {**installation.environment(), "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    command = installation.python("-c", _PROGRAM, name, kind)

    def look() -> None:
        progress(min(size_of(folder), total), total)

    done = program.run(command, os.sep, _MOST_S, environ=environ, look=look)
    place = fastembed.place(row)
    if done.failure or place is None:
        reason = done.failure.rpartition(f"{fastembed.PROVIDER}: ")[2]  # the last line of a traceback
        raise ProviderError(fastembed.PROVIDER, reason or f"{name} cannot be fetched; run it again")
    progress(total, total)
    return Fetched(name, str(place), size_of(place, follow=True))


def is_missing(spec: Spec) -> bool:
    """Tell whether a model has to be fetched first. Raises ConfigError for an unknown one, MissingExtra."""
    if spec.provider != fastembed.PROVIDER:
        return False
    return fastembed.place(fastembed.find(spec.model)) is None


def size_of(folder: Path, *, follow: bool = False) -> int:
    """Return the bytes of the files in a folder; of links, with `follow`, those of what they lead to."""
    size = 0
    for parent, _, names in os.walk(folder):  # which passes over folders that vanish while it looks
        for name in names:
            with suppress(OSError):  # so do files
                size += os.stat(os.path.join(parent, name), follow_symlinks=follow).st_size
    return size


# --- what providers offer ------------------------------------------------------------------------------


class Offer(NamedTuple):
    """A model of a provider.

    `dimensions` and `bytes` are 0 where they are not known; `about` is its provider's description, or the
    scripts that it serves. `here`: it is on this machine or on a server of the owner's.
    """

    model: str
    dimensions: int = 0
    bytes: int = 0
    about: str = ""
    here: bool = False


def offers(spec: Spec) -> tuple[Offer, ...]:
    """Return the models of an embedding provider, those that are here first.

    Asks the server where there is one of the owner's (`ollama`, `compatible`). Raises ConfigError,
    MissingExtra, ProviderError.
    """
    provider, row = spec.provider, EMBEDDERS.find(spec.provider)
    if provider == fastembed.PROVIDER:
        models = [
            Offer(one["model"], one["dim"], _size(one), one["description"], fastembed.place(one) is not None)
            for one in fastembed.table()
        ]
    elif provider in ("ollama", "compatible"):
        base_url = spec.base_url or row.base_url
        if provider == "ollama":
            base_url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1"
        served = _served(EMBEDDERS, replace(spec, base_url=base_url))
        models = [_known(name.removesuffix(":latest"), here=True) for name in served]
    else:
        names = dict.fromkeys((row.model, *services.embedding(provider).models))
        models = [_known(name) for name in names if name]
    return tuple(sorted(models, key=lambda offer: (not offer.here, offer.model.lower())))


def llm_offers(spec: Spec) -> tuple[str, ...]:
    """Ask a provider for the names of its language models, sorted.

    A provider without an address has its default alone. Raises ConfigError, ProviderError.
    """
    row = LLMS.find(spec.provider)
    if spec.base_url or row.base_url or spec.provider == "compatible":
        return tuple(sorted(_served(LLMS, spec)))
    return (row.model,) if row.model else ()


def _served(catalog: Catalog[Any], spec: Spec) -> list[str]:
    """Return the models that a server lists in OpenAI's form."""
    with closing(catalog.connect(spec, needs_model=False)[1]) as endpoint:
        answer = endpoint.get("models", Deadline(_LIST_S), attempts=1)
    try:
        return [str(row["id"]) for row in answer["data"]]  # type: ignore[index]
    except (KeyError, TypeError) as error:
        raise ProviderError(spec.provider, "the server lists no models") from error


def _known(name: str, *, here: bool = False) -> Offer:
    family = services.family(name)
    scripts = "" if family is services.UNKNOWN else ", ".join(sorted(family.scripts, reverse=True))
    return Offer(name, family.dimensions, about=scripts, here=here)


def _size(row: Mapping[str, Any]) -> int:
    """The bytes of a model of fastembed's, about."""
    return int(float(row["size_in_GB"]) * 1e9)
