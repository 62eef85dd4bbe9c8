"""The page for those who do not see it, or not its colours: axe finds nothing serious."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.page.conftest import PHONE, WIDE, Open

AXE = Path(os.environ.get("AXE_CORE", "axe.min.js"))
VIEWS = {
    "search": "#question", "search?q=deploy": ".hit", "notes": ".notelist a", "note?ref=MEMORY.md%23L5": ".line.selected",
    "note?ref=MEMORY.md&edit=1": "textarea.source", "timeline": ".moment", "memory": ".history", "feed": ".feed",
    "review": "#days", "sessions": ".view-sessions h1", "charts": ".chart svg", "health": ".verdict",
}  # fmt: skip
SERIOUS = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`)"""


@pytest.mark.parametrize(
    ("size", "theme"),
    [(PHONE, "dark"), pytest.param(WIDE, "light", marks=pytest.mark.slow)],
    ids=["dark", "light"],
)
def test_axe_finds_nothing_serious(opened: Open, size: tuple[int, int], theme: str) -> None:
    if not AXE.is_file():
        pytest.skip("AXE_CORE names no axe.min.js (npm install axe-core)")
    here = opened(size, color_scheme=theme, reduced_motion="reduce")
    here.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = {}
    for view, shown in VIEWS.items():
        here.go(view, shown)
        if serious := here.page.evaluate(SERIOUS):
            found[view] = serious
    here.go("search", "#question")
    here.press("Escape", "?")
    here.page.wait_for_selector("dialog kbd")
    if serious := here.page.evaluate(SERIOUS):
        found["keys"] = serious
    assert found == {}
