"""Trying a model for real: past the caches, whatever the breaker says, recorded and capped like any call.

The breaker learns how it goes: an answer closes it, another failure does not keep it open longer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError, ConfigError, MissingExtra, ProviderError
from commonplace.providers import opening
from commonplace.providers.breaker import Insisting
from commonplace.providers.catalog import EMBEDDERS, LLMS, RERANKERS, Catalog, Spec
from commonplace.providers.opening import LLM, NONE

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
    trial = _Trying(EMBEDDERS, spec.provider, model_of(spec), "embedding" if spec.key else "")
    with trial:
        model: Any = EMBEDDERS.create(spec)
        ask = model.embed
        if not opening.is_local(spec):
            from commonplace.providers.embedding.remote import GuardedEmbedder

            trial.opened = model  # to be closed: it is not the one that searches use
            ask = GuardedEmbedder(
                model,
                breaker=Insisting(opening.breaker()),
                breaker_name=opening.breaker_name(spec),
                budget=accounts.budget("embedding", settings) if accounts else None,
                provider=spec.provider,
                deadline_s=spec.deadline_s,
            ).try_out
        dimensions = ask([QUESTION], "query").shape[1]
        ask([PASSAGE], "passage")
        seconds, speed = time.perf_counter() - trial.began, 0.0
        if measure:
            ask([f"{PASSAGE} ({number})" for number in range(BATCH)], "passage")
            speed = BATCH / max(time.perf_counter() - trial.began - seconds, 1e-9)
        trial.fields |= {"dimensions": dimensions, "scripts": model.scripts}
        trial.fields |= {"seconds": seconds, "texts_per_s": speed}
    return trial.result()


def llm(
    workspace: Workspace, settings: Settings, *, environ: Mapping[str, str] | None = None
) -> Trial | None:
    """Try the language model of the settings, None where none is set; what can go wrong is `trouble`."""
    chosen = settings.llm
    if chosen.provider == NONE:
        return None
    from commonplace.providers.llm.base import Message

    with _Trying(LLMS, chosen.provider, chosen.model) as trial:
        client = opening.open_llm(workspace, settings, breaker=Insisting(opening.breaker()), environ=environ)
        assert client is not None
        trial.opened = client.model
        trial.model = client.model.name
        prompt = [Message("user", PROMPT)]
        answer = client.complete(prompt, max_tokens=MAX_TOKENS, deadline_s=LLM_DEADLINE_S, purpose="test")
        trial.fields |= {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out}
    return trial.result()


def reranker(settings: Settings, accounts: Accounts | None = None) -> Trial | None:
    """Try the reranker of the settings, None where none is set; what can go wrong is `trouble`."""
    chosen = settings.reranking
    if chosen.provider == NONE:
        return None
    patient = settings._replace(reranking=chosen._replace(timeout_s=max(DEADLINE_S, chosen.timeout_s)))
    table = "reranking" if chosen.key_file or chosen.keyring else ""
    trial = _Trying(RERANKERS, chosen.provider, reranker_model(settings), table)
    if chosen.provider == LLM:
        trial.mended_as = (LLMS, settings.llm.provider, settings.llm.model, "")
    with trial:
        model = opening.open_reranker(patient, accounts, trial=Insisting(opening.breaker()))
        assert model is not None
        trial.opened = model
        scores = model.try_out(QUESTION, TEXTS)
        best = TEXTS[max(range(len(TEXTS)), key=scores.__getitem__)]
        trial.fields |= {"scores": tuple(scores), "best": best}
    return trial.result()


def model_of(spec: Spec) -> str:
    """Return what people call the model of a specification: as configured, or the default."""
    return _name(EMBEDDERS, spec.provider, spec.model)


def reranker_model(settings: Settings) -> str:
    """Return what people call the reranker of the settings: as configured, or the default."""
    chosen = settings.reranking
    if chosen.provider == LLM:
        return "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    return _name(RERANKERS, chosen.provider, chosen.model)


def _name(catalog: Catalog[Any], provider: str, model: str) -> str:
    try:
        return model or catalog.find(provider).model
    except ConfigError:
        return ""


class _Trying:
    """A trial under way: errors become `trouble` with a remedy, and what was opened is closed then.

    `table` names the table of settings that says where the key is.
    """

    def __init__(self, catalog: Catalog[Any], provider: str, model: str, table: str = "") -> None:
        self.provider, self.model = provider, model
        self.mended_as: tuple[Catalog[Any], str, str, str] | None = None  # whom the remedy is about
        self.fields: dict[str, Any] = {}
        self.opened: Any = None
        self.began = time.perf_counter()
        self._catalog, self._table = catalog, table

    def __enter__(self) -> _Trying:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.fields.setdefault("seconds", time.perf_counter() - self.began)
        if hasattr(self.opened, "close"):
            self.opened.close()
        if not isinstance(error, CommonplaceError):
            return False
        about = self.mended_as or (self._catalog, self.provider, self.model, self._table)
        self.fields |= {"trouble": str(error), "remedy": _remedy(error, *about)}
        return True

    def result(self) -> Trial:
        return Trial(self.provider, self.model, **self.fields)


def _remedy(error: CommonplaceError, catalog: Catalog[Any], provider: str, model: str, table: str) -> str:
    """What mends an error of a provider: a command or one line; empty if unknown."""
    if isinstance(error, MissingExtra):
        return error.remedy
    if not isinstance(error, ProviderError):
        return ""
    if error.status in (401, 403):
        named = f"the one that {table}.key_file or {table}.keyring names" if table else ""
        variables = " or ".join(filter(None, (catalog.variable, *catalog.find(provider).keys)))
        return f"check the key ({named or variables or f'set {catalog.kind}.key_file'})"
    if provider != "ollama" or catalog is RERANKERS:
        return ""
    if error.status == 404:
        return remedies.say("models.pull", f"ollama/{model}")
    return "start the server with `ollama serve`" if "cannot be reached" in str(error) else ""
