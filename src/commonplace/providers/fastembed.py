"""Models that fastembed knows by name, run on this machine from files that were fetched on purpose.

Neither a search nor a sync downloads anything: a model that is not in its folder of the user's cache is an
error that says how to get it (`download`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import installation, paths, remedies
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.config import keys
from commonplace.providers import program, runtime, services
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
Progress = Callable[[int, int], None]  # bytes that have come, bytes in all, about
_REACH_S, _MOST_S = 10.0, 86_400.0
_PROGRAM = "import sys; from commonplace.providers import fastembed; fastembed.download(*sys.argv[1:])"
MAX_TOKENS = 8192  # attention over more takes gigabytes; a passage has about 60
UNSAID_TOKENS = 512  # of a tokenizer that names no limit; fastembed sets one wherever it knows one


def folder() -> Path:
    """Return where models lie that were fetched for this user."""
    return paths.user_cache_dir() / "models" / "fastembed"


def default(kind: Kind) -> str:
    """Return the default model of a kind."""
    return (EMBEDDERS if kind == "embedding" else RERANKERS).rows[PROVIDER].model


def table(kind: Kind = "embedding") -> list[Mapping[str, Any]]:
    """Return what fastembed knows of each model of a kind. Raises MissingExtra, ProviderError."""
    return list(_class(kind).list_supported_models())


def find(name: str, kind: Kind = "embedding") -> Mapping[str, Any]:
    """Return what fastembed knows of a model, empty for the default one.

    Raises ConfigError with the nearest names, MissingExtra, ProviderError.
    """
    rows = {str(row["model"]).lower(): row for row in table(kind)}
    name = name or default(kind)
    if name.lower() not in rows:
        names = [str(row["model"]) for row in rows.values()]
        near = keys.near(name, names, otherwise=f"one of them is {default(kind)}")
        raise ConfigError(f"{kind}.model", f"{name!r} is none of fastembed's models{near}")
    return rows[name.lower()]


def place(row: Mapping[str, Any]) -> Path | None:
    """Return the folder with all files of a model, a revision or an unpacked archive; None if missing."""
    name = str(row["model"]).rpartition("/")[2]
    places = [*cache_of(row).glob("snapshots/*"), folder() / name, folder() / f"fast-{name}"]
    needed = (row["model_file"], *row.get("additional_files", ()))
    return next((place for place in places if all((place / name).exists() for name in needed)), None)


def cache_of(row: Mapping[str, Any]) -> Path:
    """Return the folder that a model is fetched into, there or not."""
    source = str(row["sources"].get("hf") or row["model"])
    return folder() / f"models--{source.replace('/', '--')}"


def download(name: str, kind: Kind = "embedding") -> None:
    """Fetch a model's files into `folder()`, or see that they are there.

    The one function that reaches for the network. Raises as `find` and `opened` do.
    """
    row = find(name, kind)
    if place(row) is None:
        # See that models can be had at all, before a library tries for a minute.
        from huggingface_hub import constants

        from commonplace.providers.http import Endpoint

        with closing(Endpoint(PROVIDER, constants.ENDPOINT)) as endpoint:
            try:
                endpoint.send("HEAD", "", Deadline(_REACH_S), attempts=1)
            except ProviderError as error:
                if error.status is None:
                    raise
    opened(row, kind, fetch=True)


def check() -> None:
    """See that what is needed is installed. Raises MissingExtra, ProviderError."""
    if find_spec("fastembed") is None:
        raise MissingExtra("the fastembed provider", "fastembed")
    runtime.check(PROVIDER)


def opened(row: Mapping[str, Any], kind: Kind = "embedding", *, fetch: bool = False) -> Any:  # noqa: ANN401
    """Open the model of a row. Raises MissingExtra, ProviderError.

    Its files lie in `folder()`, where `fetch` lets fastembed put them.
    """
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


class Fetched(NamedTuple):
    """A model that is here now: its name, where it lies, its bytes, and whether it was here before."""

    model: str
    place: str
    bytes: int
    before: bool = False


def fetch(spec: Spec, progress: Progress) -> Fetched:
    """Fetch a model, a reranker too, or see that it is there.

    Its files come by a process of their own: the library that fetches them can be neither hushed nor stopped,
    and Ctrl-C should end it at once. What had come stays, and another attempt goes on there. Raises
    ConfigError for another provider's or an unknown model, MissingExtra, ProviderError.
    """
    if spec.provider != PROVIDER:
        message = f"only models of fastembed are fetched, not those of {spec.provider}"
        hint = f"; `ollama pull {spec.model}` fetches it" if spec.provider == "ollama" else ""
        raise ConfigError("models", message + hint)
    named = spec.model.lower()
    ranks = named and named in (str(row["model"]).lower() for row in table("reranking"))
    kind: Kind = "reranking" if ranks else "embedding"
    row = find(spec.model, kind)
    name, total, there = str(row["model"]), _size(row), cache_of(row)
    if here := place(row):
        return Fetched(name, str(here), size_of(here, follow=True), True)
    environ = {**installation.environment(), "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    command = installation.python("-c", _PROGRAM, name, kind)

    def look() -> None:
        progress(min(size_of(there), total), total)

    done = program.run(command, os.sep, _MOST_S, environ=environ, look=look)
    here = place(row)
    if done.failure or here is None:
        reason = done.failure.rpartition(f"{PROVIDER}: ")[2]  # the last line of a traceback
        raise ProviderError(PROVIDER, reason or f"{name} cannot be fetched; run it again")
    progress(total, total)
    return Fetched(name, str(here), size_of(here, follow=True))


def is_missing(spec: Spec) -> bool:
    """Tell whether a model has to be fetched first. Raises ConfigError for an unknown one, MissingExtra."""
    if spec.provider != PROVIDER:
        return False
    return place(find(spec.model)) is None


def size_of(folder: Path, *, follow: bool = False) -> int:
    """Return the bytes of the files in a folder; of links, with `follow`, those of what they lead to."""
    size = 0
    for parent, _, names in os.walk(folder):  # which passes over folders that vanish while it looks
        for name in names:
            with suppress(OSError):  # so do files
                size += os.stat(os.path.join(parent, name), follow_symlinks=follow).st_size
    return size


class Offer(NamedTuple):
    """A model that can be had: its vectors' length, its bytes, what it is for, and whether it is here."""

    model: str
    dimensions: int
    bytes: int
    about: str
    here: bool


