"""The models that the settings name, each really called once; one that is paused stays paused.

A call is recorded in the ledger, capped by the budgets and counted by the breaker like any other, and never
answered from a cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import Message, message
from commonplace.config.settings import Embedding, Llm, Reranking
from commonplace.diagnosis.examination import Case
from commonplace.providers import http, opening, probe
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS, Spec
from commonplace.providers.costs import Ledger
from commonplace.providers.guard import SHARED
from commonplace.providers.opening import LLM, NONE
from commonplace.types import Finding

if TYPE_CHECKING:
    from commonplace.providers.catalog import Provider
    from commonplace.providers.probe import Trial

    Ask = Callable[[Ledger | None], Trial | None]


def embedding(case: Case) -> Iterator[Finding]:
    """Call the embedding model of the settings, and each of its substitutes."""
    check, chosen = "providers.embedding", case.settings.embedding
    if chosen.provider == NONE:
        unwanted = message("embedding.unwanted", "no embedding model is wanted: full text answers alone")
        yield Finding(check, "skipped", unwanted)
        return
    try:
        specs = opening.specs(chosen)
        rows = [EMBEDDERS.find(spec.provider) for spec in specs]
    except CommonplaceError as error:
        yield Finding(check, "wrong", str(error), remedy_of(str(error)))
        return
    for place, (spec, row) in enumerate(zip(specs, rows, strict=True)):

        def ask(ledger: Ledger | None, spec: Spec = spec) -> Trial:
            return probe.embedder(spec, chosen, ledger)

        name = "/".join(filter(None, (row.name, probe.model_of(spec))))
        key, here = _place_of_key(chosen if not place else None, row), _stays_here(row, spec.base_url)
        yield from _called(check if not place else "providers.fallback", name, case, ask, key, here=here)


def language(case: Case) -> Iterator[Finding]:
    """Call the language model, if it is set."""
    check, chosen = "providers.llm", case.settings.llm
    if chosen.provider == NONE:
        none = message("llm.none", "no language model is set, and nothing needs one")
        yield Finding(check, "skipped", none)
        return
    try:
        row = LLMS.find(chosen.provider)
    except CommonplaceError as error:
        yield Finding(check, "wrong", str(error), remedy_of(str(error)))
        return
    if case.workspace is None:
        yield Finding(check, "skipped", message("llm.unrecorded", "no workspace, so no ledger of calls"))
        return
    workspace, name = case.workspace, "/".join(filter(None, (row.name, chosen.model or row.model)))
    key = LLM_KEY if case.environ.get(LLM_KEY) else _place_of_key(chosen, row)
    here = _stays_here(row, chosen.base_url)
    yield from _called(check, name, case, lambda _: probe.llm(workspace, case.settings), key, here=here)


def reranker(case: Case) -> Iterator[Finding]:
    """Call the reranker, if it is set."""
    chosen, llm = case.settings.reranking, case.settings.llm
    if chosen.provider == NONE:
        return
    name = "/".join(filter(None, (chosen.provider, probe.reranker_model(case.settings))))
    key, here = "", False
    with suppress(CommonplaceError):  # an unknown name is the trouble of the trial
        if chosen.provider == LLM:
            here = _stays_here(LLMS.find(llm.provider), llm.base_url)
        else:
            row = RERANKERS.find(chosen.provider)
            key, here = _place_of_key(chosen, row), _stays_here(row, chosen.base_url)

    def ask(ledger: Ledger | None) -> Trial | None:
        return probe.reranker(case.settings, ledger)

    yield from _called("providers.reranking", name, case, ask, key, here=here)


def _called(check: str, name: str, case: Case, ask: Ask, key: str, *, here: bool) -> Iterator[Finding]:
    """Call a model unless it is paused or, with --offline, on another machine; yield its trouble.

    `key` is the place of its key, for the remedy; `here`: the call reaches no other machine.
    """
    is_substitute = check == "providers.fallback"
    if opened := SHARED.find(name):
        flag = " --reranker" if check == "providers.reranking" else ""
        mend = "mend what it says; it is asked again by itself then, and by `commonplace models test{flag}`"
        told = message("model.left_alone", "not called: {why}", why=str(opened))
        is_wrong = opened.permanent and not is_substitute
        remedy = message("model.mended", f"{mend} at once", flag=flag)
        yield Finding(check, "wrong" if is_wrong else "warning", told, remedy)
    elif case.offline and not here:
        told = message("model.offline", "{model} was not called (--offline)", model=name)
        yield Finding(check, "skipped", told)
    else:
        workspace = case.workspace
        with nullcontext() if workspace is None else closing(Ledger.of(workspace)) as ledger:
            tried = ask(ledger)
        if tried and tried.trouble:
            silent = "{model} does not answer ({trouble})"
            told = message("model.silent", silent, model=name, trouble=tried.trouble)
            yield Finding(check, "warning" if is_substitute else "wrong", told, remedy_of(tried.trouble, key))


def _stays_here(row: Provider, base_url: str) -> bool:
    """Tell whether a call reaches no other machine."""
    if not (address := base_url or row.base_url):
        return bool(row.local)
    with suppress(ValueError):
        return http.is_loopback(urlsplit(address).hostname or "")
    return False


def _place_of_key(settings: Embedding | Llm | Reranking | None, row: Provider) -> str:
    """Return the file of a key as the settings name it, or the variables that may hold it."""
    return paths.shown(settings.key) if settings and settings.key else " or ".join(row.keys)


# The first row whose expression matches counts; its group replaces `{what}`.
_REMEDIES = (
    ("no_key", r"no key: set (.+?)$", "set {what}, or name a file that holds the key"),
    ("key", r"HTTP 40[13]\b", "put a valid key into {what}"),
    ("credit", r"HTTP 402\b", "add credit at the provider"),
    ("name", r"HTTP 404\b", "check the model's name and the address (model, base_url)"),
    ("settings", r"HTTP 4(?:00|22)\b", "check the model's name and its settings"),
    ("quota", r"HTTP 429\b", "wait, or raise the quota at the provider"),
    ("wait", r"HTTP 5\d\d\b", "wait: the provider itself is in trouble"),
    ("reach", r"cannot be reached|did not answer", "see whether its server runs and can be reached"),
    ("mend", r"^((?:embedding|llm)\.\w+): ", "mend {what}: `commonplace config` shows what is set"),
)
_ANY = message("model.mend.any", "mend what it says, or choose another with `commonplace models use`")


def remedy_of(trouble: str, place_of_key: str = "") -> Message:
    """Return the remedy for the trouble of a model."""
    for code, pattern, remedy in _REMEDIES:
        if found := re.search(pattern, trouble):
            file = message("model.key_file", "a file, and name that in the settings")
            what = found[1] if found.re.groups else place_of_key or file
            return message(f"model.mend.{code}", remedy, what=what)
    return _ANY
