"""A served workspace: as a process that talks over its standard streams, and over HTTP on loopback."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.agent.remedies import WORDS
from commonplace.base import remedies
from commonplace.servers import http, programs
from commonplace.servers.access import Access
from commonplace.servers.api import site
from commonplace.servers.api.operations import Examine
from commonplace.servers.methods import Service
from commonplace.servers.programs import Services
from commonplace.servers.running import Address, Server, listening
from tests.cli.conftest import command, environment
from tests.cli.conftest import workspace as workspace

Ask = Callable[..., Any]


@pytest.fixture
def service(workspace: Path) -> Iterator[Service]:
    """What serves the workspace, with JSON beside the text."""
    served = Service(lambda: Memory.open(workspace), structured=True)
    yield served
    served.close()


class Client:
    """A process that serves over its standard streams, with JSON beside the text, and one who asks it."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            command(*arguments, "mcp", "--structured"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        )  # fmt: skip

    def send(self, *messages: object) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: object = None, id: object = 1) -> Any:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        return self.hear()

    def end(self) -> tuple[bytes, bytes, int]:
        out, err = self.process.communicate(timeout=60)
        return out, err, self.process.returncode


@pytest.fixture
def client(workspace: Path) -> Iterator[Client]:
    """A process that serves the workspace over its standard streams."""
    started = Client("-w", workspace)
    yield started
    started.process.kill()
    started.process.wait(60)
    for stream in (started.process.stdin, started.process.stdout, started.process.stderr):
        assert stream is not None
        with suppress(OSError):  # what was sent to one who is gone
            stream.close()


class Served:
    """A server over HTTP in a thread, what it records, and where it is."""

    def __init__(
        self,
        service: Service,
        allowed: Access,
        apart: http.Apart | None = None,
        examine: Examine = lambda online: (),
    ) -> None:
        self.lines: list[str] = []
        self.service = service
        self.site = site.build(service, examine=examine)
        # As `serve` has them: programs of the user are answered over its Unix socket, and nobody is here.
        services = Services(lambda agent, asked: service)
        below = programs.routes(services, {}, lambda by_hand: None, idles=False)
        app = http.build(
            service, allowed, self.lines.append, identity="abc", apart=apart,
            programs=services, more=[*below, *self.site.routes], visitors=self.site.visitors,
            open_to_all=self.site.open_to_all,
        )  # fmt: skip
        self.ready = threading.Event()
        self.server = Server(app, ready=self.ready.set, close=self.site.feed.close)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.ready.wait(30)

    def _run(self) -> None:
        with listening(Address("127.0.0.1", 0)) as (bound, _):
            self.port: int = bound.getsockname()[1]
            self.server.run([bound])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def end(self) -> None:
        self.server.end()
        self.thread.join(30)
        assert not self.thread.is_alive()

    def recorded(self, text: str) -> bool:
        """Whether a line with this text is recorded, which happens after the answer went out."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if any(text in line for line in self.lines):
                return True
            time.sleep(0.01)
        return False


@pytest.fixture
def serve(service: Service) -> Iterator[Callable[..., Served]]:
    """Serve the workspace over HTTP."""
    started: list[Served] = []

    def start(allowed: Access = Access(), of: Service | None = None) -> Served:  # noqa: B008 - an immutable value
        started.append(Served(of or service, allowed))
        return started[-1]

    with remedies.spoken(WORDS):  # as `running.serve` does
        yield start
        for one in started:
            one.end()
            one.service.close()
