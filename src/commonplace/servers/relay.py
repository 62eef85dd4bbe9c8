"""`mcp` as a thin relay between a client and the warm server of the workspace.

A server may end while its client lives: it was killed, or another one took its place. The relay then finds
or starts another, repeats the client's handshake there, and repeats the pending requests. A call that may
have written something is not repeated: its client learns that it may or may not have been done.
"""

from __future__ import annotations

import _socket
import json
import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from commonplace.base.errors import ConfigError
from commonplace.servers import local

TERMINATED, INTERRUPTED = 143, 130  # 128 + the signal, as shells report it
LONGEST = 4 << 20  # bytes of a line that is looked into; longer ones are passed on all the same
_READY_S = 10.0  # for a server that has taken the connection
_PART = 1 << 16
_ATTEMPTS, _PAUSE_S = 5, 0.1  # to connect
_TOOLS_CALLED, _OPENING, _OPENED = "tools/call", "initialize", "notifications/initialized"
_UNDONE = "the server ended before it answered; look whether this was done before you call again"
_GONE = "the server of this memory ended and cannot be started again"
_INTERNAL = -32603


def serve(root: str, agent: str, asked: Mapping[str, Any], *, start: bool) -> int | None:
    """Relay the client at the other end of standard input until that ends; return the exit code.

    Return None without a running server; with `start`, if it cannot be started. `asked` are further fields of
    the request to the server. Raises ConfigError if it cannot be served.
    """
    relay = Relay(root, agent, asked, start=start)
    if not relay.connect():
        return None
    for number, code in ((signal.SIGTERM, TERMINATED), (signal.SIGINT, INTERRUPTED)):
        signal.signal(number, lambda *_, code=code: os._exit(code))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a server that this program started may end before it
    os.set_blocking(0, True)  # a client may have left its end of the pipe otherwise
    relay.run()
    return 0


