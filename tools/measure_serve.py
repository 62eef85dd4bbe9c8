"""Load `commonplace serve` with many clients at once: calls a second, how long each kind waits, what is lost.

    python tools/measure_serve.py [CLIENTS [SECONDS [NOTES [FOLDER]]]]

32 clients, 20 seconds and 1,000 notes if not said. The notes are made and indexed first, in FOLDER where they
stay for the next run. Each client sends one call after the other: 40 % searches, 30 % reads, 10 % timelines,
10 % entries, 10 % lists and pings. Calls of the first seconds do not count: the server loads its models then.
An answer counts as lost that is not the one to its call, and as an error where it says so. Clients run in one
process of their own and take part of the machine too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from commonplace import Memory

WHO = "Mira Lin Ada Tomas Priya Jonas Chen Olga Ravi Elena 王芳 李雷".split()
WHAT = (
    "the billing service|the staging cluster|the release notes|the greenhouse|the tax return|the kitchen tap|"
    "the onboarding guide|the backup job|the search index|the garden fence|the travel budget|the login page|"
    "the invoice template|the choir rehearsal|the piano lessons|the database migration|部署流程|季度报告"
).split("|")
DID = (
    "moved to Thursday|was cancelled after the review|went out two days late|costs 480 euros a month|"
    "needs a second signature|broke because a certificate had expired|is done and archived|"
    "was handed over in writing|waits for the new supplier|doubled since the spring|改到周三|已经完成"
).split("|")
WHY = (
    "because nobody had tested it on the old hardware|as the team agreed at the retrospective|"
    "although the contract says otherwise|which saves about four hours a week|until the audit is over|"
    "so the next step is to ask the landlord|and the details are in the shared folder"
).split("|")
SHARES = {"search": 40, "get": 30, "timeline": 10, "write": 10, "list": 5, "ping": 5}
LEAD_S = 6.0  # before calls count
FIRST_DAY = date(2023, 3, 1)
HEAD = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"


# --- what is asked ----------------------------------------------------------------------------------------


def sentence(rng: random.Random) -> str:
    """Return something to remember."""
    about = f"{rng.choice(WHO)} said that {rng.choice(WHAT)} {rng.choice(DID)} {rng.choice(WHY)}"
    return f"{about} (ticket {rng.randrange(1000, 9999)})."


def make(workspace: Path, notes: int) -> None:
    """Write a workspace of so many daily notes, the same at every run."""
    rng = random.Random(7)
    (workspace / "memory").mkdir(parents=True)
    lines = [f"- {sentence(rng)}" for _ in range(40)]
    (workspace / "MEMORY.md").write_text("# Memory\n\n## Standing\n\n" + "\n".join(lines) + "\n")
    for number in range(notes):
        day = FIRST_DAY + timedelta(number)
        sections = [
            f"## {rng.choice(WHAT).capitalize()}\n\n"
            + "\n".join(f"- {sentence(rng)}" for _ in range(rng.randint(2, 5)))
            for _ in range(2)
        ]
        (workspace / "memory" / f"{day}.md").write_text(f"# {day}\n\n" + "\n\n".join(sections) + "\n")
    with Memory.open(workspace) as memory:
        done = memory.sync()
    print(f"{done.added} notes indexed in {done.seconds:.1f} s")


def calls(seed: int, paths: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kinds, methods and parameters, without end."""
    rng = random.Random(seed)
    kinds, weights = list(SHARES), list(SHARES.values())
    while True:
        (kind,) = rng.choices(kinds, weights)
        tool, arguments = "", {}
        match kind:
            case "search":
                question = f"what did {rng.choice(WHO)} say about {rng.choice(WHAT)}?"
                tool, arguments = "memory_search", {"query": question, "limit": 5}
            case "get":
                tool, arguments = "memory_get", {"path": rng.choice(paths), "lines": 20}
            case "timeline":
                tool, arguments = "memory_timeline", {"anchor": Path(rng.choice(paths)).stem}
            case "write":
                tool, arguments = "memory_write", {"text": sentence(rng)}
        if tool:
            yield kind, "tools/call", {"name": tool, "arguments": arguments}
        else:
            yield kind, {"list": "tools/list", "ping": "ping"}[kind], {}


