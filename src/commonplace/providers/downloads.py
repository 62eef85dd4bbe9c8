"""Fetching models because the owner asked: into the user's cache, or by an Ollama server into its own.

Files are fetched by a process of their own: the library that does it can be neither hushed nor stopped, and
Ctrl-C should end it at once. What had come stays, and another attempt goes on from there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.base import installation
from commonplace.base.errors import CommonplaceError, ConfigError, ProviderError
from commonplace.providers import fastembed
from commonplace.providers.spec import Spec

Progress = Callable[[int, int], None]  # bytes that have come, bytes in all, about
_LOOK_S = 0.25
_PROGRAM = "import sys; from commonplace.providers import downloads; downloads.work(*sys.argv[1:])"


class Fetched(NamedTuple):
    """A model that is here now: its name, where it lies, its bytes, and whether it was here before."""

    model: str
    place: str
    bytes: int
    before: bool = False


def fetch(spec: Spec, progress: Progress) -> Fetched:
    """Fetch a model of fastembed, a reranker too, or of an Ollama server, or see that it is there.

    Raises ConfigError for another provider's or an unknown model, MissingExtra, ProviderError.
    """
    if spec.provider == fastembed.PROVIDER:
        named = spec.model.lower()
        ranks = named and named in (str(row["model"]).lower() for row in fastembed.table("reranking"))
        kind: fastembed.Kind = "reranking" if ranks else "embedding"
        return _fetch_files(fastembed.find(spec.model, kind), kind, progress)
    if spec.provider == "ollama":
        from commonplace.providers.ollama import OllamaServer

        server = OllamaServer(spec.base_url, spec.key)
        try:
            kept = server.pull(spec.model, progress)
        finally:
            server.close()
        return Fetched(kept.name, server.origin, kept.bytes)
    message = "only models of fastembed and of an Ollama server are fetched"
    raise ConfigError("models", f"{message}, not those of {spec.provider}")


def is_missing(spec: Spec) -> bool:
    """Whether a model has to be fetched first. Raises ConfigError for an unknown one, MissingExtra."""
    if spec.provider != fastembed.PROVIDER or spec.path:
        return False
    return not fastembed.is_here(fastembed.find(spec.model))


def work(kind: fastembed.Kind, name: str) -> None:
    """Fetch a model, in the process made for it, and print where it lies or what went wrong as JSON."""
    try:
        outcome = {"place": os.fspath(fastembed.download(name, kind))}
    except CommonplaceError as error:
        outcome = {"trouble": str(error)}
    print(json.dumps(outcome))


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder and those it links to, each file once."""
    sizes: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):  # which passes over folders that vanish while it looks
        for name in names:
            with suppress(OSError):  # so do files
                state = os.stat(os.path.join(parent, name))
                sizes[state.st_dev, state.st_ino] = state.st_size
    return sum(sizes.values())


def _fetch_files(row: Mapping[str, Any], kind: fastembed.Kind, progress: Progress) -> Fetched:
    """Fetch the model of a row in a process of its own, which ends with this one. Raises ProviderError."""
    name, total, folder = str(row["model"]), int(float(row["size_in_GB"]) * 1e9), fastembed.cache_of(row)
    before = fastembed.is_here(row)
    environ = {**installation.environment(), "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    command = installation.python("-c", _PROGRAM, kind, name)
    nobody = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=nobody, stdout=subprocess.PIPE, stderr=nobody, env=environ
    ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=_LOOK_S)
                    break
                if not before:
                    progress(min(size_of(folder), total), total)
        finally:
            process.kill()
            process.wait()
    if not before:
        progress(total, total)
    try:
        result = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError):
        result = None
    if not isinstance(result, dict) or "place" not in result:
        trouble = isinstance(result, dict) and result.get("trouble")
        message = str(trouble or f"{name} cannot be fetched; run it again")
        raise ProviderError(fastembed.PROVIDER, message.removeprefix(f"{fastembed.PROVIDER}: "))
    return Fetched(name, result["place"], size_of(Path(result["place"])), before)
