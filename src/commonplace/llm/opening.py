"""From settings to the language model that callers get, or to none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from commonplace.config import Settings, credentials
from commonplace.costs import ledger
from commonplace.costs.budget import Budget, caps
from commonplace.llm import registry
from commonplace.llm.base import Breaker, Spec
from commonplace.llm.cache import Cache
from commonplace.llm.client import Client
from commonplace.paths import Workspace, user_cache_dir

NONE = "none"


def open_llm(
    workspace: Workspace,
    settings: Settings,
    *,
    breaker: Breaker | None = None,
    holds_secret: Callable[[str], bool] | None = None,
    run: str = "",
    environ: Mapping[str, str] | None = None,
) -> Client | None:
    """Make the language model of the settings, or None where none is set, which is the default.

    Answers are kept only where it can be told which of them hold a secret: `notes.redact.holds_secret`.
    `run` names what the caps of a run are for; each call of this function is a run of its own without it.
    Nothing is asked yet. Raises ConfigError, ProviderError for an unfit address or a missing key.
    """
    if settings.llm.provider == NONE:
        return None

    def opened() -> ledger.Ledger:
        return ledger.open_ledger(workspace, environ)

    return over_ledger(opened, settings, breaker=breaker, holds_secret=holds_secret, run=run, environ=environ)


def over_ledger(
    opened: Callable[[], ledger.Ledger] | None,
    settings: Settings,
    *,
    breaker: Breaker | None = None,
    holds_secret: Callable[[str], bool] | None = None,
    run: str = "",
    environ: Mapping[str, str] | None = None,
) -> Client:
    """Make the language model that is set, over a ledger that is opened then; without one nothing is capped.

    Raises as `open_llm` does.
    """
    chosen = settings.llm
    model = registry.create(
        Spec(
            chosen.provider,
            chosen.model,
            chosen.base_url,
            os.path.expanduser(chosen.path),
            chosen.command,
            registry.own_key(environ) or credentials.named(chosen.key_file, chosen.keyring, "llm"),
            chosen.context,
        )
    )
    budget = None if opened is None else Budget(opened(), caps(chosen), run)
    cache = None
    if chosen.cache and holds_secret is not None:
        cache = Cache(user_cache_dir(environ) / "answers.sqlite", holds_secret=holds_secret)
    return Client(model, cache=cache, budget=budget, breaker=breaker)
