"""docs/tasks.md: what its cells say of the page is done there, key by key and click by click, in one browser."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commonplace.agent.remedies import WORDS
from commonplace.base import remedies
from commonplace.config.credentials import Secret
from commonplace.diagnosis import examination
from commonplace.servers.access import Access
from commonplace.servers.methods import Service
from commonplace.types import Finding
from tests.page.conftest import Opened, chromium
from tests.servers.conftest import Served
from tests.tasks import checks, table, workspace

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

tab = pytest.fixture(scope="module")(chromium)
NAMES = {"Esc": "Escape", "↓": "ArrowDown"}
NOBODY_WAITS = """() => !document.querySelector('[aria-busy=true]') && !window.waiting"""
COUNT = """(() => {
  window.waiting = 0;
  const fetched = window.fetch;
  window.fetch = async (address, ...more) => {
    if (String(address).startsWith('/api/events')) return fetched(address, ...more);
    window.waiting++;
    try { return await fetched(address, ...more); }
    finally { setTimeout(() => window.waiting--, 100); } // until what came is shown, and a pause in typing is over
  };
})()"""


def named(page: Page, name: str) -> Locator:
    """What a person clicks who reads the name: in the dialog, if one is open."""
    scope = page.locator("dialog[open]") if page.locator("dialog[open]").count() else page.locator("body")
    ways = [
        *(scope.get_by_role(role, name=name, exact=True) for role in ("button", "link")),  # type: ignore[arg-type]
        scope.get_by_label(name, exact=True), scope.get_by_text(name),
    ]  # fmt: skip
    return next((way for way in ways if way.count()), ways[0]).first


def settle(page: Page) -> None:
    """Wait until what was pressed or clicked has had its effect."""
    page.wait_for_timeout(80)  # as long as the search waits for another letter
    page.wait_for_function(NOBODY_WAITS)


def do(page: Page, step: table.Step, root: Path) -> None:
    """Do one step."""
    if step.kind == "event":
        checks.EVENTS[step.what](root)
    elif step.kind == "click":
        named(page, step.what).click()
    elif step.kind == "key":
        keys = [NAMES.get(part, part) for part in step.what.replace("Ctrl", "Control").split("+")]
        page.keyboard.press("+".join(keys))
    elif page.evaluate("() => document.activeElement.type") == "date":
        page.locator(":focus").fill(step.what)
    else:
        page.keyboard.insert_text(step.what)


def play(tab: Page, root: Path, way: table.Way, number: int) -> list[str]:
    """Open the page, do the steps, close it; return what is not as it should be."""
    beside = [root / folder for folder in way.beside]
    service = Service(partial(checks.memory, root, *beside), structured=True)
    served = Served(service, Access(Secret("correct-horse-battery")), examine=partial(examined, root))
    try:
        opened = Opened(tab, served, root)
        opened.page.evaluate(COUNT)
        settle(opened.page)
        for step in way.once_open:
            do(opened.page, step, root)
            settle(opened.page)
        main = opened.page.inner_text("main")
        whole = opened.page.inner_text("body")
        if folder := os.environ.get("PAGE_SHOTS"):
            opened.page.screenshot(path=f"{folder}/task-{number:02}.png")
        opened.close()
    finally:
        served.end()
        service.close()
    return checks.problems(number, root, whole, main)


def examined(root: Path, online: bool) -> list[Finding]:
    """What is wrong with the workspace."""
    groups = examination.examine(examination.present(str(root), os.environ, offline=not online))
    return [finding for _, findings in groups for finding in findings]


@pytest.mark.slow
def test_every_task_that_the_page_offers_is_done_by_its_keys_and_clicks(
    tab: Page, tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    workspace.make(tmp_path / "made")
    wrong = {}
    for number, way in table.ways("page"):
        with workspace.copied(tmp_path / "made", tmp_path / "now") as root, remedies.spoken(WORDS):
            if problems := play(tab, root, way, number):
                wrong[number] = problems
    assert wrong == {}
