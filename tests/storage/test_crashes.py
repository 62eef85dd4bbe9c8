"""Death at every step: files are old or new, the next command carries on, and nothing is left lying about.

Children patch what they ask of the system and kill themselves before or after the n-th call, each in a copy of
the workspace, for every n (with --slow) or some of them, until one lives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.config.settings import History
from commonplace.storage import journal, transaction, undo
from commonplace.storage import state as database
from tests import applying
from tests.cli.conftest import environment

CHILDREN = """
import os, shutil, signal, sys
from pathlib import Path
from commonplace.base import paths
from commonplace.config.settings import History
from commonplace.storage import transaction as applying, committing, undo as undoing
from commonplace.storage import journal
from commonplace.types.changes import About, Change

start, places, what, git, stride = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
left = 0
os.fsync = lambda descriptor: None  # a kill cuts no power

def fatal(module, name):
    real = getattr(module, name)
    def step(*arguments, **named):
        die()
        done = real(*arguments, **named)
        die()
        return done
    setattr(module, name, step)

def die():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def work(workspace):
    settings = History(git, 3650)
    if what == "undo":
        undoing.undo(workspace, settings=settings)
        return
    changes = [
        Change("memory/归档 é.md", None, "- one\\n".encode()),
        Change("MEMORY.md", b"# Memory\\n\\n- one\\n- two\\n", b"# Memory\\n\\n- two\\n"),
        Change("memory/old.md", b"old\\n", None),
    ]
    applying.rewrite(workspace, lambda read: changes, About("rollup", "move", "a test"), keep=what != "forget", settings=settings)

if git == "auto":
    from commonplace.storage import git as program
    fatal(program.Repository, "run")
else:
    for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "fchmod"):
        fatal(os, name)
    fatal(journal, "put")  # what happens within is one transaction of SQLite
for step in range(1, 400, stride):
    place = places / f"{step:03}"
    shutil.copytree(start, place)
    if (state := paths.Workspace(start).state).exists():
        shutil.copytree(state, paths.Workspace(place).state)
    child = os.fork()
    if not child:
        left = step
        work(paths.Workspace(place))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert status == 0
        break
print("lived")
"""
OLD = {"MEMORY.md": b"# Memory\n\n- one\n- two\n", "memory/old.md": b"old\n"}
NEW = {"MEMORY.md": b"# Memory\n\n- two\n", "memory/归档 é.md": b"- one\n"}
ORDER = ["memory/归档 é.md", "MEMORY.md", "memory/old.md"]


sampled = pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.slow)])


def lay_out(root: Path) -> paths.Workspace:
    for path, data in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return paths.Workspace(root)


def moved(workspace: paths.Workspace) -> None:
    """Do as the children do, and live."""
    changes = [transaction.Change(path, OLD.get(path), NEW.get(path)) for path in ORDER]
    assert applying.apply(workspace, changes, transaction.About("rollup", "move", "a test"))


def notes(workspace: paths.Workspace) -> dict[str, bytes]:
    found = {}
    for path in [*workspace.root.glob("*"), *workspace.memory_dir.glob("*")]:
        if path.is_file() and not path.name.endswith(".tmp"):
            found[path.relative_to(workspace.root).as_posix()] = path.read_bytes()
    return found


def litter(workspace: paths.Workspace) -> list[str]:
    """Return the temporary files among the notes; those in the state are found by `forget` and `doctor`."""
    return [str(path) for path in workspace.root.rglob("*.tmp")]


def deaths(start: Path, what: str, git: str = "off", stride: int = 1) -> list[paths.Workspace]:
    """The workspace after each death, or each so many, the last one after none.

    What they leave in the folder of temporary files is in `temporary`, beside the workspace.
    """
    places = start.with_name(f"{start.name}-deaths")
    temporary = start.with_name("temporary")
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CHILDREN, str(start), str(places), what, git, str(stride)],
        capture_output=True, env=environment(TMPDIR=os.fspath(temporary)), timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"lived\n"), done.stderr.decode()
    found = [paths.Workspace(path) for path in sorted(places.iterdir())]
    assert len(found) * stride > 20
    return found


@pytest.fixture(scope="module")
def state() -> str:
    """The folder of the states of those who die."""
    return os.environ["XDG_STATE_HOME"]


@pytest.fixture(autouse=True)
def same_user(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Carry on with the state of those who died."""
    monkeypatch.setenv("XDG_STATE_HOME", state)


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> list[paths.Workspace]:
    """A workspace after each death amid a change."""
    start = tmp_path_factory.mktemp("moving") / "notes"
    lay_out(start)
    return deaths(start, "keep", stride=3)


@pytest.fixture
def killed(moving: list[paths.Workspace], tmp_path: Path) -> paths.Workspace:
    """A workspace whose first file is exchanged and whose run is begun."""
    for workspace in moving:
        begun = any(run.state == "begun" for run in journal.listed(workspace))
        if begun and [notes(workspace).get(path) == NEW.get(path) for path in ORDER] == [True, False, False]:
            killed = paths.Workspace(Path(shutil.copytree(workspace.root, tmp_path / "killed")))
            shutil.copytree(workspace.state, killed.state)
            return killed
    pytest.fail("nobody died there")


