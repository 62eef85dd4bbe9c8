"""A folder inside the workspace that is imported is searched, or it is said truly why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.life.conftest import Owner

# Where a vault lies, and whether it is added: the name of a bird is in its only note.
ADDED = {
    "docs": "kestrel",
    ".hidden": "osprey",
    "ignored": "heron",
    "node_modules": "wren",
    "linked": "stork",
}
SEARCHED = {"memory/inside": "tern", "coll/sub": "plover"}
OURS = {".commonplace/old/x": "crane"}  # unknown files of `.commonplace/` are kept in there


def vault(folder: Path, bird: str) -> None:
    (folder / ".obsidian").mkdir(parents=True)
    (folder / f"{bird}.md").write_text(f"# Birds\n\nThe {bird} nests here.\n")


@pytest.fixture
def person(owner: Owner) -> Owner:
    for place, bird in (ADDED | SEARCHED | OURS).items():
        vault(owner.folder.parent / "outside" if place == "linked" else owner.folder / place, bird)
    (owner.folder / "linked").symlink_to(owner.folder.parent / "outside")
    (owner.folder / "again").symlink_to(owner.folder / "docs")
    owner.note(".gitignore", "ignored/\n")
    owner.ok("collection", "add", "coll")
    return owner


def test_what_is_added_is_found_and_what_is_not_says_why(person: Owner) -> None:
    for place in ADDED:
        assert "  new  " in person.ok("import", place), place
    for place in SEARCHED:
        done = person.run("import", place)
        assert f"{place} is searched where it lies already" in done.out + done.err, place
    for place in OURS:
        done = person.run("import", place)
        assert f"{place} holds settings and caches of commonplace" in done.out + done.err, place
        assert person.run("collection", "add", place).code != 0
    for place in ("docs", "again"):  # the same folder once more, and by a link
        assert "nothing new" in person.run("import", place).err
    assert "is no folder" in person.run("import", "obsidian", "docs/kestrel.md").err
    person.ok("sync")
    memory = person.memory()
    for place, bird in (ADDED | SEARCHED).items():
        assert f"The {bird} nests" in "".join(hit.text for hit in memory.search(bird).hits), place
    for bird in OURS.values():
        assert not memory.search(bird).hits
    names = [line.split()[0] for line in person.ok("collection", "list").splitlines()[1:]]
    assert {"inside", "sub", "x"}.isdisjoint(names)


def test_the_workspace_itself_as_a_vault(owner: Owner) -> None:
    vault(owner.folder, "gannet")
    assert "not searched" in owner.run("sync").err
    assert "  new  " in owner.ok("import", ".")
    assert "not searched" not in owner.run("sync").err
    assert "The gannet nests" in owner.ok("search", "gannet")
    assert "nothing new" in owner.run("import", ".").err
