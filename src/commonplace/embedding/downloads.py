"""Fetching models because the owner asked: into our own cache, or by an Ollama server into its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from commonplace.embedding import fastembed
from commonplace.embedding.base import Spec
from commonplace.errors import ConfigError

Told = Callable[[int, int], None]  # bytes that have come, bytes in all, about
_LOOK_S = 0.25


class Fetched(NamedTuple):
    """A model that is here now: its name, where it lies, and how many bytes it takes."""

    model: str
    place: str
    bytes: int


def fetch(spec: Spec, told: Told) -> Fetched:
    """Fetch a model of fastembed or of an Ollama server, or see that it is there.

    Raises ConfigError for another provider's or an unknown model, MissingExtra, ProviderError.
    """
    if spec.provider == fastembed.PROVIDER:
        return _fetch_files(spec, told)
    if spec.provider == "ollama":
        from commonplace.embedding.ollama_server import OllamaServer

        server = OllamaServer(spec.base_url, spec.key)
        try:
            kept = server.pull(spec.model, told)
        finally:
            server.close()
        return Fetched(kept.name, server.origin, kept.bytes)
    message = "only models of fastembed and of an Ollama server are fetched"
    raise ConfigError("models", f"{message}, not those of {spec.provider}")


def _fetch_files(spec: Spec, told: Told) -> Fetched:
    row = fastembed.find(spec.model or fastembed.MODEL)
    if fastembed.is_here(row):
        place = fastembed.download(spec)
    else:
        total = int(float(row["size_in_GB"]) * 1e9)
        with _watched(fastembed.cache_of(row), lambda done: told(min(done, total), total)):
            place = fastembed.download(spec)
        told(total, total)
    return Fetched(str(row["model"]), os.fspath(place), size_of(place))


@contextmanager
def _watched(folder: Path, told: Callable[[int], None]) -> Iterator[None]:
    """Tell how large a folder has become while the block runs; the library that fills it tells nobody."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            told(size_of(folder))

    thread = threading.Thread(target=look, name="commonplace-download", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder and those it links to, each file once."""
    seen: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        with suppress(OSError):  # renamed while we look
            if path.is_file():
                state = path.stat()
                seen[state.st_dev, state.st_ino] = state.st_size
    return sum(seen.values())
