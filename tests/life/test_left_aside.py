"""Markdown of the folder that is not searched is named, with the one command that includes it."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.life.conftest import Owner

# Files of a vault or a project, and how many of them are outside what is searched.
FOLDERS = {
    "a vault": (["Home.md", "Projects/kite.md", "Daily/2026-01-02.md"], 3),
    "a note beside memory": (["ideas.md"], 1),
    "a project": (["README.md", "docs/guide.md", "src/boat.py"], 2),
    "deep folders": (["a/b/c/d/e.md"], 1),
    "names in Chinese": (["项目/船.md"], 1),
    "names with blanks": (["Boat notes/My kite.md"], 1),
    "daily notes elsewhere": (["journals/2026_01_02.md", "pages/kite.md"], 2),
    "only memory": (["memory/2026-01-02.md", "memory/deep/kite.md"], 0),
    "files of convention": (["AGENTS.md", "USER.md"], 0),
    "hidden and foreign files": ([".obsidian/x.md", "node_modules/x/README.md", "kite.txt", ".kite.md"], 0),
    "a folder that is a collection": (["docs/guide.md"], 0),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_what_is_not_searched_is_said_with_the_command_that_includes_it(owner: Owner, kind: str) -> None:
    names, number = FOLDERS[kind]
    for name in names:
        owner.note(name, "The kite is blue.\n")
    if "collection" in kind:
        owner.ok("collection", "add", owner.folder / "docs")
    memory = owner.memory()
    for lines in (memory.sync().warnings, memory.status().warnings):
        told = [line for line in lines if "not searched" in line]
        assert len(told) == min(number, 1), lines
        assert not told or f"{number} Markdown file" in told[0]


def test_init_sync_and_status_name_the_command_and_it_works(owner: Owner) -> None:
    owner.note("Projects/kite.md", "The kite is blue.\n")
    said = [owner.run(command).err for command in ("init", "sync", "status")]
    commands = {found for err in said for found in re.findall("`commonplace (config set [^`]+)`", err)}
    (command,) = commands
    assert all("Projects/kite.md" in err for err in said), said
    owner.ok(*shlex.split(command))
    assert "Projects/kite.md" in owner.ok("search", "kite")
    assert not any("not searched" in owner.run(command).err for command in ("init", "sync", "status"))


def test_who_has_chosen_what_is_searched_is_not_told(owner: Owner) -> None:
    owner.note("drafts/kite.md", "The kite is blue.\n")
    owner.ok("config", "set", "--in-workspace", "index.ignore", "drafts/**")
    assert "not searched" not in owner.run("sync").err
