"""Fetching models because the owner asked: into our own cache, or by an Ollama server into its own.

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

from commonplace import installation
from commonplace.embedding import fastembed
from commonplace.embedding.base import Spec
from commonplace.errors import CommonplaceError, ConfigError, ProviderError

Told = Callable[[int, int], None]  # bytes that have come, bytes in all, about
_LOOK_S = 0.25
_PROGRAM = "import sys; from commonplace.embedding import downloads; downloads.work(sys.argv[1])"


class Fetched(NamedTuple):
    """A model that is here now: its name, where it lies, its bytes, and whether it was here before."""

    model: str
    place: str
    bytes: int
    before: bool = False


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


def is_missing(spec: Spec) -> bool:
    """Whether a model has to be fetched first. Raises ConfigError for an unknown one, MissingExtra."""
    if spec.provider != fastembed.PROVIDER or spec.path:
        return False
    return not fastembed.is_here(fastembed.find(spec.model or fastembed.MODEL))


def work(name: str) -> None:
    """Fetch a model of fastembed, in the process made for it, and print what became of it as JSON."""
    report(lambda: fastembed.download(Spec(fastembed.PROVIDER, name)))


def report(download: Callable[[], Path]) -> None:
    """Fetch a model, in the process made for it, and print where it lies or what went wrong as JSON."""
    try:
        told = {"place": os.fspath(download())}
    except CommonplaceError as error:
        told = {"trouble": str(error)}
    print(json.dumps(told))


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder and those it links to, each file once."""
    seen: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):  # which passes over folders that vanish while we look
        for name in names:
            with suppress(OSError):  # so do files
                state = os.stat(os.path.join(parent, name))
                seen[state.st_dev, state.st_ino] = state.st_size
    return sum(seen.values())


def _fetch_files(spec: Spec, told: Told) -> Fetched:
    return fetch_files(fastembed.find(spec.model or fastembed.MODEL), told, _PROGRAM)


def fetch_files(row: Mapping[str, Any], told: Told, program: str) -> Fetched:
    """Fetch the model of a row of fastembed's by a program of Python, run in a process of its own.

    The program gets the model's name and prints what became of it as JSON. Raises ProviderError.
    """
    name, total, folder = str(row["model"]), int(float(row["size_in_GB"]) * 1e9), fastembed.cache_of(row)
    before = fastembed.is_here(row)

    def look() -> None:
        if not before:
            told(min(size_of(folder), total), total)

    result = _in_a_process(program, name, look)
    if not before:
        told(total, total)
    if "place" not in result:
        trouble = str(result.get("trouble") or f"{name} cannot be fetched; run it again")
        raise ProviderError(fastembed.PROVIDER, trouble.removeprefix(f"{fastembed.PROVIDER}: "))
    return Fetched(name, result["place"], size_of(Path(result["place"])), before)


def _in_a_process(program: str, name: str, look: Callable[[], None]) -> dict[str, str]:
    """Run a program in a process of its own, looking now and then; whatever ends this ends that."""
    environ = {**installation.environment(), "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    command = installation.python("-c", program, name)
    nobody = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=nobody, stdout=subprocess.PIPE, stderr=nobody, env=environ
    ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    said, _ = process.communicate(timeout=_LOOK_S)
                    break
                look()
        finally:
            process.kill()
            process.wait()
    try:
        found = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        found = {}
    return found if isinstance(found, dict) else {}
