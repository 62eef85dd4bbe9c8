"""The start of the page, and the way to a note by its title."""

from __future__ import annotations

import pytest

from tests.page.conftest import PHONE, Open


def test_a_note_is_opened_by_its_title(opened: Open) -> None:
    here = opened()
    here.page.wait_for_selector(".recent a:has-text('2026-02-14')")
    here.press("Control+k")
    here.page.fill("#jump", "02-13")
    here.press("Enter")
    here.page.wait_for_selector("h1:has-text('2026-02-13')")
    here.press("Control+k")
    here.page.fill("#jump", "charts")
    here.press("Enter")
    here.page.wait_for_selector(".beside a[aria-current]:has-text('Charts')")
    assert here.page.locator("#views a[aria-current]").inner_text().strip().endswith("Activity")


@pytest.mark.slow
def test_all_entries_of_the_rail_are_seen_on_a_phone(opened: Open) -> None:
    here = opened(PHONE)
    boxes = [one.bounding_box() for one in here.page.locator("#views a:visible").all()]
    assert len(boxes) == 5
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0] for box in boxes)
    here.page.click("#switches a")
    here.page.wait_for_selector(".view-setup")
