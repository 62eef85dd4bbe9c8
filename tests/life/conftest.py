"""A memory and its doors: command line, hook, MCP, HTTP, Python. No inner name of the package is imported here."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory

LONG_AGO = 1_770_000_000  # a modification time: the index trusts the stamp of a file that is not seconds old


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a process: exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output read as JSON."""
        return json.loads(self.out)


class Mcp:
    """A client of `commonplace mcp` over its standard streams."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        version = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self.request("initialize", {**version, "clientInfo": {"name": "life", "version": "1"}})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, params: Any = None, **more: Any) -> Any:
        """Send a request; return its whole answer, with `result` or `error`."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params, **more})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number and "method" not in answer:
                return answer
        raise AssertionError("the server closed its output")

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return the text of its answer, an error's too."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        return "\n".join(part["text"] for part in answer["result"]["content"])


class Http:
    """A client of `commonplace serve` with the owner's token."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = address, token

    def request(self, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
        """Send a request; return the status and the answer, read as JSON where it is."""
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        asked = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status, content = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, content = error.code, error.read()
        with contextlib.suppress(ValueError):
            return status, json.loads(content)
        return status, content.decode("utf-8", "replace")

    def get(self, path: str) -> Any:
        status, answer = self.request("GET", path)
        assert status == 200, (status, answer)
        return answer

    def post(self, path: str, body: Any) -> Any:
        status, answer = self.request("POST", path, body)
        assert status == 200, (status, answer)
        return answer


class Owner:
    """A person with a memory in a folder of their own, and the doors to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running = contextlib.ExitStack()
        self.environment: dict[str, str] = {}  # what this person's shell has set beside the rest
        (folder / "memory").mkdir(parents=True)
        self.note("MEMORY.md", "# Memory\n")

    def note(self, path: str, text: str | bytes, age: int = LONG_AGO) -> Path:
        """Write a file below the folder as an editor would have done long ago; return its path."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(file, (age, age))
        return file

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def place(self, name: str) -> Path:
        """Return where the memory has its state or its index."""
        return Path(json.loads(self.ok("status", "--paths", "--format", "json"))[name])

    def _environment(self) -> dict[str, str]:
        source = str(Path(__file__).parents[2] / "src")
        return {**os.environ, "PYTHONPATH": source, "COMMONPLACE_OUTPUT_FRAME": "never", **self.environment}

    @staticmethod
    def _command(*arguments: str | Path) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "commonplace", *map(str, arguments)]

    def run(
        self, *arguments: str | Path, stdin: str = "", cwd: Path | None = None, timeout_s: float = 120
    ) -> Done:
        """Run a command in the folder."""
        done = subprocess.run(
            self._command(*arguments), input=stdin.encode(), capture_output=True, cwd=cwd or self.folder,
            env=self._environment(), timeout=timeout_s,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(self, *arguments: str | Path, stdin: str = "", cwd: Path | None = None) -> str:
        """Run a command that must succeed; return its output."""
        done = self.run(*arguments, stdin=stdin, cwd=cwd)
        assert done.code == 0, (arguments, done)
        return done.out

    def hook(self, event: str, deadline_ms: int = 60_000, agent: str = "claude-code", **fields: Any) -> str:
        """Hand an event to `commonplace hook`; return what goes into the conversation."""
        given = {"hook_event_name": event, "session_id": "s1", "cwd": str(self.folder), **fields}
        done = self.run("--agent", agent, "hook", "--deadline", str(deadline_ms), stdin=json.dumps(given))
        assert (done.code, done.err) == (0, ""), done
        return done.json["hookSpecificOutput"]["additionalContext"] if done.out else ""

    def memory(self, **options: Any) -> Memory:
        """Open the memory in Python; it is closed at the end of the test."""
        return self._running.enter_context(Memory.open(self.folder, **options))

    def mcp(self, *arguments: str) -> Mcp:
        """Start `commonplace mcp`."""
        process = subprocess.Popen(
            self._command(*arguments, "mcp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=self.folder, env=self._environment(),
        )  # fmt: skip
        self._running.callback(_end, process)
        return Mcp(process)

    def serve(self, *arguments: str) -> Http:
        """Start `commonplace serve` on a free port of loopback."""
        process = subprocess.Popen(
            self._command("serve", "--port", "0", *arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, cwd=self.folder, env=self._environment(),
        )  # fmt: skip
        self._running.callback(_end, process)
        assert process.stdout is not None
        heard = ""
        while not (address := re.search(r"http://[\d.]+:\d+", heard)):
            line = process.stdout.readline().decode()
            assert line, heard
            heard += line
        token = re.search(r"Bearer (\S+)", self.ok("serve", "status", "--show-token"))
        assert token
        return Http(address[0], token[1])

    def close(self) -> None:
        self._running.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    """Somebody with a memory that finds by words alone; `owner.environment` changes that."""
    person = Owner(tmp_path / "notes")
    person.environment["COMMONPLACE_EMBEDDING_PROVIDER"] = "none"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")  # for `Memory` in this process
        yield person
        person.close()


@pytest.fixture
def owner_with_model(tmp_path: Path) -> Iterator[Owner]:
    """Somebody with a memory as installed, which finds by meaning too."""
    person = Owner(tmp_path / "notes")
    yield person
    person.close()


def until(holds: Any, wait_s: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + wait_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
