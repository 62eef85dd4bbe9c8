"""onnxruntime and tokenizers as every local model uses them: silent, a thread a text, errors translated.

A model is loaded when it is first used, and shared by all callers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commonplace.base import fork
from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named

if TYPE_CHECKING:
    from types import ModuleType

    from tokenizers import Tokenizer


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
FATAL, SHOWN = 4, 200  # the severity that is logged; characters of a library's error: some hold a whole graph
# A token is rarely more than a dozen characters; cutting first keeps a megabyte of text cheap.
CHARACTERS_A_TOKEN = 32
T = TypeVar("T")


def check(provider: str) -> None:
    """See that the libraries are installed, without importing them. Raises ProviderError."""
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise _unloadable(provider, f"no module {missing[0]}")


def library(provider: str) -> ModuleType:
    """Import onnxruntime, here alone, without its telemetry. Raises ProviderError if one cannot be loaded."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.update(NO_TELEMETRY)
    try:
        import tokenizers  # noqa: F401 - missed here rather than in the middle of loading

        return import_module("onnxruntime")
    except ImportError as error:  # no wheel for this machine, or one that does not fit it
        raise _unloadable(provider, reason(error)) from error


def _unloadable(who: str, why: str) -> ProviderError:
    return ProviderError(who, f"a library cannot be loaded ({why}); reinstall commonplace", permanent=True)


def session(provider: str, graph: bytes | Path, weights: bytes = b"", keep: str = "") -> Any:  # noqa: ANN401
    """Open a graph, from its bytes or its path, for one thread a run: an `onnxruntime.InferenceSession`.

    `weights` are the file beside the graph that it names `weights`; with the path `keep` the graph is written
    there, its constants computed. Raises ProviderError.
    """
    if isinstance(graph, Path) and not os.access(graph, os.R_OK):
        read(graph)  # which says why not; the library reads it in half the time that its bytes take
    onnxruntime = library(provider)
    options = onnxruntime.SessionOptions()
    if keep:
        options.add_external_initializers_from_files_in_memory(["weights"], [weights], [len(weights)])
        options.optimized_model_filepath = keep
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # Several threads inside one run would be free to add up in another order; texts run side by side instead.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    return run(
        provider,
        lambda: onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"]),
        "the model cannot be loaded",
        permanent=True,
    )


def tokenizer(provider: str, path: Path) -> Tokenizer:
    """Read a `tokenizer.json`. Raises ProviderError."""
    from tokenizers import Tokenizer

    failed = "tokenizer.json cannot be read"
    return run(provider, lambda: Tokenizer.from_buffer(read(path)), failed, permanent=True)


def read(path: Path) -> bytes:
    """Read a file of a model, up to 128 MB; `doctor` compares those that ship. Raises ProviderError."""
    try:
        return read_named(path, 128 << 20)
    except OSError as error:
        unread = f"{path.name} cannot be read ({error.strerror}); reinstall commonplace"
        raise ProviderError("builtin", unread, permanent=True) from error


def run(
    provider: str, work: Callable[[], T], failed: str = "the model failed", *, permanent: bool = False
) -> T:
    """Do something with a model's library. Raises ProviderError for whatever that raises."""
    try:
        return work()
    except ProviderError:
        raise
    except Exception as error:  # these libraries have no errors of their own that share a narrower base
        raise ProviderError(provider, f"{failed} ({reason(error)})", permanent=permanent) from error


def each(work: Callable[[str], T], texts: Sequence[str]) -> list[T]:
    """Run texts one by one, several at a time: each result depends on its text alone, without padding."""
    if len(texts) == 1:
        return [work(texts[0])]
    from concurrent.futures import ThreadPoolExecutor  # one text, a question, starts without

    with ThreadPoolExecutor(THREADS, "commonplace-model") as pool:
        return list(pool.map(work, texts))


def clean(text: str, characters: int) -> str:
    """Return a text that any tokenizer takes, no longer than so many characters."""
    # A tokenizer refuses half a surrogate pair.
    return text[:characters].encode("utf-8", "replace").decode("utf-8")


def reason(error: BaseException) -> str:
    """Return what an error of a library says, on one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


class Shared(Generic[T]):
    """Something costly, made by `load` at its first use and kept; a forked child makes its own."""

    def __init__(self, load: Callable[[], T]) -> None:
        """Prepare it; `load` is called at the first use."""
        self._load = load
        self._begin()
        fork.renew_in_child(self, Shared._begin)

    def _begin(self) -> None:
        # Not destroyed in a child: its threads do not exist there, and a destructor might wait for one.
        _LEFT_BEHIND.append(getattr(self, "_held", None))
        self._lock = threading.Lock()
        self._held: T | None = None

    @property
    def loaded(self) -> bool:
        """True once it is in memory."""
        return self._held is not None

    def use(self) -> T:
        """Return it, loaded if it is not. Raises whatever `load` does; the next call tries again."""
        with self._lock:
            if self._held is None:
                self._held = self._load()
            return self._held


_LEFT_BEHIND: list[object] = []
