"""Many passages through the batch API of OpenAI or Gemini: half the price, within a day.

Each request of a batch holds one text under its own key, and results come in any order. A batch is recorded
before the wait, so that a later process takes its results instead of paying twice. The caller
embeds directly what a batch refuses or leaves out.

Protocols: platform.openai.com/docs/guides/batch and ai.google.dev/gemini-api/docs/batch-api
(asyncBatchEmbedContent).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import quote, urlsplit

from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError, ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.providers import services
from commonplace.providers.embedding.remote import RemoteEmbedder
from commonplace.providers.guard import Watcher, unwatched
from commonplace.providers.http import as_dict

if TYPE_CHECKING:
    from commonplace.providers.costs import Ledger
    from commonplace.providers.embedding.base import Floats

MAX_REQUESTS, MAX_RESULT_BYTES = 5000, 10**9  # of a batch; OpenAI takes 50,000, a result has up to 60 kB
PATIENCE_S, FIRST_LOOK_S, LONGEST_PAUSE_S = 3600.0, 2.0, 60.0
FORGOTTEN_S = 3 * 86_400.0  # older batches are not looked at
TRANSFER_S, LOOK_S = 900.0, 60.0
_OVER = frozenset({"completed", "succeeded", "failed", "expired", "cancelled"})


class StillWorking(CommonplaceError):
    """Time is up while batches are under way; a later call takes their results."""


class Store(NamedTuple):
    """The batches of the last three days, in a ledger: names and digests of texts, no text and no key.

    Methods raise NoteUnreadable.
    """

    ledger: Ledger

    def read(self) -> dict[str, set[str]]:
        """Return the keys of the texts of each batch under way, by its name, oldest first."""
        query = "SELECT name, texts FROM jobs WHERE started > ? ORDER BY started, name"
        rows = self.ledger.rows(query, (time.time() - FORGOTTEN_S,))
        return {name: set(keys.split()) for name, keys in rows}

    def put(self, name: str, keys: Iterable[str]) -> None:
        """Record a batch."""
        self._write("INSERT OR REPLACE INTO jobs VALUES(?, ?, ?)", name, time.time(), " ".join(keys))

    def remove(self, name: str) -> None:
        """Delete the record of a batch, and those of the old ones."""
        self._write("DELETE FROM jobs WHERE name = ? OR started <= ?", name, time.time() - FORGOTTEN_S)

    def _write(self, statement: str, *row: object) -> None:
        with self.ledger.database.transaction() as connection:
            connection.execute(statement, row)


class OpenAIBatches:
    """The batch API of OpenAI for one model. Methods raise ProviderError."""

    def __init__(self, model: RemoteEmbedder) -> None:
        """Prepare; no request is made."""
        self.endpoint, self.service = model.endpoint, model.service
        self.model, self.dimensions = model.model, model.requested_dimensions

    def line(self, key: str, text: str) -> object:
        """Return the line of the request file for one text."""
        body = self.service.body(self.model, (), "passage", self.dimensions) | {"input": text}
        return {"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body}

    def submit(self, lines: bytes, deadline: Deadline) -> str:
        """Upload lines as a form (RFC 7578), start a batch and return its name."""
        boundary = secrets.token_hex(16)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        start = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        form = start.encode() + lines + f"\r\n--{boundary}--\r\n".encode()
        uploaded = self.endpoint.parse(self.endpoint.send("POST", "files", deadline, form, headers))
        body = {"endpoint": "/v1/embeddings", "completion_window": "24h"}
        body["input_file_id"] = self.named(uploaded, "id")
        # In one attempt, since it may run though the answer is lost.
        return self.named(self.endpoint.post("batches", body, deadline, attempts=1), "id")

    def named(self, answer: object, field: str) -> str:
        """Return the name that an answer must hold."""
        value = as_dict(answer).get(field)
        if not isinstance(value, str) or not value:
            raise ProviderError(self.endpoint.provider, f"the answer to a batch holds no {field}")
        return value

    def status(self, name: str, deadline: Deadline) -> tuple[bool, str]:
        """Return whether a batch is over, and the path of its file of results, which may be empty."""
        batch = as_dict(self.endpoint.get(f"batches/{quote(name, safe='')}", deadline))
        file = quote(str(batch.get("output_file_id") or ""), safe="")
        return batch.get("status") in _OVER, file and f"files/{file}/content"

    def result(self, row: Any) -> tuple[str, object]:  # noqa: ANN401 - JSON
        """Return the key and the vector of a line of results."""
        return str(row["custom_id"]), self.service.vectors(row["response"]["body"])[0]

    def results(self, path: str, deadline: Deadline) -> Iterator[tuple[str, object]]:
        """Yield the keys and vectors in a file of results, without requests that failed."""
        answer = self.endpoint.send("GET", path, deadline, max_bytes=MAX_RESULT_BYTES)
        for line in answer.body.splitlines():
            with suppress(KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError):
                yield self.result(json.loads(line))


class GeminiBatches(OpenAIBatches):
    """The batch API of Gemini for one model."""

    def line(self, key: str, text: str) -> object:
        """Return the line of the request file for one text."""
        return {"key": key, "request": services.gemini_request(self.model, text, "passage", self.dimensions)}

    def submit(self, lines: bytes, deadline: Deadline) -> str:
        """Upload lines in the two steps of Google's resumable protocol, and start a batch."""
        start = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(len(lines)),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            "Content-Type": "application/json",
        }
        about, place = b'{"file": {"displayName": "commonplace"}}', f"{self._at('upload')}/files"
        headers = self.endpoint.send("POST", place, deadline, about, start).headers
        target = self.named(dict(headers), "x-goog-upload-url")
        finish = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
        answer = self.endpoint.parse(self.endpoint.send("POST", target, deadline, lines, finish))
        file = self.named(as_dict(answer).get("file"), "name")
        body = {"batch": {"displayName": "commonplace", "inputConfig": {"fileName": file}}}
        path = f"{services.gemini_resource(self.model)}:asyncBatchEmbedContent"
        return self.named(self.endpoint.post(path, body, deadline, attempts=1), "name")

    def status(self, name: str, deadline: Deadline) -> tuple[bool, str]:
        """Return whether a batch is over, and the path of its file of results, which may be empty."""
        batch = as_dict(self.endpoint.get(quote(name, safe="/"), deadline))
        metadata = as_dict(batch.get("metadata"))
        state = str(metadata.get("state")).rpartition("_")[2].lower()  # BATCH_STATE_FAILED, JOB_STATE_FAILED
        places = as_dict(batch.get("response")) or as_dict(metadata.get("output"))
        file = quote(str(places.get("responsesFile") or ""))
        path = file and f"{self._at('download')}/{file}:download?alt=media"
        return state in _OVER or bool(batch.get("error")), path

    def result(self, row: Any) -> tuple[str, object]:  # noqa: ANN401 - JSON
        """Return the key and the vector of a line of results."""
        return str(row["key"]), row["response"]["embedding"]["values"]

    def _at(self, verb: str) -> str:
        return f"{self.endpoint.origin}/{verb}{urlsplit(self.endpoint.base_url).path}"


