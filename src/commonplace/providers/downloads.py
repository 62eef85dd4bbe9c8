"""The models that providers offer, and fetching one because the owner asked.

One is fetched into the user's cache, or by an Ollama server (docs.ollama.com/api) into its own.
A provider's own list of models is shown where it has one, else those that are known by name.

Files are fetched by a process of their own: the library that does it can be neither hushed nor stopped, and
Ctrl-C should end it at once. What had come stays, and another attempt goes on from there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from commonplace.base import installation
from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError, ConfigError, ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.providers import fastembed, refusals, services
from commonplace.providers.catalog import EMBEDDERS, LLMS, Spec
from commonplace.providers.http import Endpoint
from commonplace.render import screen

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
        with closing(OllamaServer(spec.base_url, spec.key)) as server:
            return Fetched(*server.pull(spec.model, progress))
    message = "only models of fastembed and of an Ollama server are fetched"
    raise ConfigError("models", f"{message}, not those of {spec.provider}")


def is_missing(spec: Spec) -> bool:
    """Tell whether a model has to be fetched first. Raises ConfigError for an unknown one, MissingExtra."""
    if spec.provider != fastembed.PROVIDER:
        return False
    return not fastembed.is_here(fastembed.find(spec.model))


def work(kind: fastembed.Kind, name: str) -> None:
    """Fetch a model, in the process made for it; on failure print the reason and exit with 1."""
    try:
        fastembed.download(name, kind)
    except CommonplaceError as error:
        print(str(error).removeprefix(f"{fastembed.PROVIDER}: "))
        sys.exit(1)


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
    name, total, folder = str(row["model"]), _size(row), fastembed.cache_of(row)
    if place := fastembed.place(row):
        return Fetched(name, str(place), size_of(place), True)
    environ = {**installation.environment(), "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    command = installation.python("-c", _PROGRAM, kind, name)
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=null, stdout=subprocess.PIPE, stderr=null, env=environ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=_LOOK_S)
                    break
                progress(min(size_of(folder), total), total)
        finally:
            process.kill()
            process.wait()
    place = fastembed.place(row)
    if process.returncode or place is None:
        reason = output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ProviderError(fastembed.PROVIDER, reason or f"{name} cannot be fetched; run it again")
    progress(total, total)
    return Fetched(name, str(place), size_of(place))


# --- what providers offer ------------------------------------------------------------------------------


class Offer(NamedTuple):
    """A model of a provider.

    `dimensions` and `bytes` are 0 where they are not known; `about` is its provider's description, or the
    scripts that it serves. `here` says whether it is on this machine or its server, None where that does not
    apply.
    """

    model: str
    dimensions: int = 0
    bytes: int = 0
    about: str = ""
    here: bool | None = None
    suggested: bool = False


def offers(spec: Spec) -> tuple[Offer, ...]:
    """Return the models of an embedding provider, suggested ones and those that are here first.

    Asks the server where there is one of the owner's (`ollama`, `compatible`). Raises ConfigError,
    MissingExtra, ProviderError.
    """
    provider = spec.provider
    suggested = services.models(provider, "suggested")
    if provider == "fastembed":
        models = [
            Offer(
                str(row["model"]),
                int(row["dim"]),
                _size(row),
                str(row["description"]),
                fastembed.is_here(row),
            )
            for row in fastembed.table()
        ]
    elif provider == "ollama":
        with closing(OllamaServer(spec.base_url, spec.key)) as server:
            here = {name.removesuffix(":latest"): size for name, size in server.models().items()}
        models = [_known(name, here=True)._replace(bytes=size) for name, size in here.items()]
        models += [_known(name, here=False) for name in suggested if name not in here]
    elif provider == "compatible":
        if not spec.base_url:
            message = "the compatible provider needs one to list its models"
            raise ConfigError("embedding.base_url", message)
        models = [_known(name, here=True) for name in _served(provider, spec.base_url, spec.key)]
    else:
        names = dict.fromkeys((EMBEDDERS.find(provider).model, *services.models(provider)))
        models = [_known(name) for name in names if name]
    models = [offer._replace(suggested=offer.model in suggested) for offer in models]
    return tuple(sorted(models, key=lambda offer: (not offer.suggested, not offer.here, offer.model.lower())))


def llm_offers(spec: Spec) -> tuple[str, ...]:
    """Ask a provider for the names of its language models, sorted.

    A provider without an address has its default alone. Raises ConfigError, ProviderError.
    """
    row = LLMS.find(spec.provider)
    base_url = spec.base_url or row.base_url
    if base_url:
        return tuple(sorted(_served(row.name, base_url, LLMS.key(spec))))
    if spec.provider == "compatible":
        raise ConfigError("llm.base_url", "the compatible provider needs one to list its models")
    return (row.model,) if row.model else ()


def _served(provider: str, base_url: str, key: Secret) -> list[str]:
    """The models that a server lists in OpenAI's form."""
    with closing(Endpoint(provider, base_url, key)) as endpoint:
        answer = endpoint.get("models", Deadline(LIST_S), attempts=1)
    try:
        return [str(row["id"]) for row in answer["data"]]  # type: ignore[index]
    except (KeyError, TypeError) as error:
        raise ProviderError(provider, "the server lists no models") from error


