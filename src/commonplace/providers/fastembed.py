"""Models that fastembed knows by name, run on this machine from files that were fetched on purpose.

Neither a search nor a sync downloads anything: a model that is not in its folder of the user's cache is an
error that says how to get it (`fetch`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import paths, remedies
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.config import keys
from commonplace.providers import runtime, services
from commonplace.providers.catalog import EMBEDDERS, RERANKERS, Spec
from commonplace.providers.embedding.remote import unit_rows
from commonplace.providers.reranking import sigmoid
from commonplace.providers.runtime import CHARACTERS_A_TOKEN, Shared

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats
    from commonplace.providers.embedding.base import Kind as Purpose

PROVIDER = "fastembed"
Kind = Literal["embedding", "reranking"]
_CLASSES: Mapping[Kind, tuple[str, str]] = {
    "embedding": ("fastembed", "TextEmbedding"),
    "reranking": ("fastembed.rerank.cross_encoder", "TextCrossEncoder"),
}
MAX_TOKENS = 8192  # attention over more takes gigabytes; a passage has about 60


def folder() -> Path:
    """Return where models lie that were fetched for this user."""
    return paths.user_cache_dir() / "models" / "fastembed"


def default(kind: Kind) -> str:
    """Return the default model of a kind."""
    return (EMBEDDERS if kind == "embedding" else RERANKERS).rows[PROVIDER].model


def find(name: str, kind: Kind = "embedding") -> Mapping[str, Any]:
    """Return fastembed's row of a model, of the default one for an empty name.

    Raises ConfigError with the nearest names, MissingExtra, ProviderError.
    """
    name, rows = name or default(kind), {str(row["model"]): row for row in _table(kind)}
    known = next((known for known in rows if known.lower() == name.lower()), None)
    if known is None:
        near = keys.near(name, rows, otherwise=f"one of them is {default(kind)}")
        raise ConfigError(f"{kind}.model", f"{name!r} is none of fastembed's models{near}")
    return rows[known]


def _table(kind: Kind) -> list[Mapping[str, Any]]:
    return list(_class(kind).list_supported_models())


def place(row: Mapping[str, Any]) -> Path | None:
    """Return the folder with all files of a model, a revision or an unpacked archive; None if missing."""
    name, source = str(row["model"]).rpartition("/")[2], str(row["sources"].get("hf") or row["model"])
    snapshots = (folder() / f"models--{source.replace('/', '--')}").glob("snapshots/*")
    needed = (row["model_file"], *row.get("additional_files", ()))
    places = [*snapshots, folder() / name, folder() / f"fast-{name}"]
    return next((place for place in places if all((place / name).exists() for name in needed)), None)


def check() -> None:
    """See that what is needed is installed. Raises MissingExtra, ProviderError."""
    if find_spec("fastembed") is None:
        raise MissingExtra("the fastembed provider", "fastembed")
    runtime.check(PROVIDER)


def opened(row: Mapping[str, Any], kind: Kind = "embedding", *, fetch: bool = False) -> Any:  # noqa: ANN401
    """Open the model of a row from `folder()`, where `fetch` lets fastembed put it. Raises ProviderError."""
    # This package does not set up its sessions; their warnings would go to standard error.
    runtime.library(PROVIDER).set_default_logger_severity(runtime.FATAL)
    session: dict[str, Any] = {"threads": 1, "providers": ["CPUExecutionProvider"]}
    if ".onnx" not in row["model_file"]:
        session = {}  # a static model has no session, and warns of options for it
    make = _class(kind)

    def work() -> Any:  # noqa: ANN401
        try:
            return make(row["model"], cache_dir=str(folder()), local_files_only=not fetch, **session)
        except ValueError as error:
            if "from any source" in str(error):
                why = f"{row['model']} cannot be fetched; is there a connection?"
                raise (ProviderError(PROVIDER, why) if fetch else absent(row["model"])) from error
            raise

    return runtime.run(PROVIDER, work, f"{row['model']} cannot be loaded", permanent=True)


def absent(name: str) -> ProviderError:
    """Return the error of a model that is not on this machine."""
    message = f"{name} is not on this machine; {remedies.say('models.fetch', name)}"
    return ProviderError(PROVIDER, message, permanent=True)


def _class(kind: Kind) -> Any:  # noqa: ANN401
    """The class of fastembed's that makes models of a kind. Raises MissingExtra, ProviderError."""
    check()
    runtime.library(PROVIDER)
    from loguru import logger

    logger.disable("fastembed")  # which writes to standard error what is raised as an error anyway
    module, name = _CLASSES[kind]
    return getattr(import_module(module), name)


