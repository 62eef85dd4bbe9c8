"""Forgetting killed at every step (or, but with --slow, at some): each file is old or new, and whoever comes next carries it on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.storage import keyvalue, state
from commonplace.storage.queue import Queue
from commonplace.transcripts.session import Transcript
from commonplace.types import Entry, Selection
from commonplace.types.changes import About, Change
from commonplace.types.events import Turn
from tests import applying
from tests.edit.forget.test_people import NOW, holding, write

WANTED = [Selection("person", "Zorvexqui"), Selection("lines", "memory/2026-02-02.md#L3")]
NAMES = ["Zorvexqui", "窗台上的蓝色花瓶碎了"]
OFF = {"embedding.provider": "none"}
# Forks a child for each so many steps, which is killed when it comes there; says where the last one came through.
PROGRAM = """
import os, shutil, sys
from pathlib import Path
from commonplace import Memory
from commonplace.base import paths
from commonplace.types import Selection
from tests.kills import deadly
import commonplace.edit.forget.erase, commonplace.markdown.references, commonplace.index.sync
template, work = Path(sys.argv[1]), Path(sys.argv[2])
wanted = [Selection(*one.split("|")) for one in sys.argv[4:]]
stride, step = int(sys.argv[3]), 1
while True:
    root = work / f"{step:03}"
    shutil.copytree(template, root)
    os.environ |= {"XDG_CACHE_HOME": str(root / "cache"), "XDG_STATE_HOME": str(root / "state")}
    assert paths.move_state(template / "ws", root / "ws")
    child = os.fork()
    if not child:
        deadly(step)
        with Memory.open(root / "ws", overrides={"embedding.provider": "none"}) as memory:
            memory.forget(wanted)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        print(step, os.waitstatus_to_exitcode(status))
        break
    step += stride
"""


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a run, a transcript and an entry that waits, beside its state and its cache."""
    template = tmp_path / "template"
    root = template / "ws"
    monkeypatch.setenv("XDG_CACHE_HOME", str(template / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(template / "state"))
    (root / "memory").mkdir(parents=True)
    write(root / "MEMORY.md", "# Memory", "", "- Tea at four. <!-- cp: from=memory/2026-02-01.md#L4 -->")
    write(
        root / "memory" / "2026-02-01.md", "# 2026-02-01", "", "- Zorvexqui likes tea.", "- Tea is at four."
    )
    write(root / "memory" / "2026-02-02.md", "# 2026-02-02", "", "- 窗台上的蓝色花瓶碎了。", "- It rained.")
    with Memory.open(root, overrides=OFF) as memory:
        change = Change("MEMORY.md", memory.workspace.memory_file.read_bytes(),
                        memory.workspace.memory_file.read_bytes() + b"- Zorvexqui left.\n")  # fmt: skip
        assert applying.apply(memory.workspace, [change], About("write", "write", "Zorvexqui said so"))
        transcript = Transcript.open(memory.workspace, "s1")
        transcript.extend([Turn("user", "Zorvexqui called"), Turn("assistant", "窗台上的蓝色花瓶碎了！")])
        Queue(memory.workspace).append(Entry("Zorvexqui waits", NOW))
        memory.sync()
        memory.search("Zorvexqui")
    return template


def notes(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.md"))}


@pytest.mark.parametrize("stride", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_step_it_is_carried_on(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    assert holding(template, NAMES)
    before = notes(template / "ws")
    arguments = [f"{one.kind}|{one.value}" for one in WANTED]
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(template), str(work), str(stride), *arguments],
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    steps, code = map(int, done.stdout.split())
    assert (steps > 30, code) == (True, 0), steps
    after = notes(work / f"{steps:03}" / "ws")
    assert holding(work / f"{steps:03}", NAMES) == {}
    begun = 0
    for step in range(1, steps, stride):
        root = work / f"{step:03}"
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
        monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
        now = notes(root / "ws")
        assert all(now[name] in (before[name], after[name]) for name in before), step
        with Memory.open(root / "ws", overrides=OFF) as memory:
            noted = keyvalue.each(memory.workspace, "erasing")
            assert not noted or state.path(memory.workspace).stat().st_mode & 0o077 == 0
            begun += bool(noted)
            # Killed behind the last step, nothing is noted any more, and line 3 is another one by now.
            erasure = memory.forget([] if noted or now == after else WANTED)
            assert erasure.left == (), step
            assert keyvalue.each(memory.workspace, "erasing") == []
        assert holding(root, NAMES) == {}, step
        assert notes(root / "ws") == after, step
        shutil.rmtree(root)
    assert begun * stride > 15
