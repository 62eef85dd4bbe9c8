"""Forgetting and writing with many notes, notes that are too large, and names that are no UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from commonplace import NoteUnreadable, Selection
from tests.life.conftest import Owner

MAPS = Path("/proc/self/maps")


@pytest.mark.skipif(not MAPS.exists(), reason="needs /proc")
def test_many_notes_take_few_mappings(owner: Owner) -> None:
    for number in range(1500):
        owner.note(
            f"memory/part-{number % 20}/note-{number}.md", f"# Note {number}\n\n- Crate {number} is full.\n"
        )
    memory = owner.memory()
    before, most, done = len(MAPS.read_text().splitlines()), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, len(MAPS.read_text().splitlines()))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        erased = memory.forget(Selection("text", "Crate 7 is full"), dry_run=True)
    finally:
        done.set()
        watching.join()
    assert [one.path for one in erased.places if one.where == "notes"] == ["memory/part-7/note-7.md"]
    assert most - before < 500


NAMES = [
    b"caf\xe9.md",
    b"\xff.md",
    b"zebra \xe9.md",
    b"deep\xe9/inner.md",
    "größe.md".encode("latin-1"),
    b"a\x80b.md",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_that_is_no_utf8_blocks_nothing(owner: Owner, name: bytes) -> None:
    owner.note("MEMORY.md", "# Memory\n\n- Gas costs 30.\n- Lin hikes.\n")
    path = owner.note(f"memory/{os.fsdecode(name)}", "# Other\n\n- Gas costs 30.\n- Mira rows.\n")
    memory = owner.memory()
    memory.sync()
    assert memory.forget(Selection("text", "Gas costs 30")).left == ()
    assert path.read_text() == "# Other\n\n- Mira rows.\n"
    assert owner.read("MEMORY.md") == "# Memory\n\n- Lin hikes.\n"
    assert memory.forget([]).left == ()


def test_nothing_is_written_that_would_never_be_read(owner: Owner) -> None:
    note = owner.folder / "MEMORY.md"
    with note.open("ab") as file:
        file.truncate(65 << 20)
    before = note.stat().st_size
    with pytest.raises(NoteUnreadable, match="another note"):
        owner.memory().remember("Tea is at four.", long_term=True)
    assert note.stat().st_size == before


# Runs a command and prints its exit code, the most memory that it held, in kB, and its seconds of a processor.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "commonplace", *sys.argv[1:]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_maxrss, round(used.ru_utime + used.ru_stime))
"""


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="takes minutes: ./run test --slow -k seventy")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts in kB")
def test_of_seventy_thousand_notes_one_is_corrected_and_forgotten(owner: Owner) -> None:
    for number in range(70_000):
        text = f"# Note {number}\n\n- Crate {number} holds the kettle of Mira.\n"
        owner.note(f"memory/part-{number // 1000}/note-{number}.md", text)
    owner.memory().sync()
    commands = [
        ("correct", "Crate 4711 holds the kettle of Mira.", "Crate 4711 holds a lamp."),
        ("forget", "--text", "Crate 815 holds the kettle of Mira", "--yes"),
        ("forget", "memory/part-7/note-7000.md:3", "--yes"),
    ]
    for command in commands:
        shell = [sys.executable, "-c", MEASURED, "-w", str(owner.folder), *command]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        done = subprocess.run(shell, capture_output=True, text=True, env=environment)
        code, most_kb, _ = map(int, done.stdout.splitlines()[-1].split())
        assert code == 0, (command, done)
        assert most_kb < 500_000, command
    assert "- Crate 4711 holds a lamp." in owner.read("memory/part-4/note-4711.md")
    assert owner.read("memory/part-0/note-815.md") == "# Note 815\n\n"
    assert "kettle" not in owner.read("memory/part-7/note-7000.md")
    hits = owner.memory().search("Crate 815", min_score=0.0).hits
    assert all("Crate 815 holds" not in hit.text for hit in hits)
    assert owner.read("memory/part-0/note-816.md").endswith("- Crate 816 holds the kettle of Mira.\n")
