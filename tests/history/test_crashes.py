"""Death at every step: files are old or new, the next command carries on, and nothing is left lying about.

A child patches what it asks of the system and kills itself at the n-th call, for n = 1, 2, 3 … until it lives.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory, paths
from commonplace.history import applying, runs, undoing
from tests.cli.conftest import environment

CHILD = """
import os, signal, sys
from pathlib import Path

def fatal(name):
    real = getattr(os, name)
    def step(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        done = real(*arguments, **named)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    setattr(os, name, step)

from commonplace import paths
from commonplace.config.settings import History
from commonplace.history import applying, undoing
from commonplace.types.revisions import About, Change

workspace, what, left = paths.Workspace(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "fchmod"):
    fatal(name)
settings = History("off", 3650)
if what == "undo":
    undoing.undo(workspace, settings=settings)
else:
    changes = [
        Change("memory/归档 é.md", None, "- one\\n".encode()),
        Change("MEMORY.md", b"# Memory\\n\\n- one\\n- two\\n", b"# Memory\\n\\n- two\\n"),
        Change("memory/old.md", b"old\\n", None),
    ]
    applying.apply(workspace, changes, About("rollup", "move", "a test"), keep=what == "keep", settings=settings)
print("lived")
"""
OLD = {"MEMORY.md": b"# Memory\n\n- one\n- two\n", "memory/old.md": b"old\n"}
NEW = {"MEMORY.md": b"# Memory\n\n- two\n", "memory/归档 é.md": b"- one\n"}


def lay_out(root: Path) -> paths.Workspace:
    shutil.rmtree(root, ignore_errors=True)
    for path, data in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return paths.Workspace(root)


def notes(workspace: paths.Workspace) -> dict[str, bytes]:
    found = {}
    for path in [*workspace.root.glob("*"), *workspace.memory_dir.glob("*")]:
        if path.is_file() and not path.name.endswith(".tmp"):
            found[path.relative_to(workspace.root).as_posix()] = path.read_bytes()
    return found


def litter(workspace: paths.Workspace) -> list[str]:
    return [str(path) for path in workspace.root.rglob("*.tmp")]


def dies(workspace: paths.Workspace, what: str, step: int) -> bool:
    """Let a child do it that dies at a step; whether it came so far."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(workspace.root), what, str(step)],
        capture_output=True, env=environment(), timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        assert done.stdout == b"lived\n"
        return False
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    return True


def deaths(root: Path, what: str) -> Iterator[paths.Workspace]:
    """The workspace after each death, ending with one that was survived; each half a call is a step."""
    for step in range(1, 400):
        workspace = lay_out(root)
        if what == "undo":
            assert not dies(workspace, "keep", 0)
        died = dies(workspace, what, step)
        yield workspace
        if not died:
            assert step > 20
            return
    pytest.fail("it never came to an end")


def assert_each_old_or_new(workspace: paths.Workspace) -> None:
    found = notes(workspace)
    for path in OLD.keys() | NEW.keys():
        assert found.get(path) in (OLD.get(path), NEW.get(path)), path
    assert b"- one\n" in b"".join(found.values())  # moved, and at no moment lost


@pytest.mark.parametrize("what", ["keep", "forget"])
def test_killed_at_any_step_of_a_change(tmp_path: Path, what: str) -> None:
    for workspace in deaths(tmp_path / "notes", what):
        assert_each_old_or_new(workspace)
        written = bool(runs.names(workspace))
        applying.recover(workspace)
        assert notes(workspace) == (NEW if written else OLD)
        assert litter(workspace) == []
        assert [run.state for run in runs.listed(workspace)] == ["done"] * written
        if not written:
            continue
        if what == "forget":
            (name,) = runs.names(workspace)
            assert os.listdir(workspace.history / name) == ["run.json"]
        else:
            undoing.undo(workspace)
            assert notes(workspace) == OLD


def test_killed_at_any_step_of_an_undo(tmp_path: Path) -> None:
    for workspace in deaths(tmp_path / "notes", "undo"):
        assert_each_old_or_new(workspace)
        begun = len(runs.names(workspace)) == 2
        applying.rewrite(workspace, lambda read: [], applying.About("write", "nothing"))  # carries on
        assert notes(workspace) == (OLD if begun else NEW)
        assert litter(workspace) == []
        run = runs.listed(workspace)[-1]
        assert bool(run.undone) == begun
        if begun:
            with pytest.raises(undoing.NothingToUndo):
                undoing.undo(workspace)
            undoing.undo(workspace, runs.names(workspace)[-1])  # the undo: which does it again
        assert notes(workspace) == NEW
        undoing.undo(workspace)
        assert notes(workspace) == OLD


def killed_after(root: Path, exchanged: int) -> paths.Workspace:
    """A workspace whose first files are exchanged and whose run is begun."""
    for workspace in deaths(root, "keep"):
        begun = any(run.state == "begun" for run in runs.listed(workspace))
        if begun and sum(notes(workspace).get(p) == NEW.get(p) for p in OLD | NEW) == exchanged:
            return workspace
    raise AssertionError(exchanged)


def test_a_file_that_somebody_changed_before_recovery_is_left(tmp_path: Path) -> None:
    workspace = killed_after(tmp_path / "notes", 1)
    workspace.memory_file.write_bytes(b"the owner's\n")
    (run,) = applying.recover(workspace)
    assert (run.state, [bool(file.left) for file in run.files]) == ("partial", [False, True, False])
    assert notes(workspace) == {"MEMORY.md": b"the owner's\n", "memory/归档 é.md": b"- one\n"}
    assert applying.recover(workspace) == []
    undoing.undo(workspace)  # as far as it went
    assert notes(workspace) == {"MEMORY.md": b"the owner's\n", "memory/old.md": b"old\n"}


def test_bytes_that_were_tampered_with_are_not_written(tmp_path: Path) -> None:
    workspace = killed_after(tmp_path / "notes", 1)
    (name,) = runs.names(workspace)
    (workspace.history / name / "1.after").write_bytes(b"tampered")
    assert ["damaged" in told for told in applying.warnings(workspace)] == [True]
    assert workspace.memory_file.read_bytes() == OLD["MEMORY.md"]
    assert litter(workspace) == []


def test_a_record_that_was_tampered_with_reaches_nothing_outside(tmp_path: Path) -> None:
    workspace = killed_after(tmp_path / "notes", 1)
    outside = tmp_path / "outside.md"
    outside.write_bytes(OLD["MEMORY.md"])
    (name,) = runs.names(workspace)
    record = workspace.history / name / "run.json"
    record.write_bytes(record.read_bytes().replace(b'"MEMORY.md"', b'"../outside.md"'))
    (run,) = applying.recover(workspace)
    assert run.files[1].left
    assert outside.read_bytes() == OLD["MEMORY.md"]


def test_a_file_that_became_a_link_outwards_or_a_folder_is_left(tmp_path: Path) -> None:
    for place, make in enumerate((lambda path: path.symlink_to(tmp_path / "outside.md"), Path.mkdir)):
        workspace = killed_after(tmp_path / f"notes{place}", 1)
        (tmp_path / "outside.md").write_bytes(OLD["MEMORY.md"])
        workspace.memory_file.unlink()
        make(workspace.memory_file)
        (run,) = applying.recover(workspace)
        assert [bool(file.left) for file in run.files] == [False, True, False]
        assert (tmp_path / "outside.md").read_bytes() == OLD["MEMORY.md"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"about": 3}', b"\xff" * 9, b"[" * 100_000])
def test_a_damaged_record_stops_nobody(tmp_path: Path, damage: bytes) -> None:
    workspace = killed_after(tmp_path / "notes", 1)
    (name,) = runs.names(workspace)
    (workspace.history / name / "run.json").write_bytes(damage)
    assert applying.recover(workspace) == []
    assert runs.damaged(workspace) == [name]
    before = applying.read(workspace, "MEMORY.md")
    run = applying.apply(
        workspace, [applying.Change("MEMORY.md", before, b"new\n")], applying.About("write", "new")
    )
    assert run is not None
    undoing.undo(workspace)
    assert workspace.memory_file.read_bytes() == before
    with pytest.raises(undoing.NotUndone, match="damaged"):
        undoing.undo(workspace, name)


def test_a_sync_carries_on_and_says_what_was_left(tmp_path: Path) -> None:
    workspace = killed_after(tmp_path / "notes", 1)
    workspace.memory_file.write_bytes(b"the owner's\n")
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        (warning,) = memory.sync().warnings
        assert warning.startswith("MEMORY.md was changed by somebody else")
        assert memory.sync().warnings == ()
