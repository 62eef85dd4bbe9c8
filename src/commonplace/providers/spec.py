"""What a model is made from, and what is known of its provider: one type each for all kinds of models."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.config.credentials import NO_KEY, Secret


@dataclass(frozen=True, slots=True)
class Spec:
    """What a model is made from, as the owner configured it; empty fields take the provider's defaults.

    `base_url` is the address of an endpoint, `path` a local file or folder, `command` a local program with
    its arguments. `dimensions` asks for shorter vectors where a model can give them, `context` is the number
    of tokens that a language model in this process has room for. `deadline_s` bounds one call for passages
    with all its retries, `query_deadline_s` one that a question waits for: a vector, or a reranker's scores.
    """

    provider: str
    model: str = ""
    base_url: str = ""
    path: str = ""
    key: Secret = NO_KEY
    dimensions: int | None = None
    command: tuple[str, ...] = ()
    context: int = 8192
    deadline_s: float = 120.0
    query_deadline_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of a table of providers: who makes a model, and what that takes.

    `factory` is `module:function`, a function of a `Spec`. `extra` is the extra of this package that it
    needs, `keys` the environment variables that may hold its key, `model` the default model, `local` whether
    texts stay on this machine (None: as with most providers of its kind, see `Catalog`).
    """

    name: str
    factory: str
    about: str
    extra: str = ""
    keys: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    local: bool | None = None
