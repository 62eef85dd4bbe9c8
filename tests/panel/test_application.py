"""The panel: its keys, its screens as text, its themes; it lives on whatever goes wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.memory import Memory
from commonplace.panel import keys
from commonplace.panel.application import THEMES, Panel
from tests.panel.conftest import FINDINGS, NARROW, NOW, WIDE, Person, Play

GOLDEN = Path(__file__).parents[1] / "golden" / "panel"


# What is on the screen once a pane has read everything, where both parts are shown and where one is.
READ = {
    "search": ("of 11 lines", "3 hits"),
    "timeline": ("2026-03-14 Sat · ", "2026-02-13"),
    "memory": ("no generated change", "Aged white tea"),
    "live": ("of 4 lines", "scout"),
    "setup": ("5 notes", "any other"),
}


@pytest.mark.parametrize(
    "size", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], ids="{0[0]}x{0[1]}".format
)
def test_screens_are_as_they_were(
    play: Play, size: tuple[int, int], private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GOLDEN=1 writes them anew: read the difference."""
    monkeypatch.setenv("PATH", str(private_home))  # no client is on this machine
    monkeypatch.setattr(paths, "shown", lambda path: f"/…/{Path(path).name}")

    async def scene(person: Person) -> None:
        await person.search("white tea")
        for pane, (wide, narrow) in READ.items():
            await person.press("escape", str([*keys.PANES].index(pane) + 1))
            await person.sees(wide if size == WIDE else narrow)
            golden = GOLDEN / f"{pane}-{size[0]}x{size[1]}.txt"
            if os.environ.get("GOLDEN") == "1":
                golden.write_text(person.still, "utf-8")
            assert person.still == golden.read_text("utf-8")

    play(scene, size)


