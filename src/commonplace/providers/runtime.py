"""onnxruntime and tokenizers as every local model uses them: silent, a thread a text, errors translated."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from commonplace.providers.folders import Exported


# From 1.29 on, onnxruntime's own builds report to their maker, and keep a device number and what is still to
# be sent in the user's cache. The variable must be set before the import (its docs/Privacy.md); the second
# name is one that some releases knew. The third belongs to the library that fetches models for fastembed.
NO_TELEMETRY = {
    "ORT_DISABLE_TELEMETRY": "1",
    "ORT_TELEMETRY_DISABLED": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
LIBRARIES = ("onnxruntime", "tokenizers")
THREADS = max(
    1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
)
FATAL = 4  # the severity that is logged; what fails is raised anyway
SHOWN = 200  # characters of a library's error: some hold a whole graph
Cut = Literal["longest_first", "only_first", "only_second"]
# A token is rarely more than a dozen characters; cutting first keeps a megabyte of text cheap.
CHARACTERS_A_TOKEN = 32
_T = TypeVar("_T")
# What each input of a graph is fed, from the ids of tokens and of the segments they belong to.
_INPUTS: dict[str, Callable[[list[int], list[int]], list[int]]] = {
    "input_ids": lambda ids, segments: ids,
    "attention_mask": lambda ids, segments: [1] * len(ids),
    "token_type_ids": lambda ids, segments: segments,
    "position_ids": lambda ids, segments: list(range(len(ids))),
}


class Port(Protocol):
    """An input or output of a graph: its name, its type as `tensor(float)`, its sizes or their names."""

    name: str
    type: str
    shape: Sequence[int | str | None]


class Session(Protocol):
    """What is used of an open graph."""

    def get_inputs(self) -> Sequence[Port]:
        """What it must be fed."""

    def get_outputs(self) -> Sequence[Port]:
        """What it gives."""

    def run(self, outputs: list[str], feed: Mapping[str, NDArray[Any]]) -> list[Any]:
        """Run it; return an array an output. Raises errors of the library's own."""


def check(provider: str) -> None:
    """See that the libraries are installed, without importing them. Raises ProviderError."""
    for name in LIBRARIES:
        if find_spec(name) is None:
            message = f"a library cannot be loaded (no module {name}); reinstall commonplace"
            raise ProviderError(provider, message, permanent=True)


def library(provider: str) -> ModuleType:
    """Import onnxruntime so that it reports to nobody; every import of it goes through here.

    Raises ProviderError where it or tokenizers cannot be loaded.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.update(NO_TELEMETRY)
    try:
        import onnxruntime
        import tokenizers  # noqa: F401 - missed here rather than in the middle of loading

        onnxruntime.disable_telemetry_events()  # Windows, where no variable does
    except ImportError as error:  # no wheel for this machine, or one that does not fit it
        raise ProviderError(
            provider, f"a library cannot be loaded ({reason(error)})", permanent=True
        ) from error
    module: ModuleType = onnxruntime
    return module


def session(provider: str, graph: bytes | str) -> Session:
    """Open a graph, from its bytes or its path, for one thread a run. Raises ProviderError."""
    onnxruntime = library(provider)
    options = onnxruntime.SessionOptions()
    # Several threads inside one run would be free to add up in another order; texts run side by side instead.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    found: Session = run(
        provider,
        lambda: onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"]),
        "the model cannot be loaded",
        permanent=True,
    )
    return found


def tokenizer(
    provider: str, data: bytes, max_tokens: int | None = None, cut: Cut = "longest_first"
) -> Tokenizer:
    """Read a `tokenizer.json`, which cuts at `max_tokens` and never pads. Raises ProviderError.

    `cut` says which text of a pair is cut.
    """
    from tokenizers import Tokenizer

    def read() -> Tokenizer:
        found = Tokenizer.from_buffer(data)
        if max_tokens is not None:
            found.enable_truncation(max_tokens, strategy=cut)
            found.no_padding()
        return found

    return run(provider, read, "tokenizer.json cannot be read", permanent=True)


def run(
    provider: str, work: Callable[[], _T], failed: str = "the model failed", *, permanent: bool = False
) -> _T:
    """Do something with a model's library. Raises ProviderError for whatever that raises."""
    try:
        return work()
    except ProviderError:
        raise
    except Exception as error:  # these libraries have no errors of their own that share a narrower base
        raise ProviderError(provider, f"{failed} ({reason(error)})", permanent=permanent) from error


def each(work: Callable[[str], _T], texts: Sequence[str]) -> list[_T]:
    """Run texts one by one, several at a time: what comes of one depends on nothing else, without padding."""
    if len(texts) == 1:
        return [work(texts[0])]
    with ThreadPoolExecutor(THREADS, "commonplace-model") as pool:
        return list(pool.map(work, texts))


def clean(text: str, characters: int) -> str:
    """Return a text that any tokenizer takes, no longer than so many characters."""
    # Half a surrogate pair is no text; a tokenizer would refuse it.
    return text[:characters].encode("utf-8", "replace").decode("utf-8")


def reason(error: BaseException) -> str:
    """Return what an error of a library says, on one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


@dataclass(frozen=True, slots=True)
class Graph:
    """A loaded graph and its tokenizer: the inputs with the integer type of each, the output that counts."""

    session: Session
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
    provider: str,
    exported: Exported,
    task: str,
    output: Callable[[Sequence[Port]], str],
    cut: Cut = "longest_first",
) -> Graph:
    """Load graph and tokenizer of a folder; `output` names the output that counts among those it has.

    `task` is what the graph should have been exported for. Raises ProviderError for what cannot be read, fed
    or understood.
    """
    try:
        data = read_named(exported.tokenizer)
    except OSError as error:
        message = f"{exported.tokenizer.name} cannot be read ({error.strerror})"
        raise ProviderError(provider, message) from error
    # By path, not bytes: weights of more than 2 GB lie in files beside the graph.
    opened = session(provider, str(exported.graph))
    name = output(opened.get_outputs())
    words = tokenizer(provider, data, exported.max_tokens, cut)
    declared = {port.name: port.type for port in opened.get_inputs()}
    if unknown := declared.keys() - _INPUTS.keys():
        message = f"the graph wants {', '.join(sorted(unknown))}; only {', '.join(_INPUTS)} can be given"
        raise ProviderError(provider, f"{message}: export it for {task}", permanent=True)
    if "input_ids" not in declared:
        raise ProviderError(provider, "the graph takes no input_ids; it is no text model", permanent=True)
    inputs = tuple((name, "int32" if "int32" in kind else "int64") for name, kind in declared.items())
    return Graph(opened, words, inputs, name)
