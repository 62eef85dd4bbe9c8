"""A model file in this process, by llama.cpp (extra `gguf`); JSON is held to its schema by a grammar.

One answer at a time: llama.cpp's context is not shared between threads. A deadline is kept between two
tokens; the reading of the prompt cannot be stopped.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from commonplace.base import paths
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.providers import attempts
from commonplace.providers.llm.base import Completion, Request
from commonplace.providers.llm.chat import Collector, Malformed
from commonplace.providers.refusals import TooLarge, Unanswered
from commonplace.providers.spec import Spec
from commonplace.render import screen


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
