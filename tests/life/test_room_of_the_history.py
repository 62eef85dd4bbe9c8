"""The history of changes is small on disk, bounded, exact, and holds no word that was forgotten."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
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


def history(owner: Owner) -> list[Path]:
    return [path for path in (owner.place("state") / "history").rglob("*") if path.is_file()]


def room(owner: Owner) -> int:
    return sum(path.stat().st_size for path in history(owner))


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


def as_before(owner: Owner) -> None:
    """Write the bytes of a history as version 0.1 did."""
    for path in history(owner):
        if path.suffix == ".z":
            sizes, _, data = zlib.decompress(path.read_bytes()).partition(b"\n")
            before, after = sizes.split()
            end = 0 if before == b"-" else int(before)
            for side, size, part in (("before", before, data[:end]), ("after", after, data[end:])):
                if size != b"-":
                    path.with_suffix(f".{side}").write_bytes(part)
            path.unlink()


EDITS: dict[str, Callable[[str], str]] = {
    "a line": lambda text: text.replace("Gas", "Tea"),
    "all lines": lambda text: "# Other\n",
    "nothing": lambda text: text,
    "one more": lambda text: f"{text}- Zorvexqui sang.\n",
    "empty": lambda text: "",
    "Chinese": lambda text: f"{text}- 水表在地下室。\n",
}


@pytest.mark.parametrize("is_old", [False, True])
def test_what_version_01_kept_is_shown_undone_and_forgotten_too(owner: Owner, is_old: bool) -> None:
    memory = owner.memory()
    owner.note("MEMORY.md", "# Memory\n\n- Zorvexqui hikes.\n- Gas costs 30.\n- Rain.\n")
    memory.correct("Gas costs 30.", "Gas costs 40.")
    memory.correct("Zorvexqui hikes.", "Zorvexqui swims.")
    memory.correct("Rain.", "Sun.")
    if is_old:
        as_before(owner)
        assert any(path.suffix == ".before" for path in history(owner))
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
def test_a_damaged_history_refuses_an_undo_and_keeps_no_forgotten_word(owner: Owner, damage: str) -> None:
    memory = owner.memory()
    owner.note("MEMORY.md", "# Memory\n\n- Zorvexqui hikes.\n- Gas costs 30.\n")
    memory.correct("Gas costs 30.", "Gas costs 40.")
    memory.close()
    (kept,) = (path for path in history(owner) if path.suffix == ".z")
    data = kept.read_bytes()
    middle = len(data) // 2
    damaged = {
        "cut": data[:-6], "a bit": data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :],
        "plain": b"Zorvexqui", "empty": b"",
    }  # fmt: skip
    kept.write_bytes(damaged[damage])
    if damage != "cut":
        assert "not as it was written" in owner.run("undo", "--yes").err
    owner.ok("forget", "--person", "Zorvexqui", "--yes")
    assert "Zorvexqui" not in everything(owner)
    for path in history(owner):
        data = path.read_bytes()
        with suppress(zlib.error):
            data = zlib.decompressobj().decompress(data)
        assert b"orvexqui" not in data


KILLED = """
import os, signal, sys
from commonplace import Memory, Selection
left = [int(sys.argv[2])]
def counting(function):
    def counted(*arguments, **named):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)
    return counted
for name in ("replace", "rename", "unlink"):
    setattr(os, name, counting(getattr(os, name)))
with Memory.open(sys.argv[1], overrides={"embedding.provider": "none"}) as memory:
    memory.forget(Selection(sys.argv[3], sys.argv[4]))
"""


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize(("kind", "what"), [("person", "Zorvexqui"), ("note", "memory/z.md")])
def test_a_kill_between_its_files_is_carried_on(
    owner: Owner, tmp_path: Path, is_old: bool, kind: str, what: str
) -> None:
    memory = owner.memory()
    owner.note("memory/z.md", "# Z\n\n- Zorvexqui hikes.\n- Gas costs 30.\n")
    memory.correct("Gas costs 30.", "Gas costs 40.")
    memory.close()
    if is_old:
        as_before(owner)
    first = tmp_path / "first"
    shutil.copytree(owner.folder, first)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    argument = ["--person", what] if kind == "person" else [what]
    for step in range(2, 90, 2):
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
    assert 5 < step < 88