def _known(name: str, *, here: bool | None = None) -> Offer:
    family = services.family(name)
    scripts = "" if family is services.UNKNOWN else ", ".join(sorted(family.scripts, reverse=True))
    return Offer(name, family.dimensions, about=scripts, here=here)


def _size(row: Mapping[str, Any]) -> int:
    """The bytes of a model of fastembed's, about."""
    return int(float(row["size_in_GB"]) * 1e9)


# --- an Ollama server ----------------------------------------------------------------------------------

PROVIDER = "ollama"
ADDRESS = "http://127.0.0.1:11434"
LIST_S = 10.0
SILENCE_S = 600.0  # a large file is checked without a word
_LONG_S = 1e6  # only silence ends a download
_MOST_BYTES = 1_000_000_000  # of progress


class OllamaServer(Endpoint):
    """An Ollama server; embeddings come from `embedding.remote`."""

    remedy = "start it with `ollama serve`"

    def __init__(self, base_url: str = "", key: Secret = NO_KEY) -> None:
        """Name its address, with or without `/v1`. Raises ProviderError for one that cannot be used."""
        super().__init__(PROVIDER, (base_url or ADDRESS).rstrip("/").removesuffix("/v1"), key)

    def models(self) -> dict[str, int]:
        """Return the models that the server has, with their bytes. Raises ProviderError."""
        answer = self.get("api/tags", Deadline(LIST_S), attempts=1)
        try:
            return {str(row["name"]): int(row.get("size") or 0) for row in answer["models"]}  # type: ignore[index]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ProviderError(PROVIDER, f"{self.origin} lists no models") from error

    def pull(self, name: str, progress: Progress) -> tuple[str, str, int]:
        """Let the server fetch a model; return its whole name, the server and its bytes.

        After an interruption the server continues with the bytes that it has. Raises ProviderError.
        """
        sizes: dict[str, tuple[int, int]] = {}
        finished = False
        body = {"model": name, "stream": True}
        lines = self.lines("api/pull", body, Deadline(_LONG_S), _MOST_BYTES, silence_s=SILENCE_S)
        with closing(lines):
            for line in filter(None, lines):
                step = self._step(line, name)
                finished = step.get("status") == "success"
                if isinstance(step.get("total"), int) and step.get("digest"):
                    sizes[str(step["digest"])] = (int(step.get("completed") or 0), int(step["total"]))
                    done, total = map(sum, zip(*sizes.values(), strict=True))
                    progress(done, total)
        if not finished:
            raise ProviderError(PROVIDER, f"{self.origin} broke off; run it again, it goes on from there")
        whole = name if ":" in name else f"{name}:latest"
        return whole, self.origin, self.models().get(whole, 0)

    def _step(self, line: bytes, name: str) -> dict[str, Any]:
        """One line of the progress of a download. Raises ProviderError for one that reports a failure."""
        step = None
        with suppress(ValueError, RecursionError):
            step = json.loads(line)
        if not isinstance(step, dict):
            raise ProviderError(PROVIDER, f"{self.origin} does not speak Ollama's language")
        if step.get("error"):
            reason = screen.shorten(screen.one_line(str(step["error"])), refusals.MAX_REASON)
            raise ProviderError(PROVIDER, f"{name} cannot be fetched ({reason})", permanent=True)
        return step
