"""Batch interfaces of providers: files of requests go up, and files of vectors come down hours later.

Protocols: platform.openai.com/docs/guides/batch, docs.voyageai.com/docs/batch-inference and
ai.google.dev/gemini-api/docs/batch-api (asyncBatchEmbedContent). Each request holds one text, under a key of
ours; answers come in any order.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import quote, urlsplit

from commonplace import screen
from commonplace.deadline import Deadline
from commonplace.embedding import gemini, voyage
from commonplace.embedding.openai import vectors
from commonplace.embedding.remote import Call
from commonplace.errors import ProviderError
from commonplace.transport import Endpoint

MAX_RESULT_BYTES = 4_000_000_000
# Whatever else is said, or nothing, is a batch that runs: one forgotten too early would be paid twice.
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_SUCCEEDED, _ENDED = "SUCCEEDED", frozenset({"FAILED", "CANCELLED", "EXPIRED"})


@dataclass(frozen=True, slots=True)
class Status:
    """How far a batch is. What a failed one has done lies in its files as well; `said` is why it failed."""

    state: Literal["running", "done", "failed"]
    files: tuple[str, ...] = ()
    said: str = ""


class Jobs(Protocol):
    """A provider's batches. `max_requests` and `max_bytes` bound one; all methods may raise ProviderError."""

    max_requests: int
    max_bytes: int

    def line(self, key: str, text: str) -> bytes:
        """Return the line of the file that asks for one text's vector."""

    def submit(self, lines: Sequence[bytes], deadline: Deadline) -> str:
        """Upload lines, start a batch of them, and return its name."""

    def status(self, name: str, deadline: Deadline) -> Status:
        """Return how far a batch is."""

    def results(self, status: Status, deadline: Deadline) -> Iterator[tuple[str, object]]:
        """Yield the key and the vector of each request, None where it failed."""