def test_a_key_in_the_field_is_a_letter_elsewhere_it_is_a_key(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.press("q", "d", "1", "question_mark", "slash", "j", "k")
        assert person.panel.query_one("#question").value == "qd1?/jk"  # type: ignore[attr-defined]
        assert keys.IN_FIELD in person.screen
        await person.press("escape")
        for number, pane in reversed([*enumerate(keys.PANES, 1)]):
            await person.press(str(number), *["escape"] * (pane == "search"))
            assert pane == person.panel.pane.NAME
            assert keys.hints(pane) in person.screen
        await person.pilot.click("#name-memory")
        assert person.panel.pane.NAME == "memory"
        await person.press("slash")
        assert person.panel.focused is person.panel.query_one("#question")
        await person.press("escape", "question_mark")
        screen = person.screen
        for key, what in {**keys.EVERYWHERE, **keys.OF_PANES["search"]}.items():
            assert f"{key:<9}" in screen
            assert what in " ".join(screen.replace("│", " ").split())
        await person.pilot.resize_terminal(80, 24)
        await person.sees("q          quit")
        assert "more line" not in person.screen
        await person.pilot.resize_terminal(80, 16)
        await person.sees("↓ 8 more lines")
        await person.press("end")
        await person.sees("q          quit")
        assert "more line" not in person.screen
        await person.press("escape", "q")
        assert not person.panel.is_running

    play(scene, (100, 40))


def test_the_table_of_keys_is_that_of_the_bindings_and_of_the_page() -> None:
    bound = {key for binding in Panel.BINDINGS for key in binding.key.split(",")}  # type: ignore[union-attr]
    named = {"1": "1–6", "slash": "/", "left_square_bracket": "[ ]", "question_mark": "?"}
    listed = {*keys.EVERYWHERE, *(key for own in keys.OF_PANES.values() for key in own)}
    assert {named.get(key, key) for key in bound} - {
        "2",
        "3",
        "4",
        "5",
        "6",
        "right_square_bracket",
    } <= listed
    page = (Path(__file__).parents[2] / "docs" / "panel.md").read_text("utf-8")
    for key, what in [
        *keys.EVERYWHERE.items(),
        *(row for own in keys.OF_PANES.values() for row in own.items()),
    ]:
        assert f"| {' '.join(f'`{one}`' for one in key.split())} | {what} |" in page


@pytest.mark.slow
def test_every_theme_marks_the_cursor_without_colours(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.search("white tea")
        seen = set()
        for _ in THEMES:
            await person.press("T")
            seen.add(person.panel.theme)
            hits = person.rows("hits")
            lines = [list(hits.render_line(y)) for y in range(hits.size.height)]
            reversed_ = [any(one.style and one.style.reverse for one in line) for line in lines]
            marked = [
                any(one.style and one.style.meta.get("option") == hits.highlighted for one in line)
                for line in lines
            ]
            assert reversed_ == marked
            assert any(marked)
        assert seen == set(THEMES.values())

    play(scene)


@pytest.mark.parametrize(
    ("variables", "theme"),
    [({}, "textual-dark"), ({"COLORFGBG": "0;15"}, "textual-light"), ({"NO_COLOR": "1"}, "ansi-dark")],
)
def test_the_theme_follows_the_terminal(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], theme: str
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLORFGBG", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    panel = Panel(memory, lambda: FINDINGS, now=lambda: NOW)
    if not variables:
        panel = Panel(memory, lambda: FINDINGS, now=lambda: NOW, theme="dark")
    assert panel.theme == theme


@pytest.mark.slow
def test_sizes_from_40_columns_to_200_show_one_part_or_two(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.search("white tea")
        for width, height, parts in ((200, 60, 2), (100, 24, 2), (99, 24, 1), (40, 12, 1)):
            await person.pilot.resize_terminal(width, height)
            await person.pilot.pause()
            assert person.rows("note-lines").is_on_screen == (parts == 2)
            assert person.rows("hits").is_on_screen
        await person.press("enter")
        assert person.rows("note-lines").is_on_screen
        assert not person.rows("hits").is_on_screen
        await person.press("escape")
        assert person.rows("hits").is_on_screen

    play(scene)


def test_a_hostile_note_is_shown_as_text(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.search("wombat")
        await person.until(lambda: person.rows("note-lines").rows)
        assert "[@click=app.quit]press[/] [link=https://x.example]here[/link]" in " ".join(
            person.screen.split()
        )
        assert "[bold red]Hostile[/bold red]" in person.screen
        for pane in "23456":
            await person.press(pane)
            await person.pilot.pause()
        assert not {"\x1b", "\x07", "\x9b"} & set(person.screen)
        svg = person.panel.export_screenshot()
        assert "x.example" not in svg.split("<text")[0]  # no link
        await person.press("1")
        await person.pilot.click("#note-lines", offset=(20, 3))
        assert person.panel.is_running

    play(scene, (120, 24))


@pytest.mark.slow
def test_a_note_that_is_gone_and_a_damaged_index_are_one_line(play: Play, workspace: Path) -> None:
    async def scene(person: Person) -> None:
        await person.search("rain")
        (workspace / "memory" / "2026-02-14.md").unlink()
        await person.press("c")
        await person.until(lambda: person.message.startswith("!"))
        assert "memory/2026-02-14.md" in person.message
        index = Workspace(workspace).index
        for file in index.parent.glob("index.sqlite*"):
            file.unlink()
        index.mkdir()
        await person.search("coffee")
        await person.until(
            lambda: any("coffee" in (row.place.text if row.place else "") for row in person.rows("hits").rows)
        )
        await person.press("2")
        await person.press("3")
        await person.until(lambda: person.rows("statements").rows)
        assert person.panel.is_running

    play(scene)


@pytest.mark.slow
def test_what_ends_after_the_panel_is_said_to_nobody(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.press("escape")

    play(scene).panel.tell("late", wrong=True)


def test_a_workspace_that_is_gone_ends_nothing(play: Play, workspace: Path) -> None:
    async def scene(person: Person) -> None:
        shutil.rmtree(workspace)
        await person.press("slash")
        await person.type("tea")
        await person.until(lambda: person.message.startswith("!"))
        for pane in "23456":
            await person.press("escape", pane)
            await person.pilot.pause()
        assert person.panel.is_running

    play(scene)


def test_health_names_what_there_is_and_was_asked_with_remedies_and_a_bug_is_a_line(
    play: Play, workspace: Path
) -> None:
    with Memory.open(workspace, overrides={"embedding.provider": "none"}) as agents:
        agents.search("zeppelin")
        agents.recall("which tea after lunch")

    async def scene(person: Person) -> None:
        await person.search("tea")
        await person.press("5")
        await person.sees("never found")
        for text in (
            str(workspace)[:40],
            "5 notes",
            "collection",
            "language model",
            "2 questions in 30 days, 1 answered",
            "$0.0000 in 30 days, 0 calls",
            "zeppelin × 1",
            "never found     memory/2026-03-14.md",
            "the disk is full",
            "run `commonplace sync`",
        ):
            assert text in person.screen
        assert "5 notes are text" not in person.screen
        await person.press("r")
        await person.sees("never found")

        async def broken() -> None:
            raise ZeroDivisionError("a bug")

        person.panel.act(broken())
        await person.until(lambda: person.message == "! unexpected ZeroDivisionError: a bug")
        assert person.panel.is_running

    play(scene, WIDE)