# --- fetching ------------------------------------------------------------------------------------------


def fetch(spec: Spec) -> tuple[str, Path]:
    """Fetch a model, a reranker too, or see that it is there; return its name and its folder.

    The one function that reaches for the network; what had come of a model when it was stopped stays. Raises
    ConfigError for another provider's or an unknown model, MissingExtra, ProviderError.
    """
    if spec.provider != PROVIDER:
        message = f"only models of fastembed are fetched, not those of {spec.provider}"
        hint = f"; `ollama pull {spec.model}` fetches it" if spec.provider == "ollama" else ""
        raise ConfigError("models", message + hint)
    ranks = spec.model.lower() in {str(row["model"]).lower() for row in _table("reranking")}
    kind: Kind = "reranking" if ranks else "embedding"
    row = find(spec.model, kind)
    name = str(row["model"])
    if place(row) is None:
        opened(row, kind, fetch=True)
    if (here := place(row)) is None:
        raise ProviderError(PROVIDER, f"{name} cannot be fetched; run it again")
    return name, here


def is_missing(spec: Spec) -> bool:
    """Tell whether a model has to be fetched first. Raises ConfigError for an unknown one, MissingExtra."""
    return spec.provider == PROVIDER and place(find(spec.model)) is None


# --- models as the rest of the system sees them --------------------------------------------------------


class LocalEmbedder:
    """An embedding model of fastembed's table, loaded at its first text; safe in several threads."""

    def __init__(self, spec: Spec) -> None:
        """Find the files of a model, which must be there already.

        Raises MissingExtra, ConfigError for an unknown name or more dimensions than the model has,
        ProviderError for a model that is not on this machine.
        """
        row = find(spec.model)
        self.name = spec.model or default("embedding")
        files = place(row)
        if files is None:
            raise absent(self.name)
        whole = int(row["dim"])
        if spec.dimensions is not None and not 0 < spec.dimensions <= whole:
            message = f"{spec.dimensions} is not allowed; {self.name} has {whole} dimensions at most"
            raise ConfigError("embedding.dimensions", message)
        self._family = family = services.family(self.name)
        self.scripts, self.dimensions = family.scripts, spec.dimensions or whole
        self.shared: Shared[Any] = Shared(lambda: opened(row))
        # The folder is named by its revision. How tokens are pooled is up to fastembed, and has changed.
        release = version("fastembed").split(".")[:2]
        made = [self.name, files.name, row["model_file"], self.dimensions, *family, release]
        self.fingerprint = f"{PROVIDER}-3:{hashlib.sha256(repr(made).encode()).hexdigest()[:24]}"

    def embed(self, texts: Sequence[str], kind: Purpose) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows. Raises ProviderError."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        prefix, characters = self._family.prefix(kind), self._family.max_tokens * CHARACTERS_A_TOKEN
        model = self.shared.use()
        # Some models know questions from passages.
        run = model.query_embed if kind == "query" else model.passage_embed

        def work(text: str) -> Floats:
            prefixed = prefix + runtime.clean(text, characters)
            # One text at a time, so that it is not padded.
            vector = runtime.run(PROVIDER, lambda: next(iter(run([prefixed]))))
            row: Floats = unit_rows(PROVIDER, [vector[: self.dimensions].tolist()], 1, patch=True)[0]
            return row

        return np.stack(runtime.each(work, texts))


class LocalReranker:
    """A reranker of fastembed's table, loaded at its first pair; safe in several threads.

    Too long a pair is cut where it is longer, question or text.
    """

    def __init__(self, spec: Spec) -> None:
        """Find the files of a model, which must be there already; raise as `LocalEmbedder` does."""
        row = find(spec.model, "reranking")
        self.model = str(row["model"])
        if place(row) is None:
            raise absent(self.model)
        self.name, self._timeout_s = f"{PROVIDER}:{self.model}", spec.query_deadline_s
        self.shared: Shared[Any] = Shared(lambda: opened(row, "reranking"))

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, also when time is over (without loading)."""
        if not texts:
            return []
        model = self.shared.use()
        deadline, characters = Deadline(self._timeout_s), MAX_TOKENS * CHARACTERS_A_TOKEN
        asked = runtime.clean(question, characters)

        def work(text: str) -> float:
            if not deadline.left_s():
                message = f"the model did not score {len(texts)} texts within {deadline.seconds:g} s"
                raise ProviderError(PROVIDER, message)
            pair = [runtime.clean(text, characters)]  # one at a time, so that it is not padded
            return sigmoid(float(runtime.run(PROVIDER, lambda: next(iter(model.rerank(asked, pair))))))

        return runtime.each(work, texts)
