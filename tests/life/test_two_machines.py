"""Two machines, two homes, one synced folder: conflict copies are merged by entry, nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory, StatementNotFound
from commonplace.types import Selection
from tests.life.conftest import Owner

DAY = datetime(2026, 3, 2, 9, 0)
NOTE = "memory/2026-03-02.md"
# What four sync programs call the version of the machine that was later.
NAMES: tuple[Callable[[str, int], str], ...] = (
    lambda stem, n: f"{stem}.sync-conflict-20260302-{n:06}-ABCDEFG.md",  # Syncthing
    lambda stem, n: f"{stem} (Lena's conflicted copy 2026-03-02 {n}).md",  # Dropbox
    lambda stem, n: f"{stem} (conflicted copy 2026-03-02 {n:06}).md",  # Nextcloud, ownCloud
    lambda stem, n: f"{stem} {n % 8 + 2}.md",  # iCloud
)


class Machine:
    """A machine: a home with its state, and a folder that a sync program keeps."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.home = place / "home"
        self.home.mkdir(parents=True)
        self.owner = Owner(place / "notes")
        self.folder = self.owner.folder

    def memory(self) -> Memory:
        """Open its memory; the process is this machine's until the next one is opened."""
        self.here()
        return Memory.open(self.folder)

    def here(self) -> None:
        for name in ("STATE", "CACHE", "CONFIG", "DATA"):
            self._patch.setenv(f"XDG_{name}_HOME", str(self.home / name.lower()))
        self._patch.setenv("HOME", str(self.home))

    def files(self) -> dict[str, bytes]:
        """What the sync program sees: notes and transcripts."""
        found = (p for p in self.folder.rglob("*") if p.is_file() and p.suffix in (".md", ".jsonl"))
        return {p.relative_to(self.folder).as_posix(): p.read_bytes() for p in found}

    def write(self, path: str, data: bytes | None) -> None:
        file = self.folder / path
        if data is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


class Sync:
    """A sync program: it carries files over, some of them late, and keeps the loser of a conflict as a copy."""

    def __init__(self, one: Machine, other: Machine, chance: random.Random) -> None:
        self._sides, self._chance = (one, other), chance
        self._known: dict[str, bytes] = {}  # what both sides had when they last agreed
        self.conflicts = 0

    def run(self, late: float) -> None:
        one, other = (side.files() for side in self._sides)
        for path in sorted(one.keys() | other.keys() | self._known.keys()):
            if self._chance.random() >= late:
                self._carry(path, one.get(path), other.get(path))

    def _carry(self, path: str, mine: bytes | None, theirs: bytes | None) -> None:
        known = self._known.get(path)
        if mine != theirs:
            if mine == known or (mine is None and theirs != known):
                self._sides[0].write(path, theirs)
                mine = theirs
            elif theirs == known or theirs is None:
                self._sides[1].write(path, mine)
            else:
                mine = self._conflict(path, mine or b"", theirs)
        if mine is None:
            self._known.pop(path, None)
        else:
            self._known[path] = mine

    def _conflict(self, path: str, mine: bytes, theirs: bytes) -> bytes:
        """The loser's bytes lie on its machine under another name, and are carried over like any file."""
        self.conflicts += 1
        winner = self._chance.randrange(2)
        name = self._chance.choice(NAMES)(path.removesuffix(".md"), self.conflicts)
        while any((side.folder / name).exists() for side in self._sides):
            self.conflicts += 1
            name = self._chance.choice(NAMES)(path.removesuffix(".md"), self.conflicts)
        self._sides[1 - winner].write(name, (mine, theirs)[1 - winner])
        self._sides[1 - winner].write(path, (mine, theirs)[winner])
        return (mine, theirs)[winner]


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine]]:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    pair = Machine(tmp_path / "one", monkeypatch), Machine(tmp_path / "other", monkeypatch)
    yield pair
    for machine in pair:
        machine.owner.close()


