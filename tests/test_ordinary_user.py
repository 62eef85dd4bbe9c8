"""What a user without privileges meets: files and folders that may not be read or written, a disk that is full.

Run by root, the program gives up its privileges first; what it owns it then meets as any owner does.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.memory import Memory
from commonplace.storage import state
from commonplace.types.changes import About, Change
from tests import applying
from tests.cli.conftest import called, command, environment
from tests.places import settings_file

DROP = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
LIBC = ctypes.CDLL(None, use_errno=True)
ROOT = os.geteuid() == 0

Ask = Callable[..., "subprocess.CompletedProcess[str]"]
Done = subprocess.CompletedProcess[bytes]


def can_drop() -> bool:
    """Tell whether privileges can be given up here."""
    if not ROOT:
        return True
    if not shutil.which("setpriv"):
        return False
    return subprocess.run([*DROP, "true"], capture_output=True, check=False).returncode == 0


def unprivileged(call: Callable[[], Done]) -> Done:
    """Call a function without the privileges of root: in a thread, which gives them up for good."""
    for file in state._files.values():
        file.close()  # a file that is open can be read whatever its mode says
    if not ROOT:
        return call()

    def drop_and_call() -> Done:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3 of capabilities, of this thread
        assert LIBC.capset(header, (ctypes.c_uint32 * 6)()) == 0
        return call()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(drop_and_call).result()


def text(done: Done) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def ask(workspace: Path) -> Ask:
    """Run the program on the workspace as an ordinary user, in this process."""
    if not can_drop():
        pytest.skip("privileges cannot be given up here")

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return text(unprivileged(lambda: called("-w", workspace, *arguments, **variables)))

    return call


@pytest.fixture
def ask_process(workspace: Path) -> Ask:
    """Run the program on the workspace as a process of an ordinary user."""
    if not can_drop():
        pytest.skip("privileges cannot be given up here")

    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [*(DROP if ROOT else []), *command("-w", workspace, *arguments)]
        return subprocess.run(program, capture_output=True, text=True, env=environment(), timeout=60)

    return start


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace of two notes; whatever a test forbids is allowed again after it."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- The walnut desk.\n")
    (root / "memory" / "2026-02-13.md").write_text("# Day\n\n- A brass lamp.\n")
    yield root
    for folder, _, files in os.walk(tmp_path, topdown=True, onerror=lambda error: None):
        os.chmod(folder, 0o700)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o600, follow_symlinks=True)


def in_one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("commonplace: error: ")
    return done.stderr


def found(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [hit["path"] for hit in json.loads(done.stdout)]


@pytest.mark.skipif(not ROOT, reason="only root may give a folder away")
def test_what_another_user_has_closed(ask: Ask, workspace: Path, tmp_path: Path) -> None:
    """One workspace is an error that names the owner; one of several is a warning, and the others answer."""
    pwd = pytest.importorskip("pwd")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "MEMORY.md").write_text("# Memory\n\n- The oak chair.\n")
    ask("sync")
    for folder, _, files in os.walk(workspace):
        for name in (".", *files):
            os.chown(os.path.join(folder, name), 65534, -1)
    workspace.chmod(0o700)
    user = f"another user ({pwd.getpwuid(65534).pw_name})"
    closed = (
        f"{workspace}: belongs to {user}, who has closed it; ask them to open it to you, or name a workspace"
    )
    for words in (
        ("search", "walnut"),
        ("get", "MEMORY.md"),
        ("status",),
        ("remember", "x"),
        ("undo",),
        ("init",),
    ):
        done = ask(*words)
        assert (done.returncode, closed in in_one_line(done)) == (1, True), words
    doctor = ask("doctor").stdout
    assert f"{workspace} belongs to {user}, who has closed it" in doctor
    assert "the check itself failed" not in doctor
    assert "chmod" not in doctor
    for first, second in ((mine, workspace), (workspace, mine)):
        for words in (("search", "oak chair"), ("ls",)):
            several = ("-w", first, "-w", second, *words)
            done = text(unprivileged(lambda several=several: called(*several)))  # type: ignore[misc]
            if (first, words) == (workspace, ("ls",)):
                assert (done.returncode, closed in done.stderr) == (1, True), (
                    "notes are listed from the home on"
                )
                continue
            assert (done.returncode, done.stderr.count(closed)) == (0, 1), (done.stdout, done.stderr)
            assert "MEMORY.md" in done.stdout
    with pytest.raises(NoteUnreadable, match="who has closed it"):
        unprivileged(lambda: Memory.open(workspace))  # type: ignore[arg-type, return-value]
    # The notes may be read, but not the settings of the workspace, which may exclude some of them.
    workspace.chmod(0o755)
    (workspace / ".commonplace").mkdir()
    os.chown(workspace / ".commonplace", 65534, -1)
    (workspace / ".commonplace").chmod(0o700)
    settings = in_one_line(ask("search", "walnut", "--format", "json"))
    assert f"{workspace / '.commonplace'}: belongs to {user}, who has closed it; keep a workspace" in settings
    assert user in in_one_line(ask("undo"))
    doctor = ask("doctor").stdout
    assert "the check itself failed" not in doctor
    assert "chmod" not in doctor


# --- reading ----------------------------------------------------------------------------------------


def test_a_note_that_may_not_be_read_is_told_and_the_rest_is_searched(ask: Ask, workspace: Path) -> None:
    (workspace / "MEMORY.md").chmod(0)
    done = ask("sync")
    assert done.returncode == 0
    assert "MEMORY.md: permission denied" in done.stderr
    assert found(ask("search", "brass lamp", "--format", "json")) == ["memory/2026-02-13.md"]


def test_what_may_not_be_read_is_said_wherever_it_is_missed(ask: Ask, workspace: Path) -> None:
    (workspace / "MEMORY.md").chmod(0)
    (workspace / "memory" / "2026-02-13.md").chmod(0)
    told = "2 notes or folders cannot be read, so nothing new there is found: MEMORY.md: permission"
    for words in (("search", "walnut"), ("status",), ("search", "walnut")):
        done = ask(*words)
        assert done.stderr.count("cannot be read") == 1, done.stderr
        assert told in done.stderr
    (workspace / "MEMORY.md").chmod(0o600)
    (workspace / "memory" / "2026-02-13.md").chmod(0o600)
    (workspace / "memory" / "own").mkdir()
    (workspace / "memory" / "own").chmod(0)
    for words in (("search", "walnut"), ("status",)):
        done = ask(*words)
        assert "1 note or folder cannot be read" in done.stderr
        assert "is found: memory/own/: permission denied; `chmod u+r` makes it readable" in done.stderr
    (workspace / "memory" / "own").chmod(0o700)
    assert "cannot be read" not in ask("search", "walnut").stderr


def test_a_state_that_may_not_be_read_is_said(ask: Ask, workspace: Path) -> None:
    ask("correct", "MEMORY.md:3", "The oak desk.")
    folder = paths.Workspace(workspace).state
    for place, mode in ((folder / "state.sqlite", 0o600), (folder, 0o700)):
        place.chmod(0)
        assert "state.sqlite" in ask("log").stderr, place
        assert "Traceback" not in ask("status").stderr
        place.chmod(mode)


def test_a_sync_of_a_workspace_that_may_not_be_written_says_so_plainly(ask: Ask, workspace: Path) -> None:
    ask("remember", "It rained.")
    for folder in (workspace / "memory", workspace):
        folder.chmod(0o500)
    done = ask("sync")
    assert (done.returncode, done.stderr) == (0, "")
    assert found(ask("search", "rained", "--format", "json"))


def test_a_note_that_may_be_read_again_is_found_again(ask: Ask, workspace: Path) -> None:
    (workspace / "MEMORY.md").chmod(0)
    ask("sync")
    (workspace / "MEMORY.md").chmod(0o600)
    assert found(ask("search", "walnut desk", "--format", "json")) == ["MEMORY.md"]


def test_a_folder_that_may_not_be_read_hides_its_notes_only(ask: Ask, workspace: Path) -> None:
    (workspace / "memory").chmod(0)
    assert found(ask("search", "walnut desk", "--format", "json")) == ["MEMORY.md"]


def test_getting_a_note_that_may_not_be_read_is_one_line(ask: Ask, workspace: Path) -> None:
    (workspace / "MEMORY.md").chmod(0)
    done = ask("get", "MEMORY.md")
    assert done.returncode == 1
    assert "MEMORY.md: permission denied" in in_one_line(done)


def test_settings_that_may_not_be_read_are_one_line(ask: Ask, workspace: Path) -> None:
    settings_file(workspace).write_text("[search]\nlimit = 3\n")
    settings_file(workspace).chmod(0)
    done = ask("search", "walnut")
    assert done.returncode == 1
    assert "config.toml: permission denied" in in_one_line(done)


def test_a_collection_that_may_not_be_read_is_empty(ask: Ask, workspace: Path, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# A\n\nwalnut vault\n")
    assert ask("collection", "add", str(vault), "--name", "vault").returncode == 0
    vault.chmod(0)
    assert found(ask("search", "walnut", "--format", "json")) == ["MEMORY.md"]
    assert ask("get", "vault/a.md").returncode == 1


# --- writing ----------------------------------------------------------------------------------------


def test_a_workspace_that_may_not_be_written_is_searched_from_the_cache(
    ask_process: Ask, workspace: Path, private_home: Path
) -> None:
    workspace.chmod(0o500)
    assert found(ask_process("search", "walnut desk", "--format", "json")) == ["MEMORY.md"]
    assert not (workspace / ".commonplace").exists()
    assert list(private_home.rglob("index.sqlite"))


def test_a_search_answers_though_nothing_may_be_written_anywhere(
    ask: Ask, workspace: Path, private_home: Path
) -> None:
    workspace.chmod(0o500)
    for folder in (private_home, *private_home.glob("*")):
        folder.chmod(0o500)
    try:
        done = ask("search", "walnut desk", "--format", "json")
    finally:
        private_home.chmod(0o700)
    assert found(done) == ["MEMORY.md"]
    assert "Traceback" not in done.stderr


def test_an_index_that_may_not_be_written_still_answers(ask: Ask, workspace: Path) -> None:
    assert ask("sync").returncode == 0
    index = paths.Workspace(workspace).index
    for file in index.parent.glob("index.sqlite*"):
        file.chmod(0o400)
    index.parent.chmod(0o500)
    done = ask("search", "walnut desk", "--format", "json")
    assert found(done) == ["MEMORY.md"]
    assert "Traceback" not in done.stderr


def test_an_index_that_may_not_be_read_still_answers(ask: Ask, workspace: Path) -> None:
    assert ask("sync").returncode == 0
    for file in paths.Workspace(workspace).index.parent.glob("index.sqlite*"):
        file.chmod(0)
    assert found(ask("search", "walnut desk", "--format", "json")) == ["MEMORY.md"]


@pytest.mark.parametrize("forbidden", ["memory", "."])
def test_an_entry_that_may_not_be_written_is_one_line_and_leaves_nothing(
    ask: Ask, workspace: Path, forbidden: str
) -> None:
    before = sorted(path.name for path in workspace.rglob("*"))
    where = ["--long-term"] if forbidden == "." else []
    (workspace / forbidden).chmod(0o500)
    done = ask("remember", "the brass key", *where)
    assert done.returncode == 1
    assert "permission denied" in in_one_line(done)
    (workspace / forbidden).chmod(0o700)
    assert "brass key" not in "".join(note.read_text() for note in workspace.rglob("*.md"))
    assert sorted(path.name for path in workspace.rglob("*")) == before


def test_a_note_of_today_that_may_not_be_read_is_not_overwritten(ask: Ask, workspace: Path) -> None:
    written = ask("remember", "the first entry").stdout.partition(":")[0]
    (workspace / written).chmod(0o200)
    done = ask("remember", "the second entry")
    assert "permission denied" in in_one_line(done)
    (workspace / written).chmod(0o600)
    assert "the first entry" in (workspace / written).read_text()


def test_a_read_only_note_in_a_folder_that_may_be_written_keeps_its_mode(ask: Ask, workspace: Path) -> None:
    (workspace / "MEMORY.md").chmod(0o400)
    assert ask("remember", "a brass key", "--long-term").returncode == 0
    assert (workspace / "MEMORY.md").stat().st_mode & 0o777 == 0o400


def test_init_where_nothing_may_be_made_is_one_line(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    done = ask("init", str(tmp_path / "locked" / "new"))
    assert done.returncode == 1
    assert "permission denied" in in_one_line(done)


def test_settings_that_may_not_be_written_are_one_line(ask: Ask, workspace: Path) -> None:
    ask("status")
    workspace.chmod(0o500)
    done = ask("config", "set", "--in-workspace", "search.limit", "3")
    assert done.returncode == 1
    assert "permission denied" in in_one_line(done)
    assert not settings_file(workspace).exists()


# --- a disk that is full ----------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of less than half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=448k", "tmpfs", str(place)]
    if (
        not ROOT
        or not shutil.which("mount")
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, leave: int = 0) -> None:
    with open(place / "ballast", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - leave))


def here(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return text(called("-w", place, *arguments, COMMONPLACE_EMBEDDING_PROVIDER="none"))


def test_a_full_disk_loses_no_entry_and_says_so(small: Path) -> None:
    where = here(small, "remember", "the first walnut entry").stdout.partition(":")[0]
    before = (small / where).read_bytes()
    fill(small)
    done = here(small, "remember", "the second entry " + "x" * 9000)
    assert done.returncode == 1
    assert "no space left on device" in in_one_line(done)
    assert (small / where).read_bytes() == before
    assert [path.name for path in (small / "memory").iterdir()] == [Path(where).name]
    (small / "ballast").unlink()
    assert here(small, "remember", "the second entry").returncode == 0
    assert (small / where).read_bytes().startswith(before.rstrip())


def test_a_full_disk_still_answers(small: Path) -> None:
    (small / "memory").mkdir()
    (small / "MEMORY.md").write_text("# Memory\n\n- The walnut desk.\n")
    fill(small)
    done = here(small, "search", "walnut desk", "--format", "json")
    assert found(done) == ["MEMORY.md"]
    assert "Traceback" not in done.stderr


def test_a_disk_that_fills_up_keeps_the_old_index_answering(small: Path) -> None:
    (small / "memory").mkdir()
    (small / "MEMORY.md").write_text("# Memory\n\n- The walnut desk.\n")
    assert here(small, "sync").returncode == 0
    (small / "memory" / "long.md").write_text("# Long\n\n" + "some other words\n" * 2000)
    fill(small)
    done = here(small, "search", "walnut desk", "--format", "json")
    assert "MEMORY.md" in found(done)
    assert "Traceback" not in done.stderr


def test_settings_on_a_full_disk_stay_as_they_are(small: Path) -> None:
    (small / "memory").mkdir()
    settings_file(small).write_text("[search]\nlimit = 3\n")
    fill(small)
    done = here(small, "config", "set", "--in-workspace", "search.limit", "4")
    assert "no space left on device" in in_one_line(done)
    assert settings_file(small).read_text() == "[search]\nlimit = 3\n"


# --- the record of use ----------------------------------------------------------------------------------


def test_the_record_of_a_workspace_that_may_not_be_written_is_kept(ask: Ask, workspace: Path) -> None:
    workspace.chmod(0o500)
    assert found(ask("search", "walnut desk", "--format", "json")) == ["MEMORY.md"]
    told = json.loads(ask("usage", "--format", "json").stdout)
    assert told["questions"] == 1
    assert not told["store"].startswith(str(workspace))
    assert not (workspace / ".commonplace").exists()


def test_a_record_that_may_not_be_written_costs_no_answer(ask: Ask, workspace: Path) -> None:
    ask("search", "brass lamp")
    store = paths.Workspace(workspace).usage
    for path in store.parent.glob("usage*"):
        path.chmod(0)
    done = ask("search", "walnut desk", "--format", "json")
    assert (found(done), done.stderr) == (["MEMORY.md"], "")
    assert "usage.sqlite: " in in_one_line(ask("usage"))


# --- generated changes ----------------------------------------------------------------------------------


def rewritten(root: Path, data: bytes) -> bytes:
    """Let a program replace MEMORY.md; return what was there."""
    workspace = paths.Workspace(root)
    before = workspace.memory_file.read_bytes()
    assert applying.apply(workspace, [Change("MEMORY.md", before, data)], About("write", "rewrite"))
    return before


def test_an_undo_on_a_full_disk_changes_nothing_and_works_later(small: Path) -> None:
    (small / "MEMORY.md").write_text("# Memory\n\n- The walnut desk.\n" * 200)
    before = rewritten(small, b"# Memory\n" * 900)
    fill(small)
    done = here(small, "undo")
    assert done.returncode == 1
    assert "no space left on device" in in_one_line(done)
    assert (small / "MEMORY.md").read_bytes() == b"# Memory\n" * 900
    (small / "ballast").unlink()
    assert here(small, "undo").returncode == 0
    assert (small / "MEMORY.md").read_bytes() == before
    assert list(small.rglob("*.tmp")) == []


def test_a_change_is_not_begun_where_it_cannot_be_written_down(ask: Ask, workspace: Path) -> None:
    rewritten(workspace, b"# New\n")
    (paths.Workspace(workspace).state / "state.sqlite").chmod(0o400)
    done = ask("undo")
    assert done.returncode == 1
    assert "state.sqlite" in in_one_line(done)
    assert (workspace / "MEMORY.md").read_bytes() == b"# New\n"


def test_a_record_that_may_not_be_read_stops_no_search(ask: Ask, workspace: Path) -> None:
    rewritten(workspace, b"# New\n\n- The walnut desk.\n")
    (paths.Workspace(workspace).state / "state.sqlite").chmod(0)
    assert found(ask("search", "walnut desk", "--format", "json")) == ["MEMORY.md"]
    assert ask("sync").returncode == 0
    assert "state.sqlite" in ask("log").stderr


def test_folders_that_may_not_be_read_are_named_and_end_nothing(
    ask: Ask, workspace: Path, tmp_path: Path, private_home: Path
) -> None:
    cursor, shut, unlisted = private_home / ".cursor", tmp_path / "shut", tmp_path / "unlisted"
    for folder, mode in ((cursor, 0), (shut / "below", 0o700), (shut, 0), (unlisted, 0o111)):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)
    try:
        for place, closed in ((shut, shut), (shut / "below", shut), (unlisted, unlisted)):
            told = in_one_line(ask("collection", "add", str(place)))
            assert f"is closed; chmod u+rwx {closed}" in told, told
        assert config.load(workspace).collections == {}
        listed = ask("install", "--list")
        assert (listed.returncode, "permission denied" in listed.stdout) == (0, True), listed
        assert "permission denied" in in_one_line(ask("install", "cursor", "--dry-run"))
    finally:
        cursor.chmod(0o700)
