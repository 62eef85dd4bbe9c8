"""What the settings leave out of a collection is neither found nor read, by any door."""

from __future__ import annotations

import json

import pytest

from commonplace import OutsideRoots
from tests.life.conftest import Owner

SECRET = "The kite hangs in the attic."
# The folder of a collection, how it is added, the file that is left out, how somebody may ask for it.
KINDS = {
    "a folder that Obsidian excludes": ("../vault", "vault", "Private/Diary.md", "vault/Private/Diary.md"),
    "with lines": ("../vault", "vault", "Private/Diary.md", "vault/Private/Diary.md:1-3"),
    "by another way to it": ("../vault", "vault", "Private/Diary.md", "vault/Notes/../Private/Diary.md"),
    "by a dot": ("../vault", "vault", "Private/Diary.md", "vault/./Private/Diary.md"),
    "by two slashes": ("../vault", "vault", "Private/Diary.md", "vault//Private/Diary.md"),
    "deep below it": ("../vault", "vault", "Private/a/b/Diary.md", "vault/Private/a/b/Diary.md"),
    "a vault in the workspace": ("vault", "vault", "Private/Diary.md", "vault/Private/Diary.md"),
    "by its whole path": ("../vault", "vault", "Private/Diary.md", "{folder}/../vault/Private/Diary.md"),
    "templates": ("../vault", "vault", "Templates/Daily.md", "vault/Templates/Daily.md"),
    "what the globs do not name": ("../files", "--glob Public/**/*.md", "Private/Diary.md", "files/Private/Diary.md"),
    "a folder of a collection": ("../files", "--glob **/*.md", "Private/Diary.md", "files/Private/Diary.md"),
    "one file of a collection": ("../files", "--glob a.md", "Diary.md", "files/Diary.md"),
    "of the workspace": ("", "index", "memory/private/Diary.md", "memory/private/Diary.md"),
}  # fmt: skip


def settle(owner: Owner, kind: str) -> str:
    """Put a file in place that is left out, beside one that is not; return what somebody asks for."""
    folder, how, file, asked = KINDS[kind]
    owner.note(f"{folder}/{file}" if folder else file, f"# Diary\n\n{SECRET}\n")
    owner.note(f"{folder}/Public/a.md" if folder else "memory/a.md", "# Open\n\nThe boat is green.\n")
    owner.note(f"{folder}/a.md" if folder else "memory/b.md", "# Open\n\nThe boat is blue.\n")
    if how == "vault":
        filters = {"userIgnoreFilters": ["Private/"]}
        owner.note(f"{folder}/.obsidian/app.json", json.dumps(filters))
        owner.note(f"{folder}/.obsidian/templates.json", json.dumps({"folder": "Templates"}))
        owner.ok("import", "obsidian", owner.folder / folder)
    elif how == "index":
        owner.ok("config", "set", "--in-workspace", "index.ignore", "memory/private/**")
    else:
        ignore = ("--ignore", "Private/") if "**/*.md" in how else ()
        owner.ok("collection", "add", owner.folder / folder, *how.split(), *ignore)
    return asked.format(folder=owner.folder)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_is_not_read(owner: Owner, kind: str) -> None:
    asked = settle(owner, kind)
    memory = owner.memory()
    assert all(SECRET not in hit.text for hit in memory.search("kite attic").hits)
    with pytest.raises(OutsideRoots):
        memory.get(asked)
    many = memory.get_many([asked])
    assert (many.excerpts, len(many.left_out)) == ((), 1)
    for hit in memory.search("boat").hits:
        assert "boat" in "\n".join(memory.get(hit.citation).lines)


def test_no_door_reads_it(owner: Owner) -> None:
    asked = settle(owner, "a folder that Obsidian excludes")
    owner.ok("sync")
    refused = owner.run("get", asked)
    assert (refused.code, SECRET in refused.out + refused.err) == (1, False)
    assert "ignore" in refused.err
    several = owner.run("multi-get", asked, "vault/Public/a.md")
    assert "The boat is green." in several.out
    assert SECRET not in several.out + several.err
    mcp, http = owner.mcp(), owner.serve()
    assert SECRET not in mcp.call("memory_get", path=asked)
    listed = mcp.request("resources/list", {})["result"]["resources"]
    scheme = listed[0]["uri"].partition("://")[0]
    answer = mcp.request("resources/read", {"uri": f"{scheme}://{asked}"})
    assert "error" in answer
    assert SECRET not in json.dumps(answer)
    status, body = http.request("GET", f"/api/note?reference={asked}")
    assert status in (400, 403, 404)
    assert SECRET not in json.dumps(body)


def test_a_link_in_a_vault_that_is_searched_can_be_read(owner: Owner) -> None:
    """It is found by its own name, wherever the file lies."""
    settle(owner, "a folder that Obsidian excludes")
    (owner.folder / "../vault/Shown.md").symlink_to("Private/Diary.md")
    memory = owner.memory()
    (hit,) = [hit for hit in memory.search("kite attic").hits if hit.path == "vault/Shown.md"]
    assert SECRET in memory.get(hit.citation).lines
