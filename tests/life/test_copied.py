"""A workspace that was copied or moved, or is used in another home: where its state is, and what comes along."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.life.conftest import Owner
from tests.life.test_outgoing import Recorder

NOTES = 6


def at_home(owner: Owner, home: Path, *, config: Path | None = None, cache: Path | None = None) -> None:
    """Give an owner a home; what is not mounted from elsewhere is empty in it."""
    folders = {"HOME": home, "XDG_CONFIG_HOME": config or home / "c", "XDG_CACHE_HOME": cache or home / "k"}
    folders["XDG_STATE_HOME"] = home / "s"
    owner.environment |= {name: str(folder) for name, folder in folders.items()}


@pytest.fixture
def original(owner_with_model: Owner, tmp_path: Path) -> Owner:
    """Somebody whose notes are in an index with vectors."""
    at_home(owner_with_model, tmp_path / "home")
    for number in range(NOTES - 1):
        owner_with_model.note(f"memory/{number}.md", f"# Note {number}\n\nThe kettle {number} is red.\n")
    assert f"{NOTES} vectors computed" in owner_with_model.ok("sync")
    return owner_with_model


def at(folder: Path, like: Owner) -> Owner:
    """Somebody with a memory that lies in a folder already."""
    person = Owner.__new__(Owner)
    person.folder, person.environment = folder, dict(like.environment)
    return person


def copied(original: Owner, folder: Path) -> Owner:
    shutil.copytree(original.folder, folder)
    return at(folder, original)


def moved(original: Owner, folder: Path) -> Owner:
    original.folder.rename(folder)
    return at(folder, original)


def moved_below(original: Owner, folder: Path) -> Owner:
    folder.mkdir()
    return moved(original, folder / "Notes of 2026")


def linked(original: Owner, folder: Path) -> Owner:
    folder.symlink_to(copied(original, folder.with_name("real")).folder)
    return at(folder, original)


def in_another_home(original: Owner, folder: Path) -> Owner:
    at_home(original, folder.with_name("other"))
    return original


MOVES = (copied, moved, moved_below, linked, in_another_home)


@pytest.mark.parametrize("move", MOVES)
def test_a_folder_begins_anew_and_answers(
    original: Owner, tmp_path: Path, move: Callable[[Owner, Path], Owner]
) -> None:
    original.ok("correct", "The kettle 1 is red.", "The kettle 1 is blue.")
    person = move(original, tmp_path / "elsewhere")
    first = person.run("search", "which kettle", "--min-score", "0")
    assert first.code == 0, first
    assert "is red" in first.out
    assert f"{NOTES} added" in person.ok("sync") or "unchanged" in person.ok("sync")
    assert "vectors + full text" in person.run("search", "which kettle").err
    assert "no generated change" in person.run("log").err
    assert "nothing to undo" in person.run("undo").err or "could be undone" in person.run("undo").err


@pytest.mark.parametrize("move", [moved, moved_below])
def test_the_state_of_a_folder_that_moved_comes_along_when_told(
    original: Owner, tmp_path: Path, move: Callable[[Owner, Path], Owner]
) -> None:
    original.ok("correct", "The kettle 1 is red.", "The kettle 1 is blue.")
    original.ok("sync")
    person = move(original, tmp_path / "elsewhere")
    person.ok("workspaces", "move", original.folder, person.folder)
    assert re.search(rf"· {NOTES} unchanged\s", person.ok("sync"))
    assert "correct memory/1.md" in person.ok("log")
    person.ok("undo")
    assert "The kettle 1 is red." in person.read("memory/1.md")


def test_a_terminal_says_that_a_folder_may_have_moved(original: Owner, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    person = moved(original, tmp_path / "new" / original.folder.name)
    said = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        command = person._command("sync", "--no-embed")
        subprocess.run(
            command, cwd=person.folder, env=person._environment(), check=True, stdout=subprocess.DEVNULL, stderr=theirs
        )  # fmt: skip
        os.write(theirs, b"end")  # a terminal without a word cannot be read
        os.close(theirs)
        with open(ours, "rb", buffering=0) as terminal:
            text = terminal.read(10_000).decode()
        said.append(f"workspaces move {original.folder} {person.folder}" in " ".join(text.split()))
    assert said == [True, False]


def test_a_folder_that_has_a_state_takes_no_other(original: Owner, tmp_path: Path) -> None:
    person = copied(original, tmp_path / "elsewhere")
    person.ok("sync")
    done = person.run("workspaces", "move", original.folder, person.folder)
    assert done.code == 1
    assert "is the state of that folder already" in done.err
    gone = person.run("workspaces", "move", tmp_path / "nowhere", person.folder)
    assert "has no state" in gone.err


def test_a_folder_that_imitates_another_gets_nothing_of_it(original: Owner, tmp_path: Path) -> None:
    original.ok("remember", "The vault is behind the kettle.")
    hostile = copied(original, tmp_path / "hostile")
    for name in ("path", "id", "state", ".commonplace/path", ".commonplace/state"):
        file = hostile.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(str(original.folder))
    places = [owner.ok("status", "--paths", "--format", "json") for owner in (original, hostile)]
    assert json.loads(places[0])["state"] != json.loads(places[1])["state"]
    assert "no generated change" in hostile.run("log").err


def test_the_state_of_a_workspace_is_deleted_when_told(original: Owner) -> None:
    original.ok("remember", "The kettle is old.")
    state = Path(json.loads(original.ok("status", "--paths", "--format", "json"))["state"])
    assert state.is_dir()
    original.ok("workspaces", "remove", original.folder, "--state")
    assert not state.exists()
    assert "The kettle is old." in "".join(path.read_text() for path in original.folder.rglob("*.md"))


def test_one_folder_is_named_for_state_and_caches(original: Owner, tmp_path: Path) -> None:
    original.environment["COMMONPLACE_STATE_DIR"] = str(tmp_path / "volume")
    original.ok("sync")
    places = json.loads(original.ok("status", "--paths", "--format", "json"))
    assert places["state"].startswith(str(tmp_path / "volume" / "state"))
    assert places["index"].startswith(str(tmp_path / "volume" / "cache"))
    assert Path(places["index"], "index.sqlite").is_file()


def test_an_option_names_the_folder_as_the_variable_does(original: Owner, tmp_path: Path) -> None:
    at_home(original, tmp_path / "empty")
    option = ("--state-dir", str(tmp_path / "volume"))
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Where is the kettle?"}
    original.ok("sync", *option)
    for words in ((*option, "search", "kettle"), ("search", "kettle", f"--state-dir={option[1]}")):
        assert original.run(*words).code == 0
    assert original.run(*option, "hook", stdin=json.dumps({**event, "cwd": str(original.folder)})).code == 0
    places = json.loads(original.ok(*option, "status", "--paths", "--format", "json"))
    assert places["state"].startswith(str(tmp_path / "volume" / "state"))
    assert Path(places["index"], "index.sqlite").is_file()
    elsewhere = json.loads(original.ok("status", "--paths", "--format", "json"))
    assert not Path(elsewhere["state"]).exists()
    assert not Path(elsewhere["index"]).exists()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    yield server
    server.close()


def test_notes_without_an_index_send_nothing_again_where_the_cache_is_mounted(
    owner_with_model: Owner, recorder: Recorder, tmp_path: Path
) -> None:
    owner = owner_with_model
    settings = {"PROVIDER": "compatible", "BASE_URL": recorder.address, "MODEL": "any"}
    owner.environment |= {f"COMMONPLACE_EMBEDDING_{name}": value for name, value in settings.items()}
    at_home(owner, tmp_path / "home")
    owner.note("memory/kettle.md", "# Kettle\n\nThe kettle is red.\n")
    owner.ok("sync")
    sent = len(recorder.bodies)
    assert any("kettle is red" in body for body in recorder.bodies)
    person = copied(owner, tmp_path / "elsewhere")
    at_home(person, tmp_path / "other", cache=Path(owner.environment["XDG_CACHE_HOME"]))
    assert "2 added" in person.ok("sync")
    assert not [body for body in recorder.bodies[sent:] if "kettle is red" in body]
