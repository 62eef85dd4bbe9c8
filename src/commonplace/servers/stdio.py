"""The protocol over standard input and output: a message a line, until the input ends.

Requests that need the memory are answered by threads, with separate ones for searches and changes: a slow
search delays no other request, and many searches do not delay the reading of a note.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NoReturn

from commonplace.agent.remedies import WORDS
from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError
from commonplace.servers import protocol, resources
from commonplace.servers.methods import METHODS, QUICK, is_heavy, respond
from commonplace.servers.protocol import Connection, Exchange, Questions, Refusal, Result, mapping
from commonplace.servers.relay import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from types import FrameType

    from commonplace.agent.answers import Said
    from commonplace.servers.methods import Service

LONGEST = 4 << 20  # bytes of a line; a query or an entry has some thousand
WORKERS = 4  # threads for what is heavy, and as many for the rest
LOOKS_S = 1.0  # between two looks whether the long-term memory is there
MOST_ASKING = 8  # questions to a person that wait at once
MOST_WAITING = 256  # messages; a client that sends more does not read the answers
DRAIN_S = 10.0  # for what is still being answered when the input ends


class _Terminated(BaseException):
    """SIGTERM came."""


def run(service: Service) -> int:
    """Serve the client that started this process; return the exit code."""
    os.set_blocking(0, True)  # a client may have left its end of the pipe otherwise
    # Standard output is for the protocol alone: what else is printed goes to errors.
    source, sink = os.fdopen(0, "rb", closefd=False), os.fdopen(os.dup(1), "wb")
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def terminate(number: int, frame: FrameType | None) -> NoReturn:
        raise _Terminated

    server = Server(service, sink)
    signal.signal(signal.SIGTERM, terminate)
    code = 0
    try:
        with remedies.spoken(WORDS):
            server.serve(source)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except _Terminated:
        code = TERMINATED
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)  # a second signal ends the process at once
    if server.drain(DRAIN_S):
        service.close()
        with suppress(OSError):
            sink.close()
    return code


class _Request:
    """A message that was put off, and whether it is still wanted."""

    __slots__ = ("message", "wanted")

    def __init__(self, message: object) -> None:
        self.message, self.wanted = message, True


class _Lane:
    """Messages that wait for threads of their own."""

    __slots__ = ("queue", "waiting", "workers")

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()  # None ends a worker
        self.workers = self.waiting = 0


class Server:
    """One client: its messages as they come, their answers as they are ready."""

    def __init__(self, service: Service, sink: IO[bytes]) -> None:
        """Answer into a stream; messages come with `serve`."""
        self._service, self._sink = service, sink
        self._connection = Connection(announces=True)
        self._lanes = {False: _Lane(), True: _Lane()}  # by whether what waits there is heavy
        self._waiting: set[_Request] = set()  # not by id: a client may use one again once it is answered
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._questions = Questions(MOST_ASKING)
        self._over = self._warmed = self._watching = False
        self._ended = threading.Event()

    def serve(self, source: IO[bytes]) -> None:
        """Take messages until the input ends."""
        while line := source.readline(LONGEST + 1):
            try:
                if len(line) > LONGEST:
                    while line and not line.endswith(b"\n"):
                        line = source.readline(LONGEST)
                    raise Refusal(protocol.INVALID, f"a message has {LONGEST:,} bytes at most")
                if line.strip():
                    self._take(protocol.decode(line))
            except Refusal as refusal:
                self._send(protocol.failure(None, refusal))
        self._over = True
        self._ended.set()

    def drain(self, deadline_s: float) -> bool:
        """Wait for what is being answered; tell whether all of it was."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, deadline_s)

    def close(self) -> None:
        """Let the threads go; further requests are not answered."""
        with self._changed:
            for lane in self._lanes.values():
                for _ in range(lane.workers):
                    lane.queue.put(None)

    def _take(self, message: object) -> None:
        """Answer a message now, or leave it to a thread where it is a batch or needs the memory."""
        if self._questions.hear(message):
            return
        method = mapping(message).get("method")
        known = isinstance(method, str) and method in METHODS and method not in QUICK
        if isinstance(message, list) or (known and "id" in mapping(message)):
            self._put_off(message)
            return
        if method == "notifications/cancelled":
            self._cancel(protocol.id_of({"id": mapping(message, "params").get("requestId")}))
        self._send(respond(message, self._connection, self._service))
        if not self._warmed:
            self._warmed = True
            threading.Thread(target=self._service.warm, name="commonplace-warm", daemon=True).start()
        if method == "notifications/initialized" and not self._watching:
            self._watching = True
            threading.Thread(target=self._watch, name="commonplace-list", daemon=True).start()

    def _watch(self) -> None:
        """Tell the client when the list of resources becomes another."""
        try:
            workspace = self._service.memory.workspace
        except CommonplaceError:
            return  # a request for the list gets the error
        listed = resources.names(workspace)
        while not self._ended.wait(LOOKS_S):
            if (now := resources.names(workspace)) != listed:
                listed = now
                self._send({"jsonrpc": "2.0", "method": resources.CHANGED})

    def _cancel(self, id_: int | str | None) -> None:
        """Forget a request: a running one ends where it next looks, and its answer is not sent."""
        with self._changed:
            for request in self._waiting if id_ is not None else ():
                own = protocol.id_of(request.message)
                if own == id_ and type(own) is type(id_):  # 1 and "1" are two, 1 and True as well
                    request.wanted = False

    def _put_off(self, message: object) -> None:
        """Leave a message to a thread, and start one more while there are few."""
        request, lane = _Request(message), self._lanes[is_heavy(message)]
        with self._changed:
            full = len(self._waiting) >= MOST_WAITING
            if not full:
                self._waiting.add(request)
                lane.waiting += 1
            start = not full and lane.workers < min(WORKERS, lane.waiting)
            lane.workers += start
        if full:
            refusal = Refusal(protocol.INTERNAL, "too many messages at once")
            self._send(protocol.failure(protocol.id_of(message), refusal))
            return
        lane.queue.put(request)
        if start:
            threading.Thread(target=self._work, args=(lane,), name="commonplace-mcp", daemon=True).start()

    def _work(self, lane: _Lane) -> None:
        while (request := lane.queue.get()) is not None:
            try:
                if request.wanted:
                    answer = respond(
                        request.message, self._connection, self._service, self._exchange(request, lane)
                    )
                    self._send(answer if request.wanted else None)
            finally:
                with self._changed:
                    self._waiting.discard(request)
                    lane.waiting -= 1
                    self._changed.notify_all()

    def _exchange(self, request: _Request, lane: _Lane) -> Exchange:
        """Return the further communication with the client while a request is answered."""

        def notify(message: Result) -> None:
            self._send(message if request.wanted else None)

        return Exchange(
            lambda text, code: self._ask(text, request, lane),
            notify,
            lambda: request.wanted,
        )

    def _ask(self, text: str, request: _Request, lane: _Lane) -> Said:
        """Ask the person behind the client; another thread may answer what else comes meanwhile."""
        with self._changed:
            lane.workers -= 1
        try:
            answer = self._questions.ask(
                text, self._connection.version, self._send, lambda: request.wanted and not self._over
            )
            return answer if request.wanted else "cancel"
        finally:
            with self._changed:
                lane.workers += 1

    def _send(self, message: object | None) -> None:
        """Write a message; skip None."""
        if message is None:
            return
        line = protocol.encode(message) + b"\n"
        with self._writing:
            if self._sink.closed:
                return
            try:
                self._sink.write(line)
                self._sink.flush()
            except OSError:  # the client went away; its input will end, too
                with suppress(OSError):
                    self._sink.close()


def tell(message: str) -> None:
    """Print what went wrong inside where clients keep it: standard error."""
    print(f"commonplace: {message}", file=sys.stderr, flush=True)
