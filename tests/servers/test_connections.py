"""Connections to a server: slow clients hold it for a moment at most, and fill neither table nor log."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from commonplace.base.paths import Workspace
from commonplace.servers import daemon, running
from commonplace.servers.running import LOG_BYTES, Address, listening
from tests.cli.conftest import command, environment
from tests.cli.conftest import workspace as workspace
from tests.servers.test_daemon import home as home

HEAD = b"POST /mcp HTTP/1.1\r\nHost: x\r\n"
FEW = 128  # descriptors of the process


def serve(workspace: Path, few: int = FEW) -> None:
    """Start a server in the background that may have only a few descriptors."""
    subprocess.run(
        command("-w", workspace, "serve", "--daemon", "--port", "0"),
        check=True, capture_output=True, timeout=90, env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)),
    )  # fmt: skip


def test_slow_clients_do_not_keep_others_out(workspace: Path, home: Workspace) -> None:
    serve(workspace)
    running = daemon.find(home)
    assert running is not None
    with ExitStack() as opened:
        for _ in range(150):
            client = opened.enter_context(socket.create_connection((running.host, running.port), 10))
            client.sendall(HEAD)
        assert daemon.is_well(running, 10)
        time.sleep(2)
        assert daemon.is_well(running, 10)
    log = daemon.log_of(home).read_text()
    assert "Traceback" not in log
    assert len(log) < 20_000


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where an application listens that answers when the body is there; requests have a moment to arrive."""
    monkeypatch.setattr(running, "ARRIVES_S", 1)

    async def app(scope: object, receive: object, send: object) -> None:
        while (got := await receive()).get("more_body"):  # type: ignore[operator]
            pass
        if got["type"] != "http.disconnect":
            await send({"type": "http.response.start", "status": 204, "headers": []})  # type: ignore[operator]
            await send({"type": "http.response.body"})  # type: ignore[operator]

    server = running.Server(app)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        yield bound.getsockname()[1]
        server.end()
        thread.join(20)


@pytest.mark.parametrize(
    "sent",
    [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\nab", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"],
)  # fmt: skip
def test_a_request_that_does_not_arrive_ends_its_connection(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(sent)
        begun = time.monotonic()
        try:
            while client.recv(4096):
                pass
        except ConnectionResetError:
            pass
        assert time.monotonic() - begun < 20


def test_bytes_that_trickle_do_not_prolong_it(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.settimeout(0.05)
        sent = 0
        try:
            while sent < 100:
                client.sendall(b"P")
                sent += 1
                with suppress(TimeoutError):
                    assert client.recv(1) == b""
                    break
        except ConnectionError:
            pass
        assert sent < 100


def test_no_limit_of_descriptors_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((-1, running.MOST), (128, 32), (1 << 20, running.MOST), (1, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert running.most() == most


def test_the_log_is_bounded_without_descriptors(tmp_path: Path) -> None:
    script = (
        "import logging, os, resource, sys\n"
        "from pathlib import Path\n"
        "from commonplace.servers.running import _log, leave_terminal\n"
        "folder = Path(sys.argv[1])\n"
        "_log(folder / 'server.log')\n"
        "leave_terminal(folder / 'server.log')\n"
        "log = logging.getLogger('commonplace.server')\n"
        "log.info('first')\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
        "for _ in range(30_000): log.info('x' * 80)\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path], check=True, timeout=60, env=environment())
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert 0 < max(sizes) < 1.1 * LOG_BYTES


def test_what_is_small_is_sent_at_once() -> None:
    """Else each answer waits 40 ms for the client to acknowledge its head (Nagle's algorithm)."""
    with listening(Address("127.0.0.1", 0)) as (bound, _):
        assert bound.proto == socket.IPPROTO_TCP  # by which asyncio sets TCP_NODELAY
