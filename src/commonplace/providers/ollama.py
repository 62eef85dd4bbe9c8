"""An Ollama server as the keeper of models: which it has, and fetching another, with its progress.

Protocol: docs.ollama.com/api/tags, docs.ollama.com/api/pull.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.providers import refusals
from commonplace.providers.http import Endpoint
from commonplace.render import screen

PROVIDER = "ollama"
ADDRESS = "http://127.0.0.1:11434"
LIST_S = 10.0
SILENCE_S = 600.0  # a large file is checked without a word
_LONG_S = 1e6  # only silence ends a download
_MOST_BYTES = 1_000_000_000  # of progress


class Kept(NamedTuple):
    """A model that the server has: its name, bytes, and what it says of itself (`bert 22M F16`)."""

    name: str
    bytes: int
    about: str = ""


class OllamaServer(Endpoint):
    """An Ollama server; texts are embedded through `embedding.services`, not through this."""

    remedy = "start it with `ollama serve`"

    def __init__(self, base_url: str = "", key: Secret = NO_KEY) -> None:
        """Name its address, with or without `/v1`. Raises ProviderError for one that cannot be used."""
        super().__init__(PROVIDER, (base_url or ADDRESS).rstrip("/").removesuffix("/v1"), key)

    def models(self) -> list[Kept]:
        """Return the models that the server has. Raises ProviderError."""
        answer = self.get("api/tags", Deadline(LIST_S), attempts=1)
        models = []
        try:
            for row in answer["models"]:  # type: ignore[index]
                details = row.get("details") or {}
                about = (details.get(name) for name in ("family", "parameter_size", "quantization_level"))
                words = " ".join(map(str, filter(None, about)))
                models.append(Kept(str(row["name"]), int(row.get("size") or 0), words))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ProviderError(PROVIDER, f"{self.origin} lists no models") from error
        return models

    def pull(self, name: str, progress: Callable[[int, int], None]) -> Kept:
        """Let the server fetch a model; `progress` takes bytes done and to do. Raises ProviderError.

        What had come before an interruption the server keeps, and goes on from there.
        """
        sizes: dict[str, tuple[int, int]] = {}
        finished = False
        body = {"model": name, "stream": True}
        lines = self.lines("api/pull", body, Deadline(_LONG_S), _MOST_BYTES, silence_s=SILENCE_S)
        with closing(lines):
            for line in filter(None, lines):
                try:
                    step = json.loads(line)
                except (ValueError, RecursionError):
                    step = None
                if not isinstance(step, dict):
                    raise ProviderError(PROVIDER, f"{self.origin} does not speak Ollama's language")
                if step.get("error"):
                    said = screen.shorten(screen.one_line(str(step["error"])), refusals.MAX_REASON)
                    raise ProviderError(PROVIDER, f"{name} cannot be fetched ({said})", permanent=True)
                finished = step.get("status") == "success"
                if isinstance(step.get("total"), int) and step.get("digest"):
                    sizes[str(step["digest"])] = (int(step.get("completed") or 0), int(step["total"]))
                    done, total = map(sum, zip(*sizes.values(), strict=True))
                    progress(done, total)
        if not finished:
            raise ProviderError(PROVIDER, f"{self.origin} broke off; run it again, it goes on from there")
        whole = name if ":" in name else f"{name}:latest"
        return next((kept for kept in self.models() if kept.name == whole), Kept(name, 0))
