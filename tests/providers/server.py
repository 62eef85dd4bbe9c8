"""A scripted HTTP server on loopback: real sockets, replies and faults in the order they are given."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Reply:
    """`body` is sent as it is, anything else as JSON; `cut` closes the connection after that many bytes.

    `dropped` closes it before anything is said.
    """

    body: object = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: int | None = None
    drip_s: float = 0.0  # seconds between two bytes
    dropped: bool = False

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Server:
    """Answers with the next scripted reply, then with what `answer` makes of a request."""

    def __init__(self, answer: Callable[[Request], Reply] | None = None) -> None:
        self.requests: list[Request] = []
        self.complaints: list[Exception] = []
        self.script: list[Reply | Callable[[Request], Reply]] = []
        self.answer = answer or (lambda request: Reply({"ok": True}))
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"scripted": self}))
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def next(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            step = self.script.pop(0) if self.script else self.answer
        if isinstance(step, Reply):
            return step
        try:
            return step(request)
        except (AssertionError, KeyError) as error:  # what a real server would refuse, told again at the end
            self.complaints.append(error)
            return Reply({"error": f"test server: {error!r}"}, 400)

    def close(self) -> None:
        self.stopping.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
        assert self.complaints == []


class Handler(BaseHTTPRequestHandler):
    scripted: Server
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536  # header and body in one packet

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, *arguments: object) -> None:
        pass

    def do_POST(self) -> None:
        with contextlib.suppress(ConnectionError):
            self.reply(self.scripted.next(self.read()))

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST  # noqa: N815 - names of http.server

    def read(self) -> Request:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, self.path, headers, body)

    def reply(self, reply: Reply) -> None:
        self.scripted.stopping.wait(reply.delay_s)
        if reply.dropped:
            self.reset()
            return
        self.send_response(reply.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(reply.content))}
        for name, value in (headers | reply.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if reply.drip_s:
            self.drip(reply)
        else:
            self.wfile.write(reply.content[: reply.cut])
        if reply.cut is not None:
            self.reset()

    def drip(self, reply: Reply) -> None:
        for byte in reply.content:
            if self.scripted.stopping.wait(reply.drip_s):
                break
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def reset(self) -> None:
        """End the connection as a crash would."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


@contextlib.contextmanager
def serving(answer: Callable[[Request], Reply] | None = None) -> Iterator[Server]:
    server = Server(answer)
    try:
        yield server
    finally:
        server.close()
