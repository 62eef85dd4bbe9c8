"""What an owner does on the page, from the search on, by keyboard and by mouse, at a desk and on a phone."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from commonplace import config
from commonplace.edit.forget import journal, requests
from commonplace.memory import Memory
from commonplace.servers.methods import Service
from commonplace.types import Selection
from tests.agent.model_server import Asked, Say, last, model_serving
from tests.page.conftest import PHONE, Open, Opened
from tests.upkeep.consolidation import plans, verifier

NOTE = "memory/2026-02-13.md"


def find(here: Opened, question: str) -> None:
    here.go("search", "#question")
    here.page.fill("#question", question)
    here.page.wait_for_selector(".hit mark")


def button(here: Opened, name: str, within: str = "body") -> None:
    here.page.locator(within).get_by_role("button", name=name).click()


def undo_from_message(here: Opened) -> None:
    button(here, "Undo", ".toast")
    button(here, "Undo it")
    here.page.wait_for_selector("dialog", state="detached")


# --- statements -----------------------------------------------------------------------------------------


def test_statements_are_corrected_confirmed_and_forgotten(opened: Open) -> None:
    here = opened()
    before = here.note(NOTE)
    corrected_by_keyboard(here)
    assert here.note(NOTE) == before
    corrected_by_mouse(here)
    assert here.note(NOTE) == before
    written_and_confirmed(here)
    moved_meanwhile(here)
    forgotten(here)
    opened_by_a_mistyped_name(here)


def corrected_by_keyboard(here: Opened) -> None:
    before = here.note(NOTE)
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
    assert here.note(NOTE) == before  # shown, not done
    here.press("Enter")
    here.page.wait_for_selector(".prose s")
    assert "~~The deploy moved to Thursday.~~" in here.note(NOTE)
    here.press("u")
    here.page.wait_for_selector("dialog ins")
    here.press("Enter")
    here.page.wait_for_selector(".prose s", state="detached")
    here.press("Escape")
    here.page.wait_for_selector(".hit.selected a:focus")  # the one that was open
    here.press("g", "n")
    here.page.wait_for_selector(".notelist")


def corrected_by_mouse(here: Opened) -> None:
    find(here, "Lin signs on Thursday")
    hit = here.page.locator(".hit", has_text="Lin signs it off").first
    hit.locator("summary").click()
    assert hit.locator(".factors li").count() > 0
    hit.get_by_role("button", name="Correct").click()
    assert (
        here.page.locator("dialog input:checked + span").inner_text() == "Lin signs it off."
    )  # says most of the question
    here.page.locator("dialog .choice", has_text="The deploy moved").click()
    here.page.locator("dialog .choice", has_text="Lin signs").click()
    assert here.page.input_value("#new-text") == "Lin signs it off."
    here.page.fill("#new-text", "Mira signs it off.")
    button(here, "Show what changes")
    button(here, "Correct it")
    undo_from_message(here)
    assert here.questions() == 1


def written_and_confirmed(here: Opened) -> None:
    button(here, "New entry", "#switches")
    here.page.fill("#entry-text", "Mira sails on Sundays.")
    here.page.check("#entry-long")
    here.page.wait_for_selector("#entry-headings option[value=Tea]", state="attached")
    here.page.fill("#entry-heading", "Tea")
    here.page.check("#entry-guess")
    button(here, "Remember")
    here.page.wait_for_selector(".prose")
    assert "after lunch.\n- Mira sails on Sundays. <!-- tentative" in here.note("MEMORY.md")
    assert here.page.locator(".tag.tentative").count() == 1
    with (here.root / NOTE).open("a", encoding="utf-8") as note:
        note.write("- Bo may like raisins. <!-- tentative --> <!-- by: agent; agent: codex -->\n")
    find(here, "raisins")
    here.press("ArrowDown", "y")
    here.page.wait_for_selector("dialog ins")
    assert "tentative" in here.note(NOTE)
    here.press("Enter")
    here.page.wait_for_selector("dialog", state="detached")
    assert "tentative" not in here.note(NOTE)


def moved_meanwhile(here: Opened) -> None:
    before = here.note(NOTE)
    chosen = "- Lin signs it off."

    def stands(text: str) -> None:
        (here.root / NOTE).write_text(before.replace(chosen, text), encoding="utf-8")

    find(here, "Lin signs on Thursday")
    here.page.locator(".hit", has_text="Lin signs").first.get_by_role("button", name="Forget").click()
    here.page.wait_for_selector("dialog .gone:has-text('Lin signs')")
    stands(f"- Bo calls.\n{chosen}")
    here.page.locator("dialog .choice", has_text="The deploy moved").click()
    here.page.wait_for_selector("dialog .gone:has-text('The deploy moved')")
    here.page.locator("dialog .choice", has_text="Lin signs").click()
    here.page.wait_for_selector("dialog .gone:has-text('Lin signs')")
    assert here.page.locator("dialog .gone").count() == 1
    here.press("Escape")
    here.go(f"note?ref={NOTE}%23L7", ".line.selected:has-text('Lin signs')")
    stands(chosen)  # it moves back
    here.press("c")
    here.page.fill("#new-text", "Mira signs it off.")
    button(here, "Show what changes")
    here.page.wait_for_selector("dialog del:has-text('Lin signs')")
    stands("- Bo calls.")  # and is gone
    button(here, "Correct it")
    here.page.wait_for_selector("dialog .bad")
    button(here, "Show what changes")
    button(here, "Look again", "dialog")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.wait_for_selector(".prose .line:has-text('Bo calls')")
    (here.root / NOTE).write_text(before, encoding="utf-8")


def forgotten(here: Opened) -> None:
    of_a_hit_one_line_goes(here)
    here.go(f"note?ref={NOTE}%23L6", ".line.selected")
    button(here, "Forget", ".linebar")
    here.page.wait_for_selector("dialog .places")
    assert "Lin signs it off." in here.note(NOTE)
    button(here, "Erase for good")
    here.page.wait_for_selector("dialog", state="detached")
    assert "Lin" not in here.note(NOTE)
    here.press("F")
    here.page.select_option("#forget-kind", "text")
    here.page.fill("#forget-value", "to Thursday")
    button(here, "Show what changes")
    assert here.page.locator(".lost").inner_text() == "- The deploy moved to Thursday…."
    assert here.page.locator(".lost del").all_inner_texts() == ["to Thursday"]
    button(here, "Erase for good")
    here.page.wait_for_selector("dialog", state="detached")
    assert "- The deploy moved ….\n" in here.note(NOTE)
    here.go("memory", ".runs .title")
    assert here.page.locator(".runs .title").all_inner_texts()[:2] == [f"forgetting: {NOTE}"] * 2


def opened_by_a_mistyped_name(here: Opened) -> None:
    here.go("note?ref=memory%2F2026-02-31.md", ".near a")
    here.page.locator(".near a").first.click()
    here.page.wait_for_selector("h1:has-text('memory/2026-02-1')")


def of_a_hit_one_line_goes(here: Opened) -> None:
    here.page.evaluate("() => document.activeElement.blur()")
    note = here.note(NOTE)
    (here.root / NOTE).write_text(
        note.replace("- Lin signs", "- The tide table is\n  wrong.\n- Lin signs"), encoding="utf-8"
    )
    find(here, "wrong tide table, Thursday")
    here.press("ArrowDown", "d")
    gone = here.page.locator("dialog .gone")
    gone.wait_for()
    assert gone.inner_text() == "- The tide table is\n  wrong."
    choices = here.page.locator("dialog .choice")
    assert choices.all_inner_texts()[-1].startswith("the whole passage, L")
    here.press("ArrowUp")
    here.page.wait_for_selector("dialog .gone:has-text('Thursday')")
    here.press("ArrowDown")
    here.page.wait_for_selector("dialog .gone:has-text('tide')")
    here.press("Enter")
    here.page.wait_for_selector("dialog", state="detached")
    assert here.note(NOTE) == note


@pytest.mark.slow
def test_statements_are_forgotten_on_a_phone(opened: Open) -> None:
    forgotten(opened(PHONE))


# --- notes ----------------------------------------------------------------------------------------------


def test_notes_are_edited_and_what_happens_is_seen(opened: Open) -> None:
    here = opened()
    edited(here)
    changed_meanwhile(here, "Merge both changes")
    typed_and_left(here)
    made(here)
    happening(here)


def edited(here: Opened) -> None:
    here.go("note?ref=MEMORY.md", ".prose")
    here.press("e")
    here.page.wait_for_selector("textarea.source")
    here.press("Control+End")
    here.page.keyboard.type("- Coffee before noon.\n")
    here.press("Control+Enter")
    here.page.wait_for_selector(".prose")
    assert here.note("MEMORY.md").endswith("- Coffee before noon.\n")
    undo_from_message(here)
    assert "Coffee" not in here.note("MEMORY.md")


CHOICES = {
    "Merge both changes": ("An agent was here.", "Mine."),
    "Keep mine": (None, "Mine."),
    "Take the other": ("An agent was here.", None),
}


def changed_meanwhile(here: Opened, choice: str) -> None:
    here.go("note?ref=MEMORY.md&edit=1", "textarea.source")
    here.press("Control+End")
    here.page.keyboard.type("\nMine.\n")
    other = here.note("MEMORY.md").replace("# Memory\n", "# Memory\n\nAn agent was here.\n")
    (here.root / "MEMORY.md").write_text(other, encoding="utf-8")
    button(here, "Save")
    here.page.wait_for_selector(".conflict .diff")
    assert here.note("MEMORY.md") == other
    button(here, choice)
    if choice == "Merge both changes":
        button(here, "Save")
    here.page.wait_for_selector(".prose")
    theirs, mine = CHOICES[choice]
    assert ("An agent was here." in here.note("MEMORY.md")) == bool(theirs)
    assert ("Mine." in here.note("MEMORY.md")) == bool(mine)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [*CHOICES][1:])
def test_one_version_of_a_note_is_chosen(opened: Open, choice: str) -> None:
    changed_meanwhile(opened(), choice)


def typed_and_left(here: Opened) -> None:
    here.go("note?ref=MEMORY.md&edit=1", "textarea.source")
    here.page.fill("textarea.source", "# Memory\n\n- Half a thought\n")
    here.go("search", "#question")
    here.page.reload()
    here.go("note?ref=MEMORY.md&edit=1", "textarea.source")
    assert here.page.input_value("textarea.source") == "# Memory\n\n- Half a thought\n"
    here.page.reload()
    assert here.dialogs == [""]  # the browser asks before it leaves the editor
    button(here, "Discard")
    here.page.wait_for_selector(".prose")
    assert "Half" not in here.note("MEMORY.md")


BOATS = """# Boats

