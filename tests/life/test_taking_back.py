"""`undo` takes back the newest change that can be undone, entries too, and says what it passed over."""

from __future__ import annotations

import pytest

from commonplace import Memory, NotUndone, Selection
from tests.life.conftest import Owner

NOTE = "# Memory\n\n## Facts\n\n- Tea is at four.\n- Gas costs 30.\n- Lin hikes.\n"


@pytest.fixture
def memory(owner: Owner) -> Memory:
    owner.note("MEMORY.md", NOTE)
    return owner.memory()


def test_a_forgetting_is_passed_over(owner: Owner, memory: Memory) -> None:
    memory.correct("Tea is at four.", "Tea is at five.")
    memory.forget(Selection("text", "Gas costs 30"))
    memory.forget(Selection("text", "Lin hikes"))
    shown = memory.undo(dry_run=True)
    assert len(shown.skipped) == 2
    assert "forget" in shown.skipped[0]
    said = owner.run("undo", "--yes")
    assert said.code == 0
    assert "passed over" in said.err
    assert owner.read("MEMORY.md") == "# Memory\n\n## Facts\n\n- Tea is at four.\n"
    assert "cannot be undone" in owner.run("undo", "--yes").err  # nothing else is left


def test_so_is_what_was_taken_back_by_hand(owner: Owner, memory: Memory) -> None:
    memory.correct("Tea is at four.", "Tea is at five.")
    memory.correct("Lin hikes.", "Lin rows.")
    before = owner.read("MEMORY.md").replace("- ~~Lin hikes.~~", "- Lin hikes.")
    lines = [line for line in before.splitlines() if "Lin rows" not in line]
    owner.note(
        "MEMORY.md", "\n".join(line.partition(" <!--")[0] if "Lin" in line else line for line in lines) + "\n"
    )
    memory.undo()
    assert "- Tea is at four.\n" in owner.read("MEMORY.md")


ENTRIES = {
    "for today": {},
    "below a heading of today": {"heading": "Garden"},
    "in long-term memory": {"long_term": True},
    "in a new section of it": {"long_term": True, "section": "Garden"},
    "in a section in the middle": {"long_term": True, "section": "Facts"},
    "tentative": {"tentative": True},
}  # fmt: skip


def test_entries_are_taken_out_whatever_came_after_them(owner: Owner, memory: Memory) -> None:
    owner.note("MEMORY.md", f"{NOTE}\n## Later\n\n- Mira rows.\n")
    made = {}
    for name, where in ENTRIES.items():
        memory.remember("Ordinary words around it.", **where)
        text = f"The pump ({name}) is red.\nAnd it is loud."
        made[name] = memory.remember(text, **where)
        memory.remember("Other words behind it.", **where)
    for name, written in made.items():
        assert f"({name}) is red" in owner.read(written.path)
        undone = memory.undo(written.run)
        assert "And it is loud" in undone.diff
        assert f"({name}) is red" not in owner.read(written.path)
    everything = owner.read("MEMORY.md") + owner.read(made["for today"].path)
    assert everything.count("Ordinary words") == everything.count("Other words") == len(ENTRIES)
    assert "And it is loud" not in everything
    assert "- Mira rows.\n" in everything


def test_the_newest_entry_is_what_undo_means(owner: Owner, memory: Memory) -> None:
    memory.correct("Tea is at four.", "Tea is at five.")
    path = memory.remember("Ines Okafor is the harbour master.").path
    memory.remember("Ines Okafor is the harbour master.")  # the same once more
    written = owner.ok("remember", "The ferry costs three crowns.")
    assert written
    owner.ok("undo", "--yes")
    assert "ferry" not in owner.read(path)
    owner.mcp().call("memory_write", text="The dog is called Pip.")
    memory.undo()
    assert "Pip" not in owner.read(path)
    memory.undo()
    assert owner.read(path).count("Ines Okafor") == 1
    memory.undo()
    assert "Ines Okafor" not in owner.read(path)
    memory.undo()
    assert "- Tea is at four.\n" in owner.read("MEMORY.md")


def test_an_entry_that_was_edited_stays(owner: Owner, memory: Memory) -> None:
    memory.correct("Tea is at four.", "Tea is at five.")
    written = memory.remember("The ferry costs three crowns.", long_term=True, section="Facts")
    owner.note("MEMORY.md", owner.read("MEMORY.md").replace("three crowns", "four crowns"))
    assert "edited" in memory.undo(dry_run=True).skipped[0]
    with pytest.raises(NotUndone):
        memory.undo(written.run)
    memory.undo()
    assert "four crowns" in owner.read("MEMORY.md")
    assert "- Tea is at four.\n" in owner.read("MEMORY.md")


def test_taking_back_since_keeps_what_people_wrote(owner: Owner, memory: Memory) -> None:
    first = memory.correct("Tea is at four.", "Tea is at five.")
    memory.remember("The ferry costs three crowns.", long_term=True)
    memory.correct("Lin hikes.", "Lin rows.")
    assert first.run
    memory.undo(first.run, since=True)
    assert "ferry costs three" in owner.read("MEMORY.md")
    assert "Lin hikes" in owner.read("MEMORY.md")


def test_what_is_forgotten_does_not_stay_in_the_record(owner: Owner, memory: Memory) -> None:
    memory.remember("Zebedee rents the attic.")
    assert "Zebedee" in owner.ok("log", "--diff")
    assert owner.run("forget", "--text", "Zebedee rents the attic", "--yes").code == 0
    assert "Zebedee" not in owner.run("log", "--diff").out


SWALLOWED = {
    "the newest": lambda text: text.replace("- Lima paints.\n", ""),
    "and a line is added": lambda text: text.replace("- Lima paints.\n", "- Of the owner.\n"),
    "an older save": lambda text: NOTE + "- Oslo is cold.\n",
    "both entries": lambda text: NOTE,
    "as before": lambda text: text.replace("- Lima paints.\n", "").rstrip("\n") + "\n",
}


@pytest.mark.parametrize("is_synced", [False, True])
@pytest.mark.parametrize("how", SWALLOWED)
def test_an_entry_that_was_overwritten_is_said_and_no_older_one_goes(
    owner: Owner, memory: Memory, how: str, is_synced: bool
) -> None:
    memory.remember("Oslo is cold.", long_term=True, section="Facts")
    memory.remember("Lima paints.", long_term=True, section="Facts")
    owner.note("MEMORY.md", SWALLOWED[how](owner.read("MEMORY.md")))
    if is_synced:
        memory.sync()
    before = owner.read("MEMORY.md")
    done = owner.run("undo", "--yes")
    assert done.code == 1, done
    assert "commonplace restore MEMORY.md" in done.err
    assert owner.read("MEMORY.md") == before
    owner.ok("restore", "MEMORY.md")
    assert "- Lima paints." in owner.read("MEMORY.md")
    owner.ok("undo", "--yes")
    assert "Lima" not in owner.read("MEMORY.md")
    assert "- Oslo is cold." in owner.read("MEMORY.md")
