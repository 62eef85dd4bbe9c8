"""The entries of MEMORY.md as they stand: which may be touched, and why others may not."""

from __future__ import annotations

import pytest

from commonplace.upkeep.consolidation import page as standing
from commonplace.upkeep.consolidation import plan
from tests.upkeep.consolidation import plans

OWN = "has entries of its own below it"
BELOW = [
    ("  - The room is B301.\n", OWN),
    ("\n  Bring the minutes.\n", OWN),
    ("\n  ```\n  make minutes\n  ```\n", OWN),
    ("  | day | hour |\n  |---|---|\n", OWN),
    ("  every week.\n", ""),
    ("  <!-- importance: 9 -->\n", ""),
    ("  - ~~The room is B301.~~ <!-- cp: until=2026-02-13 by=owner -->\n", ""),
]


@pytest.mark.parametrize(("below", "reason"), BELOW)
def test_an_entry_with_others_below_it_is_kept(below: str, reason: str) -> None:
    page = standing.read(f"# Memory\n\n## A\n\n- We meet at two.\n{below}- Other.\n", "MEMORY.md")
    assert [(entry.text.split()[0], entry.kept) for entry in page.labelled] == [
        ("We", reason),
        ("Other.", ""),
    ]
    assert page.labelled[0].may_be_touched is not bool(reason)


def test_nothing_is_proposed_for_an_entry_with_others_below_it() -> None:
    text = "# Memory\n\n## A\n\n- Mira owns billing.\n  - Backup is Tom.\n- Billing is owned by Mira.\n"
    assert plan.proposals(standing.read(text, "MEMORY.md"), plans.NOW.date()) == []
