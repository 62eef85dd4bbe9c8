"""An action that is added as one row gets a form on the page."""

from __future__ import annotations

import pytest

from commonplace.actions import table
from commonplace.base import paths
from commonplace.memory import Memory
from commonplace.types import Provenance
from tests.actions.sample import FILE, STAMP
from tests.page.conftest import Open
from tests.page.test_flows import button


@pytest.mark.slow
def test_a_further_action_is_shown_and_then_done(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "ADDED", [STAMP])
    here = opened()
    here.go("memory", ".further summary")
    here.page.click(".further summary")
    here.page.click(".further button:has-text('Stamp')")
    here.page.fill("#act-word", "tea")
    here.page.check("#act-loud")
    button(here, "Show what changes")
    here.page.wait_for_selector("dialog ins:has-text('TEA')")
    assert not (here.root / FILE).exists()
    button(here, "Do it")
    here.page.wait_for_selector("dialog", state="detached")
    assert here.note(FILE) == "TEA\n"


@pytest.mark.slow
def test_conflict_copies_are_merged_on_the_page(opened: Open) -> None:
    here = opened()
    day = here.root / "memory/2026-02-13.md"
    copy = day.with_name("2026-02-13.sync-conflict-20260214-101010-ABCDEFG.md")
    copy.write_text(day.read_text("utf-8") + "- Mira brings the lamp.\n", "utf-8")
    here.go("memory", ".further summary")
    here.page.click(".further summary")
    here.page.click(".further button:has-text('Merge')")
    button(here, "Show what changes")
    here.page.wait_for_selector("dialog ins:has-text('Mira brings the lamp')")
    button(here, "Do it")
    here.page.wait_for_selector("dialog", state="detached")
    assert "Mira brings the lamp." in here.note("memory/2026-02-13.md")
    assert not copy.exists()


@pytest.mark.slow
def test_what_agents_wrote_waits_on_the_page_until_it_is_decided(opened: Open) -> None:
    here = opened()
    settings = paths.user_config_dir() / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[agents.codex.remember]\nwrites = "review"\n')
    with Memory.open(here.root) as memory:
        for words in ("The printer is on floor three.", "The lamp is green.", "The kettle is red."):
            memory.remember(words, long_term=True, provenance=Provenance("agent", "codex"))
    here.go("review", ".request")
    assert here.page.locator(".request").count() == 3
    here.page.click(".request:has-text('lamp') button:has-text('Refuse')")
    here.page.wait_for_selector("dialog ins:has-text('~~The lamp is green.~~')")
    here.page.click("dialog button[type=submit]")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.wait_for_selector(".request:has-text('lamp')", state="detached")
    button(here, "Confirm all")
    here.page.wait_for_selector("dialog ins:has-text('The kettle is red.')")
    here.page.click("dialog button[type=submit]")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.wait_for_selector(".request", state="detached")
    assert here.note("MEMORY.md").count("<!-- tentative -->") == 1  # of the one that is struck
