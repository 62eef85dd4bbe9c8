"""Where everything lies, which folder is a workspace, and that no path leaves the roots."""

import os
import socket
import stat
import sys
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import paths
from commonplace.base.errors import (
    AccessDenied,
    CommonplaceError,
    NoteNotFound,
    NoteUnreadable,
    OutsideRoots,
    WorkspaceNotFound,
)
from commonplace.base.locks import locked
from commonplace.base.paths import Workspace, contain, find_workspace, read_contained, resolve_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a secret beside it."""
    (tmp_path / "outside.md").write_text("secret")
    root = tmp_path / "work"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("mine")
    return root


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (".commonplace/", True),
        ("commonplace.toml", True),
        ("MEMORY.md", True),
        ("memory/MEMORY.md", True),
        ("memory/2026-02-13.md", True),
        ("memory/2026-02-13-standup.md", True),
        ("memory/notes.md", False),
        ("README.md", False),
    ],
)
def test_what_makes_a_workspace(tmp_path: Path, content: str, found: bool) -> None:
    make(tmp_path, content, "deep/er/")
    assert find_workspace(tmp_path / "deep" / "er") == (tmp_path if found else None)


def test_an_agents_server_has_another_token(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    places = {paths.server_token(workspace, agent=agent) for agent in ("", "scout", "reader")}
    assert len(places) == 3
    assert len({place.parent for place in places}) == 1


def test_memory_folder_belongs_to_the_workspace_above(tmp_path: Path) -> None:
    make(tmp_path, "memory/MEMORY.md")
    assert find_workspace(tmp_path / "memory") == tmp_path


def test_dot_folder_does_not_make_home_a_workspace(private_home: Path) -> None:
    make(private_home, ".commonplace/", "project/")
    assert find_workspace(private_home / "project") is None
    make(private_home, "MEMORY.md")
    assert find_workspace(private_home / "project") == private_home


def test_order_of_resolution(tmp_path: Path, private_home: Path) -> None:
    make(tmp_path, "here/MEMORY.md", "flag/", "variable/", "empty/")
    here, empty = tmp_path / "here", tmp_path / "empty"
    environ = {"HOME": str(private_home), paths.WORKSPACE_VARIABLE: str(tmp_path / "variable")}
    assert resolve_workspace(str(tmp_path / "flag"), environ, here) == tmp_path / "flag"
    assert resolve_workspace("../flag", environ, here) == tmp_path / "flag"
    assert resolve_workspace(None, environ, here) == tmp_path / "variable"
    environ[paths.WORKSPACE_VARIABLE] = ""
    assert resolve_workspace(None, environ, here) == here
    with pytest.raises(WorkspaceNotFound, match="make one first"):
        resolve_workspace(None, environ, empty)
    make(private_home, "commonplace/")
    assert resolve_workspace(None, environ, empty) == private_home / "commonplace"
    assert resolve_workspace("~/commonplace", environ, here) == private_home / "commonplace"


@pytest.mark.parametrize("content", ["MEMORY.md", ".commonplace/"])
def test_a_folder_of_a_workspace_is_none_unless_it_was_made_one(tmp_path: Path, content: str) -> None:
    make(tmp_path, "outer/memory/", f"outer/{content}", "outer/project/deep/")
    (tmp_path / "link").symlink_to(tmp_path / "outer" / "project")
    for name in ("outer/memory", "outer/project/deep", "link"):
        with pytest.raises(WorkspaceNotFound, match="it lies in the workspace") as error:
            resolve_workspace(name, {}, tmp_path)
        assert error.value.around == str(tmp_path / "outer")
    make(tmp_path, "outer/project/deep/.commonplace/")
    assert resolve_workspace("outer/project/deep", {}, tmp_path) == tmp_path / "outer" / "project" / "deep"


def test_named_workspace_must_exist(tmp_path: Path) -> None:
    for environ, flag in (({}, "nowhere"), ({paths.WORKSPACE_VARIABLE: "nowhere"}, None)):
        with pytest.raises(WorkspaceNotFound, match=r"there is no folder .*nowhere; make it first"):
            resolve_workspace(flag, environ, tmp_path)


def test_layout_of_a_workspace(tmp_path: Path, private_home: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.memory_file == tmp_path / "MEMORY.md"
    assert workspace.daily(date(2026, 2, 3)) == tmp_path / "memory" / "2026-02-03.md"
    assert workspace.state.parent == private_home / "state" / "commonplace"
    assert workspace.index.parent == private_home / "cache" / "commonplace" / "indexes" / workspace.state.name
    assert paths.lock_file(workspace, "notes") == workspace.state / "locks" / "notes.lock"
    (tmp_path / "link").symlink_to(tmp_path)
    assert Workspace(tmp_path / "link").state == workspace.state != Workspace(tmp_path / "memory").state
    make(tmp_path, "memory/MEMORY.md")
    assert workspace.memory_file == tmp_path / "memory" / "MEMORY.md"
    make(tmp_path, "MEMORY.md")
    assert workspace.memory_file == tmp_path / "MEMORY.md"


@pytest.mark.parametrize(
    ("platform", "environ", "config", "cache", "state"),
    [
        ("linux", {}, ".config/commonplace", ".cache/commonplace", ".local/state/commonplace"),
        ("linux", {"XDG_STATE_HOME": "here"}, ".config/commonplace", ".cache/commonplace", ".local/state/commonplace"),
        (
            "linux", {"XDG_CONFIG_HOME": "/x", "XDG_CACHE_HOME": "/y", "XDG_STATE_HOME": "/z"},
            "/x/commonplace", "/y/commonplace", "/z/commonplace",
        ),
        (
            "darwin", {}, "Library/Application Support/commonplace", "Library/Caches/commonplace",
            "Library/Application Support/commonplace/state",
        ),
        ("linux", {"COMMONPLACE_STATE_DIR": "/s"}, ".config/commonplace", "/s/cache", "/s/state"),
    ],
)  # fmt: skip
def test_folders_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    environ: dict[str, str],
    config: str,
    cache: str,
    state: str,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    environ = {"HOME": "/home/me", **environ}
    assert paths.user_config_dir(environ) == Path("/home/me") / config
    assert paths.user_cache_dir(environ) == Path("/home/me") / cache
    assert paths.user_state_dir(environ) == Path("/home/me") / state


def test_state_is_made_for_its_user_alone_and_tells_whose_it_is(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert list(paths.known_states()) == []
    paths.prepare_state(workspace)
    assert stat.S_IMODE(workspace.state.stat().st_mode) == 0o700
    assert list(paths.known_states()) == [(tmp_path, workspace.state)]
    assert os.listdir(tmp_path) == []  # nothing of it among the notes
    paths.prepare_state(workspace)
    assert os.listdir(workspace.state) == ["path"]
    (workspace.state / "path").write_bytes(b"")  # as a process that was killed leaves it
    assert list(paths.known_states()) == []
    paths.prepare_state(workspace)
    assert list(paths.known_states()) == [(tmp_path, workspace.state)]


def test_who_may_not_write_is_told(tmp_path: Path) -> None:
    make(tmp_path, "notes/")
    Workspace(tmp_path / "notes").check_writable()
    with pytest.raises(AccessDenied, match=r"reads .*notes and does not write to it"):
        Workspace(tmp_path / "notes", reader="scout").check_writable()
    with pytest.raises(WorkspaceNotFound, match="there is no folder"):
        Workspace(tmp_path / "gone").check_writable()


def test_a_folder_with_state_is_a_workspace(tmp_path: Path) -> None:
    make(tmp_path, "notes/deep/")
    assert find_workspace(tmp_path / "notes" / "deep") is None
    paths.prepare_state(Workspace(tmp_path / "notes"))
    assert find_workspace(tmp_path / "notes" / "deep") == tmp_path / "notes"


def test_the_folder_of_all_states_may_be_a_link(tmp_path: Path, private_home: Path) -> None:
    make(tmp_path, "disk/", "notes/")
    make(private_home, "state/")
    (private_home / "state" / "commonplace").symlink_to(tmp_path / "disk")
    workspace = Workspace(tmp_path / "notes")
    with locked(paths.lock_file(workspace, "notes")):
        assert (tmp_path / "disk" / workspace.state.name / "locks" / "notes.lock").is_file()


def test_state_that_cannot_be_made_says_what_helps(tmp_path: Path, private_home: Path) -> None:
    make(private_home, "state")
    with pytest.raises(NoteUnreadable, match=paths.STATE_VARIABLE):
        paths.prepare_state(Workspace(tmp_path))


def test_state_moves_with_its_folder_and_never_over_another(tmp_path: Path) -> None:
    old, new = Workspace(tmp_path / "old"), Workspace(tmp_path / "new")
    assert not paths.move_state(old.root, new.root)
    paths.prepare_state(old)
    make(old.state, "usage.sqlite")
    make(old.index.parent, "index.sqlite")
    assert paths.move_state(old.root, new.root)
    assert new.usage.is_file()
    assert new.index.is_file()
    assert list(paths.known_states()) == [(new.root, new.state)]
    paths.prepare_state(old)
    with pytest.raises(NoteUnreadable, match="already"):
        paths.move_state(old.root, new.root)
    assert old.state.is_dir()
    assert new.usage.is_file()


def test_a_folder_of_ours_that_others_could_enter_is_closed(root: Path) -> None:
    workspace = Workspace(root)
    paths.prepare_state(workspace)
    (root / "sessions").mkdir()
    for folder in (root, root / "sessions", paths.user_state_dir()):
        folder.chmod(0o755)
    told = paths.tighten(workspace)
    assert [line.split(":")[0] for line in told] == [
        f"others could look into {folder}" for folder in (root / "sessions", paths.user_state_dir())
    ]
    assert [stat.S_IMODE(one.stat().st_mode) for one in (root, root / "sessions", paths.user_state_dir())] == [
        0o755, 0o700, 0o700,
    ]  # fmt: skip
    assert paths.tighten(workspace) == []


def test_state_is_dropped_and_the_notes_stay(root: Path) -> None:
    workspace = Workspace(root)
    assert not paths.drop_state(root)
    paths.prepare_state(workspace)
    make(workspace.index.parent, "index.sqlite")
    assert paths.drop_state(root)
    assert not workspace.state.exists()
    assert not workspace.index.parent.exists()
    assert (root / "MEMORY.md").read_text() == "mine"


def test_file_inside_is_read(root: Path) -> None:
    for path in (root / "MEMORY.md", Path("MEMORY.md"), root / "memory" / ".." / "MEMORY.md"):
        assert contain(path, [root]) == (root / "MEMORY.md").resolve()
        assert read_contained(path, [root]) == b"mine"


def test_missing_file_is_not_found(root: Path) -> None:
    with pytest.raises(NoteNotFound):
        contain(root / "none.md", [root])
    assert contain(root / "none.md", [root], missing_ok=True) == root.resolve() / "none.md"


@pytest.mark.parametrize("name", ["../outside.md", "memory/../../outside.md", "../none.md", "../work2/a.md"])
def test_what_lies_outside_is_refused(root: Path, tmp_path: Path, name: str) -> None:
    make(tmp_path, "work2/a.md")
    for path in (Path(name), root / name, Path(os.path.normpath(root / name))):
        with pytest.raises(OutsideRoots, match="leaves the workspace"):
            read_contained(path, [root])
        assert read_contained(tmp_path / "outside.md", [root, tmp_path]) == b"secret"


def test_symlinks_may_stay_but_not_leave(root: Path, tmp_path: Path) -> None:
    (root / "in.md").symlink_to(root / "MEMORY.md")
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    (root / "folder").symlink_to(tmp_path)
    (root / "dangling.md").symlink_to(tmp_path / "none.md")
    assert read_contained(root / "in.md", [root]) == b"mine"
    for name in ("out.md", "folder/outside.md", "dangling.md"):
        with pytest.raises(OutsideRoots, match="leaves the workspace"):
            read_contained(root / name, [root])
    with pytest.raises(OutsideRoots):
        contain(root / "folder" / "new.md", [root], missing_ok=True)
    make(root, ".env")
    (root / "plain.md").symlink_to(root / ".env")
    with pytest.raises(OutsideRoots, match="hidden"):
        contain(root / "plain.md", [root])
    assert contain(root / ".env", [root]) == root / ".env"
    (tmp_path / "alias").symlink_to(root)
    assert read_contained(tmp_path / "alias" / "MEMORY.md", [tmp_path / "alias"]) == b"mine"


def test_only_regular_files_are_read(root: Path) -> None:
    os.mkfifo(root / "fifo.md")
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "null.md").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server:
        cwd = os.getcwd()
        os.chdir(root)  # names of sockets are short
        try:
            server.bind("socket.md")
        finally:
            os.chdir(cwd)
        for name, reason in (("fifo", "a fifo"), ("socket", "a socket")):
            with pytest.raises(OutsideRoots, match=f"{reason}, not a regular file"):
                read_contained(root / f"{name}.md", [root])
    with pytest.raises(OutsideRoots, match="a folder, not a regular file"):
        read_contained(root / "memory", [root])
    with pytest.raises(OutsideRoots):
        read_contained(root / "null.md", [root])
    with pytest.raises(CommonplaceError):
        read_contained(root / "loop.md", [root])


def test_link_swapped_in_at_the_last_moment_is_not_followed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, real_open = root / "MEMORY.md", os.open

    def swap_and_open(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if path == note.name and not note.is_symlink():
            note.unlink()
            note.symlink_to(tmp_path / "outside.md")
        return real_open(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_and_open)
    with pytest.raises(OutsideRoots, match="leads out"):
        read_contained(note, [root])


@pytest.mark.parametrize("name", ["a\0b.md", "a" * 300 + ".md", "a/" * 3000, "\ud800.md", "a\nb.md"])
def test_impossible_names_are_told_in_one_line(root: Path, name: str) -> None:
    with pytest.raises(CommonplaceError) as caught:
        read_contained(Path(name), [root])
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert len(message) < 400


@given(st.text())
def test_no_text_reads_outside(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    root = tmp_path_factory.getbasetemp() / "any"
    root.mkdir(exist_ok=True)
    with pytest.raises(CommonplaceError):
        read_contained(Path(name), [root])
