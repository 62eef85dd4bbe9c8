"""A month holds all that its days said, days of a title alone among them, and gives them back."""

from __future__ import annotations

import pytest

from tests.life.conftest import Owner

DAYS = {
    "2025-01-02.md": "# 2025-01-02 Dentist at nine\n",
    "2025-01-03.md": "# 2025-01-03\n\n- Gas costs 30.\n",
    "2025-01-04-rome.md": "# Flew to Rome\n",
    "2025-01-05.md": "---\ntitle: Bought the boat\n---\n",
    "2025-01-06.md": "# 2025-01-06\n\n## Calls\n\n- Lin hikes.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n",
    "2025-01-07.md": "Sold the boat\n=============\n",
    "2025-01-08.md": "# 2025-01-08\n\nRain, and a long talk with Mira.\n\n```sh\nmake tea\n```\n",
    "2025-01-09-lunch.md": "",
    "2025-01-10.md": "# 2025-01-10\n",
}
SAID = (
    "Dentist at nine", "Gas costs 30", "Flew to Rome", "Bought the boat", "Lin hikes", "Sold the boat",
    "long talk", "make tea", "lunch",
)  # fmt: skip
MONTH = "memory/2025-01.md"


@pytest.fixture
def month(owner: Owner) -> Owner:
    for name, text in DAYS.items():
        owner.note(f"memory/{name}", text)
    owner.ok("rollup")
    return owner


def test_a_day_of_a_title_alone_stays_in_its_month(month: Owner) -> None:
    text = month.read(MONTH)
    assert [said for said in SAID if said not in text] == []
    assert month.run("rollup").code == 3
    month.note("memory/2025-01-02.md", DAYS["2025-01-02.md"])  # an editor that saves it once more
    month.ok("rollup")
    assert month.read(MONTH).count("Dentist at nine") == 1


def test_days_come_back_with_what_was_corrected_in_their_month(month: Owner) -> None:
    month.ok("correct", "Gas costs 30.", "Gas costs 35.")
    month.ok("undo", "--yes")
    month.ok("undo", "--yes")
    assert {name: month.read(f"memory/{name}") for name in DAYS} == DAYS
