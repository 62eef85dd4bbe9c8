"""A model in a GGUF file of the owner's, run by llama.cpp; nothing is downloaded.

Pooling is the file's own. llama.cpp takes one text at a time and keeps OpenMP threads that belong to the
thread which started them, so everything runs on one worker thread: callers queue there, and a forked child,
which has a worker of its own, does not wait for threads that stayed behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from commonplace.base.errors import MissingExtra, ProviderError
from commonplace.providers import runtime
from commonplace.providers.embedding import families, local
from commonplace.providers.embedding.local import LocalEmbedder, Probed, Traits
from commonplace.providers.loading import Shared
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

PROVIDER = "gguf"
MAX_TOKENS = 2048  # llama.cpp reserves memory for as many; a passage has about 60
PROBE_TOKENS = 16  # enough to learn how many the model reads
SETTINGS = ("llama.cpp", "no flash attention")
T = TypeVar("T")
_silent: list[Any] = []  # the callback that drops llama.cpp's log; it must live as long as the library


class Llama(Protocol):
    """What is used of a `llama_cpp.Llama`."""

    metadata: Mapping[str, str]

    def tokenize(self, text: bytes) -> list[int]:
        """Return the ids of a text's tokens."""

    def embed(self, text: str, *, normalize: bool, truncate: bool) -> list[float] | list[list[float]]:
        """Return the vector of a text, or those of its tokens where the file names no pooling."""


class Machine:
    """A loaded model and the one thread that runs it."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        """Load a file for texts of at most so many tokens. Raises ProviderError."""
        self._worker = ThreadPoolExecutor(1, "commonplace-gguf")
        self._llama = self._there(lambda: _open(path, max_tokens))

    @property
    def context(self) -> int:
        """How many tokens the model reads, as its file says."""
        about = self._llama.metadata
        return int(about.get(f"{about.get('general.architecture')}.context_length") or MAX_TOKENS)

    def vector(self, text: str) -> Floats:
        """Run one text; return its vector, (d,), not yet scaled. Raises ProviderError."""
        import numpy as np

        def embed() -> list[float] | list[list[float]]:
            # Without marks of beginning and end, a text without words has no tokens, and cannot be decoded.
            some = text if self._llama.tokenize(text.encode()) else "."
            return self._llama.embed(some, normalize=False, truncate=True)

        vector: Floats = np.asarray(self._there(embed), np.float32)
        if vector.ndim != 1:
            message = "the file names no pooling, so it gives no vector of a text; use an embedding model"
            raise ProviderError(PROVIDER, message, permanent=True)
        return vector

    def _there(self, work: Callable[[], T]) -> T:
        return runtime.run(PROVIDER, self._worker.submit(work).result)


def _open(path: Path, max_tokens: int) -> Llama:
    """Open a file with llama.cpp, silently. Raises ProviderError."""
    import ctypes

    try:
        import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:  # its own library may not fit this machine
        message = f"llama-cpp-python cannot be loaded ({runtime.reason(error)})"
        raise ProviderError(PROVIDER, message, permanent=True) from error
    # `verbose=False` alone lets warnings through to standard error.
    if not _silent:
        _silent.append(llama_cpp.llama_log_callback(lambda level, text, data: None))
        llama_cpp.llama_log_set(_silent[0], ctypes.c_void_p(0))
    found: Llama = runtime.run(
        PROVIDER,
        lambda: llama_cpp.Llama(
            str(path),
            embedding=True,
            n_ctx=max_tokens,
            # A model that looks both ways needs the whole text in one piece.
            n_batch=max_tokens,
            n_ubatch=max_tokens,
            n_threads=runtime.THREADS,
            n_threads_batch=runtime.THREADS,
            verbose=False,
        ),
        f"{path.name} cannot be loaded",
        permanent=True,
    )
    return found


def load(spec: Spec) -> LocalEmbedder[Machine]:
    """Make the model in the file `spec.path`; its family is told by `spec.model` or by the file's name.

    The first time it is loaded to learn its dimensions, later only for its first text. Raises ConfigError
    without a path, MissingExtra, ProviderError for a file that cannot be used.
    """
    path = local.location(spec, "a .gguf file")
    if find_spec("llama_cpp") is None:
        raise MissingExtra("the gguf provider", "gguf")
    name = spec.model or path.stem
    family = families.find(name)

    def reload() -> Machine:
        local.verify(PROVIDER, card)
        return Machine(path, min(card.context, MAX_TOKENS))

    shared = Shared(reload)

    def probe() -> Probed:
        machine = Machine(path, PROBE_TOKENS)
        return Probed(len(machine.vector("a")), machine.context)

    card = local.learn(PROVIDER, str(path), lambda: [path], probe)
    most, prefixes = min(card.context, MAX_TOKENS), (family.query, family.passage)
    traits = Traits(PROVIDER, name, family.scripts, most, *prefixes, SETTINGS)
    return LocalEmbedder(
        traits, card, shared, lambda machine, text, kind: machine.vector(text), spec.dimensions
    )
