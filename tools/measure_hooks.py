"""Measure what the doors of coding clients cost: hooks, what they add to everyday messages, idle `mcp` processes.

    python tools/measure_hooks.py [--workspace DIR] [--runs N] [--clients N] [--prompt TEXT]

Without a workspace the one of the demo is used; the prompt is one that its notes answer. Each hook runs as a client runs it, a process an event; the times
are medians of N runs beside what starting Python takes, once with a warm server and once without any. The
workspace is copied first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.base import tokens
from commonplace.servers import local

PROGRAM = Path(sysconfig.get_path("scripts")) / "commonplace"
EVERYDAY = (
    "thanks!", "run the tests again", "fix the type error in that file", "commit this with a good message",
    "why does this fail?", "looks good, go on", "rename the function to load_settings",
    "add a test for the empty case", "can you make the error message clearer", "open a pull request",
)  # fmt: skip
EVENTS: Mapping[str, Mapping[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "what did we decide about deploys?"},
    "PostToolUse": {
        "tool_name": "Bash", "tool_input": {"command": "make release"}, "tool_response": {"stdout": "released"},
    },
}  # fmt: skip


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--prompt", default="when do we deploy?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hooks-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        workspace = Path(folder) / "notes"
        if options.workspace:
            shutil.copytree(options.workspace, workspace)
        else:
            from commonplace import demo

            workspace.mkdir()
            demo.unpack(workspace)
        run("-w", workspace, "sync")
        measure(workspace, options.runs, options.clients, options.prompt)


def measure(workspace: Path, runs: int, clients: int, prompt: str) -> None:
    """Print all figures of a workspace, of a prompt that its notes answer as well."""
    events = [*EVENTS.items(), ("UserPromptSubmit", {"prompt": prompt})]
    print(f"start of Python        {median([timed([sys.executable, '-c', 'pass']) for _ in range(runs)])}")
    os.environ["COMMONPLACE_SERVER_START"] = "never"
    for name, more in events:
        report(f"{name}, alone", [hook(workspace, name, f"alone-{name}-{n}", more) for n in range(runs)])
    del os.environ["COMMONPLACE_SERVER_START"]
    idle = [mcp(workspace) for _ in range(clients)]
    for name, more in events:
        hook(workspace, name, "first", more)
        report(f"{name}, warm", [hook(workspace, name, f"warm-{name}-{n}", more) for n in range(runs)])
    given = [
        hook(workspace, "UserPromptSubmit", f"day-{n}", {"prompt": one})[1] for n, one in enumerate(EVERYDAY)
    ]
    sizes = {one: size for one, text in zip(EVERYDAY, given, strict=True) if (size := tokens.about(text))}
    print(f"ten everyday messages  {sum(sizes.values())} tokens, in {len(sizes)} of them {sizes or ''}")
    server = local.call(workspace, "status", "", {}, 5)["pid"]
    each = [resident_mb(process.pid) for process in idle]
    total = sum(each) + resident_mb(server)
    print(
        f"{clients} idle mcp clients    {total:.0f} MB with the server ({resident_mb(server):.0f}; {each[0]:.0f} each)"
    )
    for process in idle:
        process.communicate()
    run("-w", workspace, "serve", "stop")


def run(*arguments: object) -> None:
    """Run a command of the program."""
    subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True)


def timed(command: list[str], data: bytes = b"") -> tuple[float, str]:
    """Run a program; return its milliseconds and what it printed."""
    began = time.perf_counter()
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000, done.stdout.decode()


def hook(workspace: Path, name: str, session: str, more: Mapping[str, Any]) -> tuple[float, str]:
    """The milliseconds of one event, and what it puts into the conversation."""
    event = {"hook_event_name": name, "session_id": session, "cwd": "/", **more}
    command = [str(PROGRAM), "-w", str(workspace), "--agent", "claude-code", "hook"]
    took_ms, out = timed(command, json.dumps(event).encode())
    return took_ms, json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def report(what: str, done: list[tuple[float, str]]) -> None:
    """Print the median of some runs, and how many of them answered."""
    answered = sum(bool(text) for _, text in done)
    print(f"{what:<22} {median(done)}, {answered} of {len(done)} with an answer")


def median(done: list[tuple[float, str]]) -> str:
    """Write the median and the least of some times."""
    times = [took for took, _ in done]
    return f"{statistics.median(times):6.0f} ms (least {min(times):.0f})"


def mcp(workspace: Path) -> subprocess.Popen[bytes]:
    """A client's `mcp` process that has been greeted, and is idle."""
    process = subprocess.Popen(
        [PROGRAM, "-w", workspace, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "idle", "version": "1"},
    }
    for id_, method, sent in (
        (1, "initialize", params),
        (2, "tools/call", {"name": "memory_search", "arguments": {"query": "deploys"}}),
    ):
        line = {"jsonrpc": "2.0", "id": id_, "method": method, "params": sent}
        process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
    return process


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
