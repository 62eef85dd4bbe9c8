"""Corrections under fire: sudden death at every step, two writers at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.history import applying, runs

from .conftest import NOW, notes

# Dies, as if killed, before the n-th call that touches the disk for good.
CORRECT = """
import os, sys
from datetime import datetime
from commonplace import Memory
memory = Memory.open(sys.argv[1], overrides={"embedding.provider": "none"})
left = [int(sys.argv[2])]
def deadly(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return real(*arguments, **named)
    setattr(os, name, call)
for name in ("fsync", "replace", "rename"):
    deadly(name)
memory.correct("Deploys go out on Tuesdays.", "Deploys go out on Thursdays.", now=datetime(2026, 3, 2, 9, 30))
"""
WRITE = """
import sys
from commonplace import Memory
memory = Memory.open(sys.argv[1], overrides={"embedding.provider": "none"})
for number in range(int(sys.argv[3])):
    if sys.argv[2] == "remember":
        memory.remember(f"Walnut entry {number} of the other writer.")
    else:
        memory.correct(f"Value {number} of the table is old.", f"Value {number} of the table is new.")
"""


def run(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stderr=subprocess.PIPE)


def test_whoever_is_killed_leaves_old_or_new(root: Path) -> None:
    old = notes(root)
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.correct("Deploys go out on Tuesdays.", "Deploys go out on Thursdays.", now=NOW)
        new = notes(root)
        seen = set()
        for step in range(1, 60):
            for path, data in old.items():
                (root / path).write_bytes(data)
            for name in runs.names(memory.workspace):
                runs.remove(memory.workspace, name)
            process = run(CORRECT, root, step)
            process.communicate(timeout=60)
            found = notes(root)
            assert all(found[path] in (old[path], new[path]) for path in old)
            applying.recover(memory.workspace)
            settled = notes(root)
            assert settled in (old, new)
            seen.add(settled == new)
            if process.returncode == 0:
                break
        assert process.returncode == 0
        assert seen == {True, False}
        assert settled == new


def test_a_killed_correction_is_carried_on_by_the_next(root: Path) -> None:
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        for step in range(1, 60):  # until it died with the run begun and no file exchanged
            process = run(CORRECT, root, step)
            process.communicate(timeout=60)
            if any(one.state == "begun" for one in runs.listed(memory.workspace)):
                break
        memory.correct("Rollback takes two steps.", "Rollback takes three steps.", now=NOW)
        text = (root / "MEMORY.md").read_text()
        assert "Thursdays" in text
        assert "three steps" in text
        assert {one.state for one in runs.listed(memory.workspace)} == {"done"}


def test_one_corrects_while_another_remembers(root: Path) -> None:
    count = 8
    lines = "".join(f"- Value {number} of the table is old.\n" for number in range(count))
    (root / "memory/2026-02-20.md").write_text(f"# Values\n\n{lines}")
    processes = [run(WRITE, root, what, count) for what in ("remember", "correct", "remember")]
    for process in processes:
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told.decode()
    everything = b"".join(notes(root).values()).decode()
    assert everything.count("of the other writer.") == 2 * count
    for number in range(count):
        assert f"- ~~Value {number} of the table is old.~~ <!-- cp" in everything
        assert f"- Value {number} of the table is new. <!-- cp: since" in everything


@pytest.mark.parametrize("workers", [2])
def test_two_correct_the_same(root: Path, workers: int) -> None:
    processes = [run(CORRECT, root, 0) for _ in range(workers)]
    codes = sorted(process.wait(60) for process in processes)
    told = b"".join(process.communicate()[1] for process in processes)
    assert codes == [0, 1]
    assert b"struck already" in told
    assert (root / "MEMORY.md").read_text().count("Thursdays") == 1
