"""The models that the settings name, each really called once; one that is left alone stays alone.

A call is recorded in the ledger, capped by the budgets and told to the breaker like any other, and nothing
that was kept of an earlier one answers it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol
from urllib.parse import urlsplit

from commonplace import addresses, paths
from commonplace.config.settings import Embedding
from commonplace.costs.accounts import Accounts
from commonplace.diagnosis import remedies
from commonplace.diagnosis.case import Case
from commonplace.embedding import configured, registry
from commonplace.embedding.base import Embedder, Spec
from commonplace.embedding.breaker import Breaker, Opened, name_of
from commonplace.errors import CommonplaceError
from commonplace.llm import opening
from commonplace.llm import registry as llm_registry
from commonplace.llm.base import Message
from commonplace.types import Finding, State

NONE = "none"
LONGEST_S = 10.0  # somebody waits for the examination
_QUESTION = Message("user", "Answer with the word yes.")
_ANSWER_TOKENS = 64  # models that think before they answer need some


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


def embedding(case: Case) -> Iterator[Finding]:
    """Call the embedding model that is wanted, and each that may stand in for it."""
    chosen = case.settings.embedding
    if chosen.provider == NONE:
        told = "no embedding model is wanted: full text answers alone"
        yield Finding("providers.embedding", "skipped", told)
        return
    bounded = chosen._replace(
        deadline_s=min(chosen.deadline_s, LONGEST_S), query_deadline_s=min(chosen.query_deadline_s, LONGEST_S)
    )
    try:
        specs = configured.specs(bounded)
    except CommonplaceError as error:
        yield Finding("providers.embedding", "wrong", str(error), remedies.of(error))
        return
    for place, spec in enumerate(specs):
        yield _embedder(spec, bounded, case, wanted=place == 0)


def _embedder(spec: Spec, settings: Embedding, case: Case, *, wanted: bool) -> Finding:
    row = registry.find(spec.provider)
    check = "providers.embedding" if wanted else "providers.fallback"
    name = "/".join(filter(None, (row.name, spec.model or row.model)))
    origin = _key_origin(row, spec.base_url, settings.key_file if wanted else "", case)
    breaker = _breaker_name(spec)
    if (opened := _opened(case, lambda one: one.name == breaker)) is not None:
        return _left_alone(check, opened, wanted=wanted)
    if case.offline and not _stays_here(row, spec.base_url):
        return Finding(check, "skipped", f"{name} was not called (--offline)")
    accounts = Accounts(case.workspace, settings) if case.workspace is not None else None
    try:
        return Finding(check, "ok", f"{_embedded(name, spec, settings, accounts)}{_with(origin)}")
    except CommonplaceError as error:
        state: State = "wrong" if wanted else "warning"
        return Finding(
            check, state, f"{name} does not answer ({error})", remedies.of(error, origin, row.keys)
        )
    finally:
        if accounts is not None:
            accounts.close()


def _embedded(name: str, spec: Spec, settings: Embedding, accounts: Accounts | None) -> str:
    """Embed a question; say how long it took. Raises CommonplaceError."""
    from commonplace.embedding.guarded import GuardedEmbedder

    started = time.perf_counter()
    model = configured.guarded(spec, settings, accounts)
    try:
        if isinstance(model, GuardedEmbedder):
            model.try_out()
        else:
            model.embed(["commonplace"], "query")
        seconds = time.perf_counter() - started
        return f"{name} answers in {seconds:.1f} s ({_about(model)})"
    finally:
        _close(registry.create(spec))


def _about(model: Embedder) -> str:
    return f"{model.dimensions} dimensions, {' and '.join(sorted(model.scripts))}"


def language(case: Case) -> Iterator[Finding]:
    """Call the language model, if there is one."""
    chosen = case.settings.llm
    if chosen.provider == NONE:
        yield Finding("providers.llm", "skipped", "no language model is set, and nothing needs one")
        return
    try:
        row = llm_registry.find(chosen.provider)
    except CommonplaceError as error:
        yield Finding("providers.llm", "wrong", str(error), remedies.of(error))
        return
    name = "/".join(filter(None, (row.name, chosen.model or row.model)))
    opened = _opened(case, lambda one: one.name.partition("#")[0] == name)
    if opened is not None:
        yield _left_alone("providers.llm", opened, wanted=True)
    elif case.offline and not _stays_here(row, chosen.base_url):
        yield Finding("providers.llm", "skipped", f"{name} was not called (--offline)")
    elif case.workspace is None:
        told = f"{name} was not called: there is no workspace whose ledger would record it"
        yield Finding("providers.llm", "skipped", told)
    else:
        yield _answered(name, row, case)


def _answered(name: str, row: _Row, case: Case) -> Finding:
    assert case.workspace is not None
    chosen = case.settings.llm
    origin = _key_origin(row, chosen.base_url, getattr(chosen, "key_file", ""), case)
    if case.environ.get(llm_registry.KEY_VARIABLE):
        origin = llm_registry.KEY_VARIABLE
    started = time.perf_counter()
    uncached = case.settings._replace(llm=chosen._replace(cache=False))
    try:
        client = opening.open_llm(case.workspace, uncached, breaker=_breaker(case), environ=case.environ)
        assert client is not None
        try:
            client.complete([_QUESTION], max_tokens=_ANSWER_TOKENS, deadline_s=LONGEST_S, purpose="test")
        finally:
            _close(client.model)
    except CommonplaceError as error:
        told = f"{name} does not answer ({error})"
        return Finding("providers.llm", "wrong", told, remedies.of(error, origin, row.keys))
    told = f"{name} answers in {time.perf_counter() - started:.1f} s{_with(origin)}"
    return Finding("providers.llm", "ok", told)


def _left_alone(check: str, opened: Opened, *, wanted: bool) -> Finding:
    """A finding on a provider that is not asked: until when and why."""
    state: State = "wrong" if wanted and opened.permanent else "warning"
    remedy = "mend what it says; it is asked again by itself then, and by `commonplace models test` at once"
    return Finding(check, state, f"not called: {configured.told(opened)}", remedy)


def _opened(case: Case, wanted: Callable[[Opened], bool]) -> Opened | None:
    return next(filter(wanted, _breaker(case).opened()), None)


def _breaker(case: Case) -> Breaker:
    return Breaker(paths.user_cache_dir(case.environ) / "providers.json")


def _breaker_name(spec: Spec) -> str:
    return name_of(spec.provider, spec.model, spec.base_url, spec.key.reveal())


def _stays_here(row: _Row, base_url: str) -> bool:
    """Whether a call reaches no other machine; a program of the owner's may reach any."""
    address = base_url or row.base_url
    if not address:
        return row.local
    with suppress(ValueError):
        return addresses.is_loopback(urlsplit(address).hostname or "")
    return False


def _key_origin(row: _Row, base_url: str, key_file: str, case: Case) -> str:
    """Say where the key of a provider comes from; never the key."""
    if key_file:
        return paths.shown(key_file)
    own = base_url.rstrip("/") in ("", row.base_url)
    return next((name for name in row.keys if own and case.environ.get(name, "").strip()), "")


def _with(origin: str) -> str:
    return f"; its key comes from {origin}" if origin else ""


def _close(model: object) -> None:
    """Close the connections that a model keeps; another caller's next request opens new ones."""
    close = getattr(model, "close", None)
    if close is not None:
        close()
