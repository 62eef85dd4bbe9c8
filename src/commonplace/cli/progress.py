"""Progress of long work: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

from commonplace.cli.session import is_terminal
from commonplace.types import progress
from commonplace.types.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

LINE_EVERY_S = 5.0  # interval of the lines in a log without a terminal


@contextmanager
def shown(stream: IO[str] | None = None, *, lines: bool = False) -> Iterator[Progress]:
    """Draw progress on a stream (standard error) while the block runs.

    Without a terminal a line is written now and then; with `lines` another one at the end of each stage.
    """
    out = sys.stderr if stream is None else stream
    if not is_terminal(out):
        yield _lines(out, ends=lines)
        return
    with ExitStack() as stack:
        bars: list[Bars] = []  # made by the first step: `rich` takes long to import
        tasks: dict[str, TaskID] = {}  # a bar a stage
        furthest: dict[str, int] = {}

        def draw(stage: str, done: int, total: int) -> None:
            if not total:
                return
            if not bars:
                bars.append(stack.enter_context(_bars(out)))
            if stage not in tasks:
                tasks[stage] = bars[0].add_task(stage, total=total)
            furthest[stage] = done = max(done, furthest.get(stage, 0))
            bars[0].update(tasks[stage], completed=done, total=max(done, total))

        yield draw


@contextmanager
def listening() -> Iterator[None]:
    """Draw the progress of the work in this block."""
    with shown() as bar, progress.listening(bar, lambda: True):
        yield


def _bars(out: IO[str]) -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bars
    from rich.progress import TimeRemainingColumn as Remaining

    # The first column moves by itself while a model behind a server works on a request.
    name = TextColumn("{task.description:>9}")
    columns = (SpinnerColumn(), name, BarColumn(), MofNCompleteColumn(), Remaining())
    return Bars(*columns, console=Console(file=out), transient=True)


def _lines(stream: IO[str], *, ends: bool) -> Progress:
    """Write a line every few seconds while a stage lasts, and with `ends` one at its end."""
    due, last = time.monotonic() + LINE_EVERY_S, ""

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal due, last
        line = f"  {stage}: {done:,} of {total:,}"
        if total and line != last and ((ends and done >= total) or time.monotonic() >= due):
            due, last = time.monotonic() + LINE_EVERY_S, line
            print(line, file=stream, flush=True)

    return tell
