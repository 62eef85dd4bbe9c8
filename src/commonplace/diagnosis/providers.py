"""The models that the settings name, each really called once; one that is left alone stays alone.

A call is recorded in the ledger, capped by the budgets and told to the breaker like any other, and nothing
that was kept of an earlier one answers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol
from urllib.parse import urlsplit

from commonplace import addresses, paths
from commonplace.config.settings import Embedding, Llm
from commonplace.costs.accounts import Accounts
from commonplace.diagnosis import remedies
from commonplace.diagnosis.case import Case
from commonplace.embedding import configured, registry, trial
from commonplace.embedding.base import Spec
from commonplace.embedding.breaker import Opened
from commonplace.errors import CommonplaceError
from commonplace.llm import registry as llm_registry
from commonplace.llm import trial as llm_trial
from commonplace.types import Finding, State

NONE = "none"
_KEY_REFUSED = re.compile(r"HTTP 40[13]\b")


class _Row(Protocol):
    """What both tables of providers say of one."""

    @property
    def name(self) -> str: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def base_url(self) -> str: ...
    @property
    def local(self) -> bool: ...


class _Trial(Protocol):
    """What came of trying a model of either kind."""

    @property
    def seconds(self) -> float: ...
    @property
    def trouble(self) -> str: ...
    @property
    def remedy(self) -> str: ...


def embedding(case: Case) -> Iterator[Finding]:
    """Call the embedding model that is wanted, and each that may stand in for it."""
    chosen = case.settings.embedding
    if chosen.provider == NONE:
        told = "no embedding model is wanted: full text answers alone"
        yield Finding("providers.embedding", "skipped", told)
        return
    try:
        specs = configured.specs(chosen)
    except CommonplaceError as error:
        yield Finding("providers.embedding", "wrong", str(error), remedies.find(str(error)))
        return
    for place, spec in enumerate(specs):
        yield _embedder(spec, chosen, case, wanted=place == 0)


def _embedder(spec: Spec, settings: Embedding, case: Case, *, wanted: bool) -> Finding:
    row = registry.find(spec.provider)
    check = "providers.embedding" if wanted else "providers.fallback"
    name = "/".join(filter(None, (row.name, trial.model_of(spec))))
    breaker = configured.breaker_name(spec)
    opened = next((one for one in configured.breaker().opened() if one.name == breaker), None)
    if opened is not None:
        return _left_alone(check, opened, wanted=wanted)
    if case.offline and not _stays_here(row, spec.base_url):
        return Finding(check, "skipped", f"{name} was not called (--offline)")
    accounts = Accounts(case.workspace, settings) if case.workspace is not None else None
    try:
        tried = trial.attempt(spec, settings, accounts)
    finally:
        if accounts is not None:
            accounts.close()
    with suppress(CommonplaceError):
        _close(registry.create(spec))
    about = f" ({tried.dimensions} dimensions, {' and '.join(sorted(tried.scripts))})"
    origin = _key_origin(row, spec.base_url, _named_key(settings) if wanted else "", case)
    return _tried(check, name, tried, about, origin, row, wanted=wanted)


def language(case: Case) -> Iterator[Finding]:
    """Call the language model, if there is one."""
    chosen = case.settings.llm
    if chosen.provider == NONE:
        yield Finding("providers.llm", "skipped", "no language model is set, and nothing needs one")
        return
    try:
        row = llm_registry.find(chosen.provider)
    except CommonplaceError as error:
        yield Finding("providers.llm", "wrong", str(error), remedies.find(str(error)))
        return
    name = "/".join(filter(None, (row.name, chosen.model or row.model)))
    opened = next((o for o in configured.breaker().opened() if o.name.partition("#")[0] == name), None)
    if opened is not None:
        yield _left_alone("providers.llm", opened, wanted=True)
    elif case.offline and not _stays_here(row, chosen.base_url):
        yield Finding("providers.llm", "skipped", f"{name} was not called (--offline)")
    elif case.workspace is None:
        told = f"{name} was not called: there is no workspace whose ledger would record it"
        yield Finding("providers.llm", "skipped", told)
    else:
        yield _answered(name, row, case, case.workspace)


def _answered(name: str, row: _Row, case: Case, workspace: paths.Workspace) -> Finding:
    chosen = case.settings.llm
    breaker = configured.breaker()
    tried = llm_trial.attempt(workspace, case.settings, breaker=breaker, environ=case.environ)
    assert tried is not None
    origin = _key_origin(row, chosen.base_url, _named_key(chosen), case)
    if case.environ.get(llm_registry.KEY_VARIABLE):
        origin = llm_registry.KEY_VARIABLE
    return _tried("providers.llm", name, tried, "", origin, row, wanted=True)


def _tried(
    check: str, name: str, tried: _Trial, about: str, origin: str, row: _Row, *, wanted: bool
) -> Finding:
    """A finding on a call that was made."""
    if not tried.trouble:
        key = f"; its key comes from {origin}" if origin else ""
        return Finding(check, "ok", f"{name} answers in {tried.seconds:.1f} s{about}{key}")
    state: State = "wrong" if wanted else "warning"
    own = "" if origin and _KEY_REFUSED.search(tried.trouble) else tried.remedy
    remedy = own or remedies.find(tried.trouble, origin, row.keys)
    return Finding(check, state, f"{name} does not answer ({tried.trouble})", remedy)


def _left_alone(check: str, opened: Opened, *, wanted: bool) -> Finding:
    """A finding on a provider that is not asked: until when and why."""
    state: State = "wrong" if wanted and opened.permanent else "warning"
    remedy = "mend what it says; it is asked again by itself then, and by `commonplace models test` at once"
    return Finding(check, state, f"not called: {configured.told(opened)}", remedy)


def _stays_here(row: _Row, base_url: str) -> bool:
    """Whether a call reaches no other machine; a program of the owner's may reach any."""
    address = base_url or row.base_url
    if not address:
        return row.local
    with suppress(ValueError):
        return addresses.is_loopback(urlsplit(address).hostname or "")
    return False


def _named_key(settings: Embedding | Llm) -> str:
    """Where the settings say that a key is: a file, or an entry of the keyring."""
    if settings.key_file:
        return paths.shown(settings.key_file)
    return f"the keyring ({paths.shown(settings.keyring)})" if settings.keyring else ""


def _key_origin(row: _Row, base_url: str, named: str, case: Case) -> str:
    """Say where the key of a provider comes from; never the key."""
    if named:
        return named
    own = base_url.rstrip("/") in ("", row.base_url)
    return next((name for name in row.keys if own and case.environ.get(name, "").strip()), "")


def _close(model: object) -> None:
    """Close the connections that a model keeps; another caller's next request opens new ones."""
    close = getattr(model, "close", None)
    if close is not None:
        close()
