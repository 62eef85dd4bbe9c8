"""Models that fastembed knows by name, run on this machine from files that were fetched on purpose.

Neither a search nor a sync downloads anything: a model that is not in its folder of the user's cache is an
error that says how to get it (`download`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import paths, remedies
from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.providers import runtime, services
from commonplace.providers.catalog import EMBEDDERS, RERANKERS, Spec
from commonplace.providers.local import LocalEmbedder, LocalReranker, Pairing, Traits
from commonplace.providers.reranking import sigmoid

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats
    from commonplace.providers.embedding.base import Kind as Purpose

PROVIDER = "fastembed"
Kind = Literal["embedding", "reranking"]
_CLASSES: Mapping[Kind, tuple[str, str]] = {
    "embedding": ("fastembed", "TextEmbedding"),
    "reranking": ("fastembed.rerank.cross_encoder", "TextCrossEncoder"),
}
_REACH_S = 10.0
UNSAID_TOKENS = 512  # of a tokenizer that names no limit; fastembed sets one wherever it knows one
# What a tokenizer is made from, beside the weights; whichever of these a model has.
_BESIDE = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json")


def folder() -> Path:
    """Return where models lie that were fetched for this user."""
    return paths.user_cache_dir() / "models" / "fastembed"


def default(kind: Kind) -> str:
    """Return the model of a kind that is used where none is named."""
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
        from difflib import get_close_matches

        close = get_close_matches(name.lower(), rows, 3, 0.4)
        names = ", ".join(str(rows[key]["model"]) for key in close)
        hint = f"; did you mean {names}?" if close else f", such as {default(kind)}"
        raise ConfigError(f"{kind}.model", f"{name!r} is none of fastembed's models{hint}")
    return rows[name.lower()]


def is_here(row: Mapping[str, Any]) -> bool:
    """Whether the files of a model lie in `folder()`, whole: in a revision, or in an unpacked archive."""
    name = str(row["model"]).rpartition("/")[2]
    places = [*cache_of(row).glob("snapshots/*"), folder() / name, folder() / f"fast-{name}"]
    needed = (row["model_file"], *row.get("additional_files", ()))
    return any(all((place / name).exists() for name in needed) for place in places)


def cache_of(row: Mapping[str, Any]) -> Path:
    """Return the folder that a model is fetched into, there or not."""
    source = str(row["sources"].get("hf") or row["model"])
    return folder() / f"models--{source.replace('/', '--')}"


def download(name: str, kind: Kind = "embedding") -> Path:
    """Fetch a model's files into `folder()`, or see that they are there; return where they lie.

    The one function that reaches for the network. Raises as `find` and `opened` do.
    """
    row = find(name, kind)
    if not is_here(row):
        # See that models can be had at all, before a library tries for a minute.
        from huggingface_hub import constants

        from commonplace.base.deadline import Deadline
        from commonplace.providers.http import Endpoint

        endpoint = Endpoint(PROVIDER, constants.ENDPOINT)
        try:
            endpoint.send("HEAD", "", Deadline(_REACH_S), attempts=1)
        except ProviderError as error:
            if error.status is None:
                raise
        finally:
            endpoint.close()
    return place_of(opened(row, kind, fetch=True))


def place_of(model: Any) -> Path:  # noqa: ANN401 - the library has no types
    """Return the folder with the files of an opened model."""
    return Path(model.model._model_dir)


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
        session = {}  # a static model has none, and warns of options for one
    make = _class(kind)

    def work() -> Any:  # noqa: ANN401
        try:
            return make(
                row["model"],
                cache_dir=str(folder()),
                local_files_only=not fetch,
                **session,
            )
        except ValueError as error:
            if "from any source" in str(error):
                raise absent(row["model"], fetch=fetch) from error
            raise

    with _quiet():
        return runtime.run(PROVIDER, work, f"{row['model']} cannot be loaded", permanent=True)


def absent(name: str, *, fetch: bool = False) -> ProviderError:
    """Return the error of a model that is not on this machine, or that could not be fetched."""
    if fetch:
        return ProviderError(PROVIDER, f"{name} cannot be fetched; is there a connection?")
    message = f"{name} is not on this machine; {remedies.say('models.fetch', name)}"
    return ProviderError(PROVIDER, message, permanent=True)


def _class(kind: Kind) -> Any:  # noqa: ANN401
    """The class of fastembed's that makes models of a kind. Raises MissingExtra, ProviderError."""
    check()
    runtime.library(PROVIDER)
    module, name = _CLASSES[kind]
    with _quiet():
        return getattr(import_module(module), name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep fastembed from writing to standard error what is raised as an error anyway."""
    from loguru import logger

    logger.disable("fastembed")
    try:
        yield
    finally:
        logger.enable("fastembed")


# --- models as the rest of the system sees them --------------------------------------------------------


def load(spec: Spec) -> LocalEmbedder[Any]:
    """Make an embedding model by its name in fastembed's table; its files must be there already.

    Raises MissingExtra, ConfigError for an unknown name, ProviderError for a model that is not on this
    machine or cannot be used.
    """
    check()
    name = spec.model or default("embedding")
    first: list[Any] = []  # a model that was opened to learn where its files lie

    def files() -> Sequence[Path]:
        """The files that make a model what it is, in a fixed order."""
        first.append(opened(find(name)))
        about, place = first[0].model.model_description, place_of(first[0])
        beside = [place / name for name in _BESIDE if (place / name).is_file()]
        return [place / name for name in (about.model_file, *about.additional_files)] + beside

    def run(model: Any, text: str, kind: Purpose) -> Floats:  # noqa: ANN401 - a `fastembed.TextEmbedding`
        # One text by itself, so that nothing is padded; some models know questions from passages.
        vectors = model.query_embed([text]) if kind == "query" else model.passage_embed([text])
        vector: Floats = next(iter(vectors))
        return vector

    family = services.family(name)
    # How a model's tokens are pooled is up to fastembed, and has changed between releases.
    settings = tuple(version("fastembed").split(".")[:2])
    return LocalEmbedder(
        Traits(PROVIDER, name, family.scripts, family.max_tokens, family.query, family.passage, settings),
        f"{name}::{folder()}",
        files,
        lambda: first.pop() if first else opened(find(name)),
        run,
        spec.dimensions,
    )


def load_reranker(spec: Spec) -> LocalReranker:
    """Make a reranker by its name in fastembed's table; it is loaded for its first pair.

    Raises MissingExtra, ConfigError for an unknown name,
    ProviderError for one that is not on this machine.
    """
    row = find(spec.model, "reranking")
    name = str(row["model"])
    if not is_here(row):
        raise absent(name)

    def load() -> Pairing:
        model = opened(row, "reranking")
        tokenizer = model.model.tokenizer
        limits = tokenizer.truncation
        room = int(limits["max_length"]) if limits else UNSAID_TOKENS
        tokenizer.enable_truncation(room, strategy="only_second")

        def score(question: str, text: str) -> float:
            (logit,) = model.rerank(question, [text])  # one pair by itself, so that nothing is padded
            return sigmoid(float(logit))

        return Pairing(tokenizer, room, score, model)

    return LocalReranker(spec, name, f"{name}@", load)
