"""Killed at some steps, at more with --slow, through the command line: files old or new, the next carries on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.paths import Workspace
from commonplace.storage import journal
from tests.agent.model_server import Asked, Model, Say, last, model_serving
from tests.cli.conftest import command, environment
from tests.lifetime import checks
from tests.lifetime.generated import tree
from tests.lifetime.planner import Planner

SCRIPT = Path(__file__).with_name("dying.py")
KILLED, NOTHING = -9, 3
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
    llm = {"PROVIDER": "compatible", "BASE_URL": model.url, "MODEL": "scripted"}
    settings = {f"COMMONPLACE_LLM_{name}": value for name, value in llm.items()}
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
        for number in range(3):
            at = datetime.now() - timedelta(days=number + 1)
            memory.remember(
                f"The user prefers room {number + 1} for meetings of more than {number + 5} people.", now=at
            )
            memory.remember("Deploys go out on Tuesdays.", now=at)
            memory.remember(f"Talked to {NAME} about shard {number}.", now=at)
        for number in range(2):
            at = datetime(2025, 3, 10 + number, 9)
            memory.remember(f"We decided to move shelf {number} to the cellar.", now=at)
            memory.remember(f"{NAME} lent us ladder {number}.", now=at)
        memory.correct("林晓负责计费服务。", "林晓负责数据导出。")
        memory.sync()
    return root


def sampled(few: int, many: int) -> pytest.MarkDecorator:
    """Kill at each so many steps, and with --slow at more."""
    return pytest.mark.parametrize("stride", [few, pytest.param(many, marks=pytest.mark.slow)])


@dataclass(frozen=True)
class Died:
    """A workspace whose command was killed at a step: as the kill left it, and as the next commands did."""

    step: int
    killed: Path
    root: Path
    codes: tuple[int, ...]  # of the next commands

    @property
    def output(self) -> str:
        return (self.root.parent / f"{self.root.name}.out").read_text("utf-8")


def killed_at_each_step(
    template: Path, env: dict[str, str], command: list[str], *following: list[str], stride: int
) -> tuple[list[Died], Path]:
    """Kill a command at its steps, and run others after it; return what became of it, and a whole run."""
    folder = template.parent / "killed"
    folder.mkdir()
    told = {"template": str(template), "folder": str(folder), "stride": stride, "command": command}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), json.dumps({**told, "next": following})],
        capture_output=True, text=True, env=env, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    *died, whole = codes
    assert codes[whole] == [0], (folder / f"{whole}.out").read_text("utf-8")
    assert all(codes[name][0] == KILLED for name in died)
    assert len(died) >= 2
    found = [
        Died(int(name), folder / f"{name}.killed", folder / name, tuple(codes[name][1:])) for name in died
    ]
    return found, folder / whole


def check_old_or_new(before: Files, root: Path) -> None:
    """Check that each file of the notes is as it was, or as a run wrote down that it was to be."""
    written = {
        (file.path, file.after)
        for name in journal.names(Workspace(root))
        if (found := journal.load(Workspace(root), name))
        for file in found.files
    }
    now = {path: data for path, data in tree(root).items() if not path.endswith(".tmp")}
    for path in before.keys() | now.keys():
        same = before.get(path) == now.get(path)
        assert same or (path, journal.digest(now.get(path))) in written, path


def check_nothing_half(root: Path) -> None:
    """Check that no run is begun and no temporary file is left."""
    workspace = Workspace(root)
    recorded = [found for name in journal.names(workspace) if (found := journal.load(workspace, name))]
    assert {found.state for found in recorded} <= {"done"}
    assert not [path for path in tree(root) if path.endswith(".tmp")]


@sampled(11, 5)
def test_consolidate(template: Path, env: dict[str, str], stride: int) -> None:
    before = tree(template)
    died, whole = killed_at_each_step(template, env, ["consolidate"], ["consolidate"], stride=stride)
    after = tree(whole)
    assert after["MEMORY.md"] != before["MEMORY.md"]
    for one in died:
        check_old_or_new(before, one.killed)
        assert one.codes in ((0,), (3,)), one.output  # 3: nothing is left to do
        check_nothing_half(one.root)
        # Asked again, a model may have more to say of what was written before the kill: nothing is there twice.
        assert set(checks.standing(whole)) <= set(checks.standing(one.root))
        checks.check_sources(one.root)
        checks.check_well_formed(one.root)


@sampled(4, 1)
def test_undo(template: Path, env: dict[str, str], stride: int) -> None:
    done = subprocess.run(command("-w", template, "consolidate"), capture_output=True, env=env, timeout=100)
    assert done.returncode == 0, done.stderr
    before = tree(template)
    died, whole = killed_at_each_step(template, env, ["undo"], ["log"], stride=stride)
    after = tree(whole)
    assert after["MEMORY.md"] != before["MEMORY.md"]
    for one in died:
        check_old_or_new(before, one.killed)
        assert one.codes == (0,), one.output
        assert tree(one.root) in (before, after)
        check_nothing_half(one.root)


@sampled(14, 3)
def test_correct(template: Path, env: dict[str, str], stride: int) -> None:
    old, new = "Deploys go out on Tuesdays.", "Deploys go out on Thursdays."
    before = tree(template)
    died, whole = killed_at_each_step(
        template, env, ["correct", old, new], ["log"], ["correct", old, new], stride=stride
    )
    after = tree(whole)
    for one in died:
        check_old_or_new(before, one.killed)
        assert one.codes[0] == 0, one.output
        assert tree(one.root) == after  # by the next command, or by being asked again
        check_nothing_half(one.root)
    assert checks.standing(whole).count(new) == 1
    assert old not in checks.standing(whole)


@sampled(10, 3)
def test_rollup(template: Path, env: dict[str, str], stride: int) -> None:
    before = tree(template)
    rollup = ["rollup", "--older-than", "60d"]
    died, whole = killed_at_each_step(template, env, rollup, rollup, stride=stride)
    after = tree(whole)
    assert set(after) != set(before)
    for one in died:
        check_old_or_new(before, one.killed)
        assert one.codes[0] in (0, NOTHING), one.output
        assert tree(one.root) == after
        check_nothing_half(one.root)


@sampled(60, 9)
def test_forget(template: Path, env: dict[str, str], stride: int) -> None:
    before = tree(template)
    forget = ["forget", "--person", NAME, "--yes"]
    died, whole = killed_at_each_step(template, env, forget, ["log"], forget, stride=stride)
    assert held(whole) == []
    for one in died:
        for path, data in tree(one.killed).items():
            was = (
                before.values() if path.endswith(".tmp") else [before.get(path)]
            )  # exchanged for the new one
            assert data in was or NAME.encode() not in data, path
        assert one.codes[0] in (0, NOTHING), one.output
        assert one.codes[1] in (0, NOTHING), one.output
        assert held(one.root) == [], one.step


def held(root: Path) -> list[str]:
    """The files of a workspace that hold the name."""
    return [
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and NAME.encode() in path.read_bytes()
    ]
