"""Models that fastembed knows by name, run on this machine from files that were fetched on purpose.

Neither a search nor a sync downloads anything: a model that is not in our own folder of the user's cache is
an error that says how to get it (`download`). `spec.path` may name a folder with the model's files instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from commonplace import paths
from commonplace.embedding import cards, families, runtime
from commonplace.embedding.base import Kind, Spec
from commonplace.embedding.loading import Shared
from commonplace.embedding.local import LocalEmbedder, Probed, Traits, learn, location
from commonplace.errors import ConfigError, MissingExtra, ProviderError

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats

PROVIDER = "fastembed"
MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
_REACH_S = 10.0
# What a tokenizer is made from, beside the weights; whichever of these a model has.
_BESIDE = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json")


class Model(Protocol):
    """What is used of an opened `fastembed.TextEmbedding`; `model` is the one that does the work."""

    model: Any

    def query_embed(self, query: list[str]) -> Iterable[Floats]:
        """Embed questions; a vector each."""

    def passage_embed(self, texts: list[str]) -> Iterable[Floats]:
        """Embed passages; a vector each."""


def folder() -> Path:
    """Return where models lie that were fetched for this user."""
    return paths.user_cache_dir() / "models" / "fastembed"


def load(spec: Spec) -> LocalEmbedder[Model]:
    """Make a model by its name in fastembed's table; its files must be there already.

    The first time it is loaded to learn its dimensions, later only for its first text. Raises MissingExtra,
    ConfigError for an unknown name, ProviderError for a model that is not on this machine or cannot be used.
    """
    check()
    name = spec.model or MODEL
    at = location(spec, "a folder") if spec.path else None

    def reload() -> Model:
        cards.verify(PROVIDER, card)
        return _open(name, at)

    shared = Shared(reload)

    def files() -> Sequence[Path]:
        shared.put(_open(name, at))
        with shared.use() as model:
            return _files(model)

    def probe() -> Probed:
        with shared.use() as model:
            return Probed(len(runtime.run(PROVIDER, lambda: _run(model, "a", "passage"))))

    card = learn(PROVIDER, f"{name}:{at or ''}:{folder()}", files, probe)
    return LocalEmbedder(_traits(name), card, shared, _run, spec.dimensions)


def _traits(name: str) -> Traits:
    family = families.find(name)
    return Traits(
        PROVIDER,
        name,
        family.scripts,
        family.max_tokens,
        family.query,
        family.passage,
        # How a model's tokens are pooled is up to fastembed, and has changed between releases.
        tuple(version("fastembed").split(".")[:2]),
    )


def download(spec: Spec) -> Path:
    """Fetch a model's files into `folder()`, or see that they are there; return where they lie.

    The one function that reaches for the network. Raises as `load` does.
    """
    check()
    name = spec.model or MODEL
    if not is_here(find(name)):
        reach()
    return _place(_open(name, None, fetch=True))


def table() -> list[Mapping[str, Any]]:
    """Return what fastembed knows of each model. Raises MissingExtra, ProviderError."""
    check()
    runtime.library(PROVIDER)
    with quiet():
        from fastembed import TextEmbedding

        return list(TextEmbedding.list_supported_models())


def find(name: str) -> Mapping[str, Any]:
    """Return what fastembed knows of a model. Raises ConfigError with the nearest names, MissingExtra."""
    return row_of(table(), name)


def is_here(row: Mapping[str, Any]) -> bool:
    """Whether the files of a model lie in `folder()`, whole."""
    wanted = (row["model_file"], *row.get("additional_files", ()))
    return any(all((place / name).exists() for name in wanted) for place in _places(row))


def cache_of(row: Mapping[str, Any]) -> Path:
    """Return the folder that a model is fetched into, there or not."""
    source = str(row["sources"].get("hf") or row["model"])
    return folder() / f"models--{source.replace('/', '--')}"


def _places(row: Mapping[str, Any]) -> list[Path]:
    """The folders that may hold the files of a model: one a revision, or an unpacked archive."""
    name = str(row["model"]).rpartition("/")[2]
    return [*cache_of(row).glob("snapshots/*"), folder() / name, folder() / f"fast-{name}"]


def reach() -> None:
    """See that models can be had at all, before a library tries for a minute. Raises ProviderError."""
    from huggingface_hub import constants

    from commonplace.deadline import Deadline
    from commonplace.transport import Endpoint

    endpoint = Endpoint(PROVIDER, constants.ENDPOINT)
    try:
        endpoint.send("HEAD", "", Deadline(_REACH_S), attempts=1)
    except ProviderError as error:
        if error.status is None:
            raise
    finally:
        endpoint.close()


def check() -> None:
    """See that what is needed is installed. Raises MissingExtra, ProviderError."""
    if find_spec("fastembed") is None:
        raise MissingExtra("the fastembed provider", "fastembed")
    runtime.check(PROVIDER)


def _open(name: str, at: Path | None, *, fetch: bool = False) -> Model:
    """Open a model that embeds. Raises ConfigError, ProviderError."""
    row = find(name)
    with quiet():
        from fastembed import TextEmbedding

    found: Model = opened(TextEmbedding, row, at, fetch=fetch)
    return found


def opened(make: Callable[..., Any], row: Mapping[str, Any], at: Path | None, *, fetch: bool = False) -> Any:  # noqa: ANN401
    """Open the model of a row through a class of fastembed's, without its log. Raises ProviderError.

    Its files lie in `at`, or in `folder()`, where `fetch` lets fastembed put them.
    """
    # Its sessions are not ours to set up; their warnings would go to standard error.
    runtime.library(PROVIDER).set_default_logger_severity(runtime.FATAL)
    session: dict[str, Any] = {"threads": 1, "providers": ["CPUExecutionProvider"]}
    if ".onnx" not in row["model_file"]:
        session = {}  # a static model has none, and warns of options for one

    def work() -> Any:  # noqa: ANN401
        try:
            return make(
                row["model"],
                cache_dir=str(folder()),
                local_files_only=not fetch,
                specific_model_path=str(at) if at else None,
                **session,
            )
        except ValueError as error:
            if "from any source" in str(error):
                raise absent(row["model"], fetch=fetch) from error
            raise

    with quiet():
        return runtime.run(PROVIDER, work, f"{row['model']} cannot be loaded", permanent=True)


def absent(name: str, *, fetch: bool) -> ProviderError:
    """Return the error of a model that is not on this machine, or that could not be fetched."""
    if fetch:
        return ProviderError(PROVIDER, f"{name} cannot be fetched; is there a connection?")
    told = f"{name} is not on this machine; fetch it with `commonplace models pull {name}`"
    return ProviderError(PROVIDER, told, permanent=True)


def row_of(
    table: Sequence[Mapping[str, Any]], name: str, key: str = "embedding.model", example: str = MODEL
) -> Mapping[str, Any]:
    """Return the row of a model in a table of fastembed's. Raises ConfigError, with the nearest names.

    `key` is the setting that names it, `example` one that is there.
    """
    rows = {str(row["model"]).lower(): row for row in table}
    if name.lower() not in rows:
        from difflib import get_close_matches

        close = get_close_matches(name.lower(), rows, 3, 0.4)
        known = ", ".join(str(rows[key]["model"]) for key in close)
        hint = f"; did you mean {known}?" if close else f", such as {example}"
        raise ConfigError(key, f"{name!r} is none of fastembed's models{hint}")
    return rows[name.lower()]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep fastembed from writing to standard error what is raised as an error anyway."""
    from loguru import logger

    logger.disable("fastembed")
    try:
        yield
    finally:
        logger.enable("fastembed")


def _place(model: Model) -> Path:
    return Path(model.model._model_dir)


def _files(model: Model) -> list[Path]:
    """The files that make a model what it is, in a fixed order."""
    about = model.model.model_description
    place = _place(model)
    beside = [place / name for name in _BESIDE if (place / name).is_file()]
    return [place / name for name in (about.model_file, *about.additional_files)] + beside


def _run(model: Model, text: str, kind: Kind) -> Floats:
    """One text by itself, so that nothing is padded; some models know questions from passages."""
    found = model.query_embed([text]) if kind == "query" else model.passage_embed([text])
    vector: Floats = next(iter(found))
    return vector
