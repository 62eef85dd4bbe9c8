"""The page for those who do not see it, or not its colours: axe finds nothing serious, and all fits the screen."""

from __future__ import annotations

import os
from pathlib import Path

from tests.page.conftest import PHONE, WIDE, Open, Opened

AXE = Path(os.environ.get("AXE_CORE", "axe.min.js"))  # of `npm install axe-core`
VIEWS = {
    "search": "#question", "search?q=deploy": ".hit", "notes": ".notelist a", "note?ref=MEMORY.md%23L5": ".line.selected",
    "note?ref=MEMORY.md&edit=1": "textarea.source", "timeline": ".moment", "memory": ".history", "feed": ".feed",
    "review": "#days", "sessions": ".view-sessions h1", "charts": ".chart svg", "health": ".verdict",
}  # fmt: skip
# The frame around the views is looked at with the keys.
SERIOUS = """async (rules) => (await axe.run(document.querySelector("dialog[open]") ? document : "main",
    { resultTypes: ['violations'], ...(rules.length ? { runOnly: rules } : {}) })).violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`)"""


def test_every_view_fits_the_screen_and_axe_finds_nothing_serious(opened: Open) -> None:
    here = opened(PHONE, "dark")
    problems = looked_through(here)
    here.go("search", "#question")
    here.press("Escape", "?")
    here.page.wait_for_selector("dialog kbd")
    problems |= {"keys": examined(here)}
    here.press("Escape")
    here.look(WIDE, "light")
    here.page.get_by_role("button", name="中文").click()
    here.page.wait_for_selector("html[lang=zh-CN] #question")
    problems |= looked_through(here, "color-contrast")  # all else is the same in the light
    assert {view: found for view, found in problems.items() if found} == {}


def looked_through(here: Opened, *rules: str) -> dict[str, object]:
    """What is wrong with the views: serious problems by some or all rules, and what is wider than the screen."""
    problems: dict[str, object] = {}
    most = here.page.evaluate("() => window.innerWidth")
    for view, shown in VIEWS.items():
        here.go(view, shown)
        width = here.page.evaluate("() => document.documentElement.scrollWidth")
        problems[view] = [*examined(here, *rules), *([f"{width} wide"] if width > most else [])]
    return problems


def examined(here: Opened, *rules: str) -> list[str]:
    """Serious problems of what is shown, where axe is there."""
    if not AXE.is_file():
        return []
    if not here.page.evaluate("() => !!window.axe"):
        here.page.evaluate(AXE.read_text(encoding="utf-8"))
    problems: list[str] = here.page.evaluate(SERIOUS, rules)
    return problems
