"""The models that the settings name: the one wanted and those that may stand in, behind cache and breaker."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from commonplace import paths
from commonplace.config import credentials
from commonplace.embedding import automatic, base, registry
from commonplace.embedding.automatic import AUTO
from commonplace.embedding.base import Embedder, Spec
from commonplace.embedding.breaker import Breaker, Opened, name_of
from commonplace.errors import CommonplaceError, ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.config.settings import Embedding
    from commonplace.costs.accounts import Accounts
    from commonplace.embedding.pending import FileStore
    from commonplace.types import Estimate

SHIPPED = ("builtin", "fake")


def specs(settings: Embedding) -> list[Spec]:
    """What the settings ask for: the provider first, then those that stand in for it, with their own models.

    One that stands in is a provider's name, or `provider/model`; one of the same provider has its address and
    key. Behind `auto` stands the model that ships, last. Raises ConfigError for a key that cannot be read.
    """
    chosen = automatic.choose(settings)
    wanted = Spec(
        chosen.provider,
        chosen.model,
        settings.dimensions,
        settings.base_url,
        settings.path and os.path.abspath(os.path.expanduser(settings.path)),
        credentials.named(settings.key_file, settings.keyring, "embedding"),
    )
    others = [_stand_in(wanted, *name.partition("/")[::2]) for name in settings.fallback]
    last = [Spec("builtin")] if settings.provider == AUTO else []
    named = dict.fromkeys([wanted, *others, *last])
    return [_limited(spec, settings) for spec in named]


def _stand_in(wanted: Spec, provider: str, model: str) -> Spec:
    if provider != wanted.provider:
        return Spec(provider, model)
    return Spec(provider, model, base_url=wanted.base_url, key=wanted.key)


def _limited(spec: Spec, settings: Embedding) -> Spec:
    """A specification with the deadlines of the settings, which mean nothing to a model on this machine."""
    if is_local(spec):
        return spec
    return replace(spec, deadline_s=settings.deadline_s, query_deadline_s=settings.query_deadline_s)


def is_local(spec: Spec) -> bool:
    """Whether a model runs in this process; a server may hang or be gone, on this machine as well."""
    with suppress(ConfigError):
        row = registry.find(spec.provider)
        return row.local and not (row.base_url or spec.base_url)
    return True


def models(settings: Embedding, accounts: Accounts | None = None) -> Iterator[Embedder | str]:
    """Make each model that the settings name, the wanted one first; a text says why one cannot be used.

    What they take is recorded and capped by `accounts`, as one run. Raises ConfigError.
    """
    return _made(specs(settings), settings, accounts)


def former(settings: Embedding, accounts: Accounts, fingerprint: str) -> Embedder | None:
    """Make the model that an index was filled with, if questions may go to it: None otherwise.

    One that the owner's settings name, another one at the very place that they name, or one that ships: an
    index may have come with a folder, and what it says must not decide where questions are sent. Raises
    ConfigError.
    """
    from commonplace.embedding import remote

    named = specs(settings)
    near = remote.at_same_place(named[0], fingerprint)
    for model in _made([*named, *([near] if near else []), *map(Spec, SHIPPED)], settings, accounts):
        if not isinstance(model, str) and model.fingerprint == fingerprint:
            return model
    return None


def _made(wanted: Sequence[Spec], settings: Embedding, accounts: Accounts | None) -> Iterator[Embedder | str]:
    run = uuid4().hex
    state = breaker()
    for spec in wanted:
        name = breaker_name(spec)
        try:
            model = guarded(spec, settings, accounts, run)
        except CommonplaceError as error:
            yield str(error)
            continue
        opened = next((one for one in state.opened() if one.name == name and one.permanent), None)
        yield told(opened) if opened else model


def guarded(spec: Spec, settings: Embedding, accounts: Accounts | None = None, run: str = "") -> Embedder:
    """Make a model; one behind a server is put behind the cache, the breaker and the budget.

    Raises ConfigError, MissingExtra, ProviderError, and what keeps a ledger from being opened.
    """
    model = registry.create(spec)
    if is_local(spec):
        return model
    from commonplace.embedding.cache import VectorCache
    from commonplace.embedding.guarded import GuardedEmbedder

    path = os.fspath(paths.user_cache_dir() / "vectors.sqlite")
    cache = VectorCache(path, settings.cache_entries) if settings.cache_entries else None
    priced = getattr(model, "model", spec.model)
    return GuardedEmbedder(
        model,
        store=cache,
        breaker=breaker(),
        meter=accounts.meter(spec.provider, priced, run) if accounts else None,
        name=breaker_name(spec),
        deadline_s=max(settings.deadline_s, settings.query_deadline_s),
        batches=_batches(model, accounts.folder) if accounts and settings.batch else None,
    )


def _batches(model: Embedder, folder: Path) -> FileStore | None:
    """Where batches under way are noted, for a model whose provider has them."""
    from commonplace.embedding import batch
    from commonplace.embedding.pending import FileStore

    if not batch.supports(model):
        return None
    return FileStore(folder / "batches.json", folder / "locks" / "batches.lock")


def is_remote(model: Embedder) -> bool:
    """Whether a model made here is behind a server, so that embedding may take long and cost money."""
    from commonplace.embedding.guarded import GuardedEmbedder

    return isinstance(model, GuardedEmbedder)


def trouble(model: Embedder) -> str:
    """Why a model made here does not answer now; empty if it does, or runs in this process."""
    from commonplace.embedding.guarded import GuardedEmbedder

    if isinstance(model, GuardedEmbedder):
        try:
            model.try_out()
        except CommonplaceError as error:
            return str(error)
    return ""


def estimate(
    model: Embedder, passages: Sequence[str], questions: Sequence[str], warnings: tuple[str, ...]
) -> Estimate:
    """Say what embedding passages and questions with a model made here would take."""
    from commonplace.types import Estimate

    if base.estimating(model):
        return model.estimate(passages, questions, warnings)
    texts = len(passages) + len(questions)
    return Estimate(model.name, texts, dollars=0.0, local=True, warnings=warnings)


def left_alone() -> list[str]:
    """The providers that are left alone now, and why, a line each."""
    return [told(opened) for opened in breaker().opened()]


def told(opened: Opened) -> str:
    """One line about a provider that is left alone."""
    until = time.strftime("%H:%M", time.localtime(opened.until_s))
    return f"{opened.name.partition('#')[0]} is left alone until {until} ({opened.reason})"


def breaker() -> Breaker:
    """Return the breaker that all processes of the user share."""
    return Breaker(paths.user_cache_dir() / "providers.json")


def breaker_name(spec: Spec) -> str:
    """Return under which name the failures of a model are noted; a new key begins anew, wherever it is."""
    key = spec.key
    with suppress(ConfigError):
        row = registry.find(spec.provider)
        if not key and spec.base_url.rstrip("/") in ("", row.base_url):
            key = credentials.from_environment(row.keys)
    return name_of(spec.provider, spec.model, spec.base_url, key.reveal())