class Relay:
    """One client and the server that it is connected to."""

    def __init__(self, root: str, agent: str, asked: Mapping[str, Any], *, start: bool) -> None:
        """Bind to a workspace; with `start`, start a server if it does not run."""
        self._hello = local.line("mcp", root, agent, asked)
        self._root = root
        self._start = start
        self._server: _socket.socket | None = None
        self._rest = b""  # of what the server sent: the beginning of a line
        self._greeting = b""  # the line with which the client opened the connection
        self._waiting: dict[str, bytes] = {}  # lines that are not answered yet, by the id as JSON
        self._is_greeted = False
        self._is_long = False  # whether the beginning of a line was passed on already
        self._greets_again = ""  # the id of a repeated greeting, whose answer the client has

    def connect(self) -> bool:
        """Connect to a server, or to a new one. Raises ConfigError for what cannot be an agent."""
        for _ in range(_ATTEMPTS):
            connect = local.connect_or_launch if self._start else local.connect
            connection = connect(self._root)
            if connection is None:
                return False
            answer = self._introduced(connection)
            if "ready" in answer:
                self._server, self._rest = connection, b""
                return True
            connection.close()
            if "error" in answer:
                raise ConfigError("agent", answer["error"])
            time.sleep(_PAUSE_S)  # a server that is just ending
        return False

    def _introduced(self, connection: _socket.socket) -> dict[str, Any]:
        """Send the opening request and return the server's answer; empty if the connection ends instead."""
        try:
            connection.settimeout(_READY_S)
            connection.sendall(self._hello)
            line = b""
            while not line.endswith(b"\n"):  # a byte at a time: what follows is the protocol
                part = connection.recv(1)
                if not part:
                    return {}
                line += part
            connection.settimeout(None)
            answer: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):
            return {}
        return answer

    def run(self) -> None:
        """Pass on what comes, both ways, until the client is done."""
        pending, is_open = b"", True
        while is_open:
            sources = [0] if self._server is None else [0, self._server.fileno()]
            ready = select.select(sources, [], [])[0]
            if ready != [0] and not self._hear():
                self._renew()
            if 0 in ready:
                part = os.read(0, _PART)
                is_open = bool(part)
                *lines, pending = (pending + part).split(b"\n")
                for line in lines if is_open else [*lines, pending]:
                    self._tell(line)
                if len(pending) > LONGEST:  # the server refuses it when it has ended; here it is not kept
                    self._send(pending)
                    pending, self._is_long = b"", True
        if self._server is not None:
            with suppress(OSError):
                self._server.shutdown(_socket.SHUT_WR)  # it finishes what it is answering
                while self._hear():
                    pass
            self._server.close()

    # --- from the client --------------------------------------------------------------------------------

    def _tell(self, line: bytes) -> None:
        """Pass a line on, and note what is to be answered."""
        if self._is_long:
            self._is_long = False
            self._send(line + b"\n")
            return
        if not line.strip():
            return
        if self._server is None and not self._reconnect():
            _write(_failure(_id_of(_parsed(line)), _GONE))
            return
        message = _parsed(line)
        if isinstance(message, dict) and "method" in message and "id" in message:
            self._waiting[_id_of(message)] = line
            if message["method"] == _OPENING:
                self._greeting = line
        self._send(line + b"\n")

    def _send(self, data: bytes) -> None:
        """Send bytes to the server; one that ended is noticed where its answers come from."""
        if self._server is not None:
            with suppress(OSError):
                self._server.sendall(data)

    # --- from the server --------------------------------------------------------------------------------

    def _hear(self) -> bool:
        """Pass on what the server says; False where it ended."""
        assert self._server is not None
        try:
            part = self._server.recv(_PART)
        except OSError:
            return False
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            message = _parsed(line)
            id_ = _id_of(message) if isinstance(message, dict) and "method" not in message else ""
            if id_ and id_ == self._greets_again:
                self._greets_again = ""
                continue
            asked = self._waiting.pop(id_, None)
            self._is_greeted = self._is_greeted or (asked is not None and asked is self._greeting)
            _write(line)
        return bool(part)

    def _renew(self) -> None:
        """Go on with another server: greet it as the client did, and repeat requests that allow it."""
        assert self._server is not None
        self._server.close()
        self._server = None
        waiting, self._waiting = self._waiting, {}
        again = self._reconnect()
        for id_, line in waiting.items():
            if again and self._may_repeat(_parsed(line)):
                self._tell(line)
            else:
                _write(_failure(id_, _UNDONE if again else _GONE))

    def _reconnect(self) -> bool:
        try:
            if not self.connect():
                return False
        except ConfigError:
            return False
        if self._is_greeted:
            assert self._server is not None
            self._greets_again = _id_of(_parsed(self._greeting))
            opened = json.dumps({"jsonrpc": "2.0", "method": _OPENED}).encode()
            with suppress(OSError):
                self._server.sendall(self._greeting + b"\n" + opened + b"\n")
        return True

    def _may_repeat(self, message: Any) -> bool:  # noqa: ANN401 - JSON
        if not isinstance(message, dict) or message.get("method") != _TOOLS_CALLED:
            return isinstance(message, dict)
        from commonplace.agent import tools  # only where a server ended

        params = message.get("params")
        tool = tools.find(str(params.get("name"))) if isinstance(params, dict) else None
        return tool is not None and tool.read_only


def _parsed(line: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return a message; None for a line that is not JSON, or is too long to look into."""
    try:
        return json.loads(line) if len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        return None


def _id_of(message: Any) -> str:  # noqa: ANN401 - JSON
    """Return the id of a message as JSON, so that 1 and "1" differ; empty if it is missing."""
    id_ = message.get("id") if isinstance(message, dict) else None
    return json.dumps(id_) if isinstance(id_, int | str) and not isinstance(id_, bool) else ""


def _failure(id_: str, why: str) -> bytes:
    error = {"jsonrpc": "2.0", "id": json.loads(id_ or "null"), "error": {"code": _INTERNAL, "message": why}}
    return json.dumps(error).encode()


def _write(line: bytes) -> None:
    """Write a line to the client; one that went away is noticed where its input ends."""
    data = memoryview(line + b"\n")
    with suppress(BrokenPipeError):
        while data:
            data = data[os.write(1, data) :]
