"""How far a sync has come: a bar on a terminal, lines where somebody reads a log, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from commonplace.cli.session import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from commonplace.index.progress import Progress

LINE_EVERY_S = 10.0  # how often a log without a terminal is told


@contextmanager
def shown(stream: IO[str] | None = None, *, lines: bool = False) -> Iterator[Progress]:
    """Draw progress on a stream (standard error) while the block runs.

    Where that is no terminal nothing is drawn, or, with `lines`, a line now and then.
    """
    out = sys.stderr if stream is None else stream
    if is_terminal(out):
        with _bar(out) as bar:
            yield _Drawn(bar)
    else:
        yield _Lines(out) if lines else _Silent()


def _bar(stream: IO[str]) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True)


class _Drawn:
    """One bar a stage."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not total:
            return
        if stage not in self.tasks:
            self.tasks[stage] = self.bar.add_task(stage, total=total)
        self.bar.update(self.tasks[stage], completed=done, total=total)


class _Lines:
    """A line when a stage ends, and every few seconds while it lasts."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.due = time.monotonic() + LINE_EVERY_S

    def __call__(self, stage: str, done: int, total: int) -> None:
        if total and (done >= total or time.monotonic() >= self.due):
            self.due = time.monotonic() + LINE_EVERY_S
            print(f"  {stage}: {done:,} of {total:,}", file=self.stream, flush=True)


class _Silent:
    """Nothing."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Ignore it."""
