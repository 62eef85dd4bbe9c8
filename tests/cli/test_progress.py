"""Progress where it is read as lines, and modules that are loaded late."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest
import rich.progress

from commonplace.cli import progress


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        ([("files", 0, 3), ("files", 3, 3)], ["  files: 3 of 3"]),
        ([("files", 1, 3), ("files", 2, 3)], []),
        ([("files", 0, 0)], []),
        ([("files", 1200, 1200), ("vectors", 2, 2)], ["  files: 1,200 of 1,200", "  vectors: 2 of 2"]),
    ],
)
def test_a_log_is_told_when_a_stage_ends(steps: list[tuple[str, int, int]], lines: list[str]) -> None:
    log = io.StringIO()
    with progress.shown(log, lines=True) as told:
        for step in steps:
            told(*step)
    assert log.getvalue().splitlines() == lines


def test_a_stage_that_lasts_is_told_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    log = io.StringIO()
    with progress.shown(log, lines=True) as told:
        told("files", 1, 3)
        told("files", 2, 3)
    assert log.getvalue().splitlines() == ["  files: 1 of 3", "  files: 2 of 3"]


def test_a_pipe_is_told_now_and_then_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    with progress.shown(log) as told:
        told("files", 3, 3)
    assert log.getvalue() == ""
    monkeypatch.setattr(progress, "LINE_EVERY_S", -1.0)
    with progress.shown(log) as told:
        told("vectors", 256, 5000)
    assert log.getvalue() == "  vectors: 256 of 5,000\n"


def test_a_stream_that_is_closed_is_no_terminal() -> None:
    log = io.StringIO()
    log.close()
    with progress.shown(log) as told:
        told("files", 3, 3)


def in_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_deferred_module_becomes_the_real_one_when_it_is_used() -> None:
    code = """
import sys
from commonplace.cli import main
main.defer("wave")
import wave
print("wave" in sys.modules, type(sys.modules["wave"]).__name__, hasattr(wave, "__path__"))
from wave import Error as first
print(type(sys.modules["wave"]).__name__, wave.Error is first is sys.modules["wave"].Error, wave.__file__ != "")
"""
    assert in_python(code) == "True Deferred False\nmodule True True\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    seen: list[tuple[float, float | None]] = []
    update = rich.progress.Progress.update

    def watched(bar: rich.progress.Progress, task: rich.progress.TaskID, **fields: Any) -> None:
        update(bar, task, **fields)
        seen.append((bar.tasks[0].completed, bar.tasks[0].total))

    monkeypatch.setattr(rich.progress.Progress, "update", watched)
    with progress.shown(Terminal()) as bar:
        for done, total in ((1, 4), (3, 4), (2, 4), (5, 4), (5, 9)):
            bar("vectors", done, total)
    assert [done for done, _ in seen] == [1, 3, 3, 5, 5]
    assert all(total is not None and done <= total for done, total in seen)
