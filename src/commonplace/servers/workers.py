"""Processes that answer searches for a server, since Python runs one thread of a process at a time.

A worker is this program once more. It reads a line for each search from standard input, the message with who
asks which memory, and writes the answer as a line, until its input ends or it has rested. Workers are started
when searches wait for each other; what they do not answer the server answers itself.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Any

from commonplace.base import installation
from commonplace.base.errors import CommonplaceError
from commonplace.servers import protocol
from commonplace.servers.methods import respond
from commonplace.servers.protocol import INTERNAL, Connection, Refusal, failure, id_of, mapping

if TYPE_CHECKING:
    from commonplace.servers.local_server import Services
    from commonplace.servers.methods import Place, Service

CROWD = 2  # searches that wait for others before workers are started
REST_S = 300.0  # without a search, after which a worker ends
STARTS_S, ANSWERS_S = 120.0, 15.0  # what a worker has for its start, and for an answer
_PAUSE_S = 30.0  # from one start to the next, where workers end by themselves
_ENDS_S = 5.0
_PART = 1 << 16  # bytes that are read at once
_NICE = 5  # so that the server, which every call passes, has a processor when it needs one
_API = "api/"  # and the name of an operation of `/api`: a method that only servers ask their workers for
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
Operate = Callable[["Service", str, Mapping[str, Any]], object]


def can_answer(message: object) -> bool:
    """Return True if a worker may answer a message: a search, which changes no note and asks no person."""
    method, name = mapping(message).get("method"), mapping(message, "params").get("name")
    is_search = method == "prompts/get" or (method == "tools/call" and name == "memory_search")
    return is_search and id_of(message) is not None


def operation(name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message that asks a worker for an operation of `/api`."""
    return {"jsonrpc": "2.0", "id": 0, "method": f"{_API}{name}", "params": values}


# --- the side of the server -------------------------------------------------------------------------------


class Workers:
    """The workers of a server, `most` of them; safe from any thread."""

    def __init__(self, command: Sequence[str], most: int = 2) -> None:
        """`command` is what makes this program a worker, as arguments of it."""
        self.most = most
        self._command = command
        self._lock = threading.Lock()
        self._free: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._is_starting = self._over = False
        self._next = 0.0

    @property
    def is_ready(self) -> bool:
        """Return True if any worker runs."""
        return bool(self._all)

    def start(self, place: Place) -> None:
        """Start the missing workers in the background, with the memory of a place loaded."""
        with self._lock:
            waits = self._is_starting or self._over or time.monotonic() < self._next
            if waits or len(self._all) >= self.most:
                return
            self._is_starting, self._next = True, time.monotonic() + _PAUSE_S
        threading.Thread(target=self._start, args=(place,), name="commonplace-workers", daemon=True).start()

    def _start(self, place: Place) -> None:
        try:
            while len(self._all) < self.most and not self._over:
                worker = _Worker(self._command)
                try:
                    worker.ask(_call(place, Connection(), _PING), STARTS_S)
                except (OSError, ValueError):
                    worker.end()
                    return
                with self._lock:
                    self._all.add(worker)
                    self._free.append(worker)
        except OSError:
            return  # no process can be started, so the server answers
        finally:
            self._is_starting = False
            if self._over:
                self.close()

    def answer(self, place: Place, connection: Connection, message: object) -> object | None:
        """Return the answer of a worker; None if all are busy, or it ended meanwhile."""
        try:
            call = _call(place, connection, message)
        except RecursionError:  # read in the end, and one list deeper in here
            return None
        with self._lock:
            if not self._free:
                return None
            worker = self._free.pop()
        try:
            answer: object = protocol.decode(worker.ask(call))
        except (OSError, ValueError, Refusal):
            with self._lock:
                self._all.discard(worker)
            worker.end(at_once=True)
            return None
        with self._lock:
            self._free.append(worker)
        return answer

    def close(self) -> None:
        """End all of them."""
        self._over = True
        with self._lock:
            ended, self._all, self._free = self._all, set(), []
        for worker in ended:
            worker.end()


class _Worker:
    """One process, which answers one call at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it. Raises OSError."""
        self._process = subprocess.Popen(
            installation.python("-m", "commonplace", *command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=installation.environment(),
            start_new_session=True,  # Ctrl-C is for the server, which ends it
        )

    def ask(self, call: bytes, wait_s: float = ANSWERS_S) -> bytes:
        """Send a line and return the answer, a line too. Raises OSError where it ended or takes too long."""
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        end = time.monotonic() + wait_s
        os.set_blocking(sink.fileno(), False)  # a worker that hangs does not read either
        left = memoryview(call)
        while left:
            _wait(sink, select.POLLOUT, end)
            left = left[sink.write(left) or 0 :]
        answer = bytearray()
        while not answer.endswith(b"\n"):
            _wait(source, select.POLLIN, end)
            if not (part := source.read(_PART)):
                raise ConnectionResetError("the worker ended")
            answer += part
        return bytes(answer)

    def end(self, *, at_once: bool = False) -> None:
        """End it, once it has answered if not at once, and wait for that."""
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        with suppress(OSError):
            sink.close()
        try:
            self._process.wait(0 if at_once else _ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        source.close()  # only now: a thread may wait for an answer from it


def _wait(stream: IO[bytes], event: int, end: float) -> None:
    """Wait until a stream can be read or written, to a time of `time.monotonic`. Raises TimeoutError."""
    poll = select.poll()
    poll.register(stream, event)
    if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
        raise TimeoutError("the worker does not answer")


def _call(place: Place, connection: Connection, message: object) -> bytes:
    return protocol.encode([*place, connection.version, connection.client, message]) + b"\n"


# --- the side of the worker -------------------------------------------------------------------------------


def work(
    services_of: Callable[[str], Services], operate: Operate, source: IO[bytes], sink: IO[bytes]
) -> None:
    """Answer the calls of a server, until it ends or sends no call for long.

    `services_of` makes the services of callers by way of a workspace; `operate` runs an operation of
    `/api` by its name and values.
    """
    os.nice(_NICE)
    answer: object
    of, warm = cache(services_of), set()
    while select.select([source], [], [], REST_S)[0] and (line := source.readline()):
        try:
            root, agent, asked, version, client, message = json.loads(line)
        except RecursionError:  # one that the server could just read: it answers
            sink.write(b"null\n")
            sink.flush()
            continue
        try:
            service = of(root).of(agent, asked)
            if service not in warm:
                warm.add(service)
                service.warm()
            method = str(mapping(message).get("method"))
            if method.startswith(_API):
                answer = operate(service, method.removeprefix(_API), mapping(message, "params"))
            else:
                answer = respond(message, Connection(version, client), service)
        except CommonplaceError as error:
            answer = failure(id_of(message), Refusal(INTERNAL, str(error)))
        sink.write(protocol.encode(answer) + b"\n")
        sink.flush()
