"""Rerankers in `models list|pull|test`: what they are, one fetched, the one that is set tried for real."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import screen
from commonplace.cli import selecting
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.embedding.base import Spec
    from commonplace.embedding.downloads import Fetched
    from commonplace.reranking.trial import Trial
    from commonplace.screen import Look

_HIGHEST = 60  # cells of the text that won


def tried(root: Path, settings: Settings, *, needed: bool = False) -> Trial | None:
    """Try the reranker of the settings, None where none is set. Raises ConfigError where one is `needed`."""
    from commonplace.reranking import trial

    accounts = selecting.accounts(root, settings.embedding)
    try:
        found = trial.attempt(settings, accounts)
    finally:
        accounts.close()
    if found is None and needed:
        told = "no reranker is set; `commonplace config set reranking.provider NAME` sets one"
        raise ConfigError("reranking.provider", told)
    return found


def data(one: Trial) -> dict[str, object]:
    """Return what came of a trial, for JSON."""
    scores = [round(score, 4) for score in one.scores]
    return {**asdict(one), "scores": scores, "answered": one.answered, "seconds": round(one.seconds, 4)}


def told(one: Trial, look: Look) -> str:
    """Say in a few lines what came of a trial: the scores, and the text that won."""
    name = screen.one_line("/".join(filter(None, (one.provider, one.model))))
    if not one.answered:
        lines = [look.style(f"reranker {name} does not answer", "red")]
        return "\n".join(lines + selecting.told_trouble(one.trouble, one.remedy, look))
    scores = " ".join(f"{score:.2f}" for score in one.scores)
    line = f"reranker {name} answers in {one.seconds * 1000:,.0f} ms: {scores}"
    best = f'    best: "{screen.shorten(one.best, _HIGHEST)}"'
    shown = [part if look.width is None else screen.shorten(part, look.width) for part in (line, best)]
    return "\n".join([look.style(shown[0], "green"), shown[1]])


def pulled(spec: Spec) -> Fetched | None:
    """Fetch a cross-encoder of fastembed's; None for any other name. Raises as `selecting.fetch` does."""
    if spec.provider != "fastembed" or not spec.model:
        return None
    from commonplace.reranking import fastembed

    if not fastembed.knows(spec.model):
        return None
    return selecting.with_a_bar(lambda tell: fastembed.fetch(spec.model, tell))
