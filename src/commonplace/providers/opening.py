"""From settings to the models that they name, guarded: embedding models, a language model, a reranker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.config import credentials
from commonplace.config.providers import LLM as LLM
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS, Spec
from commonplace.providers.costs import Ledger
from commonplace.providers.guard import SHARED as SHARED

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config import Settings
    from commonplace.config.settings import Embedding
    from commonplace.providers.embedding.base import Embedder
    from commonplace.providers.llm.client import Client
    from commonplace.providers.reranking import GuardedReranker
    from commonplace.types import Estimate

    OpenLedger = Callable[[], Ledger]

AUTO, NONE = "auto", "none"
# `openai-1:text-embedding-3-small:full:0123456789ab`, with `@host:port` behind the provider of some.
_OF_A_SERVER = re.compile(
    r"(?P<provider>\w+)-1(?:@(?:\[[^\]\s]+\]|[^:\s]+)(?::\d+)?)?:(?P<model>\S+):(?P<size>\d{1,5}|full):[0-9a-f]{12}"
)
SHIPPED = ("builtin", "fake")


# --- embedding models ---------------------------------------------------------------------------------


def choose(settings: Embedding) -> tuple[str, str]:
    """Return the provider and model of the settings; a key in the environment does not choose a provider."""
    model = settings.model
    if settings.provider != AUTO:
        return settings.provider, model
    if settings.base_url or not model:
        return "compatible" if settings.base_url else "builtin", model
    owner, _, name = model.partition("/")
    if name and owner in EMBEDDERS.rows:
        return owner, name
    # A name with an owner (`BAAI/bge-small-zh-v1.5`) is as fastembed has it, one without as Ollama has it.
    return "fastembed" if name else "ollama", model


def specs(settings: Embedding) -> list[Spec]:
    """Return the models of the settings: the chosen one first, then the fallbacks.

    A fallback is a provider's name, or `provider/model`; with the same provider it has its address and key.
    Raises ConfigError for a key that cannot be read.
    """
    key = credentials.named(settings.key, "embedding.key")
    first = Spec(*choose(settings), settings.base_url, key, settings.dimensions)
    named = [first]
    for name in settings.fallback:
        provider, _, model = name.partition("/")
        near = replace(first, model=model, dimensions=None)
        named.append(near if provider == first.provider else Spec(provider, model))
    # The deadlines of the settings do not apply to a model in this process.
    long_s, short_s = settings.deadline_s, settings.query_deadline_s
    return [
        spec if is_local(spec) else replace(spec, deadline_s=long_s, query_deadline_s=short_s)
        for spec in dict.fromkeys(named)
    ]


def is_local(spec: Spec) -> bool:
    """Tell whether a model runs in this process: true for an unknown provider, false for a local server."""
    with suppress(ConfigError):
        row = EMBEDDERS.find(spec.provider)
        return bool(row.local) and not (row.base_url or spec.base_url)
    return True


def models(
    settings: Embedding, ledger: OpenLedger | None = None, more: Sequence[Spec] = ()
) -> Iterator[Embedder | str]:
    """Yield each model, or the reason (str) why it is unusable; `ledger()` records and caps its calls.

    The first choice of the settings comes first, then the fallbacks, then `more`. Raises ConfigError.
    """
    for spec in (*specs(settings), *more):
        try:
            model = guarded(spec, settings, ledger)
        except CommonplaceError as error:
            yield str(error)
            continue
        opened = SHARED.find(getattr(model, "breaker_name", ""))
        yield str(opened) if opened and opened.permanent else model


def former(settings: Embedding, ledger: OpenLedger, fingerprint: str) -> Embedder | None:
    """Make the model that filled an index; None if the settings do not allow questions to go there.

    It must be in the owner's settings, another model at the address that they name, or in this process: what
    an index says must not decide where questions are sent (decision 16). Raises ConfigError.
    """
    first, more = specs(settings)[0], list(map(Spec, (*SHIPPED, "large")))
    parts = _OF_A_SERVER.fullmatch(fingerprint)
    if parts and parts["provider"] == first.provider:
        size = None if parts["size"] == "full" else int(parts["size"])
        more.insert(0, replace(first, model=parts["model"], dimensions=size))
    for model in models(settings, ledger, more):
        if not isinstance(model, str) and model.fingerprint == fingerprint:
            return model
    return None


def guarded(spec: Spec, settings: Embedding, ledger: OpenLedger | None = None) -> Embedder:
    """Make an embedding model; one behind a server is put behind the cache, the breaker and the budget.

    Raises ConfigError, MissingExtra, ProviderError, and what keeps a ledger from being opened.
    """
    model = EMBEDDERS.create(spec)
    if spec.provider in ("builtin", "large"):
        from commonplace.providers.embedding.builtin import CachedEmbedder

        return CachedEmbedder(model)
    if is_local(spec):
        return model
    from commonplace.providers.cache import VectorCache
    from commonplace.providers.embedding import batch
    from commonplace.providers.embedding.remote import GuardedEmbedder

    calls = ledger() if ledger else None
    budget = calls.budget(settings) if calls else None
    made = GuardedEmbedder(model, spec.provider, store=VectorCache(), breaker=SHARED, budget=budget)
    made.deadline_s = max(spec.deadline_s, spec.query_deadline_s)
    if calls and settings.batch and batch.supports(model):
        made.batches = partial(batch.embed_each, model, batch.Store(calls))
    return made


def is_remote(model: Embedder) -> bool:
    """Tell whether a model made here is behind a server, so that embedding may take long and cost money."""
    return hasattr(model, "try_out")


def estimate(
    model: Any,  # noqa: ANN401 - an Embedder
    passages: Sequence[str],
    questions: Sequence[str],
    warnings: tuple[str, ...],
) -> Estimate:
    """Say what embedding passages and questions with a model made here would take."""
    from commonplace.types import Estimate

    if is_remote(model):
        expected: Estimate = model.estimate(passages, questions, warnings)
        return expected
    return Estimate(model.name, len(passages) + len(questions), dollars=0.0, local=True, warnings=warnings)


# --- language models ----------------------------------------------------------------------------------


def open_llm(
    workspace: Workspace | None,
    settings: Settings,
    *,
    cached: bool = True,
    ledger: Ledger | None = None,
) -> Client | None:
    """Make the language model of the settings, or None without one, which is the default.

    Calls are recorded and capped in a `ledger`, by default that of the workspace; without a ledger and a
    workspace they are not. `cached`: use the cache, unless the settings do not. Raises ConfigError,
    ProviderError for an unfit address or a missing key.
    """
    chosen = settings.llm
    if chosen.provider == NONE:
        return None
    from commonplace.providers.cache import AnswerCache
    from commonplace.providers.llm.client import Client

    key = credentials.from_environment([LLM_KEY]) or credentials.named(chosen.key, "llm.key")
    model = LLMS.create(Spec(chosen.provider, chosen.model, chosen.base_url, key))
    if ledger is None and workspace is not None:
        ledger = Ledger.of(workspace)
    answers = AnswerCache() if chosen.cache and cached else None
    return Client(model, cache=answers, budget=ledger.budget(chosen) if ledger else None, breaker=SHARED)


# --- rerankers ----------------------------------------------------------------------------------------


def open_reranker(
    settings: Settings, ledger: Ledger | None = None, *, cached: bool = True
) -> GuardedReranker | None:
    """Make the reranker of the settings, or None without one, which is the default.

    Its calls are recorded and capped in the ledger; answers of the language model are kept where they are to
    be `cached`. Raises ConfigError, MissingExtra, ProviderError.
    """
    chosen = settings.reranking
    if chosen.provider == NONE:
        return None
    from commonplace.providers.reranking import GuardedReranker, RemoteReranker

    if chosen.provider == LLM:
        from commonplace.providers.llm.reranker import LlmReranker

        client = open_llm(None, settings, cached=cached, ledger=ledger)
        if client is None:
            message = f"llm needs a language model; {remedies.say('models.llm')}"
            raise ConfigError("reranking.provider", message)
        return GuardedReranker(LlmReranker(client, chosen.timeout_s))
    key = credentials.named(chosen.key, "reranking.key")
    spec = Spec(chosen.provider, chosen.model, chosen.base_url, key, query_deadline_s=chosen.timeout_s)
    inner = RERANKERS.create(spec)
    if not isinstance(inner, RemoteReranker):
        return GuardedReranker(inner)
    made = GuardedReranker(inner, breaker=SHARED, budget=ledger.budget(chosen) if ledger else None)
    made.timeout_s = chosen.timeout_s
    return made