<!-- lint: off -->

> [!warning]
> It leaks.

> [!tip]- Dry dock
> In May.

- A ketch.<br>Blue. <!-- importance: 9 -->
"""


def made(here: Opened) -> None:
    here.go("notes", ".notelist a")
    button(here, "New note")
    here.page.fill("#new-name", "boats")
    here.press("Enter")
    here.page.fill("textarea.source", BOATS)
    button(here, "Save")
    here.page.wait_for_selector(".prose")
    assert here.note("memory/boats.md") == BOATS
    assert here.page.locator(".callout").all_inner_texts() == ["Warning\n\nIt leaks.", "Dry dock\n\nIn May."]
    assert here.page.locator(".tag").all_inner_texts() == ["…", "importance 9"]
    assert here.page.locator(".prose .line", has_text="ketch").inner_text().startswith("A ketch.\nBlue.")
    here.go("notes", ".notelist a")
    button(here, "New note")
    here.page.fill("#new-name", "boats")
    here.press("Enter")
    here.page.wait_for_selector(".toast:has-text('is there already')")
    assert here.page.input_value("textarea.source") == BOATS
    here.go("search?q=path:memory/boats.md as-of:2099-01-01", ".hit")
    assert here.page.locator("#count").inner_text().startswith("1 passage,")
    assert here.page.locator(".factors").count() == 0  # a listing has no reasons


def happening(here: Opened) -> None:
    here.go("feed", ".live.on")
    here.page.evaluate("() => { document.title = 'still here'; }")
    with (here.root / NOTE).open("a", encoding="utf-8") as note:
        note.write("- Boats are painted.\n")
    here.page.wait_for_selector(f".event.write a:has-text('{NOTE}')")
    button(here, "Pause")
    assert here.page.title() == "still here"


# --- long lists ------------------------------------------------------------------------------------------


def test_long_lists_go_on(opened: Open, workspace: Path) -> None:
    entries = "".join(f"## Hour {n}\n\n- Entry {n} of a long day.\n\n" for n in range(70))
    (workspace / NOTE).write_text(f"# 2026-02-13\n\n{entries}", encoding="utf-8")
    for n in range(310):
        (workspace / "memory" / f"topic-{n:03}.md").write_text(f"# Topic {n}\n\nOf it.\n")
    (workspace / "memory" / "2026-04.md").write_text(
        "# 2026-04\n\n## 2026-04-09\n\nRain.\n\n## 2026-05-02\n\nSun.\n"
    )
    turn = json.dumps({"role": "user", "content": "Hello."}) + "\n"
    (workspace / "sessions").mkdir()
    (workspace / "sessions" / "s1.jsonl").write_text(turn * 210)
    here = opened()
    here.go("timeline?day=2026-02-13", ".moment")
    assert here.page.locator(".day.here .moment").count() < 70
    here.press("Escape", "m")
    here.page.wait_for_selector(".moment:has-text('Entry 69')")
    here.page.wait_for_selector(".moment:has-text('Nothing but rain')")
    here.go("timeline", ".moment")  # of a note of several days the last one
    assert here.page.input_value("#day") == "2026-05-02"
    button(here, "‹ Earlier")
    here.page.wait_for_selector(".day.here:has-text('Rain.')")
    here.go("timeline?day=2026-03-15", ".gap")
    around = "() => { const gap = document.querySelector('.gap'); const y = gap.getBoundingClientRect().y; return [gap.previousElementSibling.textContent, gap.nextElementSibling.textContent, y > 0 && y < innerHeight]; }"
    earlier, later, is_in_sight = here.page.evaluate(around)
    assert ("rain" in earlier, "Rain." in later, is_in_sight) == (True, True, True)
    here.go("charts", ".chart svg")
    labels = here.page.locator(".chart").first.locator("text").all_text_contents()
    assert labels[-1] == "2026-05"
    assert here.page.locator(".figures dt").all_inner_texts().count("Tokens spared") == 0  # nothing was asked
    for view, row, few, every in (
        ("notes", ".notelist .note", 300, 314),
        ("sessions?id=s1", ".turn", 200, 210),
    ):
        here.go(view, row)
        assert here.page.locator(row).count() == few
        here.page.locator("button.more").click()
        here.page.wait_for_function(f"() => document.querySelectorAll('{row}').length === {every}")
        assert here.page.locator("button.more").count() == 0


# --- who is let in --------------------------------------------------------------------------------------


def test_who_is_not_let_in_learns_how(opened: Open) -> None:
    here = opened()
    here.press("Escape", "n")
    here.page.fill("#entry-text", "Half a thought.")
    key = here.page.evaluate("() => localStorage.getItem('commonplace-key')")
    here.page.evaluate("() => localStorage.clear()")
    button(here, "Remember")
    here.page.wait_for_selector("dialog .bad:has-text('commonplace web')")
    assert here.page.input_value("#entry-text") == "Half a thought."
    here.press("Escape")
    for view in ("search?q=tea", "setup", "notes"):
        here.page.evaluate("to => { location.hash = to; }", f"#/{view}")
        here.page.wait_for_selector("main pre:has-text('commonplace web')")
        assert here.page.locator(".toast").count() == 0
        here.page.evaluate("key => localStorage.setItem('commonplace-key', key)", key)
        here.go("feed", ".view-feed .live")
        here.page.evaluate("() => localStorage.clear()")
    here.page.reload()
    assert here.page.locator("main pre").inner_text() == "commonplace web"
    here.page.evaluate("to => { location.hash = to; }", f"#code={here.server.site.visitors.code()}")
    here.page.wait_for_selector("#question")  # the address was pasted into the same tab
    here.go("feed", ".live.on")


# --- what waits for the owner ---------------------------------------------------------------------------


def test_what_a_model_and_agents_propose_is_reviewed(opened: Open, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text(plans.MEMORY, encoding="utf-8")
    today = f"memory/{date.today()}.md"
    note = f"# {date.today()}\n\n- We decided that deploys go out on Thursdays.\n- Ines joined the storage team.\n"
    (workspace / today).write_text(note, encoding="utf-8")
    with model_serving() as model:
        model.aside = planned(today)
        overrides = {"llm.provider": "compatible", "llm.base_url": model.url, "llm.model": "scripted"}
        here = opened(of=Service(lambda: Memory.open(workspace, overrides=overrides)))
        consolidated(here)
        agents_asked(here, here.server.service.memory)


def planned(today: str) -> Callable[[Asked], Say]:
    """A model that replaces an entry, adds one, and finds its sources say so."""
    replaces: dict[str, Any] = {
        "op": "supersede", "targets": ["M6"], "text": "Deploys go out on Thursdays.", "section": "Decisions",
        "sources": [f"{today}#L3"], "reason": "the day changed",
    }  # fmt: skip
    adds = replaces | {
        "op": "add", "targets": [], "text": "Ines joined the storage team.", "section": "People",
        "sources": [f"{today}#L4"],
    }  # fmt: skip
    answers = iter([json.dumps({"operations": [replaces, adds]})])
    return lambda asked: Say(next(answers, "") or verifier.answer(last(asked)))


def consolidated(here: Opened) -> None:
    here.go("review", "#days")
    button(here, "Propose")
    here.page.wait_for_selector(".proposal")
    replaced = here.page.locator(".proposal", has_text="Thursdays")
    assert replaced.locator("blockquote").all_inner_texts() == [
        "Deploys go out on Tuesdays. MEMORY.md#L15",
        f"We decided that deploys go out on Thursdays. memory/{date.today()}.md#L3",
    ]
    assert "It takes the place of what is struck." in replaced.inner_text()
    here.press("j", "j", "x")  # not the second
    assert here.note("MEMORY.md") == plans.MEMORY
    button(here, "Accept the chosen")
    here.page.wait_for_selector(".toast.good")
    assert "~~Deploys go out on Tuesdays.~~" in here.note("MEMORY.md")
    assert "Ines" not in here.note("MEMORY.md")
    here.go("memory", ".runs details")
    here.page.locator(".runs summary").first.click()
    here.page.wait_for_selector(".runs ins")
    button(here, "Undo this change")
    button(here, "Undo it")
    here.page.wait_for_selector(".run-undone")
    assert here.note("MEMORY.md") == plans.MEMORY


def agents_asked(here: Opened, memory: Memory) -> None:
    for words in ("The NAS has four disks.", "Backups run at 04:00."):
        selection = Selection("text", words)
        requests.keep(memory.workspace, selection, memory.forget(selection, dry_run=True), agent="codex")
    killed = memory.forget(Selection("text", "Standup starts at 10:15."), dry_run=True)
    journal.add(memory.workspace, journal.previewed(killed))
    here.go("review", ".request")
    assert here.page.locator("#views .badge").inner_text().startswith("3")
    here.page.locator(".request", has_text="Backups").get_by_role("button", name="Refuse").click()
    here.page.locator(".request", has_text="Backups").wait_for(state="detached")
    button(here, "Look at it")
    here.page.wait_for_selector("dialog .places")
    assert "four disks" in here.note("MEMORY.md")
    button(here, "Erase for good")
    here.page.wait_for_selector(".request", state="detached")
    assert "four disks" not in here.note("MEMORY.md")
    assert "Backups run" in here.note("MEMORY.md")


# --- who else asks --------------------------------------------------------------------------------------


def test_nobody_is_offered_what_is_not_theirs(opened: Open, workspace: Path, tmp_path: Path) -> None:
    here = opened(of=Service(lambda: Memory.open(workspace, agent="codex"), "codex"))
    assert here.page.locator("#views a").count() == 5
    here.go("health", "main [role=alert]")
    assert "the agent codex" in here.page.inner_text("main")
    here.go(f"note?ref={NOTE}%23L6&edit=1", ".line.selected")
    assert here.page.get_by_role("button", name="Forget").count() == 0
    assert here.page.get_by_role("button", name="Edit").count() == 0
    here.press("d")
    here.page.wait_for_selector(".toast.bad")
    here.press("c")
    here.page.fill("#new-text", "Mira signs it off.")
    here.press("Control+Enter")
    here.page.wait_for_selector("dialog ins")
    here.press("Enter")
    here.page.wait_for_selector(".toast.good")
    assert "Mira signs it off. <!-- cp:" in here.note(NOTE)
    assert "agent: codex" in here.note(NOTE)

    team = tmp_path / "team"
    (team / "memory").mkdir(parents=True)
    (team / "MEMORY.md").write_text("# Memory\n\n- The team meets on Mondays.\n")
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "2026-02-10.md").write_text("# 2026-02-10\n\n- Rolls rise overnight.\n")
    config.add_collection(workspace, "recipes", str(tmp_path / "recipes"))
    here = opened(of=Service(lambda: Memory.open(workspace, beside=[team])))
    views = {
        "search?q=in:recipes rolls": ".hit", "note?ref=recipes/2026-02-10.md%23L3": ".prose",
        "timeline?day=2026-02-10": ".moment",
    }  # fmt: skip
    for view, shown in views.items():
        here.go(view, f"{shown} :text('overnight')")
        here.page.wait_for_selector("main:not([aria-busy])")
        for name in ("Correct", "Confirm", "Forget", "Edit"):
            assert here.page.locator("main").get_by_role("button", name=name).count() == 0
        here.press("Escape", "j", "c")
        here.page.wait_for_selector(".toast.bad:has-text('further collection')")
        assert here.page.locator("dialog").count() == 0
        button(here, "×", ".toast")
    find(here, "team meets")
    here.page.wait_for_function("() => document.querySelector('.hit')?.innerText.includes('team · memory')")
    hit = here.page.locator(".hit").first
    assert hit.get_by_role("button").count() == 0
    here.press("ArrowDown", "Enter")
    here.page.wait_for_selector(".line.selected")
    assert here.page.get_by_role("button", name="Correct").count() == 0
    here.press("c")
    here.page.wait_for_selector(".toast.bad")
    assert (team / "MEMORY.md").read_text() == "# Memory\n\n- The team meets on Mondays.\n"
