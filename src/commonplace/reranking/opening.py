"""From settings to the reranker that a search gets, or to none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.config import credentials
from commonplace.embedding import configured
from commonplace.embedding.breaker import name_of
from commonplace.errors import ConfigError
from commonplace.reranking import registry
from commonplace.reranking.base import Reranker, Spec
from commonplace.reranking.cache import ScoreCache
from commonplace.reranking.guarded import GuardedReranker
from commonplace.reranking.remote import RemoteReranker

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.config.settings import Reranking
    from commonplace.costs.accounts import Accounts
    from commonplace.costs.meter import Meter
    from commonplace.embedding.breaker import Breaker
    from commonplace.llm.base import Breaker as LlmBreaker

NONE = "none"
LLM = "llm"  # the language model that is set; no row of the registry, since it needs more than a `Spec`
_STORE = ScoreCache()


def open_reranker(
    settings: Settings, accounts: Accounts | None = None, *, run: str = ""
) -> GuardedReranker | None:
    """Make the reranker of the settings, or None where none is set, which is the default.

    What it takes is recorded in the ledger of `accounts`, held to the caps of its table (the language model
    to those of [llm]); `run` names what the caps of a run are for. Scores are kept in memory, for all that
    this process opens. Nothing is asked or loaded yet. Raises ConfigError, MissingExtra, ProviderError for a
    missing key, an unfit address or a model that is not there.
    """
    if settings.reranking.provider == NONE:
        return None
    return guarded(settings, accounts, _STORE, configured.breaker(), run=run)


def guarded(
    settings: Settings,
    accounts: Accounts | None = None,
    store: ScoreCache | None = None,
    breaker: Breaker | None = None,
    *,
    llm_breaker: LlmBreaker | None = None,
    run: str = "",
    fresh: bool = False,
) -> GuardedReranker:
    """Make the reranker of the settings behind these; `fresh` leaves out the answers that are on disk.

    The breaker of a language model is `llm_breaker`, unless told the same. Raises as `open_reranker` does.
    """
    chosen = settings.reranking
    if chosen.provider == LLM:
        return GuardedReranker(
            _language_model(settings, accounts, llm_breaker or breaker, run, fresh=fresh),
            store=store,
            timeout_s=chosen.timeout_s,
        )
    inner = registry.create(spec_of(chosen))
    if not isinstance(inner, RemoteReranker):
        return GuardedReranker(inner, store=store, timeout_s=chosen.timeout_s)
    return GuardedReranker(
        inner,
        store=store,
        breaker=breaker,
        meter=_meter(accounts, chosen, inner, run),
        breaker_name=breaker_name(chosen, inner),
        timeout_s=chosen.timeout_s,
    )


def spec_of(chosen: Reranking) -> Spec:
    """Return what the settings ask for. Raises ConfigError for a key that cannot be read, MissingExtra."""
    return Spec(
        chosen.provider,
        chosen.model,
        chosen.base_url,
        os.path.expanduser(chosen.path),
        credentials.named(chosen.key_file, chosen.keyring, "reranking"),
        chosen.timeout_s,
    )


def breaker_name(chosen: Reranking, inner: RemoteReranker) -> str:
    """Return under which name the failures of a reranker are noted; a new key or address begins anew."""
    return name_of(chosen.provider, inner.model, chosen.base_url, inner.key.reveal())


def _meter(accounts: Accounts | None, chosen: Reranking, inner: RemoteReranker, run: str) -> Meter | None:
    model = inner.name.partition(":")[2]
    if accounts is None:
        return None
    return accounts.meter(chosen.provider, model, run, kind="reranking", settings=chosen)


def _language_model(
    settings: Settings, accounts: Accounts | None, breaker: LlmBreaker | None, run: str, *, fresh: bool
) -> Reranker:
    from commonplace.llm import opening
    from commonplace.notes import redact
    from commonplace.reranking.llm import LlmReranker

    if settings.llm.provider == opening.NONE:
        told = "llm needs a language model; `commonplace models use --llm` sets one"
        raise ConfigError("reranking.provider", told)
    client = opening.over_ledger(
        accounts.ledger if accounts is not None else None,
        settings,
        breaker=breaker,
        holds_secret=None if fresh else redact.holds_secret,
        run=run,
    )
    return LlmReranker(client, settings.reranking.timeout_s)
