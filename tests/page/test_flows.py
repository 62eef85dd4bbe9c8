"""What an owner does on the page, from the search on, by keyboard and by mouse, at a desk and on a phone."""

from __future__ import annotations

import os

import pytest

from tests.page.conftest import PHONE, WIDE, Open, Opened
from tests.servers.api.test_consolidation import MEMORY

SLOW_PHONE = pytest.param(PHONE, marks=pytest.mark.slow)
TODAY = "memory/2026-02-13.md"


def find(opened: Opened, question: str) -> None:
    opened.page.fill("#question", question)
    opened.page.wait_for_selector(".hit mark")


def test_by_keyboard_from_a_search_to_a_correction_and_back(opened: Open) -> None:
    here = opened()
    before = here.note(TODAY)
    here.page.keyboard.type("deploy moved")
    here.page.wait_for_selector(".hit mark")
    assert here.questions() == 0  # what is typed is not recorded
    here.press("Enter")
    here.page.wait_for_selector(".hit.selected a:focus")
    here.press("Enter")
    here.page.wait_for_selector(".line.selected")
    assert here.questions() == 1
    assert "2026-02-13.md" in here.page.inner_text("h1")
    here.press("c")
    here.page.fill("#new-text", "The deploy moved to Friday.")
    here.press("Control+Enter")
    here.page.wait_for_selector("dialog ins")
    assert here.note(TODAY) == before  # shown, not done
    here.press("Enter")
    here.page.wait_for_selector(".prose s")
    assert "~~The deploy moved to Thursday.~~" in here.note(TODAY)
    here.press("u")
    here.page.wait_for_selector("dialog ins")
    here.press("Enter")
    here.page.wait_for_selector(".prose s", state="detached")
    assert here.note(TODAY) == before


def test_by_mouse_a_hit_is_corrected_and_the_message_takes_it_back(opened: Open) -> None:
    here = opened()
    before = here.note(TODAY)
    find(here, "who signs")
    hit = here.page.locator(".hit", has_text="Lin signs it off").first
    hit.locator("summary").click()
    assert hit.locator(".factors li").count() > 0
    hit.get_by_role("button", name="Correct").click()
    here.page.locator("dialog .choice", has_text="Lin signs").click()
    assert here.page.input_value("#new-text") == "Lin signs it off."
    here.page.fill("#new-text", "Mira signs it off.")
    here.page.get_by_role("button", name="Show what changes").click()
    here.page.get_by_role("button", name="Correct it").click()
    here.page.locator(".toast").get_by_role("button", name="Undo").click()
    here.page.get_by_role("button", name="Undo it").click()
    here.page.wait_for_selector("dialog", state="detached")
    assert here.note(TODAY) == before


@pytest.mark.parametrize("size", [WIDE, SLOW_PHONE], ids=["desk", "phone"])
def test_lines_are_forgotten_for_good(opened: Open, size: tuple[int, int]) -> None:
    here = opened(size)
    here.go(f"note?ref={TODAY}%23L6", ".line.selected")
    here.page.locator(".linebar").get_by_role("button", name="Forget").click()
    here.page.wait_for_selector("dialog .places")
    assert "Lin signs it off." in here.note(TODAY)
    here.page.get_by_role("button", name="Erase for good").click()
    here.page.wait_for_selector(".toast.good")
    assert "Lin" not in here.note(TODAY)


def test_an_edit_is_saved_and_undone(opened: Open) -> None:
    here = opened()
    here.go("note?ref=MEMORY.md", ".prose")
    here.press("e")
    here.page.wait_for_selector("textarea.source")
    here.press("Control+End")
    here.page.keyboard.type("- Coffee before noon.\n")
    here.press("Control+Enter")
    here.page.wait_for_selector(".prose")
    assert here.note("MEMORY.md").endswith("- Coffee before noon.\n")
    here.page.locator(".toast").get_by_role("button", name="Undo").click()
    here.page.get_by_role("button", name="Undo it").click()
    here.page.wait_for_selector("dialog", state="detached")
    assert "Coffee" not in here.note("MEMORY.md")


CHOICES = {
    "Merge both changes": ("An agent was here.", "Mine."),
    "Keep mine": (None, "Mine."),
    "Take the other": ("An agent was here.", None),
}


@pytest.mark.parametrize(
    "choice", ["Merge both changes", *(pytest.param(one, marks=pytest.mark.slow) for one in [*CHOICES][1:])]
)
def test_a_note_that_was_changed_meanwhile_is_not_written_over_unseen(opened: Open, choice: str) -> None:
    here = opened()
    here.go("note?ref=MEMORY.md&edit=1", "textarea.source")
    here.press("Control+End")
    here.page.keyboard.type("\nMine.\n")
    other = here.note("MEMORY.md").replace("# Memory\n", "# Memory\n\nAn agent was here.\n")
    (here.root / "MEMORY.md").write_text(other, encoding="utf-8")
    here.page.get_by_role("button", name="Save").click()
    here.page.wait_for_selector(".conflict .diff")
    assert here.note("MEMORY.md") == other
    here.page.get_by_role("button", name=choice).click()
    if choice == "Merge both changes":
        here.page.get_by_role("button", name="Save").click()
    here.page.wait_for_selector(".prose")
    theirs, mine = CHOICES[choice]
    assert ("An agent was here." in here.note("MEMORY.md")) == bool(theirs)
    assert ("Mine." in here.note("MEMORY.md")) == bool(mine)


