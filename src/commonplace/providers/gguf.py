"""Models in GGUF files of the owner, run by llama.cpp (extra `gguf`); nothing is downloaded.

A model that embeds: pooling is the file's own. llama.cpp takes one text at a time and keeps OpenMP threads
that belong to the thread which started them, so everything runs on one worker thread: callers queue there,
and a forked child, which has a worker of its own, does not wait for threads that stayed behind.

A language model: JSON is held to its schema by a grammar. One answer at a time, because llama.cpp's context
is not shared between threads. A deadline is kept between two tokens; the reading of the prompt cannot be
stopped.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.base import paths
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.providers import attempts, local, runtime
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding import families
from commonplace.providers.llm.base import Completion, Request
from commonplace.providers.llm.chat import Collector, Malformed
from commonplace.providers.local import LocalEmbedder, Traits
from commonplace.providers.refusals import TooLarge, Unanswered
from commonplace.render import screen

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats


# --- embedding models ----------------------------------------------------------------------------------

PROVIDER = "gguf"
MAX_TOKENS = 2048  # llama.cpp reserves memory for as many; a passage has about 60
PROBE_TOKENS = 16  # enough to learn how many the model reads
SETTINGS = ("llama.cpp", "no flash attention")
T = TypeVar("T")
_silent: list[Any] = []  # the callback that drops llama.cpp's log; it must live as long as the library


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
            vectors: list[float] | list[list[float]] = self._llama.embed(some, normalize=False, truncate=True)
            return vectors

        vector: Floats = np.asarray(self._there(embed), np.float32)
        if vector.ndim != 1:
            message = "the file names no pooling, so it gives no vector of a text; use an embedding model"
            raise ProviderError(PROVIDER, message, permanent=True)
        return vector

    def _there(self, work: Callable[[], T]) -> T:
        return runtime.run(PROVIDER, self._worker.submit(work).result)


def _open(path: Path, max_tokens: int) -> Any:  # noqa: ANN401 - a `llama_cpp.Llama`
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
    return runtime.run(
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


def load(spec: Spec) -> LocalEmbedder[Machine]:
    """Make the model in the file `spec.path`; its family follows from `spec.model` or from the file's name.

    Raises ConfigError without a path, MissingExtra, ProviderError for a file that cannot be used.
    """
    path = local.location(spec, "a .gguf file")
    if find_spec("llama_cpp") is None:
        raise MissingExtra("the gguf provider", "gguf")
    name = spec.model or path.stem
    family = families.find(name)
    return LocalEmbedder(
        Traits(PROVIDER, name, family.scripts, MAX_TOKENS, family.query, family.passage, SETTINGS),
        str(path),
        lambda: [path],
        # Without a card the model is opened to learn how many tokens it reads.
        lambda context: Machine(path, min(context or PROBE_TOKENS, MAX_TOKENS)),
        lambda machine, text, kind: machine.vector(text),
        spec.dimensions,
    )


# --- language models -----------------------------------------------------------------------------------


class GgufModel:
    """A model in this process, loaded when it is first asked."""

    provider = "gguf"
    calls_tools = False  # llama-cpp-python knows the calls of a few chat formats only

    def __init__(self, spec: Spec) -> None:
        """Find the file. Raises ConfigError."""
        self._path = Path(spec.path).expanduser()
        if not spec.path or not self._path.is_file():
            shown = paths.shown(spec.path) if spec.path else "unset"
            raise ConfigError("llm.path", f"{shown}; it must be a model file (.gguf)")
        self.name = spec.model or self._path.stem
        self._context = spec.context
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def fingerprint(self) -> str:
        """Name, size and time of the file, and the room it is given."""
        status = self._path.stat()
        file = f"{self._path.resolve()}:{status.st_size}:{status.st_mtime_ns}:{self._context}"
        return f"gguf:{self.name}:{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}"

    def answer(self, request: Request) -> Completion:
        """Answer a request. Raises ProviderError, MissingExtra."""
        return attempts.drained(self.stream(request))

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Yield the answer in pieces and return it whole. Raises ProviderError, MissingExtra."""
        if request.tools or request.logprobs:
            what = "call tools" if request.tools else "tell probabilities"
            raise ConfigError("llm.provider", f"gguf cannot {what}; choose another provider")
        deadline, collector = Deadline(request.deadline_s), Collector()
        if not self._lock.acquire(timeout=deadline.left_s()):
            raise ProviderError(self.provider, f"another answer took longer than {deadline.seconds:g} s")
        try:
            if self._loaded is None:
                self._loaded = self._load()
            for chunk in self._loaded.create_chat_completion(**options(request)):
                if piece := collector.add(chunk):
                    yield piece
                if not deadline.left_s():
                    raise Unanswered(self.provider, f"no answer within {round(deadline.seconds, 1):g} s")
        except Malformed as error:
            raise ProviderError(self.provider, str(error)) from error
        except (ValueError, RuntimeError, OSError) as error:  # llama-cpp-python raises these for everything
            said = screen.shorten(screen.one_line(str(error)), 200)
            kind = TooLarge if "context window" in said else ProviderError
            raise kind(self.provider, f"{self.name}: {said}", permanent=True) from error
        finally:
            self._lock.release()
        collector.model = self.name
        return collector.completion(request)

    def _load(self) -> Any:  # noqa: ANN401 - the library has no types
        try:
            import llama_cpp
        except ImportError as error:
            raise MissingExtra("a language model in this process", "gguf") from error
        return llama_cpp.Llama(str(self._path), n_ctx=self._context, verbose=False)


def options(request: Request) -> Mapping[str, Any]:
    """What llama.cpp is asked with: always in pieces, so that a deadline can be kept."""
    chosen: dict[str, Any] = {
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stream": True,
    }
    if request.schema is not None:
        chosen["response_format"] = {"type": "json_object", "schema": request.schema}
    return chosen
