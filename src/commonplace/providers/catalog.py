"""The providers of each kind by name: tables of rows, rows of other packages, and the models made of them.

A provider's module is imported when its first model is made; one specification gives one model a process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commonplace.base import fork
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config import credentials, providers
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.config.providers import Provider as Provider

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Embedder
    from commonplace.providers.http import Endpoint
    from commonplace.providers.llm.base import Model

T = TypeVar("T")
LLM_KEY = "COMMONPLACE_LLM_KEY"  # the variable with a key for language models, wherever they are


@dataclass(frozen=True, slots=True)
class Spec:
    """A model as the owner configured it; empty fields take the provider's defaults."""

    provider: str
    model: str = ""
    base_url: str = ""
    key: Secret = NO_KEY
    dimensions: int | None = None  # of shorter vectors, where a model can give them
    deadline_s: float = 120.0  # of one call for passages, with all its retries
    query_deadline_s: float = 5.0  # of one that a question waits for: a vector, or a reranker's scores


class Catalog(Generic[T]):
    """Rows by name, and the models `T` made so far; safe to use from several threads."""

    def __init__(self, rows: Iterable[Provider], kind: str, group: str) -> None:
        """Take the built-in rows, the table of settings that names one, and the entry points of others."""
        self.rows: Mapping[str, Provider] = {row.name: row for row in rows}
        self.made: dict[Spec, T] = {}
        self.lock = fork.renewed(threading.Lock())
        self.kind, self.group = kind, group

    def find(self, name: str) -> Provider:
        """Return the row of a name, built in or installed. Raises ConfigError, with the known names."""
        row = self.rows.get(name)
        if row is None:
            from importlib.metadata import entry_points

            points = (point.load() for point in entry_points(group=self.group))
            installed = {row.name: row for row in points if isinstance(row, Provider)}
            if (row := installed.get(name)) is None:
                known = ", ".join([*self.rows, *installed, "none"])
                raise ConfigError(f"{self.kind}.provider", f"unknown provider {name!r}; known: {known}")
        return row if row.local is not None else row._replace(local=self.kind == "embedding")

    def create(self, spec: Spec | str) -> T:
        """Return the model of a specification, made once a process and shared by all its callers.

        Raises ConfigError for an unknown provider or what it lacks, MissingExtra, ProviderError.
        """
        spec = Spec(spec) if isinstance(spec, str) else spec
        module, _, function = self.find(spec.provider).factory.partition(":")
        make: Callable[[Spec], T] = getattr(import_module(module, __package__), function)
        with self.lock:
            if spec not in self.made:
                self.made[spec] = make(spec)
            return self.made[spec]

    def connect(
        self, spec: Spec, *, needs_model: bool = True, header: str = "Authorization", scheme: str = "Bearer "
    ) -> tuple[str, Endpoint]:
        """Return the model to name and the endpoint to ask, with the provider's defaults; no request is made.

        `header` and `scheme` carry the key: as configured, or of the environment, where a provider's own
        variable is for its own address only. Raises ConfigError for a missing model or address, ProviderError
        for a missing key or an unfit address.
        """
        from commonplace.providers.http import Endpoint

        row = self.find(spec.provider)
        key = credentials.at_address(spec.key, row.keys, spec.base_url, row.base_url)
        model, base_url = spec.model or row.model, spec.base_url or row.base_url
        if row.keys and not key and credentials.is_own(spec.base_url, row.base_url):
            raise ProviderError(row.name, f"no key: set {' or '.join(row.keys)}", permanent=True)
        for name, value in (("base_url", base_url), ("model", model or not needs_model)):
            if not value:
                message = f"{row.name} needs one; set it in your own config.toml"
                raise ConfigError(f"{self.kind}.{name}", message)
        return model, Endpoint(row.name, base_url, key, header=header, scheme=scheme)


EMBEDDERS: Catalog[Embedder] = Catalog(providers.EMBEDDERS, "embedding", "commonplace.embedders")
LLMS: Catalog[Model] = Catalog(providers.LLMS, "llm", "commonplace.llms")
RERANKERS: Catalog[Any] = Catalog(providers.RERANKERS, "reranking", "commonplace.rerankers")
