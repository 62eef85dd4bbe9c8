"""Many passages through a provider's batch interface: half the price, hours instead of seconds.

Files of requests go up, and files of vectors come down hours later; each request holds one text, under a key
of this program, and answers come in any order. What is under way is written down before it is waited for, so
that a program that was stopped takes the results of its batches later instead of paying twice. After two
failures the direct interface does the rest.

Protocols: platform.openai.com/docs/guides/batch, docs.voyageai.com/docs/batch-inference and
ai.google.dev/gemini-api/docs/batch-api (asyncBatchEmbedContent).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard
from urllib.parse import quote, urlsplit

from commonplace.base import atomic, paths, records
from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError, ProviderError
from commonplace.providers.embedding import services
from commonplace.providers.embedding.remote import RemoteEmbedder
from commonplace.providers.embedding.services import Call
from commonplace.providers.guard import Watcher, unwatched
from commonplace.providers.http import Endpoint, as_dict
from commonplace.render import screen

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

AT_ONCE = 2  # batches under way
MAX_FAILURES = 2  # in a row
OFF_S = 86_400.0  # after which batches are tried again
PATIENCE_S = 3600.0
FIRST_LOOK_S, LONGEST_PAUSE_S = 2.0, 60.0
FORGOTTEN_S = 3 * 86_400.0  # a batch that is older is not heard of any more
TRANSFER_S = 900.0  # for one upload or download
LOOK_S = 60.0
# A request is small, but a result has some kilobytes: 10,000 results are up to 600 MB.
MAX_REQUESTS = 10_000
_GROUP = 256  # results handed over together
MAX_RESULT_BYTES = 4_000_000_000
# Whatever else is said, or nothing, is a batch that runs: one forgotten too early would be paid twice.
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_SUCCEEDED, _ENDED = "SUCCEEDED", frozenset({"FAILED", "CANCELLED", "EXPIRED"})
KIND = "batches"


@dataclass(frozen=True, slots=True)
class Job:
    """A batch that was started: its name, whose vectors it makes, the keys of its texts, and when (epoch)."""

    name: str
    fingerprint: str
    keys: tuple[str, ...]
    started: float


@dataclass(frozen=True, slots=True)
class State:
    """What must outlive a process: batches under way; failures in a row, the last one's time and cause."""

    jobs: tuple[Job, ...] = ()
    failures: int = 0
    failed: float = 0.0
    trouble: str = ""


class Store:
    """A state in a JSON file, signed. It holds names of batches and digests of texts, no text and no key.

    Two processes must not embed by batches with the same one at a time.
    """

    def __init__(self, path: Path, lock: Path) -> None:
        """Name the file, and the lock file under which it is replaced."""
        self._path, self._lock = path, lock

    def read(self) -> State:
        """Return the state, an empty one if the file is missing, foreign or cannot be understood."""
        try:
            data = records.read(paths.root_of(self._path), self._path, KIND)
            jobs = tuple(
                Job(str(j["name"]), str(j["fingerprint"]), tuple(map(str, j["keys"])), float(j["started"]))
                for j in data["jobs"]
            )
            return State(jobs, int(data["failures"]), float(data["failed"]), str(data["trouble"]))
        except (OSError, ValueError, TypeError, KeyError, records.Foreign):
            return State()

    def write(self, state: State) -> None:
        """Replace the file. Raises NoteUnreadable if it cannot be written."""
        with atomic.locked(self._lock):
            records.update(paths.root_of(self._path), self._path, KIND, lambda _: asdict(state))


@dataclass(frozen=True, slots=True)
class Status:
    """How far a batch is. What a failed one has done lies in its files as well; `said` is why it failed."""

    state: Literal["running", "done", "failed"]
    files: tuple[str, ...] = ()
    said: str = ""


