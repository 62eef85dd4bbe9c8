"""Corrections under fire: sudden death at every step, two writers at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.storage import journal, transaction
from tests.edit.conftest import NOW, notes

CORRECT = """
import os, shutil, signal, sys
from datetime import datetime
from pathlib import Path
from commonplace import Memory
import commonplace.storage.transaction, commonplace.index.sync, commonplace.edit.correct
def correct(root):
    memory = Memory.open(root, overrides={"embedding.provider": "none"})
    memory.correct("Deploys go out on Tuesdays.", "Deploys go out on Thursdays.", now=datetime(2026, 3, 2, 9, 30))
"""
# Forks a child for each so many steps, which is killed before that call that touches the disk for good, in a copy
# of the workspace of its own; the last one comes through.
KILLED = (
    CORRECT
    + """
os.fsync = lambda descriptor: None  # a kill cuts no power
template, places, stride, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), 0
def deadly(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(os, name, call)
for name in ("fsync", "replace", "rename"):
    deadly(name)
from contextlib import contextmanager
from commonplace.storage import state
known = state.writing
@contextmanager
def writing(*arguments, **named):
    with known(*arguments, **named) as connection:
        yield connection
        os.fsync(0)  # before the commit, and behind it
    os.fsync(0)
state.writing = writing
for step in range(1, 200, stride):
    place = places / f"{step:03}"
    shutil.copytree(template, place)
    child = os.fork()
    if not child:
        left = step
        correct(place)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
"""
)
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


def deaths(root: Path, places: Path, stride: int) -> list[Path]:
    """The workspaces after each so many steps of a correction, the last one after none."""
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
    process = run(KILLED, root, places, stride)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told.decode()
    found = sorted(places.iterdir())
    assert len(found) * stride > 10
    return found


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_whoever_is_killed_leaves_old_or_new(
    root: Path, tmp_path_factory: pytest.TempPathFactory, stride: int
) -> None:
    old = notes(root)
    *killed, whole = deaths(root, tmp_path_factory.mktemp("killed"), stride)
    new = notes(whole)
    assert new != old
    seen = set()
    carried_on = False
    for place in killed:
        found = notes(place)
        assert all(found[path] in (old[path], new[path]) for path in old)
        with Memory.open(place, overrides={"embedding.provider": "none"}) as memory:
            begun = any(one.state == "begun" for one in journal.listed(memory.workspace))
            if begun and found == old and not carried_on:  # by whoever changes something next
                carried_on = True
                memory.correct("Rollback takes two steps.", "Rollback takes three steps.", now=NOW)
                text = (place / "MEMORY.md").read_text()
                assert "Thursdays" in text
                assert "three steps" in text
                assert {one.state for one in journal.listed(memory.workspace)} == {"done"}
                continue
            transaction.recover(memory.workspace)
        settled = notes(place)
        assert settled in (old, new)
        seen.add(settled == new)
    assert carried_on
    assert True in seen


def test_one_corrects_while_another_remembers(root: Path) -> None:
    count = 5
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


def test_two_correct_the_same(root: Path) -> None:
    processes = [run(f"{CORRECT}\ncorrect(sys.argv[1])", root) for _ in range(2)]
    codes = sorted(process.wait(60) for process in processes)
    told = b"".join(process.communicate()[1] for process in processes)
    assert codes == [0, 1]
    assert b"struck already" in told
    assert (root / "MEMORY.md").read_text().count("Thursdays") == 1
