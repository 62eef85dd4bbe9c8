"""Notes one by one, as text."""

from __future__ import annotations

import pytest

from commonplace.render import reports, screen, some
from commonplace.render.screen import Look
from commonplace.types import Moment, Timeline

TEXT = "- A line of many words that no narrow terminal has room for.\n\n- 明天一早的高铁，二十分钟，比从家到杭州东还快。"


@pytest.mark.parametrize("width", [24, 40, 60])
def test_a_timeline_fits_its_terminal_and_loses_nothing(width: int) -> None:
    moment = Moment("memory/x.md", 3, 5, "2026-02-16", (), TEXT, "abc123")
    shown = reports.timeline_text(Timeline("2026-02-16", (moment,)), Look(width=width)).split("\n")
    assert max(map(screen.cells, shown)) <= width
    assert "".join("".join(shown[2:]).split()) == "".join(TEXT.split())


def test_without_a_terminal_its_lines_stand_as_they_are() -> None:
    moment = Moment("memory/x.md", 3, 5, "2026-02-16", (), TEXT, "abc123")
    shown = reports.timeline_text(Timeline("2026-02-16", (moment,))).split("\n")
    assert shown[2:] == [f"    {line}" for line in TEXT.split("\n") if line]


def test_names_that_are_too_many_are_counted() -> None:
    assert some([]) == ""
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some("abcdef", 2) == "a, b and 4 more"
