"""An editor beside us loses nothing: real programs, repeated saves, and what becomes of every line of either side."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.notes import layout
from commonplace.storage import overwritten, state
from tests.attacks import editors

QUICK = {"node", "vim", "append", "pieces"}


def held(root: Path, kind: str, saves: int, **named: object) -> editors.Account:
    """Let an editor save; nothing may be lost, and nobody fails but for a note that keeps changing."""
    if missing := editors.missing(kind):
        pytest.skip(missing)
    made = editors.run(root, kind, saves, **named)
    assert made.lost == [], made.text[-2000:]
    assert [one for one in made.failures if not one.startswith("Busy: ")] == []
    assert made.ours
    return made


@pytest.mark.parametrize("kind", sorted(QUICK))
def test_an_editor_loses_nothing(tmp_path: Path, kind: str) -> None:
    held(tmp_path, kind, 10, writers=2)
    assert litter(paths.Workspace(tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", editors.KINDS)
def test_an_editor_loses_nothing_in_300_saves(tmp_path: Path, kind: str) -> None:
    made = held(tmp_path, kind, 300)
    print(f"\n{kind}: {made.theirs} saves, {made.ours} of ours, {made.told} told, {len(made.lost)} lost")
    assert made.theirs >= 300
    assert litter(paths.Workspace(tmp_path)) == []


def test_what_was_read_long_ago_is_found_and_told(tmp_path: Path) -> None:
    made = held(tmp_path, "cat", 6, writers=2, gap=0.15)
    assert made.told


def litter(workspace: paths.Workspace) -> list[str]:
    """Temporary files."""
    return [path.name for folder in (workspace.root, workspace.state) for path in folder.rglob("*.tmp")]


# --- death amid a write ----------------------------------------------------------------------------

DYING = """
import os, shutil, signal, sys
from datetime import datetime
from pathlib import Path
from commonplace.base import paths
from commonplace.notes import layout
from commonplace.storage import overwritten, state
start, places, stride = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
left = 0
os.fsync = lambda descriptor: None  # a kill cuts no power

def die():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def fatal(module, name):
    real = getattr(module, name)
    def step(*arguments, **named):
        die()
        done = real(*arguments, **named)
        die()
        return done
    setattr(module, name, step)

for name in ("fsync", "rename", "replace", "unlink", "fchmod"):
    fatal(os, name)
for step in range(1, 200, stride):
    place = places / f"{step:03}"
    shutil.copytree(start, place, copy_function=shutil.copy2)
    if (state := paths.Workspace(start).state).exists():
        shutil.copytree(state, paths.Workspace(place).state, copy_function=shutil.copy2)
    child = os.fork()
    if not child:
        left = step
        layout.remember(paths.Workspace(place), "the line of who dies", now=datetime(2026, 2, 13, 12))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert status == 0
        break
print("lived")
"""


def remember(workspace: paths.Workspace, text: str) -> Sequence[str]:
    return layout.remember(workspace, text, now=datetime(2026, 2, 13, 12)).warnings


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("first", [True, False])
def test_killed_at_any_step_of_a_write(tmp_path: Path, first: bool, stride: int) -> None:
    start = paths.Workspace(tmp_path / "start")
    start.memory_dir.mkdir(parents=True)
    if not first:
        remember(start, "one")
        remember(start, "two")
    old = read(start)
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(start.root), str(tmp_path / "dead"), str(stride)],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"lived\n"), done.stderr.decode()
    places = sorted((tmp_path / "dead").iterdir())
    assert len(places) * stride > 8
    for place in places:
        workspace = paths.Workspace(place)
        assert read(workspace) in (old, (old or "# 2026-02-13\n\n") + "- 12:00 the line of who dies\n"), place
        was = read(workspace) or ""
        assert remember(workspace, "the next one") == (), place  # of nothing that is gone
        assert read(workspace) == (was or "# 2026-02-13\n\n") + "- 12:00 the next one\n"
        assert overwritten.check(workspace) == []
        assert litter(workspace) == []


def read(workspace: paths.Workspace) -> str | None:
    note = workspace.memory_dir / "2026-02-13.md"
    return note.read_text() if note.exists() else None


@pytest.mark.parametrize("number", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_many_writes_leave_no_litter(tmp_path: Path, number: int) -> None:
    workspace = paths.Workspace(tmp_path)
    workspace.memory_dir.mkdir()
    for place in range(number):
        remember(workspace, f"line {place} " + "x" * 100)
    assert overwritten.check(workspace) == []
    assert sum(path.stat().st_size for path in workspace.state.rglob("*")) < 6_000_000  # with its log
    state.close(state.path(workspace))
    shutil.rmtree(workspace.state)  # it may go
    assert remember(workspace, "still") == ()