class Rounds:
    """What two people, or one at two desks, do to a note; `written` are the entries by their own word."""

    def __init__(self, machines: tuple[Machine, Machine], seed: int) -> None:
        self.chance = random.Random(seed)
        self.machines, self.sync = machines, Sync(*machines, self.chance)
        self.words = ["".join(self.chance.choices("abdeiklmnorstuv", k=7)) for _ in range(300)]
        self.written: dict[str, str] = {}
        self.forgotten: set[str] = set()
        self.told: list[str] = []
        self.merged = self.named = 0

    def text(self) -> str:
        key = f"zz{len(self.written):04}"
        self.written[key] = f"{key} {' '.join(self.chance.choices(self.words, k=5))}"
        return self.written[key]

    def standing(self, machine: Machine) -> list[str]:
        text = machine.files().get(NOTE, b"").decode()
        return re.findall(r"^- (?:\d\d:\d\d )?(zz\d{4} [a-z ]+?)(?: <!--.*)?$", text, re.M)

    def round(self, number: int) -> None:
        machine = self.chance.choice(self.machines)
        now = DAY.replace(hour=9 + number // 60 % 14, minute=number % 60)
        with machine.memory() as memory:
            doing = self.chance.random()
            there = self.standing(machine)
            if doing < 0.7 or len(there) < 3:
                memory.remember(self.text(), now=now)
            elif doing < 0.82:
                with contextlib.suppress(StatementNotFound):
                    memory.correct(self.chance.choice(there), self.text(), now=now.astimezone())
            elif doing < 0.86:
                gone = self.chance.choice(there)
                memory.forget(Selection("text", gone))
                self.forgotten.add(gone[:6])
            elif doing < 0.95:
                self.by_hand(machine, there)
            if self.chance.random() < 0.5:
                self.tell(memory)
        if self.chance.random() < 0.3:
            self.sync.run(late=self.chance.choice((0.0, 0.0, 0.5)))

    def by_hand(self, machine: Machine, there: list[str]) -> None:
        file = machine.folder / NOTE
        text = file.read_text("utf-8")
        if self.chance.random() < 0.5:
            text += f"- {self.text()}\n"
        else:
            edited = self.chance.choice(there)
            text = text.replace(edited, f"{edited} {self.chance.choice(self.words)}", 1)
        file.write_text(text, "utf-8")

    def tell(self, memory: Memory) -> None:
        said = [str(one) for one in memory.sync().warnings]
        self.told += said
        self.merged += sum(" is merged into " in one for one in said)

    def merge_named(self) -> None:
        """Merge by command what does not merge by itself, once status and doctor have named it."""
        machine = self.machines[0]
        with machine.memory() as memory:
            self.tell(memory)
            left = [path for path in machine.files() if path not in (NOTE, "MEMORY.md")]
            warnings = " ".join(map(str, memory.status().warnings))
        if left:
            assert f"{len(left)} conflict cop" in warnings
            said = machine.owner.ok("doctor", "--format", "json")
            assert "commonplace merge" in said
            assert all(f"{path} is a copy of " in said for path in left)
            machine.owner.ok("merge", "--yes")
            self.named += len(left)

    def settle(self) -> None:
        """Let everything arrive until both folders are the same, without copies."""
        for _ in range(10):
            for machine in self.machines:
                self.sync.run(late=0.0)
                with machine.memory() as memory:
                    self.tell(memory)
            self.sync.run(late=0.0)
            self.merge_named()
        assert self.machines[0].files().keys() == {NOTE, "MEMORY.md"}
        assert self.machines[0].files() == self.machines[1].files()


@pytest.mark.parametrize(
    ("seed", "rounds"),
    [(1, 25), *(pytest.param(seed, 200, marks=pytest.mark.slow) for seed in (2, 3))],
)
def test_nothing_is_lost_or_doubled(machines: tuple[Machine, Machine], seed: int, rounds: int) -> None:
    life = Rounds(machines, seed)
    for number in range(rounds):
        life.round(number)
        if number % 25 == 24:
            life.merge_named()
    life.settle()
    lines = [
        line.partition(" <!--")[0] for line in machines[0].owner.read(NOTE).splitlines() if line[:1] == "-"
    ]
    words = [re.sub(r"^- (\d\d:\d\d )?|~~", "", line) for line in lines]
    assert {one for one in words if words.count(one) > 1} == set()
    there = {key for word in words for key in re.findall(r"zz\d{4}", word)}
    assert life.written.keys() - there - life.forgotten == set()
    assert life.merged > 0 or rounds < 200
    back = life.forgotten & there  # with the version of a machine that wrote meanwhile: said
    assert not back or any("forgotten" in one for one in life.told)


BASE = "# 2026-03-02\n\n- 09:00 Ann feeds the hens.\n"
OURS = f"{BASE}- 09:05 The harbour is closed.\n"
THEIRS = BASE.replace(
    "Ann feeds the hens.", "~~Ann feeds the hens.~~ <!-- cp: until=2026-03-02 by=owner -->"
) + ("- 09:10 Bring two lemons.\n  And a knife.\n\n## Boat\n\nThe mast is painted.\n")
BOTH = THEIRS.replace("- 09:10", "- 09:05 The harbour is closed.\n- 09:10")


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_with_new_entries_is_merged_by_itself_and_undo_brings_it_back(
    owner: Owner, name: Callable[[str, int], str]
) -> None:
    copy = name("memory/2026-03-02", 7)
    owner.note(NOTE, OURS)
    owner.note(copy, THEIRS)
    said = [one for one in owner.memory().sync().warnings if "merged" in one]
    assert (len(said), copy in said[0], NOTE in said[0]) == (1, True, True)
    assert owner.read(NOTE) == BOTH
    assert not (owner.folder / copy).exists()
    memory = owner.memory()
    assert [one for one in memory.sync().warnings if "merge" in one] == []
    assert memory.search("two lemons").hits[0].path == NOTE
    memory.undo()
    assert (owner.read(NOTE), owner.read(copy)) == (OURS, THEIRS)
    memory.sync()
    assert (owner.read(NOTE), owner.read(copy)) == (OURS, THEIRS)  # the owner does not want it
    owner.ok("merge", copy, "--yes")
    assert owner.read(NOTE) == BOTH


LEFT = {
    "the same entry changed by both": (NOTE, OURS, OURS.replace("is closed", "is closed till noon")),
    "struck by both": (
        NOTE,
        BASE.replace("Ann feeds the hens.", "~~Ann feeds the hens.~~ <!-- cp: until=2026-03-02 by=owner -->\n- Bo does. <!-- cp: since=2026-03-02 -->"),
        BASE.replace("Ann feeds the hens.", "~~Ann feeds the hens.~~ <!-- cp: until=2026-03-03 by=owner -->\n- Cy will. <!-- cp: since=2026-03-03 -->"),
    ),
    "deleted by one": (NOTE, f"{BASE}- 09:07 Rain.\n", f"{OURS}- 09:07 Rain.\n"),
    "nothing in common": (NOTE, "- Ann came.\n", "- Soup at six.\n"),
    "long-term memory": ("MEMORY.md", "# Memory\n\n- Tea.\n", "# Memory\n\n- Tea.\n- Green ink.\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT)
def test_what_may_be_one_entry_is_left_to_the_owner(owner: Owner, case: str) -> None:
    note, ours, theirs = LEFT[case]
    copy = f"{note[:-3]}.sync-conflict-20260302-000007-ABCDEFG.md"
    owner.note(note, ours)
    owner.note(copy, theirs)
    memory = owner.memory()
    memory.sync()
    assert (owner.read(note), owner.read(copy)) == (ours, theirs)
    assert "1 conflict copy" in " ".join(map(str, memory.status().warnings)) or note == "MEMORY.md"
    assert "+" in owner.ok("merge", "--dry-run")
    assert owner.read(copy) == theirs
    owner.ok("merge", "--yes")
    merged = owner.read(note)
    texts = [line.partition(" <!--")[0] for line in (ours + theirs).splitlines()]
    assert [text for text in texts if text not in merged] == []
    assert not (owner.folder / copy).exists()
    assert owner.run("merge").code == 3


def test_what_this_machine_forgot_does_not_come_back_with_a_copy(owner: Owner) -> None:
    memory = owner.memory()
    for text in ("The attic key is under the pot.", "Lentils on Monday."):
        memory.remember(text, now=DAY)
    with_it = owner.read(NOTE)
    memory.forget(Selection("text", "The attic key is under the pot."))
    owner.note(
        NOTE.replace(".md", " (conflicted copy 2026-03-02 101500).md"), f"{with_it}- 10:00 New shoes.\n"
    )
    memory.sync()
    assert "New shoes." in owner.read(NOTE)
    assert "attic" not in owner.read(NOTE)
