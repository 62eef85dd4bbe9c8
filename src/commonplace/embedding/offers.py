"""The models that each provider offers: its own list where it has one, else those that are known by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.config.credentials import NO_KEY
from commonplace.deadline import Deadline
from commonplace.embedding import families, registry
from commonplace.embedding.base import Spec
from commonplace.errors import ConfigError, ProviderError

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
    """Return the models of the provider of a specification, suggested ones and those that are here first.

    Asks the server where there is one of the owner's (`ollama`, `compatible`). Raises ConfigError,
    MissingExtra, ProviderError.
    """
    if spec.provider == "fastembed":
        found: Sequence[Offer] = _of_fastembed()
    elif spec.provider == "ollama":
        found = _of_ollama(spec)
    elif spec.provider == "compatible":
        found = [_known(spec.provider, name, here=True) for name in _served(spec)]
    else:
        row = registry.find(spec.provider)
        names = dict.fromkeys(filter(None, (row.model, *_KNOWN.get(row.name, ()))))
        found = [_known(row.name, name) for name in names]
    return tuple(sorted(found, key=lambda one: (not one.suggested, not one.here, one.model.lower())))


def _of_fastembed() -> list[Offer]:
    from commonplace.embedding import fastembed

    return [
        Offer(
            str(row["model"]),
            int(row["dim"]),
            int(float(row["size_in_GB"]) * 1e9),
            _languages(str(row["description"])),
            fastembed.is_here(row),
            row["model"] in SUGGESTED["fastembed"],
        )
        for row in fastembed.table()
    ]


def _languages(description: str) -> str:
    """The part of a description in fastembed's table that tells of languages."""
    found = re.search(r"(?i)\b(?:multi-?lingual|english|chinese|mixed)[^,.(]*(?:\([^)]*\))?", description)
    return found[0].replace(" input text", "").replace(" only", "").strip() if found else ""


def _of_ollama(spec: Spec) -> list[Offer]:
    from commonplace.embedding.ollama_server import OllamaServer

    server = OllamaServer(spec.base_url, spec.key)
    try:
        kept = {model.name.removesuffix(":latest"): model for model in server.models()}
    finally:
        server.close()
    there = [_known("ollama", n, here=True, size=one.bytes, about=one.about) for n, one in kept.items()]
    return there + [_known("ollama", name, here=False) for name in SUGGESTED["ollama"] if name not in kept]


def _served(spec: Spec) -> list[str]:
    """The names that a server of OpenAI's language lists."""
    from commonplace.transport import Endpoint

    if not spec.base_url:
        raise ConfigError("embedding.base_url", "the compatible provider needs one to list its models")
    endpoint = Endpoint(spec.provider, spec.base_url, spec.key or NO_KEY)
    try:
        answer = endpoint.parse(endpoint.send("GET", "models", Deadline(LIST_S), attempts=1))
    finally:
        endpoint.close()
    try:
        return [str(row["id"]) for row in answer["data"]]  # type: ignore[index]
    except (KeyError, TypeError) as error:
        raise ProviderError(spec.provider, "the server lists no models") from error


def _known(provider: str, name: str, *, here: bool | None = None, size: int = 0, about: str = "") -> Offer:
    family = families.find(name)
    scripts = "" if family is families.UNKNOWN else ", ".join(sorted(family.scripts, reverse=True))
    suggested = name in SUGGESTED.get(provider, ())
    return Offer(name, family.dimensions, size, scripts, here, suggested, about)
