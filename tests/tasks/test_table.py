"""docs/tasks.md: forty tasks, and those of the command line done by what their cells say."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from commonplace import config
from commonplace.cli import picks, session
from tests.cli.conftest import called
from tests.tasks import checks, table, workspace


def test_there_are_forty_tasks_and_each_cell_counts_its_steps() -> None:
    tasks = table.tasks()
    assert [task.number for task in tasks] == [*range(1, 41)]
    assert checks.CHECKS.keys() == {task.number for task in tasks}
    wrong = {
        (task.number, door): (way.number, way.counted)
        for task in tasks
        for door, way in task.ways.items()
        if way.number != way.counted
    }
    assert wrong == {}
    assert all("command line" in task.ways for task in tasks)
    assert table.summary() in table.PAGE.read_text("utf-8")


def test_every_task_is_done_by_its_command_lines(
    tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "is_terminal", lambda stream: stream is sys.stdout)
    monkeypatch.setattr(picks, "is_number", str.isdecimal)
    for name, value in {
        "NO_COLOR": "1",
        "COMMONPLACE_EMBEDDING_PROVIDER": "none",
    }.items():
        monkeypatch.setenv(name, value)
    config.set_values({"output.editor_uri": ""})
    (tmp_path / "editor.py").write_text(checks.EDITOR)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {tmp_path / 'editor.py'}")
    workspace.make(tmp_path / "made")
    wrong: list[object] = []
    for number, way in table.ways("command line"):
        with workspace.copied(tmp_path / "made", tmp_path / "now") as root:
            shown = ""
            for kind, what in way.steps:
                if kind == "event":
                    checks.EVENTS[what](root)
                    continue
                name = shown.partition(":")[0]  # of what the command before listed first
                _, *words = shlex.split(what.replace(" NAME", f" {name}"))
                done = called(*words, cwd=root)
                shown = done.stdout.decode() + done.stderr.decode()
                if done.returncode:
                    wrong.append((number, what, done.returncode, shown))
            wrong += [(number, problem) for problem in checks.problems(number, root, shown)]
    assert wrong == []
