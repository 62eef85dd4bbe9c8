"""Cross-encoders that fastembed knows by name, run on this machine from files that were fetched on purpose.

As with its models that embed (`embedding.fastembed`), nothing is downloaded by a search: a model that is not
in our own folder of the user's cache is an error that says how to get it. `spec.path` may name a folder with
the model's files instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.embedding import downloads, folders, runtime
from commonplace.embedding import fastembed as models
from commonplace.embedding.loading import Shared
from commonplace.reranking import onnx, registry, scores
from commonplace.reranking.base import Spec
from commonplace.reranking.local import LocalReranker, Traits

if TYPE_CHECKING:
    from commonplace.embedding.downloads import Fetched, Told

PROVIDER = models.PROVIDER
_KEY = "reranking.model"
_PROGRAM = "import sys; from commonplace.reranking import fastembed; fastembed.work(sys.argv[1])"
UNSAID_TOKENS = 512  # of a tokenizer that names no limit; fastembed sets one wherever it is told one


class Model(Protocol):
    """What is used of an opened `fastembed.rerank.cross_encoder.TextCrossEncoder`."""

    model: Any

    def rerank(self, query: str, documents: Iterable[str]) -> Iterable[float]:
        """Score documents; a logit each."""


def load(spec: Spec) -> LocalReranker[Model]:
    """Make a reranker by its name in fastembed's table; it is loaded for its first pair.

    Raises MissingExtra, ConfigError for an unknown name, ProviderError for one that is not on this machine.
    """
    row = find(spec.model)
    name = str(row["model"])
    at = Path(os.path.abspath(os.path.expanduser(spec.path))) if spec.path else None
    if at is None and not models.is_here(row):
        raise models.absent(name, fetch=False)
    traits = Traits(PROVIDER, name, f"{name}@{at or ''}", folders.MAX_TOKENS, _shorten, _run)
    return LocalReranker(traits, Shared(lambda: _open(row, at)), spec.timeout_s)


def table() -> list[Mapping[str, Any]]:
    """Return what fastembed knows of each cross-encoder. Raises MissingExtra, ProviderError."""
    models.check()
    runtime.library(PROVIDER)
    with models.quiet():
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        return list(TextCrossEncoder.list_supported_models())


def find(name: str) -> Mapping[str, Any]:
    """Return what fastembed knows of a model, empty for the default one.

    Raises ConfigError with the nearest names, MissingExtra.
    """
    example = registry.find(PROVIDER).model
    return models.row_of(table(), name or example, _KEY, example)


def knows(name: str) -> bool:
    """Whether a name is one of fastembed's cross-encoders. Raises MissingExtra, ProviderError."""
    return name.lower() in (str(row["model"]).lower() for row in table())


def fetch(name: str, told: Told) -> Fetched:
    """Fetch a model, or see that it is there. Raises as `load` does."""
    return downloads.fetch_files(find(name), told, _PROGRAM)


def work(name: str) -> None:
    """Fetch a model, in the process made for it, and print what became of it as JSON."""
    downloads.report(lambda: download(name))


def download(name: str) -> Path:
    """Fetch a model's files, or see that they are there; return where they lie. Raises as `load` does."""
    row = find(name)
    if not models.is_here(row):
        models.reach()
    return Path(_open(row, None, fetch=True).model._model_dir)


def _open(row: Mapping[str, Any], at: Path | None, *, fetch: bool = False) -> Model:
    """Open a model; of too long a pair the text is cut. Raises ProviderError."""
    with models.quiet():
        from fastembed.rerank.cross_encoder import TextCrossEncoder

    found: Model = models.opened(TextCrossEncoder, row, at, fetch=fetch)
    tokenizer = found.model.tokenizer
    tokenizer.enable_truncation(_room(found), strategy="only_second")
    return found


def _room(model: Model) -> int:
    """How many tokens a pair may have."""
    said = model.model.tokenizer.truncation
    return int(said["max_length"]) if said else UNSAID_TOKENS


def _shorten(model: Model, question: str) -> str:
    return onnx.shorten(model.model.tokenizer, question, _room(model) // 2)


def _run(model: Model, question: str, text: str) -> float:
    """One pair by itself, so that nothing is padded."""
    (logit,) = model.rerank(question, [text])
    return scores.sigmoid(float(logit))
