"""The protocol over standard input and output: a message a line, until the input ends.

What needs the memory is answered by threads, so that a slow search holds up nothing but itself.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NoReturn

from commonplace.servers import protocol
from commonplace.servers.methods import METHODS, QUICK
from commonplace.servers.protocol import Connection, Questions, Refusal

if TYPE_CHECKING:
    from types import FrameType

    from commonplace.agent.answers import Said
    from commonplace.servers.methods import Service

LONGEST = 4 << 20  # bytes of a line; a query or an entry has some thousand
WORKERS = 4
MOST_ASKING = 8  # questions to a person that wait at once
MOST_WAITING = 256  # messages; a client that sends more does not read the answers
DRAIN_S = 10.0  # for what is still being answered when the input ends
TERMINATED, INTERRUPTED = 143, 130  # 128 + the signal, as shells report it


class _Terminated(BaseException):
    """SIGTERM came."""


def run(service: Service) -> int:
    """Serve the client that started this process; return the exit code."""
    source, sink = _streams()
    server = Server(service, sink)
    signal.signal(signal.SIGTERM, _terminate)
    code = 0
    try:
        server.serve(source)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except _Terminated:
        code = TERMINATED
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)  # whoever asks a second time does not want to wait
    if server.drain(DRAIN_S):
        service.close()
        with suppress(OSError):
            sink.close()
    return code


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _Terminated


def _streams() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input, and standard output for the protocol alone: what else is printed goes to errors."""
    os.set_blocking(0, True)  # a client may have left its end of the pipe otherwise
    sink = os.fdopen(os.dup(1), "wb")
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return os.fdopen(0, "rb", closefd=False), sink


class _Request:
    """A message that was put off: what it is known by, and whether it is still wanted."""

    __slots__ = ("key", "message", "wanted")

    def __init__(self, message: object) -> None:
        self.message, self.key, self.wanted = message, _key(message), True


class Server:
    """One client: its messages as they come, their answers as they are ready."""

    def __init__(self, service: Service, sink: IO[bytes]) -> None:
        """Answer into a stream; messages come with `serve`."""
        self._service, self._sink = service, sink
        self._connection = Connection()
        self._queue: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._workers = 0
        self._waiting = 0
        self._asked: set[_Request] = set()  # not by id: a client may use one again as soon as it is answered
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._questions = Questions(MOST_ASKING)
        self._over = False
        self._warmed = False

    def serve(self, source: IO[bytes]) -> None:
        """Take messages until the input ends."""
        while line := source.readline(LONGEST + 1):
            if len(line) > LONGEST:
                while line and not line.endswith(b"\n"):
                    line = source.readline(LONGEST)
                self._refuse(Refusal(protocol.INVALID, f"a message has {LONGEST:,} bytes at most"))
            elif line.strip():
                self._take(line)
        self._over = True

    def drain(self, deadline_s: float) -> bool:
        """Wait for what is being answered; tell whether all of it was."""
        end = time.monotonic() + deadline_s
        with self._changed:
            while self._waiting and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._waiting

    def _take(self, line: bytes) -> None:
        try:
            message = protocol.decode(line)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if self._questions.hear(message):
            return
        if isinstance(message, list) or _takes_time(message):
            self._put_off(message)
            return
        if isinstance(message, dict) and message.get("method") == "notifications/cancelled":
            self._cancel(message)
        self._send_unless_none(self._respond(message))
        if not self._warmed:
            self._warmed = True
            threading.Thread(target=self._service.warm, name="commonplace-warm", daemon=True).start()

    def _put_off(self, message: object) -> None:
        """Leave a message to a thread, and start one more while there are few."""
        request = _Request(message)
        with self._changed:
            full = self._waiting >= MOST_WAITING
            if not full:
                self._waiting += 1
                self._asked.add(request)
                start = self._workers < min(WORKERS, self._waiting)
                self._workers += start
        if full:
            self._refuse(Refusal(protocol.INTERNAL, "too many messages at once"), protocol.id_of(message))
            return
        self._queue.put(request)
        if start:
            threading.Thread(target=self._work, name="commonplace-mcp", daemon=True).start()

    def _work(self) -> None:
        while True:
            request = self._queue.get()
            try:
                answer = self._respond(request.message, request) if request.wanted else None
                if request.wanted:
                    self._send_unless_none(answer)
            finally:
                with self._changed:
                    self._waiting -= 1
                    self._asked.discard(request)
                    self._changed.notify_all()

    def _respond(self, message: object, request: _Request | None = None) -> object | None:
        def ask(text: str, code: str) -> Said:
            return self._ask(text, request) if request is not None else "cancel"

        return protocol.respond(message, self._connection, self._service, METHODS, ask)

    def _ask(self, text: str, request: _Request) -> Said:
        """Ask the person behind the client; another thread may answer what else comes meanwhile."""
        with self._changed:
            self._workers -= 1
        try:
            answer = self._questions.ask(
                text, self._connection.version, self._send, lambda: request.wanted and not self._over
            )
            return answer if request.wanted else "cancel"
        finally:
            with self._changed:
                self._workers += 1

    def _cancel(self, message: dict[str, object]) -> None:
        """Forget a request: a running one is not interrupted, but nobody is told what it finds."""
        params = message.get("params")
        if isinstance(params, dict):
            key = _key({"id": params.get("requestId")})
            with self._changed:
                for request in self._asked if key else ():
                    request.wanted = request.wanted and request.key != key

    def _refuse(self, refusal: Refusal, given: int | str | None = None) -> None:
        self._send(protocol.failure(given, refusal))

    def _send_unless_none(self, answer: object | None) -> None:
        if answer is not None:
            self._send(answer)

    def _send(self, message: object) -> None:
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


def _takes_time(message: object) -> bool:
    """Whether a message is a request that needs the memory."""
    if not isinstance(message, dict) or "id" not in message:
        return False
    method = message.get("method")
    return isinstance(method, str) and method in METHODS and method not in QUICK


def _key(message: object) -> tuple[type, int | str] | None:
    """What a request is known by; 1 and "1" are two."""
    given = protocol.id_of(message)
    return None if given is None else (type(given), given)


def tell(message: str) -> None:
    """Print what went wrong inside where clients keep it: standard error."""
    print(f"commonplace: {message}", file=sys.stderr, flush=True)