def assert_each_old_or_new(workspace: paths.Workspace) -> None:
    found = notes(workspace)
    for path in OLD.keys() | NEW.keys():
        assert found.get(path) in (OLD.get(path), NEW.get(path)), path
    assert b"- one\n" in b"".join(found.values())  # moved, and at no moment lost


@sampled
@pytest.mark.parametrize("what", ["keep", "forget"])
def test_killed_at_any_step_of_a_change(tmp_path: Path, what: str, stride: int) -> None:
    lay_out(tmp_path / "notes")
    for workspace in deaths(tmp_path / "notes", what, stride=stride):
        assert_each_old_or_new(workspace)
        written = bool(journal.names(workspace))
        transaction.recover(workspace)
        assert notes(workspace) == (NEW if written else OLD)
        assert litter(workspace) == []
        assert [run.state for run in journal.listed(workspace)] == ["done"] * written
        if not written:
            continue
        if what == "forget":
            assert journal.size(workspace) == 0
        else:
            undo.undo(workspace)
            assert notes(workspace) == OLD


@sampled
def test_killed_at_any_step_of_an_undo(tmp_path: Path, stride: int) -> None:
    moved(lay_out(tmp_path / "notes"))
    for workspace in deaths(tmp_path / "notes", "undo", stride=stride):
        assert_each_old_or_new(workspace)
        begun = len(journal.names(workspace)) == 2
        transaction.rewrite(workspace, lambda read: [], transaction.About("write", "nothing"))  # carries on
        assert notes(workspace) == (OLD if begun else NEW)
        assert litter(workspace) == []
        run = journal.listed(workspace)[-1]
        assert bool(run.undone) == begun
        if begun:
            with pytest.raises(undo.NothingToUndo):
                undo.undo(workspace)
            undo.undo(workspace, journal.names(workspace)[-1])  # the undo: which does it again
        assert notes(workspace) == NEW
        undo.undo(workspace)
        assert notes(workspace) == OLD


def test_a_file_that_somebody_changed_before_recovery_is_left(killed: paths.Workspace) -> None:
    killed.memory_file.write_bytes(b"the owner's\n")
    (run,) = transaction.recover(killed)
    assert (run.state, [bool(file.left) for file in run.files]) == ("partial", [False, True, False])
    assert notes(killed) == {"MEMORY.md": b"the owner's\n", "memory/归档 é.md": b"- one\n"}
    assert transaction.recover(killed) == []
    undo.undo(killed)  # as far as it went
    assert notes(killed) == {"MEMORY.md": b"the owner's\n", "memory/old.md": b"old\n"}


def test_bytes_that_were_tampered_with_are_not_written(killed: paths.Workspace) -> None:
    with database.writing(killed) as connection:
        connection.execute("UPDATE blob SET bytes = ?", (b"tampered",))
    assert ["damaged" in told for told in transaction.warnings(killed)] == [True]
    assert killed.memory_file.read_bytes() == OLD["MEMORY.md"]


@pytest.mark.parametrize("becomes", ["link", "folder"])
def test_a_file_that_became_a_link_outwards_or_a_folder_is_left(
    killed: paths.Workspace, tmp_path: Path, becomes: str
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(OLD["MEMORY.md"])
    killed.memory_file.unlink()
    if becomes == "link":
        killed.memory_file.symlink_to(outside)
    else:
        killed.memory_file.mkdir()
    (run,) = transaction.recover(killed)
    assert [bool(file.left) for file in run.files] == [False, True, False]
    assert outside.read_bytes() == OLD["MEMORY.md"]


@sampled
def test_killed_at_any_step_of_a_commit(tmp_path: Path, stride: int) -> None:
    start = tmp_path / "notes"
    lay_out(start)
    (start / "staged.txt").write_text("staged\n")
    for words in (["init", "-q"], ["add", "staged.txt"]):
        subprocess.run(["git", "-C", str(start), *words], check=True)
    for workspace in deaths(start, "keep", "auto", stride):
        assert notes(workspace).items() >= NEW.items()
        changes = [transaction.Change("memory/more.md", None, b"more\n")]
        about, settings = transaction.About("write", "more"), History("auto", 3650)
        more = applying.apply(workspace, changes, about, settings=settings)
        assert more is not None
        subjects = git(workspace, "log", "--format=%s").splitlines()
        if subjects[:1] == ["commonplace: more"]:
            assert subjects[1:] in ([], ["commonplace: move"])
            assert "A  staged.txt\n" in git(workspace, "status", "--short")
        else:
            assert more.uncommitted
            assert (workspace.root / ".git" / "index.lock").exists()


def git(workspace: paths.Workspace, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(workspace.root), *words], capture_output=True, text=True, check=False
    )
    return done.stdout