_APIS = {"openai": OpenAIBatches, "gemini": GeminiBatches}


def supports(model: object) -> TypeGuard[RemoteEmbedder]:
    """Tell whether a model's provider has a batch API that is known here."""
    return isinstance(model, RemoteEmbedder) and model.service.name in _APIS


def embed_each(
    model: RemoteEmbedder, store: Store, texts: Sequence[str], watcher: Watcher = unwatched
) -> Iterator[tuple[list[int], Floats]]:
    """Embed passages by batches of a model that `supports` accepts: yield places of texts and unit rows.

    A result counts as kept when the next one is requested. The caller embeds directly what no batch takes or
    returns. Raises StillWorking when time is up, ProviderError for a refused key, and as the watcher does.
    """
    import numpy as np

    api, sent = _APIS[model.service.name](model), dict[str, str]()
    places: dict[str, list[int]] = {}  # of texts without a vector, by key
    for place, text in enumerate(texts):
        prepared = model.prepare(text, "passage")
        key = hashlib.sha256(f"{model.fingerprint}\0{prepared}".encode()).hexdigest()[:32]
        sent[key] = prepared
        places.setdefault(key, []).append(place)
    jobs = {name: keys for name, keys in store.read().items() if not keys.isdisjoint(places)}
    missing = [key for key in sent if not any(key in keys for keys in jobs.values())]
    with suppress(ProviderError):  # the caller embeds the rest
        for start in range(0, len(missing), MAX_REQUESTS):
            some = missing[start : start + MAX_REQUESTS]
            lines = "".join(f"{json.dumps(api.line(key, sent[key]), ensure_ascii=False)}\n" for key in some)
            with watcher([sent[key] for key in some], batched=True):
                name = api.submit(lines.encode("utf-8", "replace"), Deadline(TRANSFER_S))
            jobs[name] = set(some)
            store.put(name, some)
    patience, pause = Deadline(PATIENCE_S), FIRST_LOOK_S
    while jobs and patience.left_s():
        running = len(jobs)
        for name in list(jobs):
            if (rows := _results(api, model, name, places)) is None:
                continue
            if rows:
                taken = [(place, row) for key, row in rows.items() for place in places.pop(key)]
                yield [place for place, _ in taken], np.stack([row for _, row in taken])
            del jobs[name]
            store.remove(name)
        if len(jobs) == running:
            patience.pause(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_S)
    if jobs:
        count = len(places.keys() & set[str]().union(*jobs.values()))
        message = f"batches are still being worked on: {count} texts wait for a later sync"
        raise StillWorking(f"{model.service.name}: {message}")


def _results(
    api: OpenAIBatches, model: RemoteEmbedder, name: str, wanted: Mapping[str, object]
) -> dict[str, Floats] | None:
    """Return the usable, wanted vectors of a batch by key; None while it runs, {} for an unknown batch."""
    rows: dict[str, Floats] = {}
    try:
        is_over, path = api.status(name, Deadline(LOOK_S))
        if not is_over:
            return None
        for key, vector in api.results(path, Deadline(TRANSFER_S)) if path else ():
            if key in wanted:
                with suppress(ProviderError):
                    rows[key] = model.checked([vector], 1, model.learned)[0]
    except ProviderError as error:
        if error.status in (401, 403):
            raise
        return rows if error.permanent else None
    return rows
