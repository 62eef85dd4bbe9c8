"""What a scan finds in a folder tree: against a walk of everything, and with odd names, links and files."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.notes.scan import IGNORED_FOLDERS, CollectionFiles, Globs, look, scan

linux = pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8, sockets by path")


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(os.fsencode(name))


def found(root: Path, *globs: str, ignore: tuple[str, ...] = ()) -> list[str]:
    return sorted(state.path for state in scan([CollectionFiles("x", str(root), globs or ("**/*.md",), ignore)]))


FOLDERS = st.lists(st.sampled_from(["a", "memory", "x.y"]), max_size=2)
NAMES = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    FOLDERS,
    st.sampled_from(["b.md", "c.txt", "d e.md", "记.md"]),
)
GLOBS = st.sampled_from(
    ["**/*.md", "*.md", "memory/**/*.md", "memory/*", "a/**", "**/b.md", "*/*.md", "memory/", "**", "b.md", "?.md",
     "[a-c].md", "a/b.md", "**/memory/*.md", "*e*.md"]
)  # fmt: skip


@given(
    st.lists(NAMES, max_size=8),
    st.lists(GLOBS, min_size=1, max_size=3),
    st.lists(GLOBS, max_size=2),
)
def test_a_scan_finds_what_a_walk_of_everything_finds(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], globs: list[str], ignore: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for name in names:
        make(root, name)
    everything = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    wanted, unwanted = Globs(globs), Globs(ignore)
    expected = sorted(path for path in everything if wanted(path) and not unwanted(path))
    assert found(root, *globs, ignore=tuple(ignore)) == expected


@pytest.mark.parametrize("folder", [*sorted(IGNORED_FOLDERS), ".git", ".obsidian"])
def test_folders_of_programs_are_left_out_at_any_depth(tmp_path: Path, folder: str) -> None:
    make(tmp_path, f"{folder}/a.md", f"deep/{folder}/b.md", f"deep/x{folder}/c.md", "d.md")
    assert found(tmp_path) == ["d.md", f"deep/x{folder}/c.md"]


def test_a_folder_named_outright_is_looked_into_though_it_is_hidden(tmp_path: Path) -> None:
    make(tmp_path, ".notes/a.md", "target/b.md")
    assert found(tmp_path, ".notes/*.md", "target/**/*.md") == [".notes/a.md", "target/b.md"]


@pytest.mark.parametrize(
    "name",
    [
        "a b.md",
        "a\nb.md",
        "'.md",
        "*.md",
        "[a].md",
        "-.md",
        "\\.md",
        "é.md",
        "e\u0301.md",
        "👍.md",
        "\u202e.md",
    ],
)
def test_any_name_is_found(tmp_path: Path, name: str) -> None:
    make(tmp_path, name)
    assert found(tmp_path) == [name]


@linux
def test_a_name_that_is_not_utf8_is_found_with_its_bytes(tmp_path: Path) -> None:
    make(tmp_path, os.fsdecode(b"caf\xe9/caf\xe9.md"))
    (path,) = found(tmp_path)
    assert os.fsencode(path) == b"caf\xe9/caf\xe9.md"


@linux
def test_only_regular_files_are_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "note.md")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "to-fifo.md").symlink_to("fifo.md")
    (tmp_path / "to-device.md").symlink_to("/dev/null")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        assert found(tmp_path) == ["note.md"]


def test_a_folder_reached_by_a_link_is_not_walked(tmp_path: Path) -> None:
    make(tmp_path, "deep/er/a.md")
    (tmp_path / "deep" / "er" / "up").symlink_to(tmp_path)
    (tmp_path / "short").symlink_to("deep/er")
    assert found(tmp_path) == ["deep/er/a.md"]


def test_a_file_with_several_names_is_found_once(tmp_path: Path) -> None:
    make(tmp_path, "notes/real.md", "elsewhere/other.txt")
    links = {
        "a.md": "notes/real.md", "notes/z.md": "real.md", "b.md": "elsewhere/other.txt",
        "c.md": "b.md", "gone.md": "nowhere.md",
    }  # fmt: skip
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    source = CollectionFiles("memory", str(tmp_path), ("a.md", "**/*.md"))
    assert [state.path for state in scan([source])] == ["b.md", "notes/real.md"]
    assert sorted(set(look([source])[0].links)) == sorted(links)
    assert [state.path for state in scan([source._replace(ignore=("notes/real.md",))])] == ["b.md", "a.md"]


@pytest.mark.parametrize("target", ["../outside.md", "/etc/hostname", "gone.md", "itself.md"])
def test_a_link_that_leads_nowhere_or_outside_is_no_note(tmp_path: Path, target: str) -> None:
    make(tmp_path, "outside.md", "root/a.md")
    (tmp_path / "root" / "itself.md").symlink_to(target)
    assert found(tmp_path / "root") == ["a.md"]
    assert found(tmp_path / "root", "a.md", "itself.md") == ["a.md"]


def test_two_collections_of_one_folder_share_nothing(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b/c.md")
    both = scan([CollectionFiles("one", str(tmp_path), ("*.md",)), CollectionFiles("two", str(tmp_path))])
    assert sorted(state.key for state in both) == [("one", "a.md"), ("two", "b/c.md")]


@pytest.mark.parametrize(
    ("glob", "path", "matched"),
    [
        ("a.b.md", "axb.md", False),
        ("a+(b).md", "a+(b).md", True),
        ("*", "a/b", False),
        ("**", "a/b", True),
        ("**/a.md", "a.md", True),
        ("**/a.md", "xa.md", False),
        ("a/**/b.md", "a/b.md", True),
        ("a/**/b.md", "a/x/y/b.md", True),
        ("a/**/b.md", "ab.md", False),
        ("?.md", "字.md", True),
        ("?.md", "/.md", False),
        ("[a-c]x.md", "bx.md", True),
        ("[a-c]x.md", "dx.md", False),
        ("[!a-c]x.md", "dx.md", True),
        ("[^a]x.md", "ax.md", False),
        ("[.]x", "ax", False),
        ("a\nb*", "a\nbc", True),
        ("*.md", "a.md\n", False),
        ("drafts/", "drafts/x/y.txt", True),
        ("drafts/", "mydrafts/x", False),
        ("MEMORY.md", "memory.md", False),
        ("memory/**/*.md", "memory/x/a.md", True),
        ("memory/**/*.md", "notmemory/a.md", False),
        ("**/*.md", "a.md.bak", False),
        ("archive/", "archive.md", False),
        ("a?/**/*.md", "ab.md", False),
        ("**/*.m?", "a.m", False),
        ("memory/private**", "memory/private/x.md", True),
        ("memory/private**", "memory/privately.md", True),
    ],
)
def test_what_a_glob_matches(glob: str, path: str, matched: bool) -> None:
    assert Globs([glob])(path) is matched
