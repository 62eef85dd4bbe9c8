"""What the C library keeps of a heap, seen in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import environment

KEEPING = """
from commonplace.base import heap
def resident():
    (line,) = [one for one in open("/proc/self/status") if one.startswith("VmRSS")]
    return int(line.split()[1]) // 1024
small = [bytes(1000) for _ in range(80_000)]
kept = small[::50]  # so that the rest cannot be given back from its end
del small
before = resident()
heap.trim()
print(before - resident())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, to see what is resident")
def test_what_is_free_is_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KEEPING], capture_output=True, text=True, env=environment(), check=True
    )
    assert int(done.stdout) > 40
