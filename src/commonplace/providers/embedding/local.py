"""Models that run on this machine: loaded late, one text at a time.

An exported ONNX model in a folder of the owner's, run by onnxruntime (`folders.py` says what the files around
the graph decide), or one that fastembed knows by name. A graph that gives sentence embeddings itself is
believed; of any other the token vectors are pooled here. Vectors are always scaled to length 1.

What is known of a model without loading it, its card, is kept in the user's cache while its files stay.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from commonplace.base import paths
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.base.root import open_named
from commonplace.providers import fastembed, folders, runtime
from commonplace.providers.embedding import families
from commonplace.providers.embedding.base import Kind
from commonplace.providers.folders import Exported, Pooling
from commonplace.providers.loading import Shared
from commonplace.providers.runtime import Graph
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats
    from commonplace.providers.runtime import Port

VERSION = 1  # of the cards
Stamp = tuple[str, int, int, int]  # path, bytes, and when content and inode changed, in nanoseconds
T = TypeVar("T")
TASK = "feature-extraction"
READY = "sentence_embedding"
TOKENS = ("token_embeddings", "last_hidden_state")
POOLED = "pooler_output"  # BERT's was trained for another end; it counts where there is nothing else
# Weights outside a graph (`external_data` of onnx.proto): key `location`, then a file name, under 128 bytes.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])", re.DOTALL)
# What a tokenizer is made from, beside the weights; whichever of these a model has.
_BESIDE = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json")


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model is like: the name people call it, the scripts it serves, what it puts before a text.

    `max_tokens` is where a text is cut; `settings` whatever else changes a vector, such as the pooling. All
    but name and scripts goes into the fingerprint.
    """

    provider: str
    name: str
    scripts: frozenset[str]
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A model's identity and size.

    `digest` is of its files' bytes, `dimensions` the length of a vector, `context` how many tokens the file
    itself says that it reads, 0 where other files say that.
    """

    digest: str
    dimensions: int
    context: int
    files: tuple[Stamp, ...]


class Probed(NamedTuple):
    """What a loaded model tells: the length of a vector, how many tokens it says that it reads."""

    dimensions: int
    context: int = 0


class LocalEmbedder(Generic[T]):
    """A model whose card is known and whose weights are loaded at its first text; safe in several threads.

    `run` gives the vector, (d,) of any float type and length, of one text with its prefix. Raises ConfigError
    if more dimensions are asked for than it has.
    """

    def __init__(
        self,
        traits: Traits,
        card: Card,
        shared: Shared[T],
        run: Callable[[T, str, Kind], Floats],
        dimensions: int | None = None,
    ) -> None:
        """Put a model together; nothing is loaded."""
        if dimensions is not None and not 0 < dimensions <= card.dimensions:
            message = f"{dimensions} is not allowed; {traits.name} has {card.dimensions} dimensions at most"
            raise ConfigError("embedding.dimensions", message)
        self.name = traits.name
        self.scripts = traits.scripts
        self.dimensions = dimensions or card.dimensions
        prefixes = [traits.query_prefix, traits.passage_prefix]
        rest = [card.digest, traits.max_tokens, self.dimensions, prefixes, traits.settings]
        digest = hashlib.sha256(json.dumps(rest).encode()).hexdigest()[:24]
        self.fingerprint = f"{traits.provider}-1:{digest}"
        self.shared = shared
        self._traits = traits
        self._run = run
        self._characters = traits.max_tokens * runtime.CHARACTERS_A_TOKEN

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows. Raises ProviderError."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        traits = self._traits
        prefix = traits.query_prefix if kind == "query" else traits.passage_prefix
        with self.shared.use() as model:

            def work(text: str) -> Floats:
                prefixed = prefix + runtime.clean(text, self._characters)
                vector = runtime.run(traits.provider, lambda: self._run(model, prefixed, kind))
                return unit(traits.provider, vector, self.dimensions)

            return np.stack(runtime.each(work, texts))


def unit(provider: str, vector: Floats, dimensions: int) -> Floats:
    """Cut a vector to its first dimensions and scale it to length 1, as float32.

    One without any length, as of a text without tokens, becomes the first unit vector. Raises ProviderError
    for one that is too short or holds no numbers.
    """
    import numpy as np

    cut = np.asarray(vector, np.float64)[:dimensions]
    if cut.shape != (dimensions,) or not np.isfinite(cut).all():
        raise ProviderError(provider, "the model failed (its vector is too short or holds no numbers)")
    length = float(np.linalg.norm(cut))
    if not length:
        cut[0] = length = 1.0
    row: Floats = (cut / length).astype(np.float32)
    return row


def location(spec: Spec, what: str) -> Path:
    """Return the absolute path of a model's file or folder. Raises ConfigError, ProviderError."""
    if not spec.path:
        raise ConfigError("embedding.path", f"the {spec.provider} provider needs the path of {what}")
    path = Path(os.path.abspath(os.path.expanduser(spec.path)))
    stamps(spec.provider, [path])
    return path


