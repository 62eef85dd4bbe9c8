"""What a generated change did can be taken back: whatever the clock says, and however a note ends."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from commonplace import CommonplaceError, Memory
from tests.life.conftest import Owner

NOW = datetime(2026, 2, 13, 12).astimezone()
JUMPS = (400, 800, 4_000, 20_000, 40_000, 366)  # days


def test_a_clock_in_the_future_leaves_the_history_as_it_is(owner: Owner) -> None:
    memory = owner.memory()
    owner.note("MEMORY.md", "# Memory\n\n" + "".join(f"- The lamp {n} is red.\n" for n in range(20)))
    for number in range(5):
        memory.correct(f"The lamp {number} is red.", f"The lamp {number} is blue.", now=NOW)
    for number, days in enumerate(JUMPS, start=5):
        for which in (number, number + len(JUMPS)):
            at = NOW + timedelta(days=days)
            memory.correct(f"The lamp {which} is red.", f"The lamp {which} is blue.", now=at)
        memory.correct(f"The lamp {number} is blue.", f"The lamp {number} is green.", now=NOW)
    made = 5 + 3 * len(JUMPS)
    assert len(owner.ok("log", "--limit", "100").splitlines()) >= made
    for _ in range(made):
        memory.undo()
    assert owner.read("MEMORY.md").count("is red.\n") == 20


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("more", ["\n- Rain.\n", "\n- Rain.", "\n\n## Sun\n\n- Heat.\n"])
def test_an_undo_glues_no_lines(owner: Owner, end: str, more: str) -> None:
    memory = owner.memory()
    texts = [
        "- The gate is red.",
        "# Memory\n\n- The gate is red.",
        "# M\n\n- Bo.\n- The gate is red.\n- Ann.",
    ]
    for text in texts:
        note = owner.note("MEMORY.md", text + end)
        memory.correct("The gate is red.", "The gate is blue.", now=NOW)
        ours = note.read_text()
        note.write_text(ours.rstrip("\n") + more)
        refused = undo(memory)
        if refused:
            assert "was changed since" in refused
            assert note.read_text() == ours.rstrip("\n") + more
        else:
            assert note.read_text().split() == (text + more).split(), (text, end, more)


def undo(memory: Memory) -> str:
    """Take the last change back; return why not."""
    try:
        memory.undo()
    except CommonplaceError as error:
        return str(error)
    return ""
