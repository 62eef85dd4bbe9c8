"""Many passages through a provider's batch interface: half the price, hours instead of seconds.

What is under way is written down before it is waited for, so that a program that was stopped takes the
results of its batches later instead of paying twice. After two failures the direct interface does the rest.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.deadline import Deadline
from commonplace.embedding.jobs import FileJobs, GeminiJobs, Jobs, Status
from commonplace.embedding.pending import Job, State, Store
from commonplace.embedding.remote import UNWATCHED, Call, RemoteEmbedder, Watcher
from commonplace.errors import CommonplaceError, ProviderError

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats

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

Found = tuple[list[int], "Floats"]
_KINDS: Mapping[str, Callable[..., Jobs]] = {"openai": FileJobs, "voyage": FileJobs, "gemini": GeminiJobs}


class StillWorking(CommonplaceError):
    """Time is up, and batches are under way: nothing has failed, and a later call takes what they bring."""


@dataclass(slots=True)
class _Work:
    """What one call is about: each key's text and places, and which keys wait for a batch."""

    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)


def supports(model: object) -> bool:
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
        jobs: Jobs | None = None,
        watcher: Watcher = UNWATCHED,
    ) -> None:
        """Take up the state that was left. `model` must be one that `supports` says yes to.

        The watcher is told of each batch that is started, whose tokens nobody has counted then, and of what
        is asked for directly.
        """
        self._model = model
        call = Call(model.model, (), "passage", model.requested_dimensions)
        self._jobs = jobs or _KINDS[model.service.name](model.endpoint, call)
        self._store = store
        self._watcher = watcher
        self._state = store.read()
        if time.time() - self._state.failed > OFF_S:
            self._state = replace(self._state, failures=0, trouble="")
        self._patience_s, self._first_look_s = patience_s, first_look_s
        self._max_requests = min(max_requests, self._jobs.max_requests)

    @property
    def is_off(self) -> bool:
        """Whether batches failed so often that the direct interface is used, for a day."""
        return self._state.failures >= MAX_FAILURES

    @property
    def trouble(self) -> str:
        """Why the last batch failed, one line; "" after one that did not."""
        return self._state.trouble

    def embed_each(self, texts: Sequence[str]) -> Iterator[Found]:
        """Yield places of texts and their unit rows (n, dimensions), as they come to be known.

        A result counts as kept when the next one is asked for. Raises StillWorking when time is up before a
        batch is done, ProviderError when the direct interface fails, and what the watcher raises.
        """
        work = self._planned(texts)
        patience = Deadline(self._patience_s)
        pause = self._first_look_s
        while (work.running or (work.waiting and not self.is_off)) and patience.left_s():
            self._start(work)
            moved = False
            for job in list(work.running):
                status = self._status(job)
                if status.state != "running":
                    moved = (yield from self._finished(job, status, work)) or moved
            if not moved:
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
        fresh = [job for job in self._state.jobs if time.time() - job.started < FORGOTTEN_S]
        self._note(replace(self._state, jobs=tuple(fresh)))
        work.running = [j for j in fresh if work.places.keys() & set(j.keys)]
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
            keys, rest = tuple(work.waiting[: len(lines)]), work.waiting[len(lines) :]
            try:
                with self._watcher.request([work.texts[key] for key in keys], batched=True):
                    name = self._jobs.submit(lines, Deadline(TRANSFER_S))
            except ProviderError as error:
                self._failed(str(error))
                continue
            job = Job(name, self._model.fingerprint, keys, time.time())
            self._note(replace(self._state, jobs=(*self._state.jobs, job)))
            work.waiting = rest
            work.running.append(job)

    def _status(self, job: Job) -> Status:
        """How far a batch is; a passing fault says nothing about it, and only a missing batch has failed."""
        try:
            return self._jobs.status(job.name, Deadline(LOOK_S))
        except ProviderError as error:
            if error.permanent and error.status != 404:
                raise
            return Status("failed" if error.permanent else "running", said=str(error))

    def _finished(self, job: Job, status: Status, work: _Work) -> Generator[Found, None, bool]:
        """Hand over what a batch has brought, and forget it; false if its results cannot be had just now.

        What a failed one has not brought waits for the next; what another has not is asked for directly.
        """
        try:
            yield from self._results(status, work)
        except ProviderError as error:
            if not error.permanent:
                return False
            status = Status("failed", said=str(error))
        work.running.remove(job)
        self._note(replace(self._state, jobs=tuple(j for j in self._state.jobs if j != job)))
        if status.state == "failed":
            work.waiting += [key for key in job.keys if key in work.places]
            self._failed(status.said)
        else:
            self._note(replace(self._state, failures=0, trouble=""))
        return True

    def _results(self, status: Status, work: _Work) -> Iterator[Found]:
        """Results in groups; a vector that is none is as good as missing."""
        import numpy as np

        group: list[tuple[list[int], Floats]] = []
        for key, vector in self._jobs.results(status, Deadline(TRANSFER_S)):
            if vector is None or key not in work.places:
                continue
            try:
                row = self._model.checked([vector], 1)
            except ProviderError:
                continue
            places = work.places.pop(key)
            group.append((places, np.repeat(row, len(places), axis=0)))
            if len(group) == _GROUP:
                yield _joined(group)
                group = []
        if group:
            yield _joined(group)

    def _directly(self, work: _Work) -> Iterator[Found]:
        """What no batch holds or has brought, asked for in the ordinary way."""
        import numpy as np

        held = {key for job in work.running for key in job.keys}
        held |= set() if self.is_off else set(work.waiting)
        keys = [key for key in work.places if key not in held]
        for start in range(0, len(keys), _GROUP):
            some = keys[start : start + _GROUP]
            rows = self._model.embed_prepared([work.texts[key] for key in some], "passage", self._watcher)
            places = [work.places.pop(key) for key in some]
            yield _joined(
                [(p, np.repeat(row[None], len(p), axis=0)) for p, row in zip(places, rows, strict=True)]
            )

    def _failed(self, said: str) -> None:
        failures = self._state.failures + 1
        self._note(replace(self._state, failures=failures, failed=time.time(), trouble=said))

    def _note(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._store.write(state)


def _joined(group: Sequence[Found]) -> Found:
    import numpy as np

    return [place for places, _ in group for place in places], np.concatenate([rows for _, rows in group])
