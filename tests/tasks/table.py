"""The table of docs/tasks.md: the tasks, and for each door the steps that do it."""

from __future__ import annotations

import os
import re
import shlex
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "tasks.md"
DOORS = ("page", "panel", "command line")
_STEP = re.compile(r"`(?P<key>[^`]+)`|“(?P<text>[^”]+)”|\*\*(?P<click>[^*]+)\*\*|\*(?P<event>[^*]+)\*")
_ROW = re.compile(r"\| (\d+) \| (.+) \|")
_CELL = re.compile(r"(\d+) · (.+)")


class Step(NamedTuple):
    """A key, a text that is typed, a click, a command line; or an event, which is nobody's step."""

    kind: Literal["key", "text", "click", "command", "event"]
    what: str


@dataclass(frozen=True, slots=True)
class Way:
    """How a task is done by one door: its steps, and the number that the table gives."""

    number: int
    steps: tuple[Step, ...]
    cell: str

    @property
    def beside(self) -> list[str]:
        """The folders of further workspaces that the door is opened with."""
        words = shlex.split(self.steps[0].what) if self.steps[0].kind == "command" else []
        return [folder for option, folder in pairwise(words) if option == "-w" and folder != "."]

    @property
    def once_open(self) -> tuple[Step, ...]:
        """The steps once a page or a panel is open."""
        return self.steps[self.steps[0].kind == "command" :]

    @property
    def counted(self) -> int:
        """How many steps there are."""
        return sum(step.kind != "event" for step in self.steps)


class Task(NamedTuple):
    """A row: its number, what an owner wants, and the ways by door; none where the door does not offer it."""

    number: int
    wish: str
    ways: dict[str, Way]
    cells: dict[str, str]


def ways(door: str) -> Iterator[tuple[int, Way]]:
    """The ways of a door by the numbers of their tasks: all, or those that TASKS=4,17 names."""
    chosen = os.environ.get("TASKS", "").split(",")
    for task in tasks():
        if door in task.ways and (chosen == [""] or str(task.number) in chosen):
            yield task.number, task.ways[door]


def tasks() -> list[Task]:
    """Read the table."""
    found = []
    for number, rest in _ROW.findall(PAGE.read_text("utf-8")):
        wish, *cells = rest.split(" | ")
        ways = {door: way for door, cell in zip(DOORS, cells, strict=True) if (way := _way(cell))}
        found.append(Task(int(number), wish, ways, dict(zip(DOORS, cells, strict=True))))
    return found


def summary() -> str:
    """Say how many tasks each door offers, and in how many steps: in the middle and at most."""
    parts = []
    for door in DOORS:
        counted = [task.ways[door].counted for task in tasks() if door in task.ways]
        middle = statistics.median_low(counted)
        parts.append(f"{door} {len(counted)} (median {middle}, at most {max(counted)})")
    return ", ".join(parts)


def _way(cell: str) -> Way | None:
    match = _CELL.fullmatch(cell.strip())
    if not match:
        return None
    return Way(int(match[1]), tuple(map(_step, _STEP.finditer(match[2]))), cell)


def _step(match: re.Match[str]) -> Step:
    kind, what = next((kind, text) for kind, text in match.groupdict().items() if text)
    if kind == "key" and what.startswith("commonplace "):
        kind = "command"
    return Step(kind, what)  # type: ignore[arg-type]