def offers() -> tuple[Offer, ...]:
    """Return the embedding models, those that are here first. Raises MissingExtra, ProviderError."""
    models = [
        Offer(one["model"], one["dim"], _size(one), one["description"], place(one) is not None)
        for one in table()
    ]
    return tuple(sorted(models, key=lambda offer: (not offer.here, offer.model.lower())))


def _size(row: Mapping[str, Any]) -> int:
    """The bytes of a model of fastembed's, about."""
    return int(float(row["size_in_GB"]) * 1e9)


# --- models as the rest of the system sees them --------------------------------------------------------


class LocalEmbedder:
    """An embedding model of fastembed's table, loaded at its first text; safe in several threads."""

    def __init__(self, spec: Spec) -> None:
        """Find the files of a model, which must be there already.

        Raises MissingExtra, ConfigError for an unknown name or more dimensions than the model has,
        ProviderError for a model that is not on this machine.
        """
        check()
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
        with self.shared.use() as model:
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

    def __init__(self, spec: Spec, name: str, load: Callable[[], Any]) -> None:
        """Prepare a model, a `TextCrossEncoder`, without loading it."""
        self.name, self.model = f"{PROVIDER}:{name}", name
        self.shared = Shared(load)
        self._timeout_s = spec.query_deadline_s

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, also when time is over (without loading)."""
        if not texts:
            return []
        with self.shared.use() as model:
            deadline, characters = Deadline(self._timeout_s), MAX_TOKENS * CHARACTERS_A_TOKEN
            asked = runtime.clean(question, characters)

            def work(text: str) -> float:
                if not deadline.left_s():
                    message = f"the model did not score {len(texts)} texts within {deadline.seconds:g} s"
                    raise ProviderError(PROVIDER, message)
                pair = [runtime.clean(text, characters)]  # one at a time, so that it is not padded
                return sigmoid(float(runtime.run(PROVIDER, lambda: next(iter(model.rerank(asked, pair))))))

            return runtime.each(work, texts)


load = LocalEmbedder


def load_reranker(spec: Spec) -> LocalReranker:
    """Make a reranker of fastembed's table.

    Raises MissingExtra, ConfigError for an unknown name, ProviderError for one that is not on this machine.
    """
    row = find(spec.model, "reranking")
    name = str(row["model"])
    if place(row) is None:
        raise absent(name)

    def load() -> Any:  # noqa: ANN401
        model = opened(row, "reranking")
        limits = model.model.tokenizer.truncation
        room = int(limits["max_length"]) if limits else UNSAID_TOKENS
        model.model.tokenizer.enable_truncation(room, strategy="longest_first")
        return model

    return LocalReranker(spec, name, load)
