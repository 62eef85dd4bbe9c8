"""What a person does to notes: nothing happens without a yes, and then just what was shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from commonplace.base import paths
from commonplace.edit.resolve import StatementNotFound
from commonplace.memory import Memory
from commonplace.panel.actions import found_at
from commonplace.panel.dialogs import Choice, Line, Marking, NewEntry, Review, Wording
from commonplace.panel.rows import NoteLines, Rows
from commonplace.storage import journal
from commonplace.types import Provenance
from tests.copies import files_of
from tests.panel.conftest import NARROW, NOTES, Person, Play


async def at_statement(person: Person, words: str) -> None:
    """Put the cursor on a statement of MEMORY.md."""
    await person.press("escape", "3")
    await person.until(lambda: person.rows("statements").row)
    texts = [row.place.text if row.place else "" for row in person.rows("statements").rows]
    person.rows("statements").highlighted = next(at for at, text in enumerate(texts) if words in text)
    await person.pilot.pause()


async def asked(person: Person, kind: type) -> None:
    """Wait for a window."""
    await person.until(lambda: isinstance(person.panel.screen, kind))
    await person.pilot.pause()


async def reword(person: Person, words: str) -> None:
    await asked(person, Wording)
    area = person.panel.screen.query_one(TextArea)
    area.text = words
    await person.press("ctrl+s")


def test_a_correction_is_shown_asked_about_and_written(play: Play, workspace: Path) -> None:
    note = workspace / "MEMORY.md"

    async def scene(person: Person) -> None:
        for answer in ("escape", "y"):
            assert note.read_text("utf-8") == NOTES["MEMORY.md"]
            await at_statement(person, "Aged white tea")
            await person.press("c")
            await reword(person, "Aged white tea all day.")
            await asked(person, Review)
            assert "Write this?" in person.screen
            assert "+- Aged white tea all day." in person.screen
            await person.press(answer)
            await person.until(lambda: person.message)
            if answer != "y":
                assert person.message == "nothing was changed"
        await person.until(lambda: "struck MEMORY.md#L" in person.message)
        await person.sees("• Aged white tea all day.")
        await person.sees("struck")

    play(scene)
    assert "~~Aged white tea after lunch.~~" in note.read_text("utf-8")
    assert "- Aged white tea all day." in note.read_text("utf-8")


def test_the_same_words_and_those_for_what_changed_meanwhile_are_not_written_and_none_strike(
    play: Play, workspace: Path
) -> None:
    note = workspace / "MEMORY.md"
    other = NOTES["MEMORY.md"].replace(
        "Aged white tea after lunch.", "Aged white tea with lunch and after it."
    )

    async def scene(person: Person) -> None:
        await at_statement(person, "Aged white tea")
        await person.press("c")
        await reword(person, "Aged white tea after lunch.")
        await person.until(lambda: person.message == "nothing was changed")
        person.panel.tell("")
        await person.press("c")
        await asked(person, Wording)
        await person.press("escape")
        assert note.read_text("utf-8") == NOTES["MEMORY.md"]
        await person.press("c")
        await reword(person, "Longjing.")
        await asked(person, Review)
        note.write_text(other, "utf-8")
        await person.press("y")
        await person.until(lambda: person.message.startswith("!"))
        assert note.read_text("utf-8") == other
        await at_statement(person, "Aged white tea")
        await person.press("c")
        await reword(person, "")
        await asked(person, Review)
        await person.press("y")
        await person.until(lambda: "struck MEMORY.md#L5" in person.message)

    play(scene)
    struck, _, rest = note.read_text("utf-8").partition("- No coffee")
    assert "- ~~Aged white tea with lunch and after it.~~ <!--" in struck
    assert rest == other.partition("- No coffee")[2]


def test_what_a_row_shows_is_meant_wherever_it_stands_by_now(play: Play, workspace: Path) -> None:
    note = workspace / "MEMORY.md"
    line = "- Aged white tea after lunch."

    async def scene(person: Person) -> None:
        for words in (line, line.removeprefix("- ")):  # of a note, of its statements
            place = NoteLines("MEMORY.md", 5, 5, words)
            note.write_text(NOTES["MEMORY.md"].replace(line, f"- Bo calls.\n{line}"), "utf-8")
            _, (found,), _ = found_at(person.panel, place)
            assert (found.first, found.text) == (6, "Aged white tea after lunch.")
            note.write_text(NOTES["MEMORY.md"].replace(line, "- Bo calls."), "utf-8")
            with pytest.raises(StatementNotFound, match="something else by now"):
                found_at(person.panel, place)
        await at_statement(person, "Bo calls")
        await person.press("d")
        await asked(person, Choice)
        note.write_text(NOTES["MEMORY.md"].replace(line, "- Ada calls.\n- Bo calls."), "utf-8")
        await person.press("enter")
        await asked(person, Review)
        assert "Bo calls." in person.screen.partition("for good")[2]
        await person.press("y")
        await person.until(lambda: "nothing of it is found any more" in person.message)

    play(scene)
    assert note.read_text("utf-8") == NOTES["MEMORY.md"].replace(line, "- Ada calls.")


def test_the_item_of_a_list_that_a_hit_shows_is_what_is_changed(play: Play, workspace: Path) -> None:
    async def scene(person: Person) -> None:
        await person.search("Lin signs")
        await person.press("d")
        await asked(person, Choice)
        texts = [row.shown.plain for row in person.rows("lines").rows]
        assert [text.split("  ")[0] for text in texts] == ["this line", "the whole note"]
        await person.press("enter")
        await asked(person, Review)
        assert "Lin signs it off." in person.screen
        assert "The deploy moved to Thursday." not in person.screen.partition("cannot be undone")[2]
        await person.press("n")
        await person.until(lambda: not isinstance(person.panel.screen, Review))
        await person.press("c")
        await reword(person, "Mira signs it off.")
        await asked(person, Review)
        await person.press("y")
        await person.until(lambda: "struck" in person.message)

    play(scene)
    assert "- Mira signs it off." in (workspace / "memory" / "2026-02-13.md").read_text("utf-8")


def test_of_several_statements_of_a_hit_one_is_chosen(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.search("Lin signs what moved to Thursday")
        await person.press("d")
        await asked(person, Choice)
        kinds = [row.shown.plain.split("  ")[0] for row in person.rows("lines").rows]
        assert kinds == ["this line", "this line", "these lines", "the whole note"]
        await person.press("enter")
        await asked(person, Review)
        assert "Lin signs it off." not in person.screen.partition("cannot be undone")[2]

    play(scene)


def test_a_guess_is_confirmed_and_what_is_none_is_not(play: Play, workspace: Path) -> None:
    async def scene(person: Person) -> None:
        await at_statement(person, "oolong")
        assert "tentative" in person.screen
        await person.press("t")
        await asked(person, Review)
        await person.press("y")
        await person.until(lambda: "confirmed MEMORY.md#L7" in person.message)
        await at_statement(person, "No coffee")
        await person.press("t")
        await person.until(lambda: "is not tentative" in person.message)

    play(scene)
    assert "tentative" not in (workspace / "MEMORY.md").read_text("utf-8")


def test_nothing_is_forgotten_without_a_yes_and_then_it_is_nowhere(play: Play, workspace: Path) -> None:
    async def scene(person: Person) -> None:
        for answer in ("q", "y"):
            assert "No coffee" in (workspace / "MEMORY.md").read_text("utf-8")
            await at_statement(person, "No coffee")
            await person.press("d")
            await asked(person, Choice)
            await person.press("enter")
            await asked(person, Review)
            assert "cannot be undone" in person.screen
            assert "No coffee after 14:00." in person.screen
            await person.press("enter")  # no yes
            assert isinstance(person.panel.screen, Review)
            await person.press(answer)
            await person.until(lambda: not isinstance(person.panel.screen, Review))
        await person.until(lambda: "nothing of it is found any more" in person.message)
        await person.until(lambda: "No coffee" not in person.screen)
        person.panel.tell("")
        await person.search("rain")
        await person.press("d")
        await asked(person, Choice)
        await person.press("end", "enter")  # the whole note
        await asked(person, Review)
        await person.press("y")
        await person.until(lambda: "nothing of it is found any more" in person.message)
        await person.press("escape", "3", "u")
        await person.sees("the log of changes lists them")  # all of why that is not taken back
        person.panel.tell("")
        for name in ("Nobody Else", "Lin"):
            await person.press("F")
            await asked(person, Choice)
            await person.press("enter")  # a person
            await asked(person, Line)
            await person.type(name)
            await person.press("enter")
            if name == "Nobody Else":
                await person.until(lambda: "nothing of it is found" in person.message)
        await asked(person, Review)
        await person.sees("Lin signs it off.")
        await person.press("y")
        await person.until(lambda: "nothing of it is found any more" in person.message)

    play(scene)
    assert "Lin" not in (workspace / "memory" / "2026-02-13.md").read_text("utf-8")
    assert not (workspace / "memory" / "2026-02-14.md").exists()
    assert not [f for f in files_of(workspace) if b"No coffee" in f.read_bytes()]


def test_an_entry_is_written_where_it_is_wanted_and_none_where_there_is_none(
    play: Play, workspace: Path
) -> None:
    today = workspace / "memory" / "2026-03-15.md"

    async def scene(person: Person) -> None:
        for key in ("ctrl+s", "escape"):  # nothing was written yet
            await person.press("escape", "n")
            await asked(person, NewEntry)
            await person.press(key)
            await person.until(lambda: not isinstance(person.panel.screen, NewEntry))
        assert not today.exists()
        for long_term in (False, True):
            await person.press("escape", "n")
            await asked(person, NewEntry)
            person.panel.screen.query_one(TextArea).text = "The kettle is new. password = Tr0ub4dor&3xyz"
            await person.press("tab")
            assert isinstance(person.panel.focused, Input)
            await person.type("Kitchen")
            if long_term:
                await person.press("tab", "space", "shift+tab")
                heading = person.panel.focused
                heading.value = ""
                await person.type("te")
                await person.press("tab")
                assert heading.value == "Tea"
                heading.value = "Kitchen"
                await person.pilot.pause()
                assert "New entry, in MEMORY.md" in person.screen
            await person.press("ctrl+s")
            await person.until(lambda: f"written to {'MEM' if long_term else 'memory'}" in person.message)  # noqa: B023
            assert "redacted" in person.message

    play(scene)
    for note in (today, workspace / "MEMORY.md"):
        text = note.read_text("utf-8")
        assert "## Kitchen" in text
        assert "The kettle is new." in text
        assert "Tr0ub4dor" not in text


def test_a_change_is_shown_in_the_history_and_taken_back(play: Play, memory: Memory, workspace: Path) -> None:
    memory.correct("No coffee after 14:00.", "No coffee after 13:00.", why="asked the doctor")

    async def scene(person: Person) -> None:
        await person.press("escape", "3")
        await person.until(lambda: person.rows("runs").row)
        await person.press("h")
        assert person.panel.focused is person.rows("runs")
        await person.sees("+- No coffee after 13:00.")
        assert "asked the doctor" in person.screen
        for answer in ("n", "y"):
            await person.press("u")
            await asked(person, Review)
            assert "-- No coffee after 13:00." in person.screen
            await person.press(answer)
        await person.until(lambda: "undo correct" in person.message)
        await person.until(lambda: len(person.rows("runs").rows) == 2)

    play(scene)
    assert (workspace / "MEMORY.md").read_text("utf-8") == NOTES["MEMORY.md"]


@pytest.mark.slow
def test_on_a_narrow_screen_the_history_is_a_part_of_its_own(play: Play, memory: Memory) -> None:
    memory.correct("No coffee after 14:00.", "No coffee after 13:00.")

    async def scene(person: Person) -> None:
        await person.press("escape", "3")
        await person.until(lambda: person.rows("runs").row)
        assert "History" not in person.screen
        await person.press("h")
        await person.sees("+- No coffee after 13:00.")
        assert "Aged white tea" not in person.screen.partition("@@")[0]
        await person.press("escape")
        await person.sees("• Aged white tea")

    play(scene, NARROW)


def test_what_is_marked_of_a_consolidation_is_written_and_nothing_without_a_yes(
    play: Play, memory: Memory, workspace: Path
) -> None:
    note = workspace / "MEMORY.md"
    more = "".join(
        f"- Cup {name} is on the shelf.\n" for name in "one two three four five six seven eight".split()
    )
    over = "- The old kettle leaks. <!-- valid-until: 2026-01-01 -->\n"
    twice = NOTES["MEMORY.md"].replace(
        "- No coffee", f"{more}{over}- Aged white tea after lunch.\n- No coffee"
    )
    note.write_text(twice, "utf-8")

    async def scene(person: Person) -> None:
        await at_statement(person, "No coffee")
        await person.press("r")
        await asked(person, Marking)
        await person.sees("2 proposals")
        await person.sees("one line takes the place of 2, which are struck")
        assert "MEMORY.md#L15  in the same words" in person.screen
        assert "MEMORY.md#L5" in person.screen
        assert "MEMORY.md#L15" in person.screen
        await person.press("n")
        await person.until(lambda: person.message == "nothing was changed")
        await person.press("r")
        await asked(person, Marking)
        await person.press("a", "y")  # none is marked
        await person.until(lambda: not isinstance(person.panel.screen, Marking))
        assert note.read_text("utf-8") == twice
        await person.press("r")
        await asked(person, Marking)
        await person.press("j", "space")
        await person.sees("Write 1 of 2?")
        assert "[x] expire" in person.screen
        assert "[ ] merge" in person.screen
        await person.press("y")
        await person.until(lambda: "written as" in person.message)
        assert "~~The old kettle leaks.~~" in note.read_text("utf-8")
        assert note.read_text("utf-8").count("- Aged white tea") == 2
        await person.press("r")
        await asked(person, Marking)
        await person.sees("1 proposal")
        await person.press("y")
        await person.until(lambda: note.read_text("utf-8").count("- Aged white tea") == 1)
        await person.until(lambda: not isinstance(person.panel.screen, Marking))
        await person.until(lambda: len(person.rows("runs").rows) == 2)
        assert person.rows("runs").highlighted == 0  # on the newest, which `u` takes back
        await person.press("r")
        await asked(person, Review)
        await person.sees("Nothing to consolidate")

    play(scene)
    assert [run.about.kind for run in journal.listed(memory.workspace)] == ["consolidate", "consolidate"]


def test_the_timeline_steps_jumps_opens_and_says_what_is_tentative(play: Play, workspace: Path) -> None:
    note = workspace / "memory" / "2026-03-14.md"
    note.write_text(f"{note.read_text('utf-8')}\n## 猜测\n\n- 也许下雨。 <!-- tentative -->\n", "utf-8")

    async def scene(person: Person) -> None:
        await person.press("escape", "2")
        await person.sees("2026-03-14 Sat · ")
        await person.sees("猜测 › memory/2026-03-14.md:8  tentative")
        await person.press("left_square_bracket")
        await person.sees("2026-02-14 Sat · ")
        await person.sees("Nothing but rain")
        await person.press("right_square_bracket")
        await person.sees("2026-03-14 Sat · ")
        await person.press("g")
        await asked(person, Line)
        await person.type("2026-03-01")
        await person.press("enter")
        await person.sees("2026-02-14 Sat · ")
        assert "the nearest before it is 2026-02-14" in person.message
        await person.press("g")
        await asked(person, Line)
        await person.type("no day at all")
        await person.press("enter")
        await person.until(lambda: person.message.startswith("!"))
        await person.press("g", "escape", "enter")
        assert person.panel.focused is person.rows("moments")
        await person.press("enter")
        await person.until(lambda: person.rows("day-note-lines").rows)
        await person.sees("of 3 lines")
        await person.press("escape")
        assert person.panel.focused is person.rows("moments")
        await person.press("escape")
        assert person.panel.focused is person.rows("days")

    play(scene)


def test_what_cannot_be_done_is_said(workspace: Path, play: Play, memory: Memory) -> None:
    memory.workspace.reader = "scout"

    async def scene(person: Person) -> None:
        await person.press("escape")
        for key in "ectd":
            await person.press(key)
            assert "nothing is under the cursor" in person.message
        await person.press("3", "u")
        assert "no generated change is under the cursor" in person.message
        await person.press("n")
        await asked(person, NewEntry)
        person.panel.screen.query_one(TextArea).text = "The kettle is new."
        await person.press("ctrl+s")
        await person.until(lambda: person.message.startswith("!"))
        assert "scout" in person.message

    play(scene, agent="scout")
    assert not (workspace / "memory" / "2026-03-15.md").exists()


def test_what_agents_wrote_waits_in_the_panel_and_all_of_it_is_confirmed(
    play: Play, memory: Memory, workspace: Path
) -> None:
    settings = paths.user_config_dir() / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[agents.codex.remember]\nwrites = "review"\n')
    memory.remember("The lamp is green.", long_term=True, provenance=Provenance("agent", "codex"))

    async def scene(person: Person) -> None:
        await person.sees("1 entry of agents waits for you")
        await person.press("escape", "m")
        await asked(person, Choice)
        rows = person.panel.screen.query_one(Rows)
        rows.highlighted = next(at for at, row in enumerate(rows.rows) if "confirm" in str(row.shown))
        await person.press("enter")
        await asked(person, Line)
        await person.press("enter")
        for keys in (("down", "enter"), ("enter",)):  # all, and not to reject
            await asked(person, Choice)
            await person.press(*keys)
        await asked(person, Line)
        await person.press("enter")
        await asked(person, Review)
        await person.sees("Confirm 1 statement of agents")
        await person.press("y")
        await person.until(lambda: "confirmed MEMORY.md" in person.message)

    play(scene)
    assert "The lamp is green. <!-- by: agent" in (workspace / "MEMORY.md").read_text("utf-8")
