"""What submitting costs a host: each entry, and the event loop that it is submitted from.

python tools/measure_capture.py [COUNT [none|builtin]]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from measuring.metrics import percentile

from commonplace.render import screen

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Entry

APART_S = 0.002  # of the second turn, in which the background works while the loop does
DEADLINE_S = 300.0
_TEXT = "Edited schema_{0}.py (42 ms)\n\n    file: src/billing/schema_{0}.py\n    old: {1}\n    new: {1}"


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of one thing that was timed, in milliseconds."""

    name: str
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Capture:
    """What was measured: entries submitted and written, seconds until all stood in the note, and the rows."""

    count: int
    written: int
    written_s: float
    rows: tuple[Row, ...]


def measure(count: int, embedding: str = "auto") -> Capture:
    """Submit entries from an event loop, in one go and then apart, and time what that holds up.

    `embedding` is the setting `embedding.provider` of the workspace that is made for it and removed.
    """
    from commonplace.memory import Memory

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "memory").mkdir()
        with Memory.open(folder, overrides={"embedding.provider": embedding}) as memory:
            return _measured(memory, count)


def as_text(found: Capture) -> str:
    """One row a figure."""
    rows = [[row.name, *(f"{value:.3f} ms" for value in (row.p50, row.p99, row.max))] for row in found.rows]
    head = f"{found.written:,} entries submitted, all in the note {found.written_s:.2f} s after the last"
    return "\n".join([head, "", *screen.table([["", "p50", "p99", "max"], *rows], right=(1, 2, 3))])


def _measured(memory: Memory, count: int) -> Capture:
    from commonplace.agent.worker import IndexWorker
    from commonplace.types import Entry, Provenance

    at = datetime.now()
    entries = [
        Entry(_TEXT.format(number, "value " * 40), at, provenance=Provenance("tool", "bench", "s1"))
        for number in range(2 * count)
    ]
    rows = []
    worker = IndexWorker(memory, capacity=max(1000, count))
    for name, part, pause in (("at once", entries[:count], 0.0), ("2 ms apart", entries[count:], APART_S)):
        _, idle = asyncio.run(_turn(part, lambda entry: None, pause))
        submits, late = asyncio.run(_turn(part, worker.submit, pause))
        rows.append(_row(f"submit, {name}", submits))
        rows.append(_row(f"the loop is late, {name}", late))
        rows.append(_row("  while nothing is submitted", idle))
    ended = time.perf_counter()
    while worker.state.written < len(entries) and time.perf_counter() < ended + DEADLINE_S:
        time.sleep(0.01)
    written_s = time.perf_counter() - ended
    worker.stop(DEADLINE_S)
    return Capture(count, worker.state.written, written_s, tuple(rows))


async def _turn(
    entries: Sequence[Entry], submit: Callable[[Entry], object], pause_s: float
) -> tuple[list[float], list[float]]:
    """Submit entries one a turn of the loop; return how long each took, and how late the loop was, in ms."""
    submits: list[float] = []
    late: list[float] = []
    for entry in entries:
        due = time.perf_counter() + pause_s
        await asyncio.sleep(pause_s)
        started = time.perf_counter()
        late.append((started - due) * 1000)
        submit(entry)
        submits.append((time.perf_counter() - started) * 1000)
    return submits, late


def _row(name: str, values: Sequence[float]) -> Row:
    return Row(name, percentile(values, 0.5) or 0.0, percentile(values, 0.99) or 0.0, max(values))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("model", nargs="?", choices=["none", "builtin", "auto"], default="auto")
    given = parser.parse_args()
    print(as_text(measure(given.count, given.model)))
