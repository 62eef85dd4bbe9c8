"""Trying a model for real: a question and a passage, past the cache, whatever the breaker says."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from commonplace.embedding import configured, registry
from commonplace.embedding.base import Embedder, Kind, Spec
from commonplace.embedding.remote import RemoteEmbedder
from commonplace.errors import CommonplaceError, ConfigError, MissingExtra, ProviderError

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding
    from commonplace.costs.accounts import Accounts
    from commonplace.embedding.base import Floats

QUESTION = "When do we deploy?"
PASSAGE = "The deploy moved to Thursday. 部署改到周四。"
BATCH = 32  # short passages, where the speed is measured
NONE = "none"
DEADLINE_S = 30.0  # a server may have to load the model first
_REFUSED = (401, 403)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of trying a model.

    `seconds` is how long question and passage took together, loading included, `texts_per_s` the speed of a
    batch of short passages, 0 where it was not measured. `trouble` says why it did not answer, empty if it
    did; `remedy` is what mends that, where one is known beyond what `trouble` says.
    """

    provider: str
    model: str
    dimensions: int = 0
    scripts: frozenset[str] = frozenset()
    seconds: float = 0.0
    texts_per_s: float = 0.0
    trouble: str = ""
    remedy: str = ""

    @property
    def answered(self) -> bool:
        """Whether both texts came back as vectors."""
        return not self.trouble


class _Ask(Protocol):
    """Embeds texts, past everything that could answer in the place of the model."""

    def __call__(self, texts: Sequence[str], kind: Kind) -> Floats: ...


def attempts(
    settings: Embedding, accounts: Accounts | None = None, *, measure: bool = False
) -> tuple[Trial, ...]:
    """Try the provider that the settings want and each that may stand in; none where they want none.

    A key that cannot be read is the trouble of the first alone.
    """
    if settings.provider == NONE:
        return ()
    try:
        found = configured.specs(settings)
    except CommonplaceError as error:
        wanted, *others = configured.specs(settings._replace(key_file="", keyring=""))
        failed = Trial(wanted.provider, model_of(wanted), trouble=str(error))
        return (failed, *(attempt(spec, settings, accounts, measure=measure) for spec in others))
    return tuple(attempt(spec, settings, accounts, measure=measure) for spec in found)


def attempt(
    spec: Spec, settings: Embedding, accounts: Accounts | None = None, *, measure: bool = False
) -> Trial:
    """Try a model; what a provider can do wrong is `trouble`, not an error.

    It is asked even while the breaker leaves it alone, which then hears how it went: an answer closes it.
    What it takes is recorded and capped by `accounts`. With `measure` a batch of passages is timed as well.
    """
    spec = replace(spec, deadline_s=min(settings.deadline_s, DEADLINE_S), query_deadline_s=DEADLINE_S)
    began = time.perf_counter()
    try:
        model = registry.create(spec)
    except CommonplaceError as error:
        return _failed(spec, error, began)
    try:
        ask = _asking(model, spec, accounts)
        dimensions = ask([QUESTION], "query").shape[1]
        ask([PASSAGE], "passage")
        seconds = time.perf_counter() - began
        speed = _speed(ask) if measure else 0.0
    except CommonplaceError as error:
        tell_breaker(spec, error)
        return _failed(spec, error, began)
    finally:
        if isinstance(model, RemoteEmbedder):  # it is not the one that searches use
            model.close()
    tell_breaker(spec, None)
    return Trial(spec.provider, model_of(spec), dimensions, model.scripts, seconds, speed)


def _failed(spec: Spec, error: CommonplaceError, began: float) -> Trial:
    told, mends = str(error), remedy(spec, error)
    seconds = time.perf_counter() - began
    return Trial(spec.provider, model_of(spec), seconds=seconds, trouble=told, remedy=mends)


def tell_breaker(spec: Spec, error: CommonplaceError | None) -> None:
    """Tell the breaker how a trial ended; one that fails again while left alone is not left alone longer.

    A model in this process has no breaker, and one that could not be made was never asked.
    """
    if configured.is_local(spec):
        return
    breaker, name = configured.breaker(), configured.breaker_name(spec)
    if error is None:
        breaker.succeeded(name)
    elif isinstance(error, ProviderError) and not breaker.is_open(name):
        breaker.failed(name, error)


def model_of(spec: Spec) -> str:
    """Return what people call the model of a specification: as configured, the file, or the default."""
    if spec.model or spec.path:
        return spec.model or os.path.basename(spec.path.rstrip("/\\"))
    try:
        return registry.find(spec.provider).model
    except ConfigError:
        return ""


def remedy(spec: Spec, error: CommonplaceError) -> str:
    """Return what mends an error of a provider, a command or one line; empty where nothing is known."""
    if isinstance(error, MissingExtra):
        return error.remedy
    if not isinstance(error, ProviderError):
        return ""
    if error.status in _REFUSED:
        return f"check the key ({_key_place(spec)})"
    if spec.provider == "ollama":
        name = model_of(spec)
        unreachable = error.status is None and "cannot be reached" in str(error)
        absent = f"commonplace models pull ollama/{name}" if error.status == 404 else ""
        return "start the server with `ollama serve`" if unreachable else absent
    return ""


def _key_place(spec: Spec) -> str:
    """Where the key of a provider comes from, in words; never the key."""
    if spec.key:
        return "the one that embedding.key_file or embedding.keyring names"
    return " or ".join(registry.find(spec.provider).keys) or "set embedding.key_file"


def _asking(model: Embedder, spec: Spec, accounts: Accounts | None) -> _Ask:
    """Return what asks a model, metered where it is behind a server, without cache and breaker."""
    from commonplace.embedding.guarded import GuardedEmbedder

    if configured.is_local(spec):
        return model.embed
    priced = getattr(model, "model", spec.model)
    meter = accounts.meter(spec.provider, priced) if accounts else None
    return GuardedEmbedder(model, meter=meter, deadline_s=spec.deadline_s).try_out


def _speed(ask: _Ask) -> float:
    """Texts a second, for a batch of passages that are all different."""
    texts = [f"{PASSAGE} ({number})" for number in range(BATCH)]
    began = time.perf_counter()
    ask(texts, "passage")
    return BATCH / max(time.perf_counter() - began, 1e-9)
