"""docs/tasks.md: what its cells say of the panel is done there, key by key."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual")
from textual.widgets import Input, TextArea

from commonplace.diagnosis import examination
from commonplace.panel.application import Panel
from commonplace.panel.host import Host
from commonplace.panel.rows import Rows
from commonplace.panel.search import SearchPane
from tests.panel.conftest import WIDE, Person
from tests.tasks import checks, table, workspace

NAMES = {"Esc": "escape", "↓": "down", "/": "slash", "[": "left_square_bracket", "]": "right_square_bracket"}


def key_of(shown: str) -> str:
    """The key as Textual calls it."""
    return NAMES.get(shown, shown if len(shown) == 1 else shown.lower())


class Jobs:
    """How many jobs of the panel run in threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.running = 0
        ask = Host.ask

        async def counted(host: Host, job: Callable[[], Any]) -> Any:
            self.running += 1
            try:
                return await ask(host, job)
            finally:
                self.running -= 1

        monkeypatch.setattr(Host, "ask", counted)


async def settle(person: Person, jobs: Jobs) -> None:
    """Wait until what was pressed or typed has had its effect."""
    pane = person.panel.query_one(SearchPane) if len(person.panel.screen_stack) == 1 else None
    if pane is not None:
        field = pane.query_one(Input)
        await person.until(lambda: pane._asked.text == field.value)
    for _ in range(3):
        await person.pilot.pause()
        await person.until(lambda: not jobs.running)


async def do(person: Person, step: table.Step, root: Path) -> None:
    """Do one step."""
    if step.kind == "event":
        checks.EVENTS[step.what](root)
    elif step.kind == "key":
        await person.pilot.press(key_of(step.what))
    elif isinstance(area := person.panel.focused, TextArea):
        area.replace(step.what, *area.selection)
    else:
        await person.type(step.what)


async def play(root: Path, way: table.Way, number: int, jobs: Jobs) -> list[str]:
    """Open the panel, do the steps, close it; return what is not as it should be."""
    with checks.memory(root, *(root / folder for folder in way.beside)) as memory:
        panel = Panel(
            memory,
            lambda: examination.examine(examination.present(str(root), os.environ, offline=True)),
            reopen=lambda: checks.memory(root),
        )
        panel.animation_level = "none"
        panel.suspend = contextlib.nullcontext  # type: ignore[method-assign,assignment]
        async with panel.run_test(size=WIDE) as pilot:
            person = Person(panel, pilot)
            await settle(person, jobs)
            for step in way.once_open:
                await do(person, step, root)
                await settle(person, jobs)
            lists = [one for one in panel.screen.query(Rows) if one.display]
            listed = [row.shown.plain for rows in lists for row in rows.rows]
            main = "\n".join(row.shown.plain for row in panel.pane.main.rows)
            whole = "\n".join([person.screen, person.message, *listed])
            return checks.problems(number, root, whole, main)


@pytest.mark.slow
def test_every_task_that_the_panel_offers_is_done_by_its_keys(
    tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    (tmp_path / "editor.py").write_text(checks.EDITOR)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {tmp_path / 'editor.py'}")
    jobs = Jobs(monkeypatch)
    workspace.make(tmp_path / "made")
    wrong = {}
    for number, way in table.ways("panel"):
        with workspace.copied(tmp_path / "made", tmp_path / "now") as root, contextlib.chdir(root):
            if problems := asyncio.run(play(root, way, number, jobs)):
                wrong[number] = problems
    assert wrong == {}
