"""Trying a model for real: past the caches and the breaker, recorded and capped like any call.

The breaker forgets earlier failures, and learns how this call goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.providers import opening
from commonplace.providers.catalog import EMBEDDERS, RERANKERS, Catalog, Spec
from commonplace.providers.opening import LLM, NONE

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config import Settings
    from commonplace.config.settings import Embedding
    from commonplace.providers.costs import Ledger

QUESTION = "When do we deploy?"
PASSAGE = "The deploy moved to Thursday. 部署改到周四。"
TEXTS = (
    "The deploy script lies in the folder tools.",
    "We deploy on Thursday evenings, after the tests have passed.",
    "The walnut desk came from grandmother.",
)
PROMPT = "Answer with one word: yes."
MAX_TOKENS = 512  # a word, and room for models that think first
# A server may have to load the model first.
DEADLINE_S, LLM_DEADLINE_S = 30.0, 60.0


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of trying a model."""

    provider: str
    model: str
    dimensions: int = 0  # of an embedding model, as `scripts`
    scripts: frozenset[str] = frozenset()
    seconds: float = 0.0  # loading included
    tokens_in: int = 0  # of a language model
    tokens_out: int = 0
    trouble: str = ""  # why it did not answer


def embedders(settings: Embedding, ledger: Ledger | None = None) -> tuple[Trial, ...]:
    """Try the embedding model that settings name and each fallback; empty without any.

    A key that cannot be read is the trouble of the first.
    """
    if settings.provider == NONE:
        return ()
    try:
        specs = opening.specs(settings)
    except CommonplaceError as error:
        return (Trial(settings.provider, settings.model, trouble=str(error)),)
    return tuple(embedder(spec, settings, ledger) for spec in specs)


def embedder(spec: Spec, settings: Embedding, ledger: Ledger | None = None) -> Trial:
    """Try an embedding model; a failure of its provider is `trouble`, not an error."""
    spec = replace(spec, deadline_s=min(settings.deadline_s, DEADLINE_S), query_deadline_s=DEADLINE_S)

    def work(opened: ExitStack) -> dict[str, Any]:
        model = cast(Any, EMBEDDERS.create(spec))
        ask = model.embed
        if not opening.is_local(spec):
            calls = (lambda: ledger) if ledger is not None else None
            ask = opened.enter_context(_asked_anew(opening.guarded(spec, settings, calls))).try_out
        dimensions = ask([QUESTION], "query").shape[1]
        ask([PASSAGE], "passage")
        return {"dimensions": dimensions, "scripts": model.scripts}

    return _tried(work, Trial(spec.provider, model_of(spec)))


def llm(workspace: Workspace, settings: Settings) -> Trial | None:
    """Try the language model of the settings, None without one; a failure is `trouble`."""
    chosen = settings.llm
    if chosen.provider == NONE:
        return None
    from commonplace.providers.llm.base import Message

    def work(opened: ExitStack) -> dict[str, Any]:
        client = opened.enter_context(_asked_anew(opening.open_llm(workspace, settings, cached=False)))
        how: dict[str, Any] = {"max_tokens": MAX_TOKENS, "deadline_s": LLM_DEADLINE_S, "purpose": "test"}
        answer = client.complete([Message("user", PROMPT)], **how)
        return {"model": client.model.name, "tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out}

    return _tried(work, Trial(chosen.provider, chosen.model))


def reranker(settings: Settings, ledger: Ledger | None = None) -> Trial | None:
    """Try the reranker of the settings, None without one; a failure is `trouble`."""
    chosen = settings.reranking
    if chosen.provider == NONE:
        return None
    patient = settings._replace(reranking=chosen._replace(timeout_s=max(DEADLINE_S, chosen.timeout_s)))

    def work(opened: ExitStack) -> dict[str, Any]:
        model = opened.enter_context(_asked_anew(opening.open_reranker(patient, ledger, cached=False)))
        model.score(QUESTION, TEXTS, "test")
        return {}

    return _tried(work, Trial(chosen.provider, reranker_model(settings)))


@contextmanager
def _asked_anew(model: Any) -> Iterator[Any]:  # noqa: ANN401 - a guarded model of any kind
    """Lend a model without its earlier failures, and close it; searches use another."""
    with closing(model):
        model.forget_failures()
        yield model


def _tried(work: Callable[[ExitStack], dict[str, Any]], trial: Trial) -> Trial:
    """Do the work of a trial; close what it opened, and turn an error into `trouble`."""
    began = time.perf_counter()
    try:
        with ExitStack() as opened:
            fields = work(opened)
    except CommonplaceError as error:
        fields = {"trouble": str(error)}
    return replace(trial, **{"seconds": time.perf_counter() - began, **fields})


def model_of(spec: Spec, catalog: Catalog[Any] = EMBEDDERS) -> str:
    """Return what people call the model of a specification: as configured, or the default."""
    try:
        return spec.model or catalog.find(spec.provider).model
    except ConfigError:
        return ""


def reranker_model(settings: Settings) -> str:
    """Return what people call the reranker of the settings: as configured, or the default."""
    chosen = settings.reranking
    if chosen.provider == LLM:
        return "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    return model_of(Spec(chosen.provider, chosen.model), RERANKERS)
