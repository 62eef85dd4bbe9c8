"""Trying the language model for real: one tiny completion, budgeted and recorded, past the cache."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, MissingExtra, ProviderError
from commonplace.llm import opening, registry
from commonplace.llm.base import Breaker, Message
from commonplace.llm.client import Client
from commonplace.paths import Workspace

PURPOSE = "test"
QUESTION = (Message("user", "Answer with one word: yes."),)
MAX_TOKENS = 512  # a word, and room for models that think first
DEADLINE_S = 60.0  # a server may have to load the model first
_REFUSED = (401, 403)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of trying a language model.

    `seconds` is how long it took, loading included. `trouble` says why it did not answer, empty if it did;
    `remedy` is what mends that, where one is known beyond what `trouble` says.
    """

    provider: str
    model: str
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    trouble: str = ""
    remedy: str = ""

    @property
    def answered(self) -> bool:
        """Whether an answer came."""
        return not self.trouble


class Asked:
    """A breaker that lets a trial through whatever happened before, and hears how it went.

    A model that fails again while it is left alone is not left alone longer.
    """

    def __init__(self, breaker: Breaker | None) -> None:
        self._breaker = breaker

    def check(self, name: str) -> None:
        """Let it through."""

    def failed(self, name: str, error: ProviderError) -> None:
        """Pass a failure on, unless the model is left alone already."""
        if self._breaker is None:
            return
        try:
            self._breaker.check(name)
        except ProviderError:
            return
        self._breaker.failed(name, error)

    def succeeded(self, name: str) -> None:
        """Pass an answer on."""
        if self._breaker is not None:
            self._breaker.succeeded(name)


def attempt(
    workspace: Workspace,
    settings: Settings,
    *,
    breaker: Breaker | None = None,
    environ: Mapping[str, str] | None = None,
) -> Trial | None:
    """Try the language model of the settings, None where none is set; what can go wrong is `trouble`."""
    chosen = settings.llm
    if chosen.provider == opening.NONE:
        return None
    fresh = settings._replace(llm=chosen._replace(cache=False))
    name, began, client = chosen.model, time.perf_counter(), None
    try:
        client = opening.open_llm(workspace, fresh, breaker=Asked(breaker), environ=environ)
        assert client is not None
        name = client.model.name
        answer = client.complete(QUESTION, max_tokens=MAX_TOKENS, deadline_s=DEADLINE_S, purpose=PURPOSE)
    except CommonplaceError as error:
        told, mends = str(error), remedy(chosen.provider, name, error)
        return Trial(chosen.provider, name, time.perf_counter() - began, trouble=told, remedy=mends)
    finally:
        _close(client)
    seconds = time.perf_counter() - began
    return Trial(chosen.provider, name, seconds, answer.tokens_in, answer.tokens_out)


def _close(client: Client | None) -> None:
    """Close what a model keeps open, which it opens again when it is asked again."""
    close = getattr(client.model, "close", None) if client is not None else None
    if close is not None:
        close()


def remedy(provider: str, model: str, error: CommonplaceError) -> str:
    """Return what mends an error of a provider, a command or one line; empty where nothing is known."""
    if isinstance(error, MissingExtra):
        return error.remedy
    if not isinstance(error, ProviderError):
        return ""
    if error.status in _REFUSED:
        return f"check the key ({' or '.join([registry.KEY_VARIABLE, *registry.find(provider).keys])})"
    if provider == "ollama":
        absent = f"commonplace models pull ollama/{model}" if error.status == 404 else ""
        return absent or ("start the server with `ollama serve`" if "cannot be reached" in str(error) else "")
    return ""
