"""Which files belong to a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.notes.scan import CollectionFiles, Globs, fingerprint, look, scan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in (
        "MEMORY.md",
        "memory/a.md",
        "memory/.hidden/b.md",
        "memory/node_modules/c.md",
        "memory/d.txt",
        "other/e.md",
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return tmp_path


def paths(*sources: CollectionFiles) -> list[tuple[str, str]]:
    return sorted(state.key for state in scan(sources))


def test_hidden_and_foreign_folders_are_left_out(root: Path) -> None:
    own = CollectionFiles("memory", str(root), ("MEMORY.md", "memory/**/*.md"))
    assert paths(own) == [("memory", "MEMORY.md"), ("memory", "memory/a.md")]


def test_a_file_belongs_to_the_first_that_covers_it(root: Path) -> None:
    own = CollectionFiles("memory", str(root), ("memory/**/*.md",))
    nested = CollectionFiles("nested", str(root / "memory"))
    other = CollectionFiles("other", str(root))
    assert paths(own, nested, other) == [
        ("memory", "memory/a.md"),
        ("other", "MEMORY.md"),
        ("other", "other/e.md"),
    ]


def test_a_fingerprint_changes_with_every_fact(root: Path) -> None:
    source = CollectionFiles("memory", str(root))
    [listing] = look([source])
    same = fingerprint([listing])
    assert fingerprint(look([source])) == same
    [(prefix, [(name, mtime_ns, size)]), *others] = listing.folders
    for changed in (("z.md", mtime_ns, size), (name, 1, size), (name, mtime_ns, 99)):
        assert fingerprint([listing._replace(folders=[(prefix, [changed]), *others])]) != same
    assert fingerprint([listing._replace(folders=[("z/", [(name, mtime_ns, size)]), *others])]) != same
    assert fingerprint(look([CollectionFiles("memory", str(root), ignore=("x",))])) != same


@pytest.mark.parametrize("glob", ["[z-a].md", "[a.md", "[].md", "[!].md", "[^].md"])
def test_a_set_that_makes_no_sense_is_taken_as_it_is(tmp_path: Path, glob: str) -> None:
    (tmp_path / glob).write_text("x")
    (tmp_path / "a.md").write_text("x")
    assert [state.path for state in scan([CollectionFiles("memory", str(tmp_path), (glob,))])] == [glob]


def test_no_set_matches_a_slash() -> None:
    for glob in ("a[!b]c.md", "a[^b]c.md", "a[--9]c.md"):
        assert not Globs((glob,))("a/c.md")
    assert Globs(("a[!b]c.md",))("axc.md")
    assert not Globs(("a[!b]c.md",))("abc.md")


def test_a_file_where_a_folder_is_expected_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert scan([CollectionFiles("memory", str(tmp_path), ("a/**",))]) == []
