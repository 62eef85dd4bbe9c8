"""The reranker that the settings name, really called once; one that is left alone stays alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from commonplace import addresses
from commonplace.costs.accounts import Accounts
from commonplace.diagnosis import remedies
from commonplace.diagnosis.case import Case
from commonplace.embedding import configured
from commonplace.embedding.breaker import Opened
from commonplace.errors import CommonplaceError
from commonplace.llm import registry as llm_registry
from commonplace.reranking import opening, registry, trial
from commonplace.reranking.remote import RemoteReranker
from commonplace.types import Finding, State

CHECK = "providers.reranking"


def reranker(case: Case) -> Iterator[Finding]:
    """Call the reranker, if there is one; nothing is found where there is none."""
    provider = case.settings.reranking.provider
    if provider == opening.NONE:
        return
    name = "/".join(filter(None, (provider, trial.model_of(case.settings))))
    opened = _left_alone(case)
    if opened is not None:
        state: State = "wrong" if opened.permanent else "warning"
        remedy = "mend what it says; `commonplace models test --reranker` asks it at once"
        yield Finding(CHECK, state, f"not called: {configured.told(opened)}", remedy)
    elif case.offline and not _stays_here(case):
        yield Finding(CHECK, "skipped", f"{name} was not called (--offline)")
    elif case.workspace is None and provider == opening.LLM:
        told = f"{name} was not called: there is no workspace whose ledger would record it"
        yield Finding(CHECK, "skipped", told)
    else:
        yield _called(name, case)


def _called(name: str, case: Case) -> Finding:
    accounts = Accounts(case.workspace, case.settings.embedding) if case.workspace is not None else None
    try:
        tried = trial.attempt(case.settings, accounts)
    finally:
        if accounts is not None:
            accounts.close()
    assert tried is not None
    if tried.answered:
        return Finding(CHECK, "ok", f"{name} scores three texts in {tried.seconds:.1f} s")
    remedy = tried.remedy or remedies.find(tried.trouble)
    return Finding(CHECK, "wrong", f"{name} does not answer ({tried.trouble})", remedy)


def _left_alone(case: Case) -> Opened | None:
    """Whether the reranker is left alone now; one that cannot even be made is not."""
    with suppress(CommonplaceError):
        made = opening.guarded(case.settings)
        if isinstance(made.inner, RemoteReranker):
            name = opening.breaker_name(case.settings.reranking, made.inner)
            return next((one for one in configured.breaker().opened() if one.name == name), None)
    return None


def _stays_here(case: Case) -> bool:
    """Whether a call reaches no other machine; a program of the owner's may reach any."""
    chosen, language = case.settings.reranking, case.settings.llm
    with suppress(CommonplaceError, ValueError):
        asked = chosen.provider == opening.LLM
        row = llm_registry.find(language.provider) if asked else registry.find(chosen.provider)
        address = (language.base_url if asked else chosen.base_url) or row.base_url
        return addresses.is_loopback(urlsplit(address).hostname or "") if address else row.local
    return False
