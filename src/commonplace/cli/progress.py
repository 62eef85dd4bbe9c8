"""How far a sync has come: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from commonplace.cli.session import is_terminal
from commonplace.types.progress import Progress

LINE_EVERY_S = 5.0  # interval of the lines in a log without a terminal


@contextmanager
def shown(stream: IO[str] | None = None, *, lines: bool = False) -> Iterator[Progress]:
    """Draw progress on a stream (standard error) while the block runs.

    Where that is no terminal a line is written now and then, with `lines` one for the end of each stage too.
    """
    out = sys.stderr if stream is None else stream
    if not is_terminal(out):
        yield _lines(out, ends=lines)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn
    from rich.progress import Progress as Bars
    from rich.progress import TimeRemainingColumn as Remaining

    # The first column moves by itself while a model behind a server works on a request.
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:>9}"),
        BarColumn(),
        MofNCompleteColumn(),
        Remaining(),
    )
    with Bars(*columns, console=Console(file=out), transient=True) as bar:
        tasks: dict[str, TaskID] = {}  # a bar a stage
        furthest: dict[str, int] = {}

        def draw(stage: str, done: int, total: int) -> None:
            if total:
                if stage not in tasks:
                    tasks[stage] = bar.add_task(stage, total=total)
                furthest[stage] = done = max(done, furthest.get(stage, 0))
                bar.update(tasks[stage], completed=done, total=max(done, total))

        yield draw


def _lines(stream: IO[str], *, ends: bool) -> Progress:
    """Write a line every few seconds while a stage lasts, and when one `ends` if that is wanted."""
    due, last = time.monotonic() + LINE_EVERY_S, ""

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal due, last
        line = f"  {stage}: {done:,} of {total:,}"
        if total and line != last and ((ends and done >= total) or time.monotonic() >= due):
            due, last = time.monotonic() + LINE_EVERY_S, line
            print(line, file=stream, flush=True)

    return tell
