"""A month holds all that its days said before their files may go, days of a title alone among them."""

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
    month.run("rollup")
    assert month.read(MONTH).count("Dentist at nine") == 1
    month.ok("rollup", "--confirm", "--yes")
    assert not list((month.folder / "archive").rglob("*.md"))


@pytest.mark.parametrize("lost", [said for said in SAID if said != "lunch"])
def test_an_original_stays_while_its_month_lacks_a_line(month: Owner, lost: str) -> None:
    kept = [line for line in month.read(MONTH).splitlines() if lost not in line]
    month.note(MONTH, "\n".join(kept) + "\n")
    _refused(month)


def test_an_original_stays_without_its_month(month: Owner) -> None:
    (month.folder / MONTH).unlink()
    _refused(month)


def _refused(month: Owner) -> None:
    before = sorted((month.folder / "archive").rglob("*.md"))
    done = month.run("rollup", "--confirm", "--yes")
    assert done.code == 1
    assert "lacks a line" in done.err
    assert sorted((month.folder / "archive").rglob("*.md")) == before


def test_what_was_corrected_there_is_not_lost(month: Owner) -> None:
    month.ok("correct", "Gas costs 30.", "Gas costs 35.")
    month.note(MONTH, month.read(MONTH) + "\n# 2025-01-31\n- A line more.\n")
    month.ok("rollup", "--confirm", "--yes")
    assert "Gas costs 35" in month.read(MONTH)
    month.ok("undo", "--yes")
    assert (month.folder / "archive/2025/2025-01-03.md").read_text() == DAYS["2025-01-03.md"]