class Client:
    """A connection that is kept open, and how long each of its calls took, in seconds."""

    def __init__(self, port: int, number: int, paths: list[str]) -> None:
        self.took: dict[str, list[float]] = defaultdict(list)
        self.wrong: Counter[str] = Counter()
        self._calls = calls(number, paths)
        self._port, self._prefix = port, number
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")

    def run(self, since: float, until: float) -> None:
        """Call until a time of `time.perf_counter`, and count from another one on."""
        number = 0
        while time.perf_counter() < until:
            number += 1
            id_ = f"{self._prefix}-{number}"
            kind, method, params = next(self._calls)
            started = time.perf_counter()
            try:
                answer = self.ask({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
            except (OSError, ValueError) as error:
                self.wrong[f"lost: {kind} ({error})"] += 1
                self._connect()
                continue
            if started >= since:
                self.took[kind].append(time.perf_counter() - started)
            if answer.get("id") != id_:
                self.wrong[f"lost: {kind}"] += 1
            elif error := answer.get("error"):
                self.wrong[f"error: {kind} ({error['message']})"] += 1
            elif answer["result"].get("isError"):
                self.wrong[f"error: {kind} ({answer['result']['content'][0]['text']})"] += 1

    def ask(self, message: object) -> dict[str, Any]:
        """Send a message and return its answer. Raises OSError, ValueError."""
        body = json.dumps(message).encode()
        head = f"{HEAD.format(self._port)}Content-Length: {len(body)}\r\n\r\n".encode()
        self._socket.sendall(head + body)
        length = 0
        if not (line := self._stream.readline()):
            raise ConnectionError("closed")
        while (line := self._stream.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        found: dict[str, Any] = json.loads(self._stream.read(length))
        return found


def load(port: int, clients: int, seconds: float, paths: list[str]) -> None:
    """Be the clients; print what they saw as JSON."""
    made = [Client(port, number, paths) for number in range(clients)]
    since = time.perf_counter() + LEAD_S
    threads = [threading.Thread(target=client.run, args=(since, since + seconds)) for client in made]
    for thread in threads:
        thread.start()
    time.sleep(LEAD_S)
    before = time.process_time()
    print("lead", flush=True)
    for thread in threads:
        thread.join()
    took = {kind: [one for client in made for one in client.took[kind]] for kind in SHARES}
    wrong = sum((client.wrong for client in made), Counter[str]())
    print(json.dumps({"took": took, "wrong": wrong, "cpu_s": time.process_time() - before}))


# --- the server ---------------------------------------------------------------------------------------------


def family(pid: int) -> list[int]:
    """Return a process and those that it started."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(int(child) for one in found for child in one.read_text().split())]


def resident_mb(pid: int) -> float:
    """Return the memory of a process and its children, in megabytes."""
    lines = [line for one in family(pid) for line in Path(f"/proc/{one}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def cpu_s(pid: int) -> float:
    """Return the processor time of a process and its children, in seconds."""
    each = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in family(pid)]
    return sum(int(fields[11]) + int(fields[12]) for fields in each) / os.sysconf("SC_CLK_TCK")


def measure(workspace: Path, paths: list[str], clients: int, seconds: float) -> dict[str, Any]:
    """Serve a workspace, load it, and return what was seen."""
    program = [
        sys.executable,
        "-P",
        "-m",
        "commonplace",
        "-w",
        str(workspace),
        "serve",
        "--no-token",
        "--port",
        "0",
    ]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            port = 0
            while not port and (line := server.stderr.readline()):
                if found := re.search(r"serving at http://[^:]+:(\d+)/", line):
                    port = int(found[1])
            threading.Thread(target=server.stderr.read, daemon=True).start()
            memory = {"at start": resident_mb(server.pid)}
            first = Client(port, 0, paths)
            for number in range(20):  # Chinese has tables of its own
                query = f"{WHO[number % len(WHO)]} and {WHAT[number % len(WHAT)]}"
                question = {"name": "memory_search", "arguments": {"query": query}}
                first.ask({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": question})
            memory["models loaded"] = resident_mb(server.pid)
            load = [sys.executable, "-P", __file__, "load", str(port), str(clients), str(seconds)]
            with subprocess.Popen(load, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as calling:
                assert calling.stdin is not None
                assert calling.stdout is not None
                calling.stdin.write(json.dumps(paths))
                calling.stdin.close()
                calling.stdout.readline()
                before, memory["after the first seconds"] = cpu_s(server.pid), resident_mb(server.pid)
                found = json.loads(calling.stdout.read())
            memory["at the end"] = resident_mb(server.pid)
            return {**found, "memory": memory, "server_cpu_s": cpu_s(server.pid) - before}
        finally:
            server.terminate()


def report(found: dict[str, Any], seconds: float) -> None:
    """Print what was seen."""
    took: dict[str, list[float]] = found["took"]
    everything = [one for times in took.values() for one in times]
    print(f"{len(everything) / seconds:.0f} calls/s; processors: server {found['server_cpu_s'] / seconds:.2f}, "
          f"clients {found['cpu_s'] / seconds:.2f}; {1000 * found['server_cpu_s'] / len(everything):.1f} ms a call"
    )  # fmt: skip
    print(f"{'':<9}{'calls':>7}{'p50':>9}{'p95':>9}{'p99':>9}{'most':>9}  ms")
    for kind, times in {**took, "all": everything}.items():
        if len(times) > 1:
            cuts = statistics.quantiles(times, n=100, method="inclusive")
            shown = (cuts[49], cuts[94], cuts[98], max(times))
            print(f"{kind:<9}{len(times):>7}" + "".join(f"{one * 1000:>9.1f}" for one in shown))
    print(f"wrong: {found['wrong'] or 'nothing'}")
    print("resident MB: " + ", ".join(f"{name} {one:.0f}" for name, one in found["memory"].items()))


def main() -> None:
    """Make the workspace, measure and print."""
    if sys.argv[1:2] == ["load"]:
        load(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), json.load(sys.stdin))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="?", type=int, default=32)
    parser.add_argument("seconds", nargs="?", type=float, default=20.0)
    parser.add_argument("notes", nargs="?", type=int, default=1000)
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = (given.folder or Path(folder)) / "notes"
        if not workspace.exists():
            make(workspace, given.notes)
        paths = [f"memory/{path.name}" for path in sorted(workspace.glob("memory/*.md"))]
        report(measure(workspace, paths, given.clients, given.seconds), given.seconds)


if __name__ == "__main__":
    main()
