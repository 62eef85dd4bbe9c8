"""Time `commonplace mcp` as a client sees it: start to handshake, list of tools, answer of the first search.

    python tools/measure_mcp.py [WORKSPACE [TIMES]]

Without a workspace the one that ships is unpacked and indexed first. Medians over several starts, 11 if not said.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commonplace import Memory, demo

QUESTION = "who is on call when a P1 happens?"
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "measure", "version": "1"},
}
STEPS = (
    ("initialize", HELLO),
    ("tools/list", {}),
    ("tools/call", {"name": "memory_search", "arguments": {"query": QUESTION}}),
)


def once(workspace: Path) -> list[float]:
    """Return the seconds after which each step was answered."""
    started = time.perf_counter()
    program = [sys.executable, "-P", "-m", "commonplace", "-w", str(workspace), "mcp"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        taken = []
        for number, (method, params) in enumerate(STEPS):
            asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert "result" in answer, answer
            taken.append(time.perf_counter() - started)
    return taken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workspace", nargs="?", type=Path)
    parser.add_argument("times", nargs="?", type=int, default=11)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = given.workspace or Path(folder) / "notes"
        if given.workspace is None:
            demo.unpack(workspace)
            with Memory.open(workspace) as memory:
                memory.sync()
        rows = [once(workspace) for _ in range(given.times)]
    for (method, _), seconds in zip(STEPS, zip(*rows, strict=True), strict=True):
        print(f"{method:<12} {statistics.median(seconds):.3f} s")


if __name__ == "__main__":
    main()
