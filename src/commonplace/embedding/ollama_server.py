"""An Ollama server as the keeper of models: which it has, and fetching another, told as it comes.

Protocol: docs.ollama.com/api/tags, docs.ollama.com/api/pull.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, NamedTuple

from commonplace import refusals, screen
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.deadline import Deadline
from commonplace.errors import ProviderError
from commonplace.transport import CONNECT_S, MAX_ERROR_BYTES, Endpoint

PROVIDER = "ollama"
ADDRESS = "http://127.0.0.1:11434"
LIST_S = 10.0
SILENCE_S = 600.0  # a large file is checked without a word
_LATEST = ":latest"


class Kept(NamedTuple):
    """A model that the server has: its name, bytes, and what it says of itself (`bert 22M F16`)."""

    name: str
    bytes: int
    about: str = ""


class OllamaServer(Endpoint):
    """An Ollama server; texts are embedded through `ollama.OLLAMA`, not through this."""

    def __init__(self, base_url: str = "", key: Secret = NO_KEY) -> None:
        """Name its address, with or without `/v1`. Raises ProviderError for one that cannot be used."""
        super().__init__(PROVIDER, (base_url or ADDRESS).rstrip("/").removesuffix("/v1"), key)

    def models(self) -> list[Kept]:
        """Return the models that the server has. Raises ProviderError."""
        answer = self.parse(self.send("GET", "api/tags", Deadline(LIST_S), attempts=1))
        try:
            found = answer["models"]  # type: ignore[index]
            return [_kept(row) for row in found]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ProviderError(PROVIDER, f"{self.origin} lists no models") from error

    def pull(self, name: str, told: Callable[[int, int], None]) -> Kept:
        """Let the server fetch a model; `told` hears bytes done and to do. Raises ProviderError.

        What had come before an interruption the server keeps, and goes on from there.
        """
        sizes: dict[str, tuple[int, int]] = {}
        finished = False
        with closing(self._steps({"model": name, "stream": True})) as steps:
            for step in steps:
                _check(name, step)
                finished = step.get("status") == "success"
                if isinstance(step.get("total"), int) and step.get("digest"):
                    sizes[str(step["digest"])] = (int(step.get("completed") or 0), int(step["total"]))
                    told(sum(done for done, _ in sizes.values()), sum(total for _, total in sizes.values()))
        if not finished:
            raise ProviderError(PROVIDER, f"{self.origin} broke off; run it again, it goes on from there")
        wanted = name if ":" in name else name + _LATEST
        return next((kept for kept in self.models() if kept.name == wanted), Kept(name, 0))

    def _steps(self, body: object) -> Generator[dict[str, Any], None, None]:
        """The JSON lines of an answer, as they come; no deadline but for silence."""
        import httpx

        timeout = httpx.Timeout(SILENCE_S, connect=CONNECT_S)
        try:
            with self._opened().stream(
                "POST", f"{self.base_url}/api/pull", json=body, headers=self._credentials(), timeout=timeout
            ) as response:
                if not response.is_success:
                    said = b"".join(response.iter_bytes())[:MAX_ERROR_BYTES]
                    raise refusals.translate(
                        PROVIDER, response.status_code, response.headers, said, self._key
                    )
                for line in filter(None, response.iter_lines()):
                    yield self._step(line)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ProviderError:
        told = str(super()._unreachable(error)).removeprefix(f"{PROVIDER}: ")
        return ProviderError(PROVIDER, f"{told}; start it with `ollama serve`")

    def _step(self, line: str) -> dict[str, Any]:
        try:
            step = json.loads(line)
        except (ValueError, RecursionError):
            step = None
        if not isinstance(step, dict):
            raise ProviderError(PROVIDER, f"{self.origin} does not speak Ollama's language")
        return step


def _check(name: str, step: dict[str, Any]) -> None:
    """Raise ProviderError for a step that tells of an error."""
    if step.get("error"):
        said = screen.shorten(screen.one_line(str(step["error"])), refusals.MAX_REASON)
        raise ProviderError(PROVIDER, f"{name} cannot be fetched ({said})", permanent=True)


def _kept(row: dict[str, Any]) -> Kept:
    details = row.get("details") or {}
    about = (details.get(name) for name in ("family", "parameter_size", "quantization_level"))
    return Kept(str(row["name"]), int(row.get("size") or 0), " ".join(map(str, filter(None, about))))
