"""All views: they fit the screen, have their keys, and are for those who do not see them, or not their colours."""

from __future__ import annotations

import os
from pathlib import Path

from tests.page.conftest import PHONE, WIDE, Open, Opened

AXE = Path(os.environ.get("AXE_CORE", "axe.min.js"))  # of `npm install axe-core`
VIEWS = {
    "search": "#question", "search?q=deploy": ".hit", "notes": ".notelist a", "note?ref=MEMORY.md%23L5": ".line.selected",
    "note?ref=MEMORY.md&edit=1": "textarea.source", "timeline": ".moment", "memory": ".history", "feed": ".feed",
    "review": "#days", "sessions": ".view-sessions h1", "charts": ".chart svg", "health": ".view-health .facts",
    "setup": ".view-setup #import-kind",
}  # fmt: skip
KEYS = {
    "search": "s", "notes": "n", "timeline": "t", "memory": "m", "feed": "f", "review": "r", "sessions": "e",
    "charts": "c", "health": "h", "setup": "p",
}  # fmt: skip
# The frame around the views is looked at with the keys.
SERIOUS = """async (rules) => (await axe.run(document.querySelector("dialog[open]") ? document : "main",
    { resultTypes: ['violations'], ...(rules.length ? { runOnly: rules } : {}) })).violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`)"""


def test_every_view_fits_the_screen_has_its_key_and_nothing_serious_is_wrong_with_it(opened: Open) -> None:
    here = opened(PHONE, "dark")
    problems: dict[str, object] = {}
    for view, shown in VIEWS.items():
        here.go(view, shown)
        problems[view] = [*examined(here), *wide(here)]
    here.go("search", "#question")
    here.press("Escape", "?")
    assert here.page.locator("dialog kbd").count() > 10
    problems["keys"] = examined(here)
    here.go("sessions", ".view-sessions h1")
    assert here.page.locator("dialog").count() == 0
    chosen(here)
    for view, shown in VIEWS.items():
        if view in KEYS:
            here.press("Escape", "g", KEYS[view])
            here.page.wait_for_selector(shown)
        else:
            here.go(view, shown)
        problems[f"{view} in the light"] = [*examined(here, "color-contrast"), *wide(here)]
    assert {view: found for view, found in problems.items() if found} == {}
    # Who is not let in learns how.
    here.page.evaluate("() => localStorage.clear()")
    here.page.reload()
    assert here.page.locator("main pre").inner_text() == "commonplace web"


def chosen(here: Opened) -> None:
    """Choose Chinese and light colours, which are kept."""
    here.look(WIDE, "dark")
    here.page.get_by_role("button", name="中文").click()
    here.page.wait_for_selector("html[lang=zh-CN]")
    here.page.get_by_role("button", name="跟随系统").click()
    here.page.reload()
    here.go("search", "html[lang=zh-CN][data-theme=light] #question")
    assert here.page.get_attribute("#question", "placeholder") == "搜索记忆…"


def wide(here: Opened) -> list[str]:
    """What is wider than the screen."""
    width, screen = here.page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    return [f"{width} of {screen} wide"] if width > screen else []


def examined(here: Opened, *rules: str) -> list[str]:
    """Serious problems of what is shown, where axe is there."""
    if not AXE.is_file():
        return []
    if not here.page.evaluate("() => !!window.axe"):
        here.page.evaluate(AXE.read_text(encoding="utf-8"))
    problems: list[str] = here.page.evaluate(SERIOUS, rules)
    return problems
