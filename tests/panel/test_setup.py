"""Setup: agents given this memory, folders added, notes brought in and written out; nothing without a yes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input

from commonplace import config
from commonplace.memory import Memory
from commonplace.panel.dialogs import Choice, Location, Review
from tests.panel.conftest import NARROW, NOTES, Person, Play
from tests.panel.test_actions import asked

pytestmark = pytest.mark.usefixtures("private_home")


async def at_row(person: Person, value: tuple[str, str]) -> None:
    """Go to Setup, and put the cursor on a row."""
    await person.press("escape", "6")
    rows = person.rows("set-up")
    await person.until(lambda: value in [row.value for row in rows.rows])
    rows.highlighted = [row.value for row in rows.rows].index(value)
    await person.pilot.pause()


async def closed(person: Person) -> None:
    """Wait until no window is open."""
    await person.until(lambda: len(person.panel.screen_stack) == 1)


async def located(person: Person, path: str, *more: str) -> None:
    """Type a path, press keys, enter."""
    await asked(person, Location)
    person.panel.screen.query_one("#path", Input).value = ""
    await person.type(path)
    await person.press(*more, "enter")


def test_an_agent_is_given_the_memory_and_loses_it_byte_for_byte(play: Play, private_home: Path) -> None:
    settings = private_home / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('model = "o4"\n', "utf-8")

    async def scene(person: Person) -> None:
        for answer in ("n", "y"):
            await at_row(person, ("agent", "codex"))
            assert "on this machine" in person.screen
            await person.press("enter")
            await asked(person, Review)
            assert "+[mcp_servers.memory]" in person.screen
            await person.press("enter")  # no yes
            await person.press(answer)
            if answer == "n":
                await person.until(lambda: person.message == "nothing was changed")
                assert settings.read_text("utf-8") == 'model = "o4"\n'
        await person.until(lambda: "server, hooks, skill entered into Codex; now" in person.message)
        assert "trust the new hooks" in person.message
        await person.sees(f"server (user): {settings}"[:60])
        await person.press("enter")
        await asked(person, Choice)
        await person.press("down", "enter")  # take it out
        await asked(person, Review)
        assert "Take it out?" in person.screen
        await person.press("y")
        await person.until(lambda: "taken out of Codex" in person.message)
        assert settings.read_text("utf-8") == 'model = "o4"\n'
        await person.press("escape")
        await at_row(person, ("agent", "generic"))
        await person.press("enter")
        await person.sees('"mcpServers"')

    play(scene, (120, 40))


def test_a_folder_is_added_read_left_out_weighed_and_removed(play: Play, workspace: Path) -> None:
    folder = workspace.parent / "菜谱"
    folder.mkdir()
    (workspace.parent / "more").mkdir()
    (folder / "汤.md").write_text("# 汤\n\n- 冬天喝姜汤，不放虾。\n", "utf-8")
    with (folder / "huge.md").open("wb") as huge:
        huge.truncate(100 << 20)

    async def scene(person: Person) -> None:
        await at_row(person, ("add", ""))
        await person.press("a")
        await located(person, str(workspace.parent / "菜"), "tab")
        await person.until(lambda: "folder: 1 note, 1 passage, searched from now on" in person.message)
        assert "1 file could not be read: folder/huge.md" in person.message
        config.add_collection(workspace, "more", str(workspace.parent / "more"))  # by another program
        await person.press("2", "6")
        await person.sees("more")
        await person.search("姜汤")
        await person.sees("folder/汤.md")
        for key, says in (("enter", "searched if in:folder"), ("down", "own: ranked"), ("end", "")):
            await at_row(person, ("folder", "folder"))
            await person.press("enter")
            await asked(person, Choice)
            await person.press(*[key, "enter"][key == "enter" :])
            if says:
                await person.until(lambda: says in person.message)  # noqa: B023
        await asked(person, Review)
        await person.press("y")
        await person.until(lambda: "its files are untouched" in person.message)
        await person.until(
            lambda: ("folder", "folder") not in [row.value for row in person.rows("set-up").rows]
        )

    play(scene)
    assert (folder / "汤.md").exists()


@pytest.mark.slow
def test_notes_come_in_after_a_look_are_taken_back_and_go_out_as_a_file(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "memories.json", tmp_path / "all.json"
    memories = [{"id": "m1", "memory": "The ferry takes an hour.", "created_at": "2026-02-01T09:00:00Z"}]
    source.write_text(json.dumps({"results": memories}), "utf-8")
    (tmp_path / "unknown.txt").write_text("nothing\n", "utf-8")

    async def scene(person: Person) -> None:
        await at_row(person, ("import", ""))
        for answer in ("n", "y"):
            assert not list(workspace.rglob("*mem0*"))
            await person.press("i")
            await located(person, str(source))
            await asked(person, Review)
            assert "The ferry takes an hour." in person.screen
            assert "1 entry in 1 note. Write this?" in person.screen
            await person.press(answer)
            await closed(person)
        await person.until(lambda: "1 entry in 1 note" in person.message)
        await person.press("i")
        await located(person, str(source))
        await person.until(lambda: person.message == "mem0: nothing new")
        await person.press("i")
        await located(person, str(tmp_path / "no such"))
        await person.sees("is neither")
        await located(person, str(tmp_path / "unknown.txt"))
        await asked(person, Choice)
        await person.press("end", "enter")  # Basic Memory
        await person.until(lambda: "left out" in person.message)
        for says in ("6 notes written", "Replace it?"):
            await closed(person)
            await person.press("x")
            await located(person, str(target))
            await person.sees(says)
        target.write_text("mine", "utf-8")
        await person.press("n")
        await person.until(lambda: person.message == "nothing was changed")
        assert target.read_text("utf-8") == "mine"
        await person.press("x")
        await located(person, str(workspace / "in.md"))
        await person.sees("among")
        for path, wrong in (
            ("~nosuchuser/x.md", "is no folder; make it first"),
            ("/dev/null", "is a device; name another file"),
        ):
            await located(person, path)
            await person.sees(wrong)
        (tmp_path / "link.json").symlink_to(tmp_path / "nowhere.json")
        for path in (tmp_path / "link.json", target):
            await located(person, str(path))
            await asked(person, Review)
            await person.press("y")
            await person.until(lambda name=path.name: f"/{name}" in person.message)
            if path != target:
                await person.press("x")
        await person.press("3")
        await person.until(lambda: person.rows("runs").row)
        await person.press("h", "u")
        await asked(person, Review)
        await person.press("y")
        await person.until(lambda: "undo" in person.message)

    play(scene, (120, 40))
    assert not [path for path in workspace.rglob("*mem0*") if path.suffix == ".md"]
    assert json.loads(target.read_text("utf-8"))["format"] == "commonplace-export"


def test_an_agent_looks_and_changes_nothing(play: Play, memory: Memory, workspace: Path) -> None:
    memory.workspace.reader = "scout"

    async def scene(person: Person) -> None:
        await at_row(person, ("agent", "codex"))
        assert "only to look at" in person.screen
        assert "write all notes" not in person.screen
        for key in ("enter", "a", "i", "x"):
            person.panel.tell("")
            await person.press(key)
            assert "sets nothing up" in person.message
            assert len(person.panel.screen_stack) == 1

    play(scene, NARROW, agent="scout")
    assert (workspace / "MEMORY.md").read_text("utf-8") == NOTES["MEMORY.md"]
