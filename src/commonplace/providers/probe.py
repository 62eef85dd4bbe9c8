"""Trying a model for real: past the caches, whatever the breaker says, recorded and capped like any call.

The breaker hears how it goes: an answer ends that a provider is left alone, another failure prolongs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError, ConfigError, MissingExtra, ProviderError
from commonplace.providers import opening
from commonplace.providers.breaker import Insisting
from commonplace.providers.catalog import EMBEDDERS, LLMS, RERANKERS, Catalog
from commonplace.providers.opening import LLM, NONE
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config import Settings
    from commonplace.config.settings import Embedding
    from commonplace.providers.costs import Accounts

QUESTION = "When do we deploy?"
PASSAGE = "The deploy moved to Thursday. 部署改到周四。"
BATCH = 32  # short passages, where the speed is measured
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
    """What came of trying a model.

    `seconds` is how long it took, loading included. `trouble` says why it did not answer, empty if it did;
    `remedy` is what mends that, where one is known beyond what `trouble` says. An embedding model has
    `dimensions`, `scripts` and, where it was measured, the speed of a batch of short passages; a language
    model tokens, a reranker the scores of `TEXTS` and the text that won.
    """

    provider: str
    model: str
    dimensions: int = 0
    scripts: frozenset[str] = frozenset()
    seconds: float = 0.0
    texts_per_s: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    scores: tuple[float, ...] = ()
    best: str = ""
    trouble: str = ""
    remedy: str = ""

    @property
    def answered(self) -> bool:
        """Whether an answer came."""
        return not self.trouble


def embedders(
    settings: Embedding, accounts: Accounts | None = None, *, measure: bool = False
) -> tuple[Trial, ...]:
    """Try the embedding model that settings name and each that may stand in; none where they name none.

    A key that cannot be read is the trouble of the first alone.
    """
    if settings.provider == NONE:
        return ()
    tried: list[Trial] = []
    try:
        specs = opening.specs(settings)
    except CommonplaceError as error:
        first, *specs = opening.specs(settings._replace(key_file="", keyring=""))
        tried.append(Trial(first.provider, model_of(first), trouble=str(error)))
    return (*tried, *(embedder(spec, settings, accounts, measure=measure) for spec in specs))


def embedder(
    spec: Spec, settings: Embedding, accounts: Accounts | None = None, *, measure: bool = False
) -> Trial:
    """Try an embedding model; what a provider can do wrong is `trouble`, not an error.

    With `measure` a batch of passages is timed as well.
    """
    spec = replace(spec, deadline_s=min(settings.deadline_s, DEADLINE_S), query_deadline_s=DEADLINE_S)
    began = time.perf_counter()

    def attempt(made: list[Any]) -> dict[str, object]:
        model: Any = EMBEDDERS.create(spec)
        ask = model.embed
        if not opening.is_local(spec):
            from commonplace.providers.embedding.remote import GuardedEmbedder

            made.append(model)  # to be closed: it is not the one that searches use
            ask = GuardedEmbedder(
                model,
                breaker=Insisting(),
                breaker_name=opening.breaker_name(spec),
                budget=accounts.budget("embedding", settings) if accounts else None,
                provider=spec.provider,
                deadline_s=spec.deadline_s,
            ).try_out
        dimensions = ask([QUESTION], "query").shape[1]
        ask([PASSAGE], "passage")
        seconds, speed = time.perf_counter() - began, 0.0
        if measure:
            ask([f"{PASSAGE} ({number})" for number in range(BATCH)], "passage")
            speed = BATCH / max(time.perf_counter() - began - seconds, 1e-9)
        return {"dimensions": dimensions, "scripts": model.scripts, "seconds": seconds, "texts_per_s": speed}

    return _tried(spec.provider, model_of(spec), attempt, lambda error: remedy(spec, error))


def llm(
    workspace: Workspace, settings: Settings, *, environ: Mapping[str, str] | None = None
) -> Trial | None:
    """Try the language model of the settings, None where none is set; what can go wrong is `trouble`."""
    chosen = settings.llm
    if chosen.provider == NONE:
        return None
    from commonplace.providers.llm.base import Message

    names = [chosen.model]

    def attempt(made: list[Any]) -> dict[str, object]:
        client = opening.open_llm(workspace, settings, breaker=Insisting(), environ=environ)
        assert client is not None
        made.append(client.model)
        names.append(client.model.name)
        answer = client.complete(
            [Message("user", PROMPT)], max_tokens=MAX_TOKENS, deadline_s=LLM_DEADLINE_S, purpose="test"
        )
        return {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out}

    trial = _tried(chosen.provider, "", attempt, lambda error: llm_remedy(settings, names[-1], error))
    return replace(trial, model=names[-1])


def reranker(settings: Settings, accounts: Accounts | None = None) -> Trial | None:
    """Try the reranker of the settings, None where none is set; what can go wrong is `trouble`."""
    chosen = settings.reranking
    if chosen.provider == NONE:
        return None
    patient = settings._replace(reranking=chosen._replace(timeout_s=max(DEADLINE_S, chosen.timeout_s)))

    def attempt(made: list[Any]) -> dict[str, object]:
        model = opening.open_reranker(patient, accounts, trial=Insisting())
        assert model is not None
        made.append(model)
        scores = model.try_out(QUESTION, TEXTS)
        return {"scores": tuple(scores), "best": TEXTS[max(range(len(TEXTS)), key=scores.__getitem__)]}

    def mend(error: CommonplaceError) -> str:
        if chosen.provider == LLM:
            return llm_remedy(settings, settings.llm.model, error)
        place = "the one that reranking.key_file or reranking.keyring names"
        return _remedy(error, RERANKERS, chosen.provider, place if chosen.key_file or chosen.keyring else "")

    return _tried(chosen.provider, reranker_model(settings), attempt, mend)


def model_of(spec: Spec) -> str:
    """Return what people call the model of a specification: as configured, the file, or the default."""
    if spec.model or spec.path:
        return spec.model or os.path.basename(spec.path.rstrip("/\\"))
    try:
        return EMBEDDERS.find(spec.provider).model
    except ConfigError:
        return ""


def reranker_model(settings: Settings) -> str:
    """Return what people call the reranker of the settings: as configured, its folder, or the default."""
    chosen = settings.reranking
    if chosen.provider == LLM:
        return "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    if chosen.model or chosen.path:
        return chosen.model or chosen.path.rstrip("/\\").rpartition("/")[2]
    try:
        return RERANKERS.find(chosen.provider).model
    except ConfigError:
        return ""


def remedy(spec: Spec, error: CommonplaceError) -> str:
    """Return what mends an error of an embedding provider: a command or one line; empty if unknown."""
    named = "the one that embedding.key_file or embedding.keyring names" if spec.key else ""
    return _remedy(error, EMBEDDERS, spec.provider, named) or _ollama(spec.provider, model_of(spec), error)


def llm_remedy(settings: Settings, model: str, error: CommonplaceError) -> str:
    """Return what mends an error of a language model: a command or one line; empty if unknown."""
    provider = settings.llm.provider
    return _remedy(error, LLMS, provider, "") or _ollama(provider, model, error)


def _remedy(error: CommonplaceError, catalog: Catalog[Any], provider: str, named: str) -> str:
    """What mends a missing extra and a refused key; `named` is where settings say that the key is."""
    if isinstance(error, MissingExtra):
        return error.remedy
    if not isinstance(error, ProviderError) or error.status not in (401, 403):
        return ""
    variables = " or ".join(filter(None, (catalog.variable, *catalog.find(provider).keys)))
    return f"check the key ({named or variables or f'set {catalog.kind}.key_file'})"


def _ollama(provider: str, model: str, error: CommonplaceError) -> str:
    if provider != "ollama" or not isinstance(error, ProviderError):
        return ""
    if error.status == 404:
        return remedies.say("models.pull", f"ollama/{model}")
    return "start the server with `ollama serve`" if "cannot be reached" in str(error) else ""


def _tried(
    provider: str,
    model: str,
    attempt: Callable[[list[Any]], dict[str, Any]],
    mend: Callable[[CommonplaceError], str],
) -> Trial:
    """Try, and close then what the attempt has put into its list; it opens again when it is asked again."""
    made: list[Any] = []
    began = time.perf_counter()
    try:
        fields = attempt(made)
    except CommonplaceError as error:
        fields = {"trouble": str(error), "remedy": mend(error)}
    seconds = time.perf_counter() - began
    for one in made:
        if hasattr(one, "close"):
            one.close()
    return Trial(**{"provider": provider, "model": model, "seconds": seconds, **fields})
