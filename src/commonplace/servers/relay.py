"""`mcp` as a thin relay: each message of a client on standard input is a request to the warm server.

The server keeps no state between two requests, so one that was killed, or that another took the place of, is
replaced by a new one in the middle of a conversation. A call that may have written something is not repeated:
its client learns that it may or may not have been done.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from commonplace.base.errors import ConfigError
from commonplace.servers import local

if TYPE_CHECKING:
    import _socket

TERMINATED, INTERRUPTED = 143, 130  # 128 + the signal, as shells report it
LONGEST = local.LONGEST  # bytes of a line; a query or an entry has some thousand
MOST_WAITING = 64  # requests at once; a client that sends more does not read the answers
DRAIN_S = 10.0  # for what is still being answered when the input ends
_ATTEMPTS, _PAUSE_S = 3, 0.1  # to ask a server that is just ending
_TOOLS_CALLED, _OPENING, _CANCELLED = "tools/call", "initialize", "notifications/cancelled"
_UNDONE = "the server ended before it answered; look whether this was done before you call again"
_GONE = "the server of this memory ended and cannot be started again"
_INVALID, _INTERNAL = -32600, -32603
Connect = Callable[[], "_socket.socket | None"]


def serve(connect: Connect, agent: str, asked: Mapping[str, Any]) -> int | None:
    """Relay the client at the other end of standard input until that ends; return the exit code.

    `connect` returns a connection to the server, started if necessary. Return None without a server. `asked`
    are further fields of the request. Raises ConfigError if what it asks for cannot be served.
    """
    connection = connect()
    if connection is None:
        return None
    relay = Relay(connect, agent, asked, sink=os.dup(1))
    relay.introduce(connection)
    for number, code in ((signal.SIGTERM, TERMINATED), (signal.SIGINT, INTERRUPTED)):
        signal.signal(number, lambda *_, code=code: os._exit(code))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a server that this program started may end before it
    # Standard output is for the protocol alone: what else is printed goes to errors.
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.set_blocking(0, True)  # a client may have left its end of the pipe otherwise
    with os.fdopen(0, "rb", closefd=False) as source:
        relay.run(source)
    return 0


class Ended(Exception):
    """The server ended before it had answered."""


class Relay:
    """One client, and the requests that are not answered yet."""

    def __init__(self, connect: Connect, agent: str, asked: Mapping[str, Any], *, sink: int) -> None:
        """`sink` is the file descriptor of the answers; `serve` describes the other parameters."""
        self._connect, self._agent, self._sink = connect, agent, sink
        os.set_blocking(sink, True)  # as a client may have left it otherwise
        self._headers = {
            "accept": "application/json, text/event-stream", "commonplace-asked": json.dumps(asked),
            "mcp-session-id": os.urandom(16).hex(),  # by which it cancels, also without a handshake
        }  # fmt: skip
        self._writing, self._changed = threading.Lock(), threading.Condition()
        self._waiting: dict[object, bool] = {}  # requests by number: whether the answer is wanted
        self._ids: dict[str, int] = {}  # the numbers of requests by their ids, as JSON
        self._number = 0

    def introduce(self, connection: _socket.socket) -> None:
        """Ask whether the server serves this agent. Raises ConfigError with its reason if not."""
        try:
            answer = b"".join(
                self._heard(connection, f"{local.PREFIX}ready", b"{}", None, local.START_WAIT_S)
            )
        except (OSError, Ended):
            return  # the first request meets it
        reason = (_parsed(answer) or {}).get("error")
        if isinstance(reason, str):
            raise ConfigError("agent", reason)

    def run(self, source: IO[bytes]) -> None:
        """Pass messages on until the input ends, and wait for what is being answered."""
        while line := source.readline(LONGEST + 1):
            if len(line) > LONGEST:
                while line and not line.endswith(b"\n"):
                    line = source.readline(LONGEST)
                self._write(_failure(None, f"a message has {LONGEST:,} bytes at most", _INVALID))
            elif line.strip():
                self._take(line.strip())
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, DRAIN_S)

    def _take(self, line: bytes) -> None:
        """Send a message, a request from a thread of its own."""
        message = _parsed(line)
        if message is None or "method" not in message or message["method"] == _OPENING:
            self._ask(message or {}, line, 0)
        elif "id" not in message:
            if message["method"] == _CANCELLED:
                self._cancel(message)
            self._ask(message, line, 0)
        elif len(self._waiting) >= MOST_WAITING:
            self._write(_failure(message["id"], "too many messages at once"))
        else:
            self._number += 1
            with self._changed:
                self._waiting[self._number] = True
                self._ids[json.dumps(message["id"])] = self._number
            arguments = message, line, self._number
            threading.Thread(
                target=self._ask_aside, args=arguments, name="commonplace-mcp", daemon=True
            ).start()

    def _cancel(self, message: Mapping[str, Any]) -> None:
        """Want the answer to a request no more; the server ends the request where it next looks."""
        params = message.get("params")
        id_ = json.dumps(params.get("requestId")) if isinstance(params, dict) else ""
        with self._changed:
            if (number := self._ids.get(id_)) in self._waiting:
                self._waiting[number] = False

    def _ask_aside(self, message: Mapping[str, Any], line: bytes, number: int) -> None:
        try:
            self._ask(message, line, number)
        finally:
            with self._changed:
                del self._waiting[number]
                if self._ids.get(id_ := json.dumps(message["id"])) == number:
                    del self._ids[id_]
                self._changed.notify_all()

    def _ask(self, message: Mapping[str, Any], line: bytes, number: int) -> None:
        """Send a message to the server, and its answers to the client."""
        for _ in range(_ATTEMPTS):
            connection = self._connect()
            if connection is None:
                self._write(_failure(message.get("id"), _GONE), number)
                return
            try:
                for answer in self._heard(connection, local.MCP, line, message.get("id")):
                    self._write(answer, number)
                return
            except (OSError, Ended):
                if "method" not in message:  # an answer: the server that asked is gone
                    return
                if "id" in message and not _may_repeat(message):
                    self._write(_failure(message["id"], _UNDONE), number)
                    return
            time.sleep(_PAUSE_S)
        self._write(_failure(message.get("id"), _GONE), number)

    def _heard(
        self,
        connection: _socket.socket,
        path: str,
        body: bytes,
        id_: object = None,
        wait_s: float | None = None,
    ) -> Iterator[bytes]:
        """Send a request and yield what the server answers, message by message. Raises OSError, Ended."""
        with socket.socket(fileno=connection.detach()) as channel, channel.makefile("rb") as stream:
            channel.settimeout(wait_s)
            local.send(channel, path, self._agent, body, self._headers)
            status = stream.readline()[9:12].decode()
            head = dict(map(_header, iter(stream.readline, b"\r\n"))) if status else {}
            if head.get("content-type", "").startswith("text/event-stream"):
                yield from _events(stream)
                return
            answer = stream.read()
        if head.get("content-length") != str(len(answer)):
            raise Ended
        message = _parsed(answer) or {}
        if "mcp-session-id" in head:
            self._headers["mcp-session-id"] = head["mcp-session-id"]
            self._headers["mcp-protocol-version"] = str(message.get("result", {}).get("protocolVersion"))
        if answer and path == local.MCP and "jsonrpc" not in message:
            answer = _failure(id_, f"the server refused this ({status})")
        if answer:
            yield answer

    def _write(self, line: bytes, number: int = 0) -> None:
        """Write a message to the client, unless it is for a request that was cancelled."""
        data = memoryview(line + b"\n")
        # A client that went away is noticed where its input ends.
        with self._writing, suppress(BrokenPipeError):
            wanted = self._waiting.get(number, True)
            while data and wanted:
                data = data[os.write(self._sink, data) :]


def _header(line: bytes) -> tuple[str, str]:
    """Return name and value of a header. Raises Ended where it is cut off."""
    if not line.endswith(b"\r\n"):
        raise Ended
    name, _, value = line.decode("latin-1").partition(":")
    return name.lower(), value.strip()


def _events(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the messages of a stream of events up to the answer. Raises Ended without one."""
    for line in stream:
        if line.startswith(b"data: ") and line.endswith(b"\n"):
            message = line[6:-1]
            yield message
            if "method" not in (_parsed(message) or {}):
                return
    raise Ended


def _may_repeat(message: Mapping[str, Any]) -> bool:
    """Return True for a request that changes nothing."""
    if message["method"] != _TOOLS_CALLED:
        return True
    from commonplace.agent import tools  # only where a server ended

    params = message.get("params")
    tool = tools.find(str(params.get("name"))) if isinstance(params, dict) else None
    return tool is not None and tool.read_only


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return a message; None for a line that is not an object of JSON."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _failure(id_: object, why: str, code: int = _INTERNAL) -> bytes:
    """Return an error as the answer to a request."""
    known = id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None
    error = {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": why}}
    return json.dumps(error).encode()
