"""Which files belong to a collection."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.notes.scan import Globs, Source, fingerprint, look, scan


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("**/*.md", ["a.md", "x/y/a.md"], ["a.txt", "a.md.bak"]),
        ("memory/**/*.md", ["memory/a.md", "memory/x/a.md"], ["a.md", "notmemory/a.md"]),
        ("*.md", ["a.md"], ["x/a.md"]),
        ("notes/*.md", ["notes/a.md"], ["notes/x/a.md"]),
        ("[ab]*.md", ["a1.md", "b.md"], ["c.md"]),
        ("[!ab]?.md", ["c1.md"], ["a1.md"]),
        ("archive/", ["archive/a.md", "archive/x/b.md"], ["archive.md"]),
        ("MEMORY.md", ["MEMORY.md"], ["x/MEMORY.md"]),
        ("a?/**/*.md", ["ab/x.md", "ab/y/x.md"], ["b/x.md", "ab.md"]),
        ("**/*.m?", ["a.md", "x/a.mx"], ["a.m", "a.txt"]),
    ],
)
def test_globs(glob: str, yes: list[str], no: list[str]) -> None:
    match = Globs([glob])
    assert [path for path in [*yes, *no] if match(path)] == yes


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


def paths(*sources: Source) -> list[tuple[str, str]]:
    return sorted(state.key for state in scan(sources))


def test_hidden_and_foreign_folders_are_left_out(root: Path) -> None:
    own = Source("memory", str(root), ("MEMORY.md", "memory/**/*.md"))
    assert paths(own) == [("memory", "MEMORY.md"), ("memory", "memory/a.md")]


def test_ignore(root: Path) -> None:
    assert paths(Source("all", str(root), ignore=("memory/",))) == [
        ("all", "MEMORY.md"),
        ("all", "other/e.md"),
    ]


def test_a_file_belongs_to_the_first_that_covers_it(root: Path) -> None:
    own = Source("memory", str(root), ("memory/**/*.md",))
    nested = Source("nested", str(root / "memory"))
    other = Source("other", str(root))
    assert paths(own, nested, other) == [
        ("memory", "memory/a.md"),
        ("other", "MEMORY.md"),
        ("other", "other/e.md"),
    ]


def test_links_stay_inside(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("x")
    (root / "memory" / "leaves.md").symlink_to(outside / "secret.md")
    (root / "memory" / "stays.md").symlink_to(root / "other" / "e.md")
    (root / "memory" / "broken.md").symlink_to(root / "nothing.md")
    (root / "memory" / "loop").symlink_to(root / "memory")
    os.mkfifo(root / "memory" / "pipe.md")
    own = Source("memory", str(root), ("memory/**/*.md",))
    assert paths(own) == [("memory", "memory/a.md"), ("memory", "memory/stays.md")]


def test_what_is_missing_holds_nothing(tmp_path: Path) -> None:
    assert paths(Source("gone", str(tmp_path / "gone"))) == []


def test_a_fingerprint_changes_with_every_fact(root: Path) -> None:
    source = Source("memory", str(root))
    [listing] = look([source])
    same = fingerprint([listing])
    assert fingerprint(look([source])) == same
    [(prefix, [(name, mtime_ns, size)]), *others] = listing.folders
    for changed in (("z.md", mtime_ns, size), (name, 1, size), (name, mtime_ns, 99)):
        assert fingerprint([listing._replace(folders=[(prefix, [changed]), *others])]) != same
    assert fingerprint([listing._replace(folders=[("z/", [(name, mtime_ns, size)]), *others])]) != same
    assert fingerprint(look([Source("memory", str(root), ignore=("x",))])) != same


@pytest.mark.parametrize("glob", ["[z-a].md", "[a.md", "[].md", "[!].md", "[^].md"])
def test_a_set_that_makes_no_sense_is_taken_as_it_is(tmp_path: Path, glob: str) -> None:
    (tmp_path / glob).write_text("x")
    (tmp_path / "a.md").write_text("x")
    assert [state.path for state in scan([Source("memory", str(tmp_path), (glob,))])] == [glob]


def test_no_set_matches_a_slash() -> None:
    for glob in ("a[!b]c.md", "a[^b]c.md", "a[--9]c.md"):
        assert not Globs((glob,))("a/c.md")
    assert Globs(("a[!b]c.md",))("axc.md")
    assert not Globs(("a[!b]c.md",))("abc.md")


def test_a_folder_of_notes_that_is_a_link_out_of_the_root_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "memory").symlink_to(tmp_path / "outside")
    assert scan([Source("memory", str(root), ("MEMORY.md", "memory/**/*.md"))]) == []
    (root / "kept").mkdir()
    (root / "kept" / "a.md").write_text("x")
    (root / "memory").unlink()
    (root / "memory").symlink_to(root / "kept")  # one that stays inside is
    assert [s.path for s in scan([Source("memory", str(root), ("memory/**/*.md",))])] == ["memory/a.md"]


def test_a_file_where_a_folder_is_expected_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert scan([Source("memory", str(tmp_path), ("a/**",))]) == []