class Jobs:
    """Batches as OpenAI has them; `max_requests` and `max_bytes` bound one. Methods raise ProviderError."""

    max_requests = 50_000
    max_bytes = 100_000_000  # 200 MB (OpenAI), 1 GB (Voyage) and 2 GB (Gemini) are allowed
    window = "24h"

    def __init__(self, endpoint: Endpoint, call: Call) -> None:
        """Prepare for one model and kind; `call` has no inputs."""
        self.endpoint, self.call = endpoint, call
        self.shared: dict[str, object] = {}  # what the start of a batch says for all its requests

    def line(self, key: str, text: str) -> bytes:
        """Return the line of the file that asks for one text's vector."""
        body = services.openai_body(self.call, "base64") | {"input": text}
        return _json({"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body})

    def submit(self, lines: Sequence[bytes], deadline: Deadline) -> str:
        """Upload lines, start a batch of them, and return its name."""
        boundary = secrets.token_hex(16)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        start = (  # a form with the file of requests (RFC 7578)
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        form = b"".join([start.encode(), *lines, f"\r\n--{boundary}--\r\n".encode()])
        answer = self.endpoint.send("POST", "files", deadline, form, headers)
        name = self._name(self.endpoint.parse(answer), "id")
        body = {"input_file_id": name, "endpoint": "/v1/embeddings", "completion_window": self.window}
        # Asked for once: the answer may be lost while the batch runs, and two would be paid.
        return self._name(self.endpoint.post("batches", body | self.shared, deadline, attempts=1), "id")

    def status(self, name: str, deadline: Deadline) -> Status:
        """Return how far a batch is."""
        batch = as_dict(self.endpoint.get(f"batches/{quote(name, safe='')}", deadline))
        state = batch.get("status")
        if state not in _OVER:
            return Status("running")
        # The file of errors is not needed: what brings no vector is asked for again.
        files = (str(batch["output_file_id"]),) if batch.get("output_file_id") else ()
        said = "" if state == "completed" else f"the batch is {state}{_why(batch.get('errors'))}"
        return Status("failed" if said else "done", files, said)

    def address(self, file: str) -> str:
        """Return where a file of results lies."""
        return f"files/{quote(file, safe='')}/content"

    def result(self, row: dict[str, Any]) -> tuple[str, object]:
        """Return the key and the vector that a line of results holds, None where the request failed."""
        vector: object = None
        with suppress(KeyError, TypeError, IndexError, ValueError, AttributeError):
            vector = services.openai_vectors(row["response"]["body"])[0]
        return str(row.get("custom_id")), vector

    def results(self, status: Status, deadline: Deadline) -> Iterator[tuple[str, object]]:
        """Yield the results of a batch, downloaded to disk; a line that is no object is left out."""
        for name in status.files:
            with tempfile.TemporaryFile(prefix="commonplace-") as file:
                self.endpoint.download(self.address(name), deadline, file, MAX_RESULT_BYTES)
                file.seek(0)
                for line in file:
                    row = None
                    with suppress(ValueError, RecursionError):
                        row = json.loads(line)
                    if isinstance(row, dict):
                        yield self.result(row)

    def _name(self, answer: object, field: str) -> str:
        """The name in an answer that must hold one."""
        value = as_dict(answer).get(field)
        if not isinstance(value, str) or not value:
            raise ProviderError(self.endpoint.provider, f"the answer has no {field}")
        return value


class VoyageJobs(Jobs):
    """Batches of Voyage: OpenAI's, with what all requests share in one place."""

    window = "12h"

    def __init__(self, endpoint: Endpoint, call: Call) -> None:
        """Prepare for one model and kind."""
        super().__init__(endpoint, call)
        self.shared = {"request_params": services.voyage_settings(call)}

    def line(self, key: str, text: str) -> bytes:
        """Return the line of the file that asks for one text's vector."""
        return _json({"custom_id": key, "body": {"input": [text]}})


class GeminiJobs(Jobs):
    """Batches of Gemini."""

    def line(self, key: str, text: str) -> bytes:
        """Return the line of the file that asks for one text's vector."""
        return _json({"key": key, "request": services.gemini_request(self.call, text)})

    def submit(self, lines: Sequence[bytes], deadline: Deadline) -> str:
        """Upload lines in the two steps of Google's resumable protocol, and start a batch of them."""
        content = b"".join(lines)
        start = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(len(content)),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            "Content-Type": "application/json",
        }
        about = _json({"file": {"displayName": "commonplace"}})
        headers = self.endpoint.send("POST", f"{self._at('upload')}/files", deadline, about, start).headers
        finish = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
        target = self._name(dict(headers), "x-goog-upload-url")
        answer = self.endpoint.send("POST", target, deadline, content, finish)
        name = self._name(as_dict(self.endpoint.parse(answer)).get("file"), "name")
        body = {"batch": {"displayName": "commonplace", "inputConfig": {"fileName": name}}}
        path = f"{services.gemini_resource(self.call.model)}:asyncBatchEmbedContent"
        return self._name(self.endpoint.post(path, body, deadline, attempts=1), "name")

    def status(self, name: str, deadline: Deadline) -> Status:
        """Return how far a batch is."""
        batch = as_dict(self.endpoint.get(quote(name, safe="/"), deadline))
        metadata = as_dict(batch.get("metadata"))
        state = str(metadata.get("state")).rpartition("_")[2]  # BATCH_STATE_FAILED, JOB_STATE_FAILED
        failed = state in _ENDED or bool(batch.get("error"))
        if not failed and state != _SUCCEEDED:
            return Status("running")
        places = (as_dict(batch.get("response")), as_dict(metadata.get("output")))
        files = [str(place["responsesFile"]) for place in places if place.get("responsesFile")]
        ended = state.lower() if state in _ENDED else "failed"
        said = f"the batch is {ended}{_why(batch.get('error'))}" if failed else ""
        return Status("failed" if failed else "done", tuple(files[:1]), said)

    def address(self, file: str) -> str:
        """Return where a file of results lies."""
        return f"{self._at('download')}/{quote(file, safe='/')}:download?alt=media"

    def result(self, row: dict[str, Any]) -> tuple[str, object]:
        """Return the key and the vector that a line of results holds."""
        return str(row.get("key")), as_dict(as_dict(row.get("response")).get("embedding")).get("values")

    def _at(self, verb: str) -> str:
        return f"{self.endpoint.origin}/{verb}{urlsplit(self.endpoint.base_url).path}"


def _why(error: object) -> str:
    """What an ended batch says about its end: `{"data": [{"message": …}]}` or `{"message": …}`, one line."""
    listed = as_dict(error).get("data")
    message = as_dict(listed[0] if isinstance(listed, list) and listed else error).get("message")
    return (
        f": {screen.shorten(screen.one_line(message), 200)}" if message and isinstance(message, str) else ""
    )


def _json(value: object) -> bytes:
    """One line; text as UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


_KINDS = {"openai": Jobs, "voyage": VoyageJobs, "gemini": GeminiJobs}


class StillWorking(CommonplaceError):
    """Time is up, and batches are under way: nothing has failed, and a later call takes what they bring."""


@dataclass(slots=True)
class _Work:
    """The texts and places of each key that has no vector yet, the keys no batch holds, batches under way."""

    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)

    def take(self, rows: dict[str, Floats]) -> tuple[list[int], Floats]:
        """Return the places of some keys with their rows; these have their vectors now."""
        import numpy as np

        places = [self.places.pop(key) for key in rows]
        whole = [row for some, row in zip(places, rows.values(), strict=True) for _ in some]
        return [place for some in places for place in some], np.stack(whole)


def embed_each(
    model: RemoteEmbedder, store: Store, texts: Sequence[str], watcher: Watcher
) -> Iterator[tuple[list[int], Floats]]:
    """Embed passages as `BatchEmbedder.embed_each` does, with the state in a store."""
    return BatchEmbedder(model, store, watcher=watcher).embed_each(texts)


def supports(model: object) -> TypeGuard[RemoteEmbedder]:
    """Whether a model's provider has a batch interface that is known here."""
    return isinstance(model, RemoteEmbedder) and model.service.name in _KINDS


class BatchEmbedder:
    """Passages of one model through batches; not for use by several threads."""

    def __init__(
        self,
        model: RemoteEmbedder,
        store: Store,
        *,
        patience_s: float = PATIENCE_S,
        first_look_s: float = FIRST_LOOK_S,
        max_requests: int = MAX_REQUESTS,
        watcher: Watcher = unwatched,
    ) -> None:
        """Take up the state that was left. `model` must be one that `supports` says yes to.

        The watcher wraps each start of a batch, whose tokens are not counted yet, and each direct request.
        """
        self._model = model
        call = Call(model.model, (), "passage", model.requested_dimensions)
        self._jobs = _KINDS[model.service.name](model.endpoint, call)
        self._store = store
        self._watcher = watcher
        self.state = store.read()
        if time.time() - self.state.failed > OFF_S:
            self.state = replace(self.state, failures=0, trouble="")
        self._patience_s, self._first_look_s = patience_s, first_look_s
        self._max_requests = min(max_requests, self._jobs.max_requests)

    @property
    def is_off(self) -> bool:
        """Whether batches failed so often that the direct interface is used, for a day."""
        return self.state.failures >= MAX_FAILURES

    def embed_each(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield places of texts and their unit rows (n, dimensions), as they come to be known.

        A result counts as kept when the next one is asked for. Raises StillWorking when time is up before a
        batch is done, ProviderError when the direct interface fails, and what the watcher raises.
        """
        work = self._planned(texts)
        patience = Deadline(self._patience_s)
        pause = self._first_look_s
        while (work.running or (work.waiting and not self.is_off)) and patience.left_s():
            self._start(work)
            before = list(work.running)
            for job in before:
                yield from self._look(job, work)
            if work.running == before:
                patience.pause(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE_S)
        yield from self._directly(work)
        if work.places:
            message = f"batches are still being worked on: {len(work.places)} texts wait for a later sync"
            raise StillWorking(f"{self._model.service.name}: {message}")

    def _planned(self, texts: Sequence[str]) -> _Work:
        """Sort texts into those that a batch under way holds and those that wait for one."""
        work = _Work()
        for place, text in enumerate(texts):
            prepared = self._model.prepare(text, "passage")
            key = hashlib.sha256(f"{self._model.fingerprint}\0{prepared}".encode()).hexdigest()[:32]
            work.texts[key] = prepared
            work.places.setdefault(key, []).append(place)
        fresh = [job for job in self.state.jobs if time.time() - job.started < FORGOTTEN_S]
        self._note(jobs=tuple(fresh))
        work.running = [job for job in fresh if work.places.keys() & set(job.keys)]
        held = {key for job in work.running for key in job.keys}
        work.waiting = [key for key in work.places if key not in held]
        return work

    def _start(self, work: _Work) -> None:
        """Start batches until as many are under way as may be, or one is refused."""
        while work.waiting and len(work.running) < AT_ONCE and not self.is_off:
            lines: list[bytes] = []
            size = 0
            for key in work.waiting[: self._max_requests]:
                line = self._jobs.line(key, work.texts[key])
                size += len(line)
                if lines and size > self._jobs.max_bytes:
                    break
                lines.append(line)
            keys = tuple(work.waiting[: len(lines)])
            try:
                with self._watcher([work.texts[key] for key in keys], batched=True):
                    name = self._jobs.submit(lines, Deadline(TRANSFER_S))
            except ProviderError as error:
                self._failed(str(error))
                continue
            job = Job(name, self._model.fingerprint, keys, time.time())
            self._note(jobs=(*self.state.jobs, job))
            work.waiting = work.waiting[len(lines) :]
            work.running.append(job)

    def _look(self, job: Job, work: _Work) -> Iterator[tuple[list[int], Floats]]:
        """Hand over what a batch has brought, in groups, and forget a batch that is over.

        What a failed one has not brought waits for the next; what another has not is asked for directly.
        """
        status = self._status(job)
        if status.state == "running":
            return
        try:
            yield from self._results(status, work)
        except ProviderError as error:
            if not error.permanent:
                return
            status = Status("failed", said=str(error))
        work.running.remove(job)
        self._note(jobs=tuple(other for other in self.state.jobs if other != job))
        if status.state == "failed":
            work.waiting += [key for key in job.keys if key in work.places]
            self._failed(status.said)
        else:
            self._note(failures=0, trouble="")

    def _status(self, job: Job) -> Status:
        """How far a batch is; a passing fault says nothing about it, and only a missing batch has failed."""
        try:
            return self._jobs.status(job.name, Deadline(LOOK_S))
        except ProviderError as error:
            if error.permanent and error.status != 404:
                raise
            return Status("failed" if error.permanent else "running", said=str(error))

    def _directly(self, work: _Work) -> Iterator[tuple[list[int], Floats]]:
        """What no batch holds or has brought, asked for in the ordinary way."""
        held = {key for job in work.running for key in job.keys}
        held |= set() if self.is_off else set(work.waiting)
        keys = [key for key in work.places if key not in held]
        for start in range(0, len(keys), _GROUP):
            some = keys[start : start + _GROUP]
            rows = self._model.embed_prepared([work.texts[key] for key in some], "passage", self._watcher)
            yield work.take(dict(zip(some, rows, strict=True)))

    def _results(self, status: Status, work: _Work) -> Iterator[tuple[list[int], Floats]]:
        """Yield results in groups; a vector that is none is as good as missing."""
        rows: dict[str, Floats] = {}
        length = self._model.learned
        for key, vector in self._jobs.results(status, Deadline(TRANSFER_S)):
            if vector is not None and key in work.places:
                with suppress(ProviderError):
                    rows[key] = self._model.checked([vector], 1, length)[0]
                    length = len(rows[key])
            if len(rows) == _GROUP:
                yield work.take(rows)
                rows = {}
        if rows:
            yield work.take(rows)

    def _failed(self, said: str) -> None:
        self._note(failures=self.state.failures + 1, failed=time.time(), trouble=said)

    def _note(self, **changes: Any) -> None:  # noqa: ANN401 - fields of `State`
        state = replace(self.state, **changes)
        if state != self.state:
            self.state = state
            self._store.write(state)
