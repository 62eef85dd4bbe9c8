"""The models that the settings name, each really called once; one that is left alone stays alone.

A call is recorded in the ledger, capped by the budgets and counted by the breaker like any other, and never
answered from a cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import Message, message
from commonplace.config.settings import Embedding, Llm
from commonplace.diagnosis.examination import Case
from commonplace.index.scripts import NAMES
from commonplace.providers import http, opening, probe
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS
from commonplace.providers.costs import Ledger
from commonplace.providers.guard import SHARED, BreakerState
from commonplace.providers.opening import LLM, NONE
from commonplace.types import Finding, State

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from commonplace.providers.catalog import Provider, Spec
    from commonplace.providers.probe import Trial

_MENDED = message(
    "model.mended",
    "mend what it says; it is asked again by itself then, and by `commonplace models test` at once",
)


def embedding(case: Case) -> Iterator[Finding]:
    """Call the embedding model of the settings, and each of its substitutes."""
    chosen = case.settings.embedding
    if chosen.provider == NONE:
        unwanted = message("embedding.unwanted", "no embedding model is wanted: full text answers alone")
        yield Finding("providers.embedding", "skipped", unwanted)
        return
    try:
        specs = opening.specs(chosen)
    except CommonplaceError as error:
        yield Finding("providers.embedding", "wrong", str(error), remedy_of(str(error)))
        return
    for place, spec in enumerate(specs):
        yield _embedder(spec, chosen, case, first=place == 0)


def _embedder(spec: Spec, settings: Embedding, case: Case, *, first: bool) -> Finding:
    row = EMBEDDERS.find(spec.provider)
    check = "providers.embedding" if first else "providers.fallback"
    name = "/".join(filter(None, (row.name, probe.model_of(spec))))
    opened = SHARED.find(name)
    if opened is not None:
        return _left_alone(check, opened, first=first)
    if reason := _not_called(case, here=_stays_here(row, spec.base_url)):
        return Finding(check, "skipped", _uncalled(name, reason))
    with _ledger(case) as ledger:
        tried = probe.embedder(spec, settings, ledger)
    with suppress(CommonplaceError):
        model: Any = EMBEDDERS.create(spec)
        if hasattr(model, "close"):  # another caller's next request opens new connections
            model.close()
    about = message("model.about", " ({dimensions} dimensions, {scripts})", dimensions=tried.dimensions,
                    scripts=[NAMES[name] for name in sorted(tried.scripts)])  # fmt: skip
    origin = _key_origin(row, spec.base_url, _named_key(settings) if first else "", case)
    return _tried(check, name, tried, about, origin, row, first=first)


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
    name = "/".join(filter(None, (row.name, chosen.model or row.model)))
    opened = SHARED.find(name)
    if opened is not None:
        yield _left_alone(check, opened, first=True)
    elif reason := _not_called(case, here=_stays_here(row, chosen.base_url), recorded=True):
        yield Finding(check, "skipped", _uncalled(name, reason))
    else:
        tried = probe.llm(paths.Workspace(case.place), case.settings)
        assert tried is not None
        own = LLM_KEY if case.environ.get(LLM_KEY) else ""
        origin = own or _key_origin(row, chosen.base_url, _named_key(chosen), case)
        yield _tried(check, name, tried, "", origin, row, first=True)


def _not_called(case: Case, *, here: bool, recorded: bool = False) -> str:
    """Say why a model is not called, if it is not; `recorded` calls need the ledger of a workspace."""
    if case.offline and not here:
        return "offline"
    if case.workspace is None and recorded:
        return "unrecorded"
    return ""


_UNCALLED = {
    "offline": "{model} was not called (--offline)",
    "unrecorded": "{model} was not called: there is no workspace whose ledger would record it",
}


def _uncalled(name: str, reason: str) -> Message:
    return message(f"model.{reason}", _UNCALLED[reason], model=name)


def reranker(case: Case) -> Iterator[Finding]:
    """Call the reranker; no findings if it is not set."""
    check, chosen = "providers.reranking", case.settings.reranking
    if chosen.provider == NONE:
        return
    name = "/".join(filter(None, (chosen.provider, probe.reranker_model(case.settings))))
    by_llm, llm = chosen.provider == LLM, case.settings.llm
    opened, here = SHARED.find(name), False
    with suppress(CommonplaceError, ValueError):
        row = LLMS.find(llm.provider) if by_llm else RERANKERS.find(chosen.provider)
        here = _stays_here(row, llm.base_url if by_llm else chosen.base_url)
    if opened is not None:
        mend = "mend what it says; `commonplace models test --reranker` asks it at once"
        remedy = message("model.mended_reranker", mend)
        yield _left_alone(check, opened, first=True, remedy=remedy)
    elif reason := _not_called(case, here=here, recorded=by_llm):
        yield Finding(check, "skipped", _uncalled(name, reason))
    else:
        with _ledger(case) as ledger:
            tried = probe.reranker(case.settings, ledger)
        assert tried is not None
        if not tried.trouble:
            scores = "{model} scores three texts in {seconds:.1f} s"
            yield Finding(check, "ok", message("model.scores", scores, model=name, seconds=tried.seconds))
        else:
            yield Finding(check, "wrong", _silent(name, tried.trouble), remedy_of(tried.trouble))


def _ledger(case: Case) -> AbstractContextManager[Ledger | None]:
    return nullcontext() if case.workspace is None else closing(Ledger.of(case.workspace))


def _tried(
    check: str, name: str, tried: Trial, about: str, origin: str, row: Provider, *, first: bool
) -> Finding:
    """A finding on a call that was made."""
    if not tried.trouble:
        key = "; its key comes from {origin}" if origin else ""
        code = "model.answers_by_key" if origin else "model.answers"
        told = message(code, f"{{model}} answers in {{seconds:.1f}} s{{about}}{key}",
                       model=name, seconds=tried.seconds, about=about, origin=origin)  # fmt: skip
        return Finding(check, "ok", told)
    state: State = "wrong" if first else "warning"
    remedy = remedy_of(tried.trouble, origin, row.keys)
    return Finding(check, state, _silent(name, tried.trouble), remedy)


def _silent(name: str, trouble: str) -> Message:
    return message("model.silent", "{model} does not answer ({trouble})", model=name, trouble=trouble)


def _left_alone(check: str, opened: BreakerState, *, first: bool, remedy: str = _MENDED) -> Finding:
    """A finding on a provider that is not asked: until when and why."""
    state: State = "wrong" if first and opened.permanent else "warning"
    told = message("model.left_alone", "not called: {why}", why=str(opened))
    return Finding(check, state, told, remedy)


def _stays_here(row: Provider, base_url: str) -> bool:
    """Return True if a call reaches no other machine; a program set by the owner may reach any."""
    address = base_url or row.base_url
    if not address:
        return bool(row.local)
    with suppress(ValueError):
        return http.is_loopback(urlsplit(address).hostname or "")
    return False


def _named_key(settings: Embedding | Llm) -> str:
    """Return the file of a key as the settings name it."""
    return paths.shown(settings.key) if settings.key else ""


def _key_origin(row: Provider, base_url: str, named: str, case: Case) -> str:
    """Say where the key of a provider comes from; never the key."""
    if named:
        return named
    own = base_url.rstrip("/") in ("", row.base_url)
    return next((name for name in row.keys if own and case.environ.get(name, "").strip()), "")


# The first row whose expression matches counts; its group replaces `{what}`.
_REMEDIES = (
    ("no_key", r"no key: set (.+?)$", "set {what}, or name a file that holds the key"),
    ("key", r"HTTP 40[13]\b", "put a valid key into {what}"),
    ("credit", r"HTTP 402\b", "add credit at the provider"),
    ("name", r"HTTP 404\b", "check the model's name and the address (model, base_url)"),
    ("settings", r"HTTP 4(?:00|22)\b", "check the model's name and its settings"),
    ("quota", r"HTTP 429\b", "wait, or raise the quota at the provider"),
    ("wait", r"HTTP 5\d\d\b", "wait: the provider itself is in trouble"),
    (
        "reach",
        r"cannot be reached|did not answer|no answer within",
        "see whether its server runs and can be reached",
    ),
    ("mend", r"^((?:embedding|llm)\.\w+): ", "mend {what}: `commonplace config` shows what is set"),
)
_ANY = message("model.mend.any", "mend what it says, or choose another with `commonplace models use`")


def remedy_of(trouble: str, key_origin: str = "", variables: Sequence[str] = ()) -> Message:
    """Return what mends some trouble.

    `key_origin` says where the key of the provider comes from, `variables` from where it could.
    """
    for code, pattern, remedy in _REMEDIES:
        if found := re.search(pattern, trouble):
            what = found[1] if found.re.groups else key_origin or _places(variables)
            return message(f"model.mend.{code}", remedy, what=what)
    return _ANY


def _places(variables: Sequence[str]) -> str:
    return " or ".join(variables) or message("model.key_file", "a file, and name that in the settings")
