"""Trying the reranker for real: three texts, past the caches, whatever the breaker says."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.embedding import configured
from commonplace.errors import CommonplaceError, ConfigError, MissingExtra, ProviderError
from commonplace.llm import trial as llm_trial
from commonplace.reranking import opening, registry
from commonplace.reranking.guarded import GuardedReranker
from commonplace.reranking.remote import RemoteReranker

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.costs.accounts import Accounts

QUESTION = "When do we deploy?"
TEXTS = (
    "The deploy script lies in the folder tools.",
    "We deploy on Thursday evenings, after the tests have passed.",
    "The walnut desk came from grandmother.",
)
DEADLINE_S = 30.0  # a server may have to load the model first
_REFUSED = (401, 403)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of trying a reranker.

    `seconds` is how long it took, loading included, `scores` those of `TEXTS`, `best` the text that won.
    `trouble` says why it did not answer, empty if it did; `remedy` is what mends that, where one is known
    beyond what `trouble` says.
    """

    provider: str
    model: str
    seconds: float = 0.0
    scores: tuple[float, ...] = ()
    best: str = ""
    trouble: str = ""
    remedy: str = ""

    @property
    def answered(self) -> bool:
        """Whether scores came."""
        return not self.trouble


def attempt(settings: Settings, accounts: Accounts | None = None) -> Trial | None:
    """Try the reranker of the settings, None where none is set; what can go wrong is `trouble`.

    What it takes is recorded and capped by `accounts`. It is asked even while the breaker leaves it alone,
    which then hears how it went: an answer closes it.
    """
    chosen = settings.reranking
    if chosen.provider == opening.NONE:
        return None
    patient = settings._replace(reranking=chosen._replace(timeout_s=max(DEADLINE_S, chosen.timeout_s)))
    began, name, reranker = time.perf_counter(), model_of(settings), None
    try:
        asked = llm_trial.Asked(configured.breaker())
        reranker = opening.guarded(patient, accounts, llm_breaker=asked, fresh=True)
        scores = reranker.ask(QUESTION, TEXTS, "test")
    except CommonplaceError as error:
        _tell_breaker(settings, reranker, error)
        seconds, told = time.perf_counter() - began, str(error)
        return Trial(chosen.provider, name, seconds, trouble=told, remedy=remedy(settings, error))
    finally:
        if reranker is not None:
            reranker.close()
    _tell_breaker(settings, reranker, None)
    best = TEXTS[max(range(len(TEXTS)), key=scores.__getitem__)]
    return Trial(chosen.provider, name, time.perf_counter() - began, tuple(scores), best)


def _tell_breaker(
    settings: Settings, reranker: GuardedReranker | None, error: CommonplaceError | None
) -> None:
    """Tell the breaker how a trial ended; one that fails while left alone is not left alone longer."""
    if reranker is None or not isinstance(reranker.inner, RemoteReranker):
        return
    breaker, name = configured.breaker(), opening.breaker_name(settings.reranking, reranker.inner)
    if error is None:
        breaker.succeeded(name)
    elif isinstance(error, ProviderError) and not breaker.is_open(name):
        breaker.failed(name, error)


def model_of(settings: Settings) -> str:
    """Return what people call the reranker of the settings: as configured, its folder, or the default."""
    chosen = settings.reranking
    if chosen.provider == opening.LLM:
        return "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    if chosen.model or chosen.path:
        return chosen.model or chosen.path.rstrip("/\\").rpartition("/")[2]
    try:
        return registry.find(chosen.provider).model
    except ConfigError:
        return ""


def remedy(settings: Settings, error: CommonplaceError) -> str:
    """Return what mends an error of a provider, a command or one line; empty where nothing is known."""
    if isinstance(error, MissingExtra):
        return error.remedy
    chosen = settings.reranking
    if chosen.provider == opening.LLM:
        return llm_trial.remedy(settings.llm.provider, settings.llm.model, error)
    if isinstance(error, ProviderError) and error.status in _REFUSED:
        if chosen.key_file or chosen.keyring:
            return "check the key (the one that reranking.key_file or reranking.keyring names)"
        names = " or ".join(registry.find(chosen.provider).keys)
        return f"check the key ({names or 'set reranking.key_file'})"
    return ""