def learn(provider: str, key: str, files: Callable[[], Sequence[Path]], probe: Callable[[], Probed]) -> Card:
    """Return a model's card: the one kept by this key, or one made now from its files and what they tell.

    `probe` loads the model; that and reading its files takes seconds for a large one, once. Raises
    ProviderError.
    """
    key = f"{provider}:{key}"
    known = find(key)
    if known is not None:
        return known
    paths_ = files()
    before = stamps(provider, paths_)
    dimensions, context = probe()
    whole = hashlib.sha256()
    for path in paths_:
        try:
            with open_named(path) as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise _unreadable(provider, path, error) from error
    card = Card(whole.hexdigest(), dimensions, context, before)
    verify(provider, card)
    # For the next process; where it cannot be kept, the next one reads the files again.
    kept = {"version": VERSION, "key": key, "digest": card.digest, "dimensions": card.dimensions}
    data = json.dumps({**kept, "context": card.context, "files": card.files})
    place = _place(key)
    with suppress(OSError):
        paths.root_of(place).exchange(place, data.encode(), durable=False)
    return card


def find(key: str) -> Card | None:
    """Return the card kept for a model, unless one of its files is another now."""
    try:
        place = _place(key)
        kept = json.loads(paths.root_of(place).read(place))
        files = tuple((str(path), int(size), int(m), int(c)) for path, size, m, c in kept["files"])
        card = Card(str(kept["digest"]), int(kept["dimensions"]), int(kept["context"]), files)
        return card if kept["version"] == VERSION and kept["key"] == key and unchanged(card) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stamps(provider: str, files: Iterable[Path]) -> tuple[Stamp, ...]:
    """Return what tells whether files are still the same. Raises ProviderError for one that is missing."""
    marks = []
    for path in files:
        try:
            status = os.stat(path)
        except OSError as error:
            raise _unreadable(provider, path, error) from error
        marks.append((os.fspath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(marks)


def unchanged(card: Card) -> bool:
    """Tell whether a model's files are still those of its card."""
    try:
        return stamps("", (Path(stamp[0]) for stamp in card.files)) == card.files
    except ProviderError:
        return False


def verify(provider: str, card: Card) -> None:
    """See that a model about to be loaded is the one whose fingerprint was given. Raises ProviderError."""
    if not unchanged(card):
        message = "the model's files have changed since it was opened; start again"
        raise ProviderError(provider, message, permanent=True)


def _unreadable(provider: str, path: Path, error: OSError) -> ProviderError:
    return ProviderError(
        provider, f"{paths.shown(path)} cannot be read ({paths.reason(error)})", permanent=True
    )


def _place(key: str) -> Path:
    name = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return paths.user_cache_dir() / "models" / "cards" / f"{name}.json"


class Network(NamedTuple):
    """A loaded graph, and how what it gives becomes one vector; no pooling where it gives one itself."""

    graph: Graph
    pooling: Pooling | None

    def vector(self, text: str) -> Floats:
        """Run one text; return its vector, (d,) float32, not yet scaled. Raises ProviderError."""
        import numpy as np

        array = np.asarray(self.graph.run(self.graph.tokenizer.encode(text)), np.float32)
        if array.ndim != (2 if self.pooling is None else 3) or not array.shape[-1]:
            expected = "1 x dimensions" if self.pooling is None else "1 x tokens x dimensions"
            shape = " x ".join(map(str, array.shape))
            message = f"the output {self.graph.output} is {shape}, not {expected}"
            raise ProviderError("onnx", message, permanent=True)
        rows: Floats = array[0]
        if self.pooling is None:
            return rows
        row: Floats = (
            rows.mean(axis=0) if self.pooling == "mean" else rows[0 if self.pooling == "cls" else -1]
        )
        return row


def open_network(exported: Exported) -> Network:
    """Load graph and tokenizer. Raises ProviderError for a graph that cannot be fed or gives no vectors."""
    pooling: list[Pooling | None] = []

    def output(ports: Sequence[Port]) -> str:
        """The output that counts; the pooling it needs is noted."""
        names = [port.name for port in ports]
        tokens = [port for port in ports if port.name in TOKENS or len(names) == 1]
        if READY in names or (POOLED in names and not tokens and not exported.dense):
            pooling.append(None)
            return READY if READY in names else POOLED
        if exported.dense:
            message = f"a dense layer follows the pooling and the graph has no {READY}"
            remedy = "export it with optimum as a sentence model"
            raise ProviderError("onnx", f"{message}: {remedy}", permanent=True)
        if not tokens:
            message = f"the graph gives {', '.join(names)}; it needs {READY} or {TOKENS[1]}"
            raise ProviderError("onnx", f"{message}: export it for {TASK}", permanent=True)
        pooling.append(None if len(tokens[0].shape) == 2 else exported.pooling)
        return tokens[0].name

    graph = runtime.open_graph("onnx", exported, TASK, output)
    return Network(graph, pooling[0])


def load_onnx(spec: Spec) -> LocalEmbedder[Network]:
    """Make the model in the folder `spec.path`, or of the graph there; `spec.model` may name it.

    The first time it is loaded to learn its dimensions, later only for its first text. Raises ConfigError
    without a path, ProviderError for a folder or a graph that cannot be used.
    """
    path = location(spec, "a folder with model.onnx and tokenizer.json")
    runtime.check("onnx")
    exported = folders.read("onnx", path, spec.model)

    def reload() -> Network:
        verify("onnx", card)
        return open_network(exported)

    def probe() -> Probed:
        network = open_network(exported)
        width = len(runtime.run("onnx", lambda: network.vector("a")))
        shared.put(network)
        return Probed(width)

    shared = Shared(reload)
    key = f"{exported.graph}:{exported.tokenizer}:{exported.pooling}"
    card = learn("onnx", key, lambda: [*_weights(exported.graph), exported.tokenizer], probe)
    prefixes = (exported.query_prefix, exported.passage_prefix)
    traits = Traits(
        "onnx", exported.name, exported.scripts, exported.max_tokens, *prefixes, (exported.pooling,)
    )
    return LocalEmbedder(
        traits, card, shared, lambda network, text, kind: network.vector(text), spec.dimensions
    )


def _weights(graph: Path) -> list[Path]:
    """The graph, and the files beside it that hold its weights."""
    try:
        with open_named(graph) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            ends = [(place.end(), place[1][0]) for place in _LOCATION.finditer(data)]
            names = {data[end : end + length].decode("utf-8", "replace") for end, length in ends}
    except (OSError, ValueError) as error:  # ValueError: it is empty
        raise ProviderError("onnx", f"{graph.name} cannot be read ({error})", permanent=True) from error
    return [graph, *(graph.parent / name for name in sorted(names))]


def load_fastembed(spec: Spec) -> LocalEmbedder[Any]:
    """Make a model by its name in fastembed's table; its files must be there already.

    The first time it is loaded to learn its dimensions, later only for its first text. Raises MissingExtra,
    ConfigError for an unknown name, ProviderError for a model that is not on this machine or cannot be used.
    """
    fastembed.check()
    name = spec.model or fastembed.default("embedding")
    at = location(spec, "a folder") if spec.path else None

    def reload() -> Any:  # noqa: ANN401 - a `fastembed.TextEmbedding`
        verify(fastembed.PROVIDER, card)
        return fastembed.opened(fastembed.find(name), at)

    def files() -> Sequence[Path]:
        """The files that make a model what it is, in a fixed order."""
        shared.put(fastembed.opened(fastembed.find(name), at))
        with shared.use() as model:
            about, place = model.model.model_description, fastembed.place_of(model)
        beside = [place / name for name in _BESIDE if (place / name).is_file()]
        return [place / name for name in (about.model_file, *about.additional_files)] + beside

    def probe() -> Probed:
        with shared.use() as model:
            return Probed(len(runtime.run(fastembed.PROVIDER, lambda: _run_fastembed(model, "a", "passage"))))

    shared: Shared[Any] = Shared(reload)
    card = learn(fastembed.PROVIDER, f"{name}:{at or ''}:{fastembed.folder()}", files, probe)
    family = families.find(name)
    # How a model's tokens are pooled is up to fastembed, and has changed between releases.
    settings = tuple(version("fastembed").split(".")[:2])
    traits = Traits(
        fastembed.PROVIDER, name, family.scripts, family.max_tokens, family.query, family.passage, settings
    )
    return LocalEmbedder(traits, card, shared, _run_fastembed, spec.dimensions)


def _run_fastembed(model: Any, text: str, kind: Kind) -> Floats:  # noqa: ANN401 - a `fastembed.TextEmbedding`
    """One text by itself, so that nothing is padded; some models know questions from passages."""
    vectors = model.query_embed([text]) if kind == "query" else model.passage_embed([text])
    vector: Floats = next(iter(vectors))
    return vector
