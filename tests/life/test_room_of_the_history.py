"""The history of changes is small on disk, bounded, exact, and holds no word that was forgotten."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.life.conftest import Owner
from tests.life.test_overwritten import everything

WORDS = (
    "harbour lamp gate boiler ferry ticket garden walnut copper signal morning letter paint window".split()
)


def lines(count: int, seed: int = 3) -> list[str]:
    chance = random.Random(seed)
    return [f"- {' '.join(chance.choices(WORDS, k=12))} {chance.randrange(10**6)}.\n" for _ in range(count)]


def state(owner: Owner) -> sqlite3.Connection:
    return sqlite3.connect(owner.place("state") / "state.sqlite")


def room(owner: Owner) -> int:
    with closing(state(owner)) as connection:
        ((size,),) = connection.execute("SELECT total(length(bytes)) FROM blob").fetchall()
    return int(size)


def test_sixty_corrections_of_a_long_note_take_little_room_and_are_taken_back_exactly(owner: Owner) -> None:
    lamps = [f"- The lamp {n} is red.\n" for n in range(60)]
    note = owner.note("MEMORY.md", "# Memory\n\n" + "".join(lines(320) + lamps))
    first = note.read_bytes()
    assert 27_000 < len(first) < 33_000
    memory = owner.memory()
    for n in range(60):
        memory.correct(f"The lamp {n} is red.", f"The lamp {n} is blue.")
    assert room(owner) < 1_300_000  # 4 MB when bytes were kept as they are
    assert "(history.keep_mb) they take" in owner.run("doctor", "--offline", "--verbose").out
    for _ in range(60):
        memory.undo()
    assert note.read_bytes() == first


def test_beyond_its_size_the_oldest_changes_go(owner: Owner) -> None:
    text = "".join(f"- {random.Random(n).randbytes(60).hex()}\n" for n in range(700))
    owner.note("MEMORY.md", f"# Memory\n\n- The lamp is 0.\n{text}")
    memory = owner.memory(overrides={"history.keep_mb": 1})
    for n in range(240):
        memory.correct(f"The lamp is {n}.", f"The lamp is {n + 1}.")
        if n > 16 and room(owner) < 1_000_000:
            break
    assert room(owner) < 1_000_000
    memory.undo()
    assert f"- The lamp is {n}." in owner.read("MEMORY.md")


def test_what_is_kept_is_shown_undone_and_forgotten_too(owner: Owner) -> None:
    memory = owner.memory()
    owner.note("MEMORY.md", "# Memory\n\n- Zorvexqui hikes.\n- Gas costs 30.\n- Rain.\n")
    memory.correct("Gas costs 30.", "Gas costs 40.")
    memory.correct("Zorvexqui hikes.", "Zorvexqui swims.")
    memory.correct("Rain.", "Sun.")
    runs = re.findall(r"\d{8}-\d{6}(?:-\w{6})?", owner.ok("log"))
    assert "Zorvexqui swims" in owner.ok("log", runs[1])
    assert "Zorvexqui" in everything(owner)
    owner.ok("forget", "--person", "Zorvexqui", "--yes")
    assert "Zorvexqui" not in everything(owner)
    memory = owner.memory()
    memory.undo(runs[0])
    memory.undo(runs[2])
    text = owner.read("MEMORY.md")
    assert all(one in text for one in ("- Rain.\n", "- Gas costs 30.\n"))
    assert "~~" not in text


@pytest.mark.parametrize("damage", ["cut", "a bit", "plain", "empty"])
def test_damaged_bytes_refuse_an_undo_and_keep_no_forgotten_word(owner: Owner, damage: str) -> None:
    memory = owner.memory()
    owner.note("MEMORY.md", "# Memory\n\n- Zorvexqui hikes.\n- Gas costs 30.\n")
    memory.correct("Gas costs 30.", "Gas costs 40.")
    memory.close()
    with closing(state(owner)) as connection, connection:
        for digest, data in connection.execute("SELECT digest, bytes FROM blob").fetchall():
            middle = len(data) // 2
            damaged = {
                "cut": data[:-6], "a bit": data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :],
                "plain": b"Zorvexqui", "empty": b"",
            }  # fmt: skip
            connection.execute("UPDATE blob SET bytes = ? WHERE digest = ?", (damaged[damage], digest))
    note = owner.read("MEMORY.md")
    assert owner.run("undo", "--yes").code
    assert owner.read("MEMORY.md") == note
    owner.ok("forget", "--person", "Zorvexqui", "--yes")
    assert "Zorvexqui" not in everything(owner)


KILLED = """
import sys
from commonplace import Memory, Selection
from tests.kills import deadly
deadly(int(sys.argv[2]))
with Memory.open(sys.argv[1], overrides={"embedding.provider": "none"}) as memory:
    memory.forget(Selection(sys.argv[3], sys.argv[4]))
"""


@pytest.mark.parametrize(("kind", "what"), [("person", "Zorvexqui"), ("note", "memory/z.md")])
def test_a_kill_amid_a_forgetting_is_carried_on(owner: Owner, tmp_path: Path, kind: str, what: str) -> None:
    memory = owner.memory()
    owner.note("memory/z.md", "# Z\n\n- Zorvexqui hikes.\n- Gas costs 30.\n")
    memory.correct("Gas costs 30.", "Gas costs 40.")
    memory.close()
    first = tmp_path / "first"
    shutil.copytree(owner.folder, first)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    argument = ["--person", what] if kind == "person" else [what]
    for step in range(2, 150, 12):
        shutil.rmtree(owner.folder)
        shutil.copytree(first, owner.folder)
        argv = [sys.executable, "-c", KILLED, str(owner.folder), str(step), kind, what]
        done = subprocess.run(argv, env=environment, capture_output=True, check=False)
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, done.stderr
            break
        if owner.run("forget", "--resume", "--yes").code == 3:  # it was killed before it was written down
            owner.run("forget", *argument, "--yes")
        assert "Zorvexqui" not in everything(owner), step
    assert 26 <= step < 146