class FileJobs:
    """Batches as OpenAI has them, and Voyage with other fields."""

    max_requests = 50_000
    max_bytes = 100_000_000  # 200 MB (OpenAI) and 1 GB (Voyage) are allowed

    def __init__(self, endpoint: Endpoint, call: Call) -> None:
        """Prepare for one model and kind; `call` has no inputs."""
        self._endpoint = endpoint
        self._call = call
        self._voyage = endpoint.provider == "voyage"

    def line(self, key: str, text: str) -> bytes:
        """Return the line of the file that asks for one text's vector."""
        if self._voyage:
            return _json({"custom_id": key, "body": {"input": [text]}})
        body: dict[str, object] = {"model": self._call.model, "input": text, "encoding_format": "base64"}
        if self._call.dimensions:
            body["dimensions"] = self._call.dimensions
        return _json({"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body})

    def submit(self, lines: Sequence[bytes], deadline: Deadline) -> str:
        """Upload lines, start a batch of them, and return its name. Raises ProviderError."""
        boundary = secrets.token_hex(16)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        answer = self._endpoint.send("POST", "files", deadline, _form(boundary, lines), headers)
        body: dict[str, object] = {
            "input_file_id": _text(self._endpoint, answer_of(self._endpoint.parse(answer)), "id"),
            "endpoint": "/v1/embeddings",
            "completion_window": "12h" if self._voyage else "24h",
        }
        if self._voyage:
            body["request_params"] = voyage.settings(self._call)
        return _text(self._endpoint, _started(self._endpoint, "batches", body, deadline), "id")

    def status(self, name: str, deadline: Deadline) -> Status:
        """Return how far a batch is. Raises ProviderError."""
        found = answer_of(self._endpoint.get(f"batches/{quote(name, safe='')}", deadline))
        state = found.get("status")
        if state not in _OVER:
            return Status("running")
        # The file of errors is not needed: what brings no vector is asked for again.
        files = (str(found["output_file_id"]),) if found.get("output_file_id") else ()
        said = "" if state == "completed" else f"the batch is {state}{_why(found.get('errors'))}"
        return Status("failed" if said else "done", files, said)

    def results(self, status: Status, deadline: Deadline) -> Iterator[tuple[str, object]]:
        """Yield the key and the vector of each request, None where it failed. Raises ProviderError."""
        for name in status.files:
            for found in _lines(self._endpoint, f"files/{quote(name, safe='')}/content", deadline):
                vector: object = None
                with suppress(KeyError, TypeError, IndexError, ValueError, AttributeError):
                    vector = vectors(found["response"]["body"])[0]
                yield str(found.get("custom_id")), vector


class GeminiJobs:
    """Batches of Gemini."""

    max_requests = 50_000
    max_bytes = 100_000_000  # 2 GB are allowed

    def __init__(self, endpoint: Endpoint, call: Call) -> None:
        """Prepare for one model and kind; `call` has no inputs."""
        self._endpoint = endpoint
        self._call = call
        path = urlsplit(endpoint.base_url).path
        self._upload, self._download = (f"{endpoint.origin}/{verb}{path}" for verb in ("upload", "download"))

    def line(self, key: str, text: str) -> bytes:
        """Return the line of the file that asks for one text's vector."""
        return _json({"key": key, "request": gemini.request(self._call, text)})

    def submit(self, lines: Sequence[bytes], deadline: Deadline) -> str:
        """Upload lines, start a batch of them, and return its name. Raises ProviderError."""
        name = _text(self._endpoint, self._uploaded(b"".join(lines), deadline), "name")
        path = f"{gemini.resource(self._call.model)}:asyncBatchEmbedContent"
        body = {"batch": {"displayName": "commonplace", "inputConfig": {"fileName": name}}}
        return _text(self._endpoint, _started(self._endpoint, path, body, deadline), "name")

    def status(self, name: str, deadline: Deadline) -> Status:
        """Return how far a batch is. Raises ProviderError."""
        found = answer_of(self._endpoint.get(quote(name, safe="/"), deadline))
        metadata = answer_of(found.get("metadata"))
        state = str(metadata.get("state")).rpartition("_")[2]  # BATCH_STATE_FAILED, JOB_STATE_FAILED
        failed = state in _ENDED or bool(found.get("error"))
        if not failed and state != _SUCCEEDED:
            return Status("running")
        places = (answer_of(found.get("response")), answer_of(metadata.get("output")))
        files = [str(place["responsesFile"]) for place in places if place.get("responsesFile")]
        ended = state.lower() if state in _ENDED else "failed"
        said = f"the batch is {ended}{_why(found.get('error'))}" if failed else ""
        return Status("failed" if failed else "done", tuple(files[:1]), said)

    def results(self, status: Status, deadline: Deadline) -> Iterator[tuple[str, object]]:
        """Yield the key and the vector of each request, None where it failed. Raises ProviderError."""
        for name in status.files:
            address = f"{self._download}/{quote(name, safe='/')}:download?alt=media"
            for found in _lines(self._endpoint, address, deadline):
                embedding = answer_of(answer_of(found.get("response")).get("embedding"))
                yield str(found.get("key")), embedding.get("values")

    def _uploaded(self, content: bytes, deadline: Deadline) -> dict[str, Any]:
        """Upload in the two steps of Google's resumable protocol; return what the file is."""
        start = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(len(content)),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            "Content-Type": "application/json",
        }
        about = _json({"file": {"displayName": "commonplace"}})
        address = self._endpoint.send("POST", f"{self._upload}/files", deadline, about, start).headers
        finish = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
        target = _text(self._endpoint, dict(address), "x-goog-upload-url")
        answer = self._endpoint.send("POST", target, deadline, content, finish)
        return answer_of(answer_of(self._endpoint.parse(answer)).get("file"))


def answer_of(value: object) -> dict[str, Any]:
    """Return an answer that is an object, and an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _why(told: object) -> str:
    """What an ended batch says about its end: `{"data": [{"message": …}]}` or `{"message": …}`, one line."""
    listed = answer_of(told).get("data")
    first = answer_of(listed[0] if isinstance(listed, list) and listed else told)
    message = first.get("message")
    return (
        f": {screen.shorten(screen.one_line(message), 200)}" if isinstance(message, str) and message else ""
    )


def _started(endpoint: Endpoint, path: str, body: object, deadline: Deadline) -> dict[str, Any]:
    """Start a batch, asked for once: the answer may be lost when the batch runs, and two would be paid."""
    headers = {"Content-Type": "application/json"}
    answer = endpoint.send("POST", path, deadline, _json(body), headers, attempts=1)
    return answer_of(endpoint.parse(answer))


def _text(endpoint: Endpoint, answer: dict[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value:
        raise ProviderError(endpoint.provider, f"the answer has no {name}")
    return value


def _json(value: object) -> bytes:
    """One line; text as UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _form(boundary: str, lines: Sequence[bytes]) -> bytes:
    """A form with the file of requests (RFC 7578)."""
    start = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return b"".join([start.encode(), *lines, f"\r\n--{boundary}--\r\n".encode()])


def _lines(endpoint: Endpoint, path: str, deadline: Deadline) -> Iterator[dict[str, Any]]:
    """Download a file of results to disk, and read it line by line; what is no object is left out."""
    with tempfile.TemporaryFile(prefix="commonplace-") as file:
        endpoint.download(path, deadline, file, MAX_RESULT_BYTES)
        file.seek(0)
        for line in file:
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                yield found
