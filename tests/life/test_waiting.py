"""A note that another program keeps writing for seconds: an entry waits for it, and neither side loses a line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.types import Provenance
from tests.life.conftest import Owner

THEIRS = "# Theirs\n\n## Tea\n\n- Green tea.\n\n```sh\nmake tea\n```\n\n## House\n\n- The gate is red.\n"
# Opens a note, writes a part of it, says so, keeps writing, and writes the rest when it is told to.
WRITER = """
import os, select, sys
note, mode, text = sys.argv[1:]
with open(note, mode) as file:
    if mode == "r+":
        file.truncate()
    half = len(text) // 2
    file.write(text[:half])
    file.flush()
    print("half", flush=True)
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        os.utime(file.fileno())
    file.write(text[half:])
"""
AGENT = Provenance("agent", "tester")
WRITES: dict[str, tuple[str, Callable[[Memory], object], str]] = {
    "truncated": ("w", lambda memory: memory.remember("Of ours."), "Of ours."),
    "in place": ("r+", lambda memory: memory.remember("Of ours."), "Of ours."),
    "appended": ("a", lambda memory: memory.remember("Of ours."), "Of ours."),
    "a heading": ("w", lambda memory: memory.remember("Of ours.", heading="Notes of us"), "Of ours."),
    "a guess": (
        "w",
        lambda memory: memory.remember("Of ours.", tentative=True),
        "Of ours. <!-- tentative -->",
    ),
    "of an agent": ("w", lambda memory: memory.remember("Of ours.", provenance=AGENT), "<!-- by: agent"),
    "for long": (
        "w",
        lambda memory: memory.remember("Of ours.", long_term=True, section="House"),
        "Of ours.",
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_an_entry_waits_for_a_note_that_is_being_written(owner: Owner, name: str) -> None:
    mode, write, wanted = WRITES[name]
    memory = owner.memory()
    path = "MEMORY.md" if name == "for long" else f"memory/{datetime.now():%Y-%m-%d}.md"
    note = owner.note(path, "# A day\n\n- what stood there\n")
    writer = slowly(note, mode, THEIRS)
    written = write(memory)
    assert any("the entry waits" in warning for warning in written.warnings)
    assert "Of ours" not in note.read_text()
    writer.communicate("\n")
    assert memory.sync().warnings == ()
    text = note.read_text()
    assert wanted in text
    assert text.count("Of ours") == 1
    assert THEIRS[len("# Theirs\n\n") :].split("## House")[0] in text  # with its fence and blank lines
    assert memory.sync().warnings == ()
    if name == "for long":
        assert text.endswith("- The gate is red.\n- Of ours.\n")


def slowly(note: Path, mode: str, text: str) -> subprocess.Popen[str]:
    """Begin to write a note; what is left is written once the process is told to."""
    command = [sys.executable, "-c", WRITER, str(note), mode, text]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "half\n"
    return writer


def test_the_command_says_that_it_waits_and_what_cannot_wait_is_refused(owner: Owner) -> None:
    path = f"memory/{datetime.now():%Y-%m-%d}.md"
    note = owner.note(path, "# A day\n\n- The gate is red.\n")
    writer = slowly(note, "a", "- theirs\n")
    done = owner.run("remember", "Of ours.")
    assert (done.code, done.out) == (0, f"{path}\n")
    assert "the entry waits, and the next sync writes it" in done.err
    refused = owner.run("correct", "The gate is red.", "The gate is blue.")
    assert refused.code == 1
    assert "another program is writing it; try again" in refused.err
    assert "1 entry wait in the queue" in owner.run("status").err
    writer.communicate("\n")
    owner.ok("sync")
    text = note.read_text()
    assert "- theirs\n" in text
    assert "Of ours." in text
    assert "- The gate is red.\n" in text
