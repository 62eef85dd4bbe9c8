"""Tasks are ticked where they are read; a tick is an edit of one line, refused where the note changed meanwhile."""

from __future__ import annotations

import pytest

from tests.page.conftest import Open, Opened
from tests.page.test_flows import undo_from_message

NOTE = "memory/2026-02-13.md"
TASKS = "# Day\r\n\r\n## A\r\n\r\n- [ ] Call Bo.\r\n- [x] Pay.\r\n  1. [ ] Nested `[ ]` one.\r\n\r\n## B\r\n\r\n> - [ ] Quoted.\r\n"


def box(here: Opened, words: str) -> None:
    here.page.locator(".task > .line", has_text=words).locator("input").click()


def ticked(here: Opened, words: str) -> None:
    box(here, words)
    written(here)


def written(here: Opened) -> None:
    here.page.wait_for_selector(".toast.good")
    here.page.click(".toast .quiet")


@pytest.mark.slow
def test_tasks_are_ticked_in_a_note_and_on_the_start_page(opened: Open) -> None:
    here = opened()
    note = here.root / NOTE
    note.write_bytes(TASKS.encode())
    here.go(f"note?ref={NOTE}", ".task input")
    for words, before, after in (
        ("Call", "[ ] Call", "[x] Call"), ("Pay", "[x] Pay", "[ ] Pay"),
        ("Nested", "1. [ ] Nested", "1. [x] Nested"), ("Quoted", "[ ] Quoted", "[x] Quoted"),
    ):  # fmt: skip
        then = note.read_bytes()
        ticked(here, words)
        here.page.wait_for_function("() => !document.querySelector('.notice:not([hidden])')")
        assert note.read_bytes() == then.replace(before.encode(), after.encode())
    box(here, "Quoted")
    undo_from_message(here)
    assert b"[x] Quoted" in note.read_bytes()
    here.page.wait_for_selector(".task:has-text('Quoted') input:checked")
    # A note that changed meanwhile is left alone, and shown as it is.
    changed = note.read_bytes().replace(b"Call Bo", b"Call Mira")
    note.write_bytes(changed)
    box(here, "Pay")
    here.page.wait_for_selector(".toast.bad:has-text('changed meanwhile')")
    here.page.wait_for_selector(".task:has-text('Call Mira')")
    assert note.read_bytes() == changed
    here.page.click(".toast .quiet")
    ticked(here, "Pay")
    assert b"[x] Pay" in note.read_bytes()
    # From the headings one goes to their lines.
    here.page.click(".outline summary")
    here.page.click(".outline a:has-text('B')")
    here.page.wait_for_selector("h3.pointed:has-text('B')")
    # From what links here to that line.
    (here.root / "memory" / "boats.md").write_text(
        "# Boats\n\n- See [[2026-02-13|the day]].\n", encoding="utf-8"
    )
    here.page.click("details.outline summary:has-text('Linked from')")
    here.page.click("details.outline a:has-text('memory/boats.md#L3')")
    here.page.wait_for_selector(".line.selected:has-text('the day')")
    # And the start page lists what is open.
    note.write_bytes(TASKS.encode())
    here.go("feed", ".live")
    here.go("search", ".tasks .task")
    here.page.wait_for_function("() => document.querySelectorAll('.tasks .task').length === 3")
    ticked(here, "Nested")
    assert note.read_bytes() == TASKS.replace("1. [ ]", "1. [x]").encode()
    here.page.focus(".tasks .task input")
    here.press("Space")
    written(here)
    assert b"[x] Call Bo." in note.read_bytes()
