"""Models that run on this machine: embedding models and rerankers, loaded late, one text or pair at a time.

The first half is for all of them (`fastembed` and `gguf` use it too), the second for exported ONNX models in
a folder of the owner's, run by onnxruntime. The layout of a folder is what sentence-transformers saves and
optimum exports: `modules.json` names the stages, `1_Pooling/config.json` the pooling,
`sentence_bert_config.json` the length, and `config_sentence_transformers.json` the prompts
(https://sbert.net, "Creating Custom Models").

A graph that gives sentence embeddings itself is believed; of any other the token vectors are pooled here.
Vectors are always scaled to length 1. What is known of a model without loading it, its card, is kept in the
user's cache while its files stay. A reranker reads question and text as a pair; of too long a pair the text
is cut, and a question keeps half of the room at most.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from commonplace.base import paths
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.base.root import open_named, read_named
from commonplace.base.tuples import NamedTuple
from commonplace.providers import runtime
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding import families
from commonplace.providers.embedding.base import Kind
from commonplace.providers.http import as_dict
from commonplace.providers.reranking import sigmoid
from commonplace.providers.runtime import CHARACTERS_A_TOKEN, Shared

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from commonplace.providers.embedding.base import Floats

# --- embedding models ----------------------------------------------------------------------------------

VERSION = 1  # of the cards
Stamp = tuple[str, int, int, int]  # path, bytes, and when content and inode changed, in nanoseconds
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model is like: the name people call it, the scripts it serves, what it puts before a text.

    `max_tokens` is where a text is cut, unless the model's file says that it reads less; `settings` whatever
    else changes a vector, such as the pooling. All but name and scripts goes into the fingerprint.
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

    def unchanged(self) -> bool:
        """Tell whether the files are still the same."""
        try:
            return stamps("", (Path(stamp[0]) for stamp in self.files)) == self.files
        except ProviderError:
            return False


class LocalEmbedder(Generic[T]):
    """A model whose card is known and whose weights are loaded at its first text; safe in several threads.

    It is loaded at once where no card is kept of it: that and reading its files takes seconds for a large
    model, once.
    """

    def __init__(
        self,
        traits: Traits,
        key: str,
        files: Callable[[], Sequence[Path]],
        load: Callable[[int], T],
        run: Callable[[T, str, Kind], Floats],
        dimensions: int | None = None,
    ) -> None:
        """Put a model together: `key` names its card, `files` are those that make it what it is.

        `load` gets the context of the card, 0 where none is known yet; a model with a `context` tells it.
        `run` gives the vector, (d,) of any float type and length, of one text with its prefix. Raises
        ConfigError if more dimensions are asked for than it has, ProviderError.
        """
        self._traits, self._run = traits, run

        def reload() -> T:
            if not card.unchanged():  # another model than the one whose fingerprint was given
                message = "the model's files have changed since it was opened; start again"
                raise ProviderError(traits.provider, message, permanent=True)
            return load(card.context)

        self.shared = Shared(reload)
        key = f"{traits.provider}:{key}"
        card = _kept_card(key) or self._learn(key, files, load)
        if dimensions is not None and not 0 < dimensions <= card.dimensions:
            message = f"{dimensions} is not allowed; {traits.name} has {card.dimensions} dimensions at most"
            raise ConfigError("embedding.dimensions", message)
        self.name, self.scripts = traits.name, traits.scripts
        self.dimensions = dimensions or card.dimensions
        max_tokens = min(card.context or traits.max_tokens, traits.max_tokens)
        self._characters = max_tokens * CHARACTERS_A_TOKEN
        prefixes = [traits.query_prefix, traits.passage_prefix]
        rest = [card.digest, max_tokens, self.dimensions, prefixes, traits.settings]
        digest = hashlib.sha256(json.dumps(rest).encode()).hexdigest()[:24]
        self.fingerprint = f"{traits.provider}-1:{digest}"

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

    def _learn(self, key: str, files: Callable[[], Sequence[Path]], load: Callable[[int], T]) -> Card:
        """Make a card of the files and of what the loaded model tells, and keep it for the next process."""
        provider, named = self._traits.provider, files()
        before = stamps(provider, named)
        model = load(0)
        dimensions = len(runtime.run(provider, lambda: self._run(model, "a", "passage")))
        context = int(getattr(model, "context", 0))
        if not context:
            self.shared.put(model)
        whole = hashlib.sha256()
        for path in named:
            try:
                with open_named(path) as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise _unreadable(provider, path, error) from error
        card = Card(whole.hexdigest(), dimensions, context, before)
        if not card.unchanged():
            message = "the model's files have changed since it was opened; start again"
            raise ProviderError(provider, message, permanent=True)
        content = {"version": VERSION, "key": key, "digest": card.digest, "dimensions": card.dimensions}
        data = json.dumps({**content, "context": card.context, "files": card.files})
        place = _card_file(key)
        with suppress(OSError):  # where it cannot be kept, the next process reads the files again
            paths.root_of(place).exchange(place, data.encode(), durable=False)
        return card


def _kept_card(key: str) -> Card | None:
    """The card kept for a model, unless one of its files is another now."""
    place = _card_file(key)
    try:
        data = json.loads(paths.root_of(place).read(place))
        files = tuple((str(path), int(size), int(m), int(c)) for path, size, m, c in data["files"])
        card = Card(str(data["digest"]), int(data["dimensions"]), int(data["context"]), files)
        return card if data["version"] == VERSION and data["key"] == key and card.unchanged() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _card_file(key: str) -> Path:
    name = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return paths.user_cache_dir() / "models" / "cards" / f"{name}.json"


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


def _unreadable(provider: str, path: Path, error: OSError) -> ProviderError:
    message = f"{paths.shown(path)} cannot be read ({paths.reason(error)})"
    return ProviderError(provider, message, permanent=True)


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


# --- rerankers -----------------------------------------------------------------------------------------

MAX_TOKENS = 8192  # attention over more takes gigabytes; a passage has about 60


class Pairing(NamedTuple):
    """A loaded model: its tokenizer, where a pair is cut, and what gives the probability of a pair."""

    tokenizer: Tokenizer
    max_tokens: int
    score: Callable[[str, str], float]
    model: Any = None


class LocalReranker:
    """A model whose weights are loaded at its first pair; safe in several threads.

    `fingerprint` changes with anything that changes a score.
    """

    def __init__(
        self,
        spec: Spec,
        model: str,
        fingerprint: str,
        load: Callable[[], Pairing],
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Put a model together; nothing is loaded."""
        self.name = f"{spec.provider}:{model}"
        self.model, self.fingerprint = model, fingerprint
        self.shared = Shared(load)
        self._provider, self._timeout_s = spec.provider, spec.query_deadline_s
        self._characters = max_tokens * CHARACTERS_A_TOKEN

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, also when time is over.

        Loading does not count: it happens once, and would otherwise never come to its end.
        """
        if not texts:
            return []
        with self.shared.use() as model:
            deadline = Deadline(self._timeout_s)
            question = runtime.clean(question, self._characters)
            asked = runtime.run(
                self._provider, lambda: shorten(model.tokenizer, question, model.max_tokens // 2)
            )

            def work(text: str) -> float:
                if not deadline.left_s():
                    message = f"the model did not score {len(texts)} texts within {deadline.seconds:g} s"
                    raise ProviderError(self._provider, message)
                pair = runtime.clean(text, self._characters)
                return runtime.run(self._provider, lambda: model.score(asked, pair))

            return runtime.each(work, texts)

    def close(self) -> None:
        """Nothing is kept open; the model is given back when it is idle."""


def shorten(tokenizer: Tokenizer, question: str, most: int) -> str:
    """Return a question cut behind its first tokens, where it has more of them."""
    # As the second of a pair: the first one is never cut, and a tokenizer fails on one that is too long.
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question[: encoding.offsets[most - 1][1]] if len(encoding.ids) > most > 0 else question


# --- folders with an exported model --------------------------------------------------------------------

PROVIDER = "onnx"
GRAPHS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
TOKENIZER = "tokenizer.json"
UNKNOWN_TOKENS = 512  # of a model that neither its files nor its name tell; most were trained with as many
# Position embeddings of these begin behind the padding token: two fewer can be used.
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "data2vec-text"}
Pooling = Literal["mean", "cls", "last"]
# The other length of `mean_sqrt_len` makes no difference: every vector is scaled to 1.
_POOLINGS: Mapping[str, Pooling] = {
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean",
    "cls_token": "cls",
    "lasttoken": "last",
    "mean": "mean",
    "cls": "cls",
}
# Families whose re-exports often come without `1_Pooling`; everything else without it is averaged.
_UNSAID: Mapping[Pooling, tuple[str, ...]] = {
    "last": ("qwen3-embedding", "e5-mistral", "gte-qwen"),
    "cls": (
        "bge-",
        "arctic-embed",
        "mxbai-embed",
        "gte-base-en-v1.5",
        "gte-large-en-v1.5",
        "multilingual-gte",
    ),
}


@dataclass(frozen=True, slots=True)
class Exported:
    """What a folder says of its model; `dense` if a layer follows the pooling: only a graph can hold that."""

    graph: Path
    tokenizer: Path
    pooling: Pooling
    dense: bool
    traits: Traits


def read_folder(path: Path, model: str = "") -> Exported:
    """Read the folder of a model, or the one around a graph. Raises ProviderError with what is missing."""
    graph = _graph(path)
    folder = path if path.is_dir() else graph.parent
    if not (folder / "config.json").is_file() and folder.name == "onnx":
        folder = folder.parent
    tokenizer = next((at / TOKENIZER for at in (folder, graph.parent) if (at / TOKENIZER).is_file()), None)
    if tokenizer is None:
        message = f"no {TOKENIZER}; save it there with `AutoTokenizer.save_pretrained`"
        raise _refused(f"{paths.shown(folder)}: {message}")
    # Folders of the stages by the last part of their type: Transformer, Pooling, Dense, Normalize.
    rows = [row for row in _json(folder / "modules.json", []) if isinstance(row, dict)]
    stages = {str(row.get("type", "")).rpartition(".")[2]: str(row.get("path", "")) for row in rows}
    traits = _traits(folder, model)
    pooling = _pooling(folder / stages.get("Pooling", "1_Pooling") / "config.json", traits.name)
    return Exported(graph, tokenizer, pooling, "Dense" in stages, traits)


def _graph(path: Path) -> Path:
    """The graph at a path, or the one that counts in a folder."""
    if path.is_file():
        return path
    known = [path / name for name in GRAPHS if (path / name).is_file()]
    graphs = known or sorted([*path.glob("*.onnx"), *path.glob("onnx/*.onnx")])
    if known or len(graphs) == 1:
        return graphs[0]
    message = "several graphs, none of them model.onnx; give the path of one of the files"
    if not graphs:
        message = "no model.onnx; export it with `optimum-cli export onnx`"
    raise _refused(f"{paths.shown(path)}: {message}")


def _traits(folder: Path, model: str) -> Traits:
    """What a folder says of its model, and else what is known of its family."""
    config = _json(folder / "config.json", {})
    owner = folder.parent.parent.name  # of a snapshot in the cache of Hugging Face
    cached = folder.parent.name == "snapshots" and owner.startswith("models--")
    folder_name = owner.removeprefix("models--").replace("--", "/") if cached else folder.name
    name = model or str(config.get("_name_or_path") or "") or folder_name
    family = families.find(name)
    # What stands before a question and a passage: as saved with the model, else as its family takes them.
    saved = as_dict(_json(folder / "config_sentence_transformers.json", {}).get("prompts"))
    prompts = {key: value for key, value in saved.items() if isinstance(value, str)}
    query = prompts.get("query", family.query)
    passage = prompts.get("passage", prompts.get("document", family.passage))
    return Traits(PROVIDER, name, family.scripts, _max_tokens(folder, config, family), query, passage)


def _pooling(path: Path, name: str) -> Pooling:
    config = _json(path, {})
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    if isinstance(config.get("pooling_mode"), str):  # as releases from 5.3 on may write it
        modes = [config["pooling_mode"]]
    if not modes:
        unsaid = (mode for mode, parts in _UNSAID.items() if any(part in name.lower() for part in parts))
        return next(unsaid, "mean")
    pooling = _POOLINGS.get(modes[0].removeprefix("pooling_mode_"))
    if len(modes) > 1 or pooling is None:
        remedy = "export the model with its sentence_embedding"
        raise _refused(f"pooling by {', '.join(modes)} is not supported; {remedy}")
    return pooling


def _max_tokens(folder: Path, config: Mapping[str, object], family: families.Family) -> int:
    """Where a text is cut: what the sentence model says, or the least of what its parts can read."""

    def usable(*limits: object) -> list[int]:
        # transformers writes 1e30 where it knows none.
        return [limit for limit in limits if isinstance(limit, int) and 0 < limit < 1 << 31]

    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    said = usable(_json(folder / "sentence_bert_config.json", {}).get("max_seq_length"))
    tokens = usable(_json(folder / "tokenizer_config.json", {}).get("model_max_length"))
    limits = [*(said or tokens), *usable(positions)]
    if limits:
        return min(*limits, MAX_TOKENS)
    return UNKNOWN_TOKENS if family is families.UNKNOWN else family.max_tokens


def _refused(message: str) -> ProviderError:
    return ProviderError(PROVIDER, message, permanent=True)


def _json(path: Path, default: Any) -> Any:  # noqa: ANN401 - of the type of the default
    """What a file holds, the default where there is none. Raises ProviderError for what is no JSON."""
    try:
        value = json.loads(read_named(path))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise _refused(f"{paths.shown(path)} cannot be read ({error})") from error
    return value if isinstance(value, type(default)) else default


# What each input of a graph is fed, from the ids of tokens and of the segments they belong to.
_INPUTS: dict[str, Callable[[list[int], list[int]], list[int]]] = {
    "input_ids": lambda ids, segments: ids,
    "attention_mask": lambda ids, segments: [1] * len(ids),
    "token_type_ids": lambda ids, segments: segments,
    "position_ids": lambda ids, segments: list(range(len(ids))),
}


@dataclass(frozen=True, slots=True)
class Graph:
    """A loaded graph and its tokenizer: the inputs with the integer type of each, the output that counts."""

    session: Any
    tokenizer: Tokenizer
    inputs: tuple[tuple[str, str], ...]
    output: str

    def run(self, encoding: Encoding) -> Any:  # noqa: ANN401 - an array of whatever shape the graph gives
        """Run one text, or a pair, by itself: a batch of one."""
        import numpy as np

        # Without marks of beginning and end, a text without words has no tokens; graphs fail on none.
        ids, segments = encoding.ids or [0], encoding.type_ids or [0]
        feed = {name: np.array([_INPUTS[name](ids, segments)], kind) for name, kind in self.inputs}
        return self.session.run([self.output], feed)[0]


def open_graph(
    exported: Exported,
    task: str,
    output: Callable[[Sequence[Any]], str],
    cut: runtime.Cut = "longest_first",
) -> Graph:
    """Load graph and tokenizer of a folder; `output` names the output that counts among those it has.

    `task` is what the graph should have been exported for. Raises ProviderError for what cannot be read, fed
    or understood.
    """
    try:
        data = read_named(exported.tokenizer)
    except OSError as error:
        message = f"{exported.tokenizer.name} cannot be read ({error.strerror})"
        raise ProviderError(PROVIDER, message) from error
    # By path, not bytes: weights of more than 2 GB lie in files beside the graph.
    opened = runtime.session(PROVIDER, str(exported.graph))
    name = output(opened.get_outputs())
    words = runtime.tokenizer(PROVIDER, data, exported.traits.max_tokens, cut)
    declared = {port.name: port.type for port in opened.get_inputs()}
    if unknown := declared.keys() - _INPUTS.keys():
        message = f"the graph wants {', '.join(sorted(unknown))}; only {', '.join(_INPUTS)} can be given"
        raise _refused(f"{message}: export it for {task}")
    if "input_ids" not in declared:
        raise _refused("the graph takes no input_ids; it is no text model")
    inputs = tuple((name, "int32" if "int32" in kind else "int64") for name, kind in declared.items())
    return Graph(opened, words, inputs, name)


TASK = "feature-extraction"
READY = "sentence_embedding"
TOKENS = ("token_embeddings", "last_hidden_state")
POOLED = "pooler_output"  # BERT's was trained for another end; it counts where there is nothing else
# Weights outside a graph (`external_data` of onnx.proto): key `location`, then a file name, under 128 bytes.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])", re.DOTALL)


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
            raise _refused(message)
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

    def output(ports: Sequence[Any]) -> str:
        """The output that counts; the pooling it needs is noted."""
        names = [port.name for port in ports]
        tokens = next((port for port in ports if port.name in TOKENS or len(ports) == 1), None)
        if READY in names:
            pooling.append(None)
            return READY
        if exported.dense:
            message = f"a dense layer follows the pooling and the graph has no {READY}"
            raise _refused(f"{message}: export it with optimum as a sentence model")
        if tokens is not None:
            pooling.append(None if len(tokens.shape) == 2 else exported.pooling)
            return str(tokens.name)
        if POOLED in names:
            pooling.append(None)
            return POOLED
        message = f"the graph gives {', '.join(names)}; it needs {READY} or {TOKENS[1]}"
        raise _refused(f"{message}: export it for {TASK}")

    graph = open_graph(exported, TASK, output)
    return Network(graph, pooling[0])


def load_onnx(spec: Spec) -> LocalEmbedder[Network]:
    """Make the model in the folder `spec.path`, or of the graph there; `spec.model` may name it.

    Raises ConfigError without a path, ProviderError for a folder or a graph that cannot be used.
    """
    path = location(spec, "a folder with model.onnx and tokenizer.json")
    runtime.check(PROVIDER)
    exported = read_folder(path, spec.model)
    return LocalEmbedder(
        replace(exported.traits, settings=(exported.pooling,)),
        f"{exported.graph}:{exported.tokenizer}:{exported.pooling}",
        lambda: [*_weights(exported.graph), exported.tokenizer],
        lambda context: open_network(exported),
        lambda network, text, kind: network.vector(text),
        spec.dimensions,
    )


def _weights(graph: Path) -> list[Path]:
    """The graph, and the files beside it that hold its weights."""
    try:
        with open_named(graph) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            ends = [(place.end(), place[1][0]) for place in _LOCATION.finditer(data)]
            names = {data[end : end + length].decode("utf-8", "replace") for end, length in ends}
    except (OSError, ValueError) as error:  # ValueError: it is empty
        raise _refused(f"{graph.name} cannot be read ({error})") from error
    return [graph, *(graph.parent / name for name in sorted(names))]


def load_onnx_reranker(spec: Spec) -> LocalReranker:
    """Make the reranker in the folder `spec.path`, or of the graph there; `spec.model` may name it.

    It is loaded for its first pair. Raises ConfigError without a path, ProviderError for a folder that holds
    no model.
    """
    if not spec.path:
        message = "the onnx provider needs the path of a folder with model.onnx and tokenizer.json"
        raise ConfigError("reranking.path", message)
    path = Path(os.path.abspath(os.path.expanduser(spec.path)))
    if not path.exists():
        raise _refused(f"{paths.shown(path)} is not there")
    runtime.check(PROVIDER)
    exported = read_folder(path, spec.model)
    name, max_tokens = exported.traits.name, exported.traits.max_tokens

    def load() -> Pairing:
        graph = open_graph(exported, "text-classification", _logits, "only_second")

        def score(question: str, text: str) -> float:
            return _probability(graph.run(graph.tokenizer.encode(question, text)), graph.output)

        return Pairing(graph.tokenizer, max_tokens, score, graph)

    return LocalReranker(spec, name, f"{name}@{exported.graph}", load, max_tokens)


def _logits(ports: Sequence[Any]) -> str:
    names = [port.name for port in ports]
    if "logits" in names or len(names) == 1:
        return "logits" if "logits" in names else names[0]
    message = f"the graph gives {', '.join(names)}; it needs logits: export it for text-classification"
    raise _refused(message)


def _probability(answer: object, output: str) -> float:
    """The probability that the answer of a graph tells. Raises ProviderError for an output that is none."""
    import numpy as np

    array = np.asarray(answer, np.float64)
    logits = [float(logit) for logit in array.reshape(-1)]
    if array.shape[:1] != (1,) or len(logits) not in (1, 2):
        shape = " x ".join(map(str, array.shape))
        message = f"the output {output} is {shape}, not 1 x 1 or 1 x 2: it is no cross-encoder"
        raise _refused(message)
    if not np.isfinite(array).all():
        raise ProviderError(PROVIDER, "the model failed (its score is no number)")
    # Of two logits the second is that of the class `relevant` (softmax).
    return sigmoid(logits[0]) if len(logits) == 1 else sigmoid(logits[1] - logits[0])
