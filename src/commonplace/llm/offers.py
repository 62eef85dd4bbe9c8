"""The language models that a provider lists."""

from __future__ import annotations

from commonplace.config.credentials import NO_KEY
from commonplace.deadline import Deadline
from commonplace.errors import ConfigError, ProviderError
from commonplace.llm import registry
from commonplace.llm.base import Spec
from commonplace.transport import Endpoint

LIST_S = 10.0


def offers(spec: Spec) -> tuple[str, ...]:
    """Ask a provider for the names of its models, sorted; one without an address has its default alone.

    Raises ConfigError, ProviderError.
    """
    row = registry.find(spec.provider)
    base_url = spec.base_url or row.base_url
    if not base_url:
        if spec.provider == "compatible":
            raise ConfigError("llm.base_url", "the compatible provider needs one to list its models")
        return (row.model,) if row.model else ()
    own = base_url.rstrip("/") == row.base_url
    key = spec.key or registry.own_key() or (registry.provider_key(row) if own else NO_KEY)
    endpoint = Endpoint(row.name, base_url, key)
    try:
        answer = endpoint.parse(endpoint.send("GET", "models", Deadline(LIST_S), attempts=1))
    finally:
        endpoint.close()
    try:
        return tuple(sorted(str(one["id"]) for one in answer["data"]))  # type: ignore[index]
    except (KeyError, TypeError) as error:
        raise ProviderError(row.name, "the server lists no models") from error
