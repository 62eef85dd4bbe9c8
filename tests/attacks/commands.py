"""What reads and changes long-term memory, on a MEMORY.md that somebody filled with hostile text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from commonplace.agent import chunks, pieces
from commonplace.base.errors import CommonplaceError
from commonplace.edit.correct import Correction, correct
from commonplace.edit.forget import notes as forget_notes
from commonplace.edit.forget.targets import Targets
from commonplace.memory import Memory
from commonplace.storage import transaction
from commonplace.upkeep.consolidation import run as running

STATEMENT = "Zed likes the apples of Monday mornings."
NOW = datetime(2026, 2, 13, 14, 5).astimezone()


def _correct(memory: Memory) -> object:
    wanted = Correction(STATEMENT, "Zed likes the pears of Monday mornings.", NOW)
    return correct(memory.workspace, memory.settings, wanted)


def _correct_nothing(memory: Memory) -> object:
    wanted = Correction("Nobody ever said that about the pears of Zed.", "It is so.", NOW)
    return correct(memory.workspace, memory.settings, wanted)


def _forget(memory: Memory) -> object:
    names = [note.path for note in memory.notes()]
    wanted = Targets(texts=("apples of Monday",))
    return forget_notes.compose(names, lambda path: transaction.read(memory.workspace, path), wanted)


def _prompt(memory: Memory) -> object:
    note = chunks.read(memory, "MEMORY.md")
    return pieces.joined(chunks.of_facts(note, NOW.date(), tentative=True))


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