def test_what_is_typed_is_not_lost(opened: Open) -> None:
    here = opened()
    here.go("note?ref=MEMORY.md&edit=1", "textarea.source")
    here.page.fill("textarea.source", "# Memory\n\n- Half a thought\n")
    here.go("search", "#question")
    here.page.reload()
    here.go("note?ref=MEMORY.md&edit=1", "textarea.source")
    assert here.page.input_value("textarea.source") == "# Memory\n\n- Half a thought\n"
    here.page.reload()
    assert here.dialogs == [""]  # the browser asks before it leaves the editor
    here.page.get_by_role("button", name="Discard").click()
    here.page.wait_for_selector(".prose")
    assert "Half" not in here.note("MEMORY.md")


def test_an_entry_and_a_new_note(opened: Open) -> None:
    here = opened()
    here.page.locator("#switches").get_by_role("button", name="New entry").click()
    here.page.fill("#entry-text", "Mira sails on Sundays.")
    here.page.check("#entry-long")
    here.page.get_by_role("button", name="Remember").click()
    here.page.wait_for_selector(".prose")
    assert "Mira sails on Sundays." in here.note("MEMORY.md")
    here.go("notes", ".notelist a")
    here.page.get_by_role("button", name="New note").click()
    here.page.fill("#new-name", "memory/boats")
    here.press("Enter")
    here.page.fill("textarea.source", "# Boats\n\nA ketch.\n")
    here.page.get_by_role("button", name="Save").click()
    here.page.wait_for_selector(".prose")
    assert here.note("memory/boats.md") == "# Boats\n\nA ketch.\n"


def test_what_is_done_elsewhere_is_seen_as_it_happens(opened: Open) -> None:
    here = opened()
    here.go("feed", ".live.on")
    here.page.evaluate("() => { document.title = 'still here'; }")
    with (here.root / TODAY).open("a", encoding="utf-8") as note:
        note.write("- Boats are painted.\n")
    here.page.wait_for_selector(f".event.write a:has-text('{TODAY}')")
    here.page.get_by_role("button", name="Pause").click()
    assert here.page.title() == "still here"


VIEWS = {
    "n": ".notelist a", "t": ".moment", "m": ".history", "f": ".feed", "r": "#days",
    "e": ".view-sessions h1", "c": ".chart svg", "h": ".view-health .facts",
}  # fmt: skip


@pytest.mark.parametrize(("size", "theme", "locale"), [(WIDE, "light", "zh-CN"), (PHONE, "dark", "en-GB")])
def test_every_view_by_its_keys_fits_the_screen(
    opened: Open, size: tuple[int, int], theme: str, locale: str
) -> None:
    here = opened(size, color_scheme=theme, locale=locale)
    here.press("Escape")
    for key, shown in VIEWS.items():
        here.press("g", key)
        here.page.wait_for_selector(shown)
        width = here.page.evaluate("() => document.documentElement.scrollWidth")
        assert width <= size[0], key
    here.press("?")
    assert here.page.locator("dialog kbd").count() > 10


def test_language_and_colours_are_chosen_and_kept(opened: Open) -> None:
    here = opened()
    here.page.get_by_role("button", name="中文").click()
    here.page.wait_for_selector("html[lang=zh-CN] #question")
    assert here.page.get_attribute("#question", "placeholder") == "搜索记忆…"
    here.page.get_by_role("button", name="跟随系统").click()
    here.page.get_by_role("button", name="浅色").click()
    here.page.reload()
    here.page.wait_for_selector("html[lang=zh-CN][data-theme=dark] #question")


def test_who_is_not_let_in_learns_how(opened: Open) -> None:
    here = opened()
    here.page.evaluate("() => localStorage.clear()")
    here.page.reload()
    assert here.page.locator("main pre").inner_text() == "commonplace web"


def test_a_consolidation_is_reviewed_line_by_line(opened: Open) -> None:
    here = opened()
    (here.root / "MEMORY.md").write_text(MEMORY, encoding="utf-8")
    here.go("review", "#days")
    here.page.get_by_role("button", name="Propose").click()
    here.page.wait_for_selector(".proposal")
    merged = here.page.locator(".proposal", has_text="disks")
    assert merged.locator("blockquote").count() >= 2
    if shots := os.environ.get("PAGE_SHOTS"):
        here.page.screenshot(path=f"{shots}/review.png")
    merged.locator("input").uncheck()
    assert here.note("MEMORY.md") == MEMORY
    here.page.get_by_role("button", name="Accept the chosen").click()
    here.page.wait_for_selector(".toast.good")
    assert "~~The old router" in here.note("MEMORY.md")
    assert "- Four disks has the NAS.\n" in here.note("MEMORY.md")
    here.go("memory", ".runs details")
    here.page.locator(".runs summary").first.click()
    here.page.wait_for_selector(".runs ins")
    here.page.get_by_role("button", name="Undo this change").click()
    here.page.get_by_role("button", name="Undo it").click()
    here.page.wait_for_selector(".run-undone")
    assert here.note("MEMORY.md") == MEMORY
