"""What an owner sets up on the page, by keyboard: folders, agents, imports, exports; seen first, and undone."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from commonplace import config
from tests.page.conftest import Open, Opened
from tests.page.test_flows import button
from tests.page.test_hostile import HARM, HEAD

NAME = "<img src=x onerror='window.hit = 1'>"


@pytest.fixture
def home(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of Codex and of nobody else."""
    monkeypatch.setenv("PATH", "")
    (private_home / ".codex").mkdir()
    (private_home / ".codex" / "config.toml").write_text('model = "x"\n')
    return private_home


def test_all_of_the_setup_is_done_by_keyboard(opened: Open, workspace: Path, home: Path) -> None:
    here = opened()
    here.press("Escape", "g", "p")
    here.page.wait_for_selector("#import-kind")
    a_folder_is_added_left_out_and_removed(here, workspace)
    a_client_is_entered_and_taken_out(here, home)
    another_memory_is_brought_in_and_undone(here, workspace)
    notes_are_taken_away(here)
    assert here.page.evaluate(HARM) == []


def a_folder_is_added_left_out_and_removed(here: Opened, workspace: Path) -> None:
    folder = workspace.parent / NAME
    folder.mkdir()
    (folder / f"{NAME}.md").write_text(f"{HEAD}- No shrimp.\n")
    with (folder / "huge.md").open("wb") as huge:
        huge.truncate(100 << 20)
    here.press("a")
    here.page.keyboard.insert_text("../none")
    here.press("Enter")
    assert "not a folder" in here.page.locator("section [role=alert]").inner_text()
    here.page.fill("#folder-path", f"../{NAME}")
    here.page.fill("#folder-name", "recipes")
    here.press("Enter")
    assert (
        here.page.locator("section .notice").inner_text() == "recipes is searched now. Notes: 1, passages: 1."
    )
    unread = here.page.locator("section details", has_text="could not be read").inner_text()
    assert "Files that could not be read: 1" in unread
    assert "recipes/huge.md" in unread
    row = here.page.locator(".card", has_text="recipes")
    row.get_by_role("checkbox").focus()
    with here.page.expect_response("**/api/collections/include"):
        here.press("Space")
    assert config.load(workspace).collections["recipes"].by_default is False
    here.press("Tab", "Enter")
    assert NAME in here.page.locator("dialog .asks").inner_text()
    here.press("Enter")
    row.wait_for(state="detached")
    assert config.load(workspace).collections == {}


def a_client_is_entered_and_taken_out(here: Opened, home: Path) -> None:
    file = home / ".codex" / "config.toml"
    assert here.page.locator("section:nth-of-type(2) strong").first.inner_text() == "Codex"
    here.page.get_by_role("button", name="Install in Codex").focus()
    here.press("Enter")
    here.page.wait_for_selector("dialog ins:has-text('[mcp_servers.memory]')")
    assert str(file) in here.page.locator("dialog .diff").inner_text()
    assert file.read_text() == 'model = "x"\n'
    here.press("Enter")
    here.page.wait_for_selector(".card:has-text('Codex') :text('hooks:')")
    assert "[mcp_servers.memory]" in file.read_text()
    button(here, "Install in Codex", "main")
    here.page.wait_for_selector("dialog :text('Nothing would change.')")
    here.press("Escape")
    here.page.get_by_role("button", name="Take out of Codex").focus()
    here.press("Enter")
    here.page.wait_for_selector("dialog del")
    files = here.page.locator("dialog .diff-file").all_inner_texts()
    assert any(one.endswith("hooks.json") for one in files)  # it is removed, and named
    assert "/dev/null" not in files
    file.write_text(f"# changed since\n{file.read_text()}")
    here.press("Enter")
    here.page.wait_for_selector("dialog .bad:has-text('changed since')")
    here.press("Enter")
    here.page.wait_for_selector("dialog del")
    here.press("Enter")
    here.page.wait_for_selector("dialog", state="detached")
    assert file.read_text() == '# changed since\nmodel = "x"\n'
    assert "mcpServers" in (here.page.locator("details pre").text_content() or "")


def another_memory_is_brought_in_and_undone(here: Opened, workspace: Path) -> None:
    facts = [{"id": "1", "memory": f"The ferry {NAME}.", "created_at": "2026-01-05T10:00:00"}, {"id": "2"}]
    (workspace.parent / "old.json").write_text(json.dumps({"results": facts}))
    here.page.focus("#import-path")
    here.page.keyboard.insert_text("../old.json")
    here.press("Enter")
    here.page.wait_for_selector("dialog ins:has-text('The ferry')")
    assert "is no memory with a text" in here.page.locator("dialog details").inner_text()
    assert here.page.evaluate(HARM) == []
    here.press("Enter")
    here.page.wait_for_selector(".toast:has-text('Entries: 1, notes: 1. Left out: 1')")
    assert "The ferry" in here.note("memory/2026-01-05-mem0.md")
    button(here, "Undo", ".toast")
    here.page.wait_for_selector("dialog del")
    here.press("Enter")
    here.page.wait_for_selector("dialog", state="detached")
    assert not (workspace / "memory" / "2026-01-05-mem0.md").exists()


def notes_are_taken_away(here: Opened) -> None:
    zipped = here.page.get_by_role("button", name="Zip")
    zipped.focus()
    with here.page.expect_download() as taken:
        here.press("Enter")
    with zipfile.ZipFile(taken.value.path()) as archive:
        assert archive.read("MEMORY.md").decode() == here.note("MEMORY.md")
    assert here.page.locator("section .notice").inner_text() == "3 notes written to notes.zip."
    assert zipped.evaluate("one => one === document.activeElement")


def test_who_was_let_in_by_a_token_alone_is_offered_none_of_it(opened: Open) -> None:
    here = opened()
    here.page.evaluate("() => localStorage.removeItem('commonplace-key')")
    here.page.evaluate("to => { location.hash = to; }", f"#code={here.server.site.visitors.code()}")
    here.page.wait_for_function("() => document.querySelectorAll('#views a').length === 6")
    here.go("setup", "main [role=alert]")
    assert "commonplace web" in here.page.inner_text("main")
