"""The door to files: nothing but regular files below a folder, whatever lies there and whoever exchanges it."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.root import Root, TooLarge, Unsafe, read_named


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "inside" / "memory").mkdir(parents=True)
    (tmp_path / "inside" / "memory" / "note.md").write_text("inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("outside\n")
    return Root(tmp_path / "inside")


def outside(root: Root) -> Path:
    return Path(root.path).parent / "outside"


def test_files_are_read_and_made_for_their_owner_alone(root: Root) -> None:
    assert root.read("memory/note.md") == root.read(f"{root.path}/memory/note.md") == b"inside\n"
    root.exchange("a/b/record.json", b"1")
    root.exchange("a/b/record.json", b"2")
    root.create("a/log", b"x")
    assert root.read("a/b/record.json") == b"2"
    modes = [stat.S_IMODE(root.stat(name).st_mode) for name in ("a", "a/b", "a/b/record.json", "a/log")]
    assert [oct(mode) for mode in modes] == ["0o700", "0o700", "0o600", "0o600"]
    assert root.names("a/b") == ["record.json"]  # and no temporary file
    with pytest.raises(FileExistsError):
        root.create("a/log", b"y")


def test_who_is_alone_removes_what_a_killed_writer_left(root: Root) -> None:
    for left in (b"half of it", None):
        if left is None:
            os.symlink(outside(root) / "secret.md", f"{root.path}/.record.json.tmp")
        else:
            root.create(".record.json.tmp", left, durable=True)
        root.exchange("record.json", b"whole", alone=True)
        assert root.read("record.json") == b"whole"
        assert root.names() == ["memory", "record.json"]
    assert (outside(root) / "secret.md").read_text() == "outside\n"


def test_no_component_may_be_a_link(root: Root) -> None:
    os.symlink(outside(root), f"{root.path}/folder")
    os.symlink(outside(root) / "secret.md", f"{root.path}/link.md")
    os.symlink("memory", f"{root.path}/own")
    for path in ("folder/secret.md", "link.md", "own/note.md", "folder/new/x"):
        with pytest.raises(Unsafe, match="symlink"):
            root.read(path)
        with pytest.raises(Unsafe, match="symlink"):
            root.descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, make=True)
    for act in (
        lambda: root.exchange("folder/secret.md", b""),
        lambda: root.unlink("folder/secret.md"),
        lambda: root.rename("memory/note.md", "folder/note.md"),
        lambda: root.make_folder("folder/made"),
        lambda: root.names("folder"),
        lambda: root.stat("folder/secret.md"),
    ):
        with pytest.raises(Unsafe, match="symlink"):
            act()
    assert [path.name for path in outside(root).iterdir()] == ["secret.md"]
    assert not root.is_folder("folder")
    assert not root.is_file("link.md")


def test_a_link_is_exchanged_and_removed_itself(root: Root) -> None:
    os.symlink(outside(root) / "secret.md", f"{root.path}/record")
    root.exchange("record", b"mine")
    assert root.read("record") == b"mine"
    os.symlink(outside(root), f"{root.path}/memory/folder")
    root.remove("memory")
    root.remove("memory")
    assert not os.path.exists(f"{root.path}/memory")
    assert (outside(root) / "secret.md").read_text() == "outside\n"


def test_links_that_stay_inside_are_followed_where_asked(root: Root) -> None:
    os.symlink("memory", f"{root.path}/own")
    os.symlink("own/note.md", f"{root.path}/first.md")
    os.symlink("../outside/secret.md", f"{root.path}/out.md")
    assert root.read("first.md", links=True) == root.read("own/note.md", links=True) == b"inside\n"
    with pytest.raises(Unsafe, match="leads out"):
        root.read("out.md", links=True)


def test_a_path_stays_below(root: Root) -> None:
    for path in ("../outside/secret.md", "memory/../../outside/secret.md", "/etc/hostname", "a\0b"):
        with pytest.raises(Unsafe):
            root.read(path)
    named_by_a_link = Path(root.path).parent / "alias"
    named_by_a_link.symlink_to(root.path)
    assert Root(named_by_a_link).read(f"{root.path}/memory/note.md") == b"inside\n"


def test_only_regular_files_are_opened(root: Root) -> None:
    os.mkfifo(f"{root.path}/fifo")
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(Unsafe, match="a fifo, not a regular file"):
            root.descriptor("fifo", flags)
    with pytest.raises(Unsafe, match="a folder, not a regular file"):
        root.read("memory")
    with pytest.raises(NotADirectoryError):
        root.read("memory/note.md/below")
    with pytest.raises(FileNotFoundError):
        root.read("memory/none.md")


def test_a_read_has_a_bound(root: Root) -> None:
    with open(f"{root.path}/sparse", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge, match="larger than"):
        root.read("sparse")
    assert root.read("memory/note.md", limit=7) == b"inside\n"
    with pytest.raises(TooLarge):
        root.read("memory/note.md", limit=6)


def test_a_link_swapped_in_is_never_followed(root: Root) -> None:
    """One name is a note, then a link to the outside, then a note again, while it is read and written."""
    over = threading.Event()
    note, link = f"{root.path}/memory/note.md", f"{root.path}/memory/link"

    def swap() -> None:
        while not over.is_set():
            os.symlink(outside(root) / "secret.md", link)
            os.replace(link, note)
            Path(link).write_text("inside\n")
            os.replace(link, note)

    swapper = threading.Thread(target=swap)
    swapper.start()
    refused = 0
    try:
        for turn in range(2000):
            try:
                assert root.read("memory/note.md", links=bool(turn % 2)) in (b"inside\n", b"")
                os.close(root.descriptor("memory/note.md", os.O_WRONLY | os.O_TRUNC | os.O_CREAT))
            except Unsafe:
                refused += 1
    finally:
        over.set()
        swapper.join()
    assert refused
    assert (outside(root) / "secret.md").read_text() == "outside\n"


def test_what_others_may_read_is_closed_to_them(root: Root) -> None:
    os.chmod(f"{root.path}/memory", 0o755)
    os.chmod(outside(root), 0o755)
    os.symlink(outside(root), f"{root.path}/link")
    assert [root.tighten(name) for name in ("memory", "memory", "link")] == [True, False, False]
    assert stat.S_IMODE(root.stat("memory").st_mode) == 0o700
    assert stat.S_IMODE(outside(root).stat().st_mode) == 0o755


@given(st.lists(st.sampled_from(["a", "..", ".", "", "b\0", "/", "memory", "é"]), max_size=6))
def test_no_spelling_of_a_path_leaves(parts: list[str]) -> None:
    root = Root("/nowhere/at/all")
    path = "/".join(parts)
    try:
        names = root._parts(path)
    except Unsafe:
        return
    assert os.path.normpath(os.path.join(root.path, *names)).startswith(root.path)


def test_a_failed_write_leaves_nothing(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        root.exchange("memory/record", b"x")
    assert root.names("memory") == ["note.md"]


def test_visiting_opens_one_folder_after_the_other(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with Root(tmp_path).visiting() as enter:
        found = {
            name: sorted(os.listdir(enter(name))) for name in ("a", "a/b", "a/b/c", "a/d", "e", "", "a/b")
        }
        with pytest.raises(FileNotFoundError):
            enter("a/b/missing")
        assert sorted(os.listdir(enter("a/b/c"))) == ["file"]
    assert found == {
        "a": ["b", "d"], "a/b": ["c"], "a/b/c": ["file"], "a/d": ["file"], "e": ["file"], "": ["a", "e"],
    }  # fmt: skip
    assert before == (len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0)


def test_what_its_owner_names_is_read_through_links(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("real")
    assert read_named(tmp_path / "link") == b"12345"
    with pytest.raises(TooLarge):
        read_named(tmp_path / "link", 4)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(Unsafe):
        read_named(tmp_path / "fifo")


def test_missing_folders_above_a_root_are_closed_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Root(tmp_path / "home" / ".config" / "commonplace").create("key", b"1")
    finally:
        os.umask(before)
    for folder in ("home", "home/.config", "home/.config/commonplace"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700


def test_a_root_that_is_a_dangling_link_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "made")
    with pytest.raises(Unsafe, match="symlink"):
        Root(tmp_path / "link").create("file", b"1")
    assert not (tmp_path / "made").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is two users")
def test_what_root_makes_belongs_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    own, other = Root(tmp_path / "own"), tmp_path / "other"
    own.make_folder()
    os.chown(own.path, 1234, 4321)
    other.write_text("x")
    own.make_folder("a/b")
    own.create("a/b/record", b"1")
    own.exchange("a/b/record", b"2")
    own.exchange("a/new", b"2", alone=True)
    os.close(own.descriptor("lock", os.O_RDWR | os.O_CREAT))
    for path in (tmp_path / "own").rglob("*"):
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321), path
    os.link(other, tmp_path / "own" / "link")  # what was there already stays as it is
    os.close(own.descriptor("link", os.O_RDWR | os.O_CREAT))
    assert other.stat().st_uid == 0
    (tmp_path / "own" / "symlink").symlink_to(other)
    with pytest.raises(Unsafe):
        own.descriptor("symlink", os.O_RDWR | os.O_CREAT)
    assert other.stat().st_uid == 0
    Root(tmp_path / "roots").create("x", b"")
    assert (tmp_path / "roots" / "x").stat().st_uid == 0
