"""What reads and changes long-term memory, on a MEMORY.md that somebody filled with hostile text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from commonplace.agent import pieces
from commonplace.erasure import composing
from commonplace.erasure.wanted import Wanted
from commonplace.errors import CommonplaceError
from commonplace.history import applying
from commonplace.lifecycle.consolidation import running
from commonplace.memory import Memory
from commonplace.revision.correcting import Correction, correct
from commonplace.revision.references import shifted

STATEMENT = "Zed likes the apples of Monday mornings."
NOW = datetime(2026, 2, 13, 14, 5).astimezone()


def _correct(memory: Memory) -> object:
    wanted = Correction(STATEMENT, "Zed likes the pears of Monday mornings.", NOW)
    return correct(memory.workspace, memory.settings, wanted)


def _correct_nothing(memory: Memory) -> object:
    wanted = Correction("Nobody ever said that about the pears of Zed.", "It is so.", NOW)
    return correct(memory.workspace, memory.settings, wanted)


def _forget(memory: Memory) -> object:
    names = composing.notes(memory.workspace, memory.settings)
    wanted = Wanted(texts=("apples of Monday",))
    return composing.compose(names, lambda path: applying.read(memory.workspace, path), wanted, shifted)


def _prompt(memory: Memory) -> object:
    note = pieces.read(memory, "MEMORY.md")
    return pieces.joined(pieces.of_sections(note, NOW.date(), tentative=True))


def _consolidate(memory: Memory) -> object:
    return running.consolidate(memory, None, now=NOW, accept=True)


COMMANDS: dict[str, Callable[[Memory], object]] = {
    "correct": _correct,
    "correct, nothing": _correct_nothing,
    "consolidate": _consolidate,
    "forget": _forget,
    "prompt": _prompt,
}


def workspace(folder: Path, text: str) -> Memory:
    """A workspace whose MEMORY.md holds a text, and a statement behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    data = f"{text}\n\n- {STATEMENT}\n".encode("utf-8", "surrogatepass")
    (folder / "MEMORY.md").write_bytes(data)
    (folder / "memory").mkdir(exist_ok=True)
    return Memory.open(folder)


def run(command: Callable[[Memory], object], memory: Memory) -> str:
    """Carry a command out; what it refuses, if it does."""
    try:
        command(memory)
    except CommonplaceError as error:
        return str(error)[:80]
    return ""
