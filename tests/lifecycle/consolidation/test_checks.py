"""What the checks of a plan say of an operation, and why."""

from __future__ import annotations

import pytest

from commonplace.lifecycle.consolidation import checks, standing
from commonplace.lifecycle.consolidation.candidates import Candidate
from commonplace.lifecycle.consolidation.plan import Operation
from commonplace.types.statements import Statement
from tests.lifecycle.consolidation import plans

TODAY = plans.NOW.date()
LABEL = "memory/2026-02-13.md#L3"
MEMORY = """# Memory

## People

- Bob owns maps.
- 我喜欢喝绿茶。
- Mira prefers tea. <!-- pinned -->
- Ann owns mail.
  - Backup is Tom.
- Zed lives in Oslo.
"""


def reasons(said: str, operation: Operation, memory: str = MEMORY) -> list[str]:
    """Why an operation that rests on what a note says is rejected."""
    page = standing.read(memory, "MEMORY.md")
    source = Candidate(Statement("memory/2026-02-13.md", 3, 3, 3, said), said, TODAY, "fact")
    ground = checks.Ground(page, {e.label: e for e in page.labelled}, {LABEL: source}, (), TODAY, "en")
    return [rejection.reason for rejection in checks.check([operation], ground).rejected]


def added(text: str, said: str = "", section: str = "", memory: str = MEMORY) -> list[str]:
    return reasons(said or text, Operation("add", (), (LABEL,), section, text), memory)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Kim owns maps.", "takes the place of M1: supersede it"),
        ("我不喜欢绿茶。", "takes the place of M2: supersede it"),
        ("Mira prefers coffee.", "contradicts M3, which is pinned"),
        ("Kim owns mail.", "contradicts M4, which has entries of its own below it"),
        ("Kim owns logs.", ""),
        ("我喜欢喝红茶。", ""),
        ("Zed lives in Oslo. Zed owns a boat.", ""),
    ],
)
def test_nothing_is_added_beside_what_it_takes_the_place_of(text: str, reason: str) -> None:
    assert added(text) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Also I like Vim. Can you tell me why it is slow? I decided to use Neovim.", "asks"),
        ("我喜欢咖啡。为什么它这么慢？我决定换一个编辑器。", "asks"),
        ("The board is at https://boards.example/?view=all on Mondays.", ""),
    ],
)
def test_a_question_is_kept_nowhere_in_a_text(text: str, reason: str) -> None:
    assert added(text) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("Facts", ["section Facts is pinned"]),
        ("", ["section Facts is pinned"]),
        ("Hobbies", ["no such section: Hobbies"]),
        ("people", []),
    ],
)
def test_the_reason_names_the_section(section: str, reason: list[str]) -> None:
    memory = f"{MEMORY}\n## Facts <!-- pinned -->\n\n- Six is a number.\n"
    assert added("Kim owns logs.", section=section, memory=memory) == reason
