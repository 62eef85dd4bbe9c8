"""Killed at each step, through the command line: files old or new, and the next command carries on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.history import runs
from commonplace.paths import Workspace

from ..agent.model_server import Asked, Model, Say, last, model_serving
from ..cli.conftest import command, environment
from . import checks
from .generated import tree
from .planner import Planner

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("dying.py")
KILLED = -9
NAME = "Wilhelmina Quist"
Files = dict[str, bytes]


@pytest.fixture
def model() -> Iterator[Model]:
    with model_serving() as running:

        def plan(asked: Asked) -> Say:
            return Say(Planner().plan(last(asked)))

        running.aside = plan
        yield running


@pytest.fixture
def env(model: Model) -> dict[str, str]:
    llm = {"PROVIDER": "compatible", "BASE_URL": model.url, "MODEL": "scripted", "CACHE": "false"}
    settings = {f"COMMONPLACE_LLM_{name}": value for name, value in llm.items() if name != "CACHE"}
    return environment(COMMONPLACE_EMBEDDING_PROVIDER="none", COMMONPLACE_USAGE_RECORD="false", **settings)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A workspace of this week and of long ago, with a person who is to be forgotten."""
    root = tmp_path / "template"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(
        "# Memory\n\n## Deploys\n\n- Deploys go out on Tuesdays.\n- Never on Fridays. <!-- pinned -->\n\n"
        f"## People\n\n- {NAME} maintains the search index.\n- 林晓负责计费服务。\n", "utf-8",
    )  # fmt: skip
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        for number in range(4):
            at = datetime.now() - timedelta(days=number + 1)
            memory.remember(f"The user prefers room {number + 1} for meetings of more than {number + 5} people.", now=at)
            memory.remember("Deploys go out on Tuesdays.", now=at)
            memory.remember(f"Talked to {NAME} about shard {number}.", now=at)
        for number in range(4):
            at = datetime(2025, 3 + number // 2, 10 + number, 9)
            memory.remember(f"We decided to move shelf {number} to the cellar.", now=at)
            memory.remember(f"{NAME} lent us ladder {number}.", now=at)
        memory.correct("林晓负责计费服务。", "林晓负责数据导出。")
        memory.sync()
    return root


def killed_at_each_step(template: Path, env: dict[str, str], *arguments: str, stride: int = 1) -> dict[int, Path]:
    """Run a command until it is killed at each of its steps; return the workspaces, the last of a whole run."""
    folder = template.parent / "killed"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(template), str(folder), str(stride), *arguments],
        capture_output=True, text=True, env=env, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    *died, whole = codes
    out = (folder / f"{whole}.out").read_text("utf-8")
    assert all(codes[name] == KILLED for name in died)
    assert codes[whole] == 0, out
    assert len(died) >= 5, out
    return {int(name): folder / name for name in codes}


def run(root: Path, env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command("-w", root, *arguments), capture_output=True, env=env, timeout=60)


def check_old_or_new(before: Files, root: Path) -> None:
    """Check that each file of the notes is as it was, or as a run wrote down that it was to be."""
    written = {
        (file.path, file.after)
        for name in runs.names(Workspace(root))
        if (found := runs.load(Workspace(root), name))
        for file in found.files
    }
    now = {path: data for path, data in tree(root).items() if not path.endswith(".tmp")}
    for path in before.keys() | now.keys():
        same = before.get(path) == now.get(path)
        assert same or (path, runs.digest(now.get(path))) in written, path


def carried_on(root: Path, env: dict[str, str]) -> Files:
    """Let the next command look at a workspace; return the files, of which none is half of a run."""
    done = run(root, env, "log", "--format", "json")
    assert done.returncode in (0, 3), done.stderr
    workspace = Workspace(root)
    recorded = [found for name in runs.names(workspace) if (found := runs.load(workspace, name))]
    assert all(found.state == "done" for found in recorded)
    files = tree(root)
    assert not [path for path in files if path.endswith(".tmp") and b"~~" in files[path]]
    return files


def test_consolidate(template: Path, env: dict[str, str]) -> None:
    before = tree(template)
    places = killed_at_each_step(template, env, "consolidate")
    *died, whole = places
    after = tree(places[whole])
    assert after["MEMORY.md"] != before["MEMORY.md"]
    for step in died:
        root = places[step]
        check_old_or_new(before, root)
        files = carried_on(root, env) if step % 3 == 0 else {}
        if files:
            assert files["MEMORY.md"] in (before["MEMORY.md"], after["MEMORY.md"])
    root = places[died[len(died) // 2]]
    assert run(root, env, "consolidate").returncode == 0
    assert checks.standing(root) == checks.standing(places[whole])
    checks.check_sources(root)
    checks.check_well_formed(root)


def test_undo(template: Path, env: dict[str, str]) -> None:
    assert run(template, env, "consolidate").returncode == 0
    before = tree(template)
    places = killed_at_each_step(template, env, "undo")
    *died, whole = places
    after = tree(places[whole])
    assert after["MEMORY.md"] != before["MEMORY.md"]
    for step in died:
        check_old_or_new(before, places[step])
        files = carried_on(places[step], env)
        assert files["MEMORY.md"] in (before["MEMORY.md"], after["MEMORY.md"])
    root = places[died[0]]
    assert run(root, env, "undo").returncode == 0
    assert tree(root) == after


def test_correct(template: Path, env: dict[str, str]) -> None:
    old, new = "Deploys go out on Tuesdays.", "Deploys go out on Thursdays."
    before = tree(template)
    places = killed_at_each_step(template, env, "correct", old, new)
    *died, whole = places
    after = tree(places[whole])
    for step in died:
        root = places[step]
        check_old_or_new(before, root)
        files = carried_on(root, env)
        assert files in (before, after)
        if files == before:
            assert run(root, env, "correct", old, new).returncode == 0
        assert tree(root) == after
    assert checks.standing(root).count(new) == 1
    assert old not in checks.standing(root)


def test_rollup(template: Path, env: dict[str, str]) -> None:
    before = tree(template)
    places = killed_at_each_step(template, env, "rollup", "--older-than", "60d")
    *died, whole = places
    after = tree(places[whole])
    assert set(after) != set(before)
    for step in died:
        root = places[step]
        check_old_or_new(before, root)
        files = carried_on(root, env)
        assert files in (before, after)
        if files == before:
            assert run(root, env, "rollup", "--older-than", "60d").returncode == 0
            assert {path for path in tree(root)} == set(after)


def test_forget(template: Path, env: dict[str, str]) -> None:
    before = tree(template)
    places = killed_at_each_step(template, env, "forget", "--person", NAME, "--yes")
    *died, whole = places
    gone = held(places[whole])
    assert gone == []
    for step in died:
        root = places[step]
        for path, data in tree(root).items():
            assert data == before.get(path) or NAME.encode() not in data, path
        carried_on(root, env)
        again = run(root, env, "forget", "--person", NAME, "--yes")
        assert again.returncode in (0, 3), again.stderr
        assert held(root) == [], step


def held(root: Path) -> list[str]:
    """The files of a workspace that hold the name."""
    return [
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and NAME.encode() in path.read_bytes()
    ]
