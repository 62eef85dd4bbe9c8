"""Nights of consolidation, thirty with --slow: nothing lost, nothing invented, nothing pinned touched, each night taken back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.client import Client
from commonplace.storage import undo
from commonplace.upkeep.consolidation import Consolidation, consolidate
from commonplace.upkeep.rollup import rollup
from tests.copies import Template
from tests.lifetime import checks, generated
from tests.lifetime.checks import ARCHIVE, MEMORY
from tests.lifetime.planner import Planner

NIGHTS = pytest.mark.parametrize("nights", [7, pytest.param(14, marks=pytest.mark.slow)])
START = """# Memory

## Health

- Allergic to penicillin. <!-- pinned -->
- 对青霉素过敏，任何时候都不能用。 <!-- pinned -->

## Work

- The project is called Kestrel.
"""


@dataclass
class Life:
    """A workspace that is consolidated every night, and what it was like before each."""

    root: Path
    memory: Memory
    model: Callable[..., str]
    before: dict[str, dict[str, bytes]] = field(default_factory=dict)  # by the run of the night
    said: set[str] = field(default_factory=set)  # all that long-term memory ever said

    @property
    def cap(self) -> int:
        return self.memory.settings.consolidate.max_chars

    def night(self, number: int) -> Consolidation:
        """Consolidate, and check what must hold of every night."""
        before, pinned = generated.tree(self.root), checks.pinned(self.root)
        self.said |= checks.kept(self.root)
        now = datetime.combine(generated.FIRST + timedelta(days=number), time(23, 30))
        done = consolidate(self.memory, Client(FakeModel(self.model)), now=now)
        self.check(before, pinned)
        if done.run is not None:
            self.before[done.run.id] = before
        return done

    def check(self, before: dict[str, bytes], pinned: list[bytes]) -> None:
        after = generated.tree(self.root)
        assert len((self.root / MEMORY).read_text("utf-8")) <= self.cap
        assert checks.pinned(self.root) == pinned
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert changed <= {MEMORY, ARCHIVE}
        checks.check_sources(self.root)
        checks.check_well_formed(self.root)
        assert self.said <= checks.kept(self.root)


Lives = Callable[..., Life]


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lives]:
    opened: list[Memory] = []

    def start(planner: Planner, cap: int = 10_000) -> Life:
        root = tmp_path / "notes"
        (root / "memory").mkdir(parents=True)
        (root / MEMORY).write_text(START, "utf-8")
        settings = {
            "embedding.provider": "none", "usage.record": False, "consolidate.max_chars": cap,
        }  # fmt: skip
        opened.append(Memory.open(root, overrides=settings))
        return Life(root, opened[-1], planner)

    yield start
    for memory in opened:
        memory.close()


def undone(life: Life, run: str, folder: Path) -> dict[str, bytes]:
    """Take back a night, and all after it, on a copy; return the files of the copy."""
    copy = folder / run
    Template(life.root).copied(copy)
    with Memory.open(copy, overrides={"embedding.provider": "none"}) as memory:
        undo.undo(memory.workspace, run, since=True, settings=memory.settings.history)
    found = generated.tree(copy)
    shutil.rmtree(copy)
    return found


def files(tree: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in tree.items() if path in (MEMORY, ARCHIVE)}


@NIGHTS
def test_each_night_taken_back_on_a_copy(begin: Lives, tmp_path: Path, nights: int) -> None:
    life = begin(Planner())
    latest: dict[str, str] = {}
    for number in range(nights):
        latest |= {said.topic: said.text for said in generated.write(life.memory, number) if said.topic}
        life.night(number)
    assert len(life.before) >= nights // 2
    check_content(life, latest)
    after = files(generated.tree(life.root))
    for run, before in life.before.items():
        assert files(undone(life, run, tmp_path / "copies")) == files(before), run
    assert files(generated.tree(life.root)) == after


def check_content(life: Life, latest: dict[str, str]) -> None:
    """Check that what changed is known by its last state, and that nothing passing is kept."""
    standing = checks.standing(life.root)
    # Of those that are proposed a quarter may change in a night.
    assert len([text for text in latest.values() if text in standing]) >= len(latest) - 1
    passing = ("haha", "今天天气", "Error:", "Ran pytest", "connection refused")
    assert not [text for text in checks.kept(life.root) if any(word in text for word in passing)]


@NIGHTS
def test_nonsense_under_a_small_cap_and_each_night_taken_back_in_turn(begin: Lives, nights: int) -> None:
    life = begin(Planner(4), cap=2_500)
    accepted = rejected = 0
    for number in range(nights):
        generated.write(life.memory, number)
        done = life.night(number)
        accepted, rejected = accepted + len(done.accepted), rejected + len(done.rejected)
    assert min(accepted, rejected) > nights
    assert (life.root / ARCHIVE).exists()
    for run in reversed(life.before):
        (made,) = undo.undo(life.memory.workspace, run, settings=life.memory.settings.history)
        assert made.about.undoes == run
        assert files(generated.tree(life.root)) == files(life.before[run])


# --- an owner among it ----------------------------------------------------------------------------------


def edit(life: Life, number: int) -> None:
    """Do what an owner does to notes by hand, some days."""
    page = life.root / MEMORY
    text = page.read_text("utf-8")
    if number % 7 == 3:
        text = text.replace("## Work", f"- Room {number} is the quiet one. <!-- pinned -->\n\n## Work")
        page.write_text(text, "utf-8")
    if number % 6 == 4:
        page.write_text(
            f"{text.rstrip()}\n\n## By hand {number}\n\n- Key {number} hangs on hook {number}.\n", "utf-8"
        )
    if number % 5 == 2:
        note = life.memory.workspace.daily(generated.FIRST + timedelta(days=number))
        note.write_text(note.read_text("utf-8") + f"- 22:50 Page {number} of the manual is wrong.\n", "utf-8")


def told(data: bytes, *, by_hand: bool) -> list[str]:
    """The lines of long-term memory that somebody wrote by hand, or that code did."""
    lines = [line for line in data.decode().splitlines() if line.strip() and not line.startswith("#")]
    return [line for line in lines if ("<!-- cp:" not in line) is by_hand]


@NIGHTS
def test_what_an_owner_writes_in_between_stays(begin: Lives, tmp_path: Path, nights: int) -> None:
    life = begin(Planner(7))
    for number in range(nights):
        generated.write(life.memory, number)
        edit(life, number)
        life.night(number)
    assert len(checks.pinned(life.root)) == 2 + len(range(3, nights, 7))
    now = (life.root / MEMORY).read_bytes()
    taken_back = 0
    for run, before in [*life.before.items()][::3]:
        try:
            found = undone(life, run, tmp_path / "copies")
        except undo.NotUndone:  # exactly, or not at all
            continue
        taken_back += 1
        assert told(found[MEMORY], by_hand=True) == told(now, by_hand=True), run
        assert told(found[MEMORY], by_hand=False) == told(before[MEMORY], by_hand=False), run
    assert taken_back
    assert (life.root / MEMORY).read_bytes() == now


@NIGHTS
def test_old_notes_become_monthly_ones_in_between(begin: Lives, nights: int) -> None:
    life = begin(Planner(9))
    for number in range(nights):
        generated.write(life.memory, number)
        life.night(number)
        if number in (nights // 3, nights // 2):  # weeks later, as it were: the month is over
            now = datetime.combine(generated.FIRST + timedelta(days=number + 60), time(4))
            kept, pinned = checks.kept(life.root), checks.pinned(life.root)
            rollup(life.memory, older_than_days=30, now=now)
            assert checks.pinned(life.root) == pinned
            assert kept <= checks.kept(life.root)
            assert checks.check_sources(life.root)
