"""The models that each provider offers: its own list where it has one, else those that are known by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers.catalog import EMBEDDERS, LLMS
from commonplace.providers.embedding import families
from commonplace.providers.http import Endpoint
from commonplace.providers.spec import Spec

LIST_S = 10.0
SUGGESTED: Mapping[str, tuple[str, ...]] = {
    "fastembed": (
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        "BAAI/bge-small-zh-v1.5",
        "intfloat/multilingual-e5-large",
    ),
    "ollama": ("nomic-embed-text", "bge-m3"),
}
# Providers that list models to whoever has a key list every kind; these are the ones that embed.
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "openai": ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"),
    "gemini": ("gemini-embedding-001", "gemini-embedding-2"),
    "voyage": ("voyage-4-large", "voyage-3.5", "voyage-3-large", "voyage-code-3"),
    "mistral": ("mistral-embed", "codestral-embed"),
    "cohere": ("embed-v4.0", "embed-multilingual-v3.0", "embed-english-v3.0"),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A model of a provider.

    `dimensions` and `bytes` are 0 where they are not known, `languages` is as its provider tells or as its
    family is known; `here` says whether it is on this machine or its server, None where that is no question.
    """

    model: str
    dimensions: int = 0
    bytes: int = 0
    languages: str = ""
    here: bool | None = None
    suggested: bool = False
    about: str = ""


def offers(spec: Spec) -> tuple[Offer, ...]:
    """Return the models of an embedding provider, suggested ones and those that are here first.

    Asks the server where there is one of the owner's (`ollama`, `compatible`). Raises ConfigError,
    MissingExtra, ProviderError.
    """
    if spec.provider == "fastembed":
        models: Sequence[Offer] = _of_fastembed()
    elif spec.provider == "ollama":
        models = _of_ollama(spec)
    elif spec.provider == "compatible":
        if not spec.base_url:
            message = "the compatible provider needs one to list its models"
            raise ConfigError("embedding.base_url", message)
        names = _served(spec.provider, spec.base_url, spec.key)
        models = [_known(spec.provider, name, here=True) for name in names]
    else:
        row = EMBEDDERS.find(spec.provider)
        known = dict.fromkeys(filter(None, (row.model, *_KNOWN.get(row.name, ()))))
        models = [_known(row.name, name) for name in known]
    return tuple(sorted(models, key=lambda one: (not one.suggested, not one.here, one.model.lower())))


def llm_offers(spec: Spec) -> tuple[str, ...]:
    """Ask a provider for the names of its language models, sorted.

    One without an address has its default alone. Raises ConfigError, ProviderError.
    """
    row = LLMS.find(spec.provider)
    base_url = spec.base_url or row.base_url
    if base_url:
        return tuple(sorted(_served(row.name, base_url, LLMS.key(spec))))
    if spec.provider == "compatible":
        raise ConfigError("llm.base_url", "the compatible provider needs one to list its models")
    return (row.model,) if row.model else ()


def _of_fastembed() -> list[Offer]:
    from commonplace.providers import fastembed

    models = []
    for row in fastembed.table():
        # The part of the description that tells of languages.
        pattern = r"(?i)\b(?:multi-?lingual|english|chinese|mixed)[^,.(]*(?:\([^)]*\))?"
        words = re.search(pattern, str(row["description"]))
        languages = words[0].replace(" input text", "").replace(" only", "").strip() if words else ""
        model, size = str(row["model"]), int(float(row["size_in_GB"]) * 1e9)
        suggested = model in SUGGESTED["fastembed"]
        models.append(Offer(model, int(row["dim"]), size, languages, fastembed.is_here(row), suggested))
    return models


def _of_ollama(spec: Spec) -> list[Offer]:
    from commonplace.providers.ollama import OllamaServer

    server = OllamaServer(spec.base_url, spec.key)
    try:
        kept = {model.name.removesuffix(":latest"): model for model in server.models()}
    finally:
        server.close()
    there = [_known("ollama", n, here=True, size=one.bytes, about=one.about) for n, one in kept.items()]
    return there + [_known("ollama", name, here=False) for name in SUGGESTED["ollama"] if name not in kept]


def _served(provider: str, base_url: str, key: Secret) -> list[str]:
    """The names that a server of OpenAI's language lists."""
    endpoint = Endpoint(provider, base_url, key)
    try:
        answer = endpoint.get("models", Deadline(LIST_S), attempts=1)
    finally:
        endpoint.close()
    try:
        return [str(row["id"]) for row in answer["data"]]  # type: ignore[index]
    except (KeyError, TypeError) as error:
        raise ProviderError(provider, "the server lists no models") from error


def _known(provider: str, name: str, *, here: bool | None = None, size: int = 0, about: str = "") -> Offer:
    family = families.find(name)
    scripts = "" if family is families.UNKNOWN else ", ".join(sorted(family.scripts, reverse=True))
    suggested = name in SUGGESTED.get(provider, ())
    return Offer(name, family.dimensions, size, scripts, here, suggested, about)
