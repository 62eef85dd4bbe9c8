"""Two agents writing and correcting while a third consolidates: nothing lost, nothing twice, a record that adds up."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

from commonplace import Memory
from commonplace.base.paths import Workspace
from commonplace.storage import journal
from commonplace.types import Statement
from tests.lifetime import checks

ROOT = Path(__file__).parents[2]
ENTRIES = 12
CONSOLIDATED = ("MEMORY.md", "consolidate")
START = """# Memory

## Work

- The project is called Kestrel. <!-- pinned -->
"""
# What one says stands in the note of today, in three ways; each fourth statement of its own is corrected.
WRITE = """
import sys
from datetime import datetime
from commonplace import Memory
from commonplace.types import Entry, Provenance
memory = Memory.open(sys.argv[1], overrides={"embedding.provider": "none", "usage.record": False})
name, many = sys.argv[2], int(sys.argv[3])
by = Provenance("agent", name, "s")
for number in range(many):
    memory.remember(f"{name} prefers locker {number} for parcels from depot {number}.", provenance=by)
    memory.capture([Entry(f"{name} ran check {number}", datetime.now(), "Observations", Provenance("tool", name, "s"))])
    if number % 4 == 3:
        old = f"{name} prefers locker {number} for parcels from depot {number}."
        memory.correct(old, f"{name} prefers shelf {number} for parcels from depot {number}.", provenance=by)
"""
CONSOLIDATE = """
import sys
from commonplace import Memory
from commonplace.upkeep.consolidation import consolidate
from commonplace.upkeep.schedule import due
from commonplace.providers.llm.client import Client
from commonplace.providers.fake import FakeModel
from tests.lifetime.planner import Planner
memory = Memory.open(sys.argv[1], overrides={"embedding.provider": "none", "usage.record": False})
done = 0
while sys.stdin.readline().strip() == "again":
    try:
        done += consolidate(memory, Client(FakeModel(Planner(done)))).run is not None
    except due.Running:
        pass
    print(done, flush=True)
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], text=True, env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_two_write_while_two_others_consolidate_again_and_again(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(START, "utf-8")
    tidy = [start(CONSOLIDATE, root) for _ in range(2)]
    writers = [start(WRITE, root, name, ENTRIES) for name in ("Ada", "Lin")]
    try:
        while any(writer.poll() is None for writer in writers):
            again(tidy)
        for writer in writers:
            _, trouble = writer.communicate(timeout=100)
            assert writer.returncode == 0, trouble
        rounds = again(tidy)
        for one in tidy:
            _, trouble = one.communicate("enough\n", timeout=100)
            assert one.returncode == 0, trouble
    finally:
        for process in (*tidy, *writers):
            process.kill()
            process.communicate()
    assert sum(rounds) >= 1
    check_writing(root)
    check_record(root, rounds)


def again(tidy: list[subprocess.Popen[str]]) -> list[int]:
    """Let both consolidate at once, and return how many runs each has made."""
    for one in tidy:
        assert one.stdin is not None
        one.stdin.write("again\n")
        one.stdin.flush()
    told = [one.stdout.readline() if one.stdout is not None else "" for one in tidy]
    assert all(told), [one.stderr.read() for one in tidy if one.stderr is not None]
    return [int(line) for line in told]


def check_writing(root: Path) -> None:
    """Check that each entry is there once: as it was said, or struck with the other beside it."""
    day = f"memory/{date.today():%Y-%m-%d}.md"
    stated = [
        one
        for path in sorted((root / "memory").glob("2*.md"))
        for one in checks.read(root, f"memory/{path.name}")
    ]
    assert day in {one.path for one in stated}
    long_term = checks.read(root, "MEMORY.md")
    for name in ("Ada", "Lin"):
        for number in range(ENTRIES):
            said = f"{name} prefers locker {number} for parcels from depot {number}."
            (old,) = of(stated, said)
            assert old.struck is (number % 4 == 3)
            # Beside the one in MEMORY.md, where a consolidation had taken it over by then.
            right = said.replace("locker", "shelf")
            new = [*of(stated, right), *of(long_term, right)]
            assert bool(new) is old.struck
            # The planner replaces a preference by one much like it; what it strikes says so and stays.
            replaced = [one for one in new if one.struck]
            assert {(one.path, one.said.get("struck-agent")) for one in replaced} <= {CONSOLIDATED}
            (seen,) = of(stated, f"{name} ran check {number}")
            assert seen.said["by"] == "tool"


def of(stated: list[Statement], text: str) -> list[Statement]:
    return [one for one in stated if checks.words(one) == text]


def check_record(root: Path, rounds: list[int]) -> None:
    """Check long-term memory, and that the record tells of each change once and leads to what stands there now."""
    checks.check_sources(root)
    checks.check_well_formed(root)
    assert b"- The project is called Kestrel. <!-- pinned -->" in checks.pinned(root)
    workspace = Workspace(root)
    recorded = [found for name in journal.names(workspace) if (found := journal.load(workspace, name))]
    kinds = [found.about.kind for found in recorded]
    assert kinds.count("consolidate") == sum(rounds)
    assert kinds.count("correct") == 2 * (ENTRIES // 4)
    assert {found.state for found in recorded} == {"done"}
    # Each change of MEMORY.md began where another had ended, and one ended with what stands there now.
    chain = [file for found in recorded for file in found.files if file.path == "MEMORY.md"]
    after = [file.after for file in chain]
    begun = [file.before for file in chain]
    assert len(set(after)) == len(after)
    assert sorted([*begun, journal.digest((root / "MEMORY.md").read_bytes())]) == sorted(
        [*after, journal.digest(START.encode())]
    )
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        assert memory.status().stale == 0
