"""A workspace that was copied, moved, or came to another home: no text is embedded again, no row is trusted."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.life.conftest import Owner
from tests.life.test_outgoing import Recorder

ANOTHER_KEY = "made with another key"
NOTES = 6


def at_home(owner: Owner, home: Path, *, config: Path | None = None, cache: Path | None = None) -> None:
    """Give an owner a home; what is not mounted from elsewhere is empty in it."""
    folders = {"HOME": home, "XDG_CONFIG_HOME": config or home / "c", "XDG_CACHE_HOME": cache or home / "k"}
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


def with_key(original: Owner, folder: Path) -> Owner:
    person = copied(original, folder)
    at_home(person, folder.with_name("other"), config=Path(original.environment["XDG_CONFIG_HOME"]))
    return person


def with_cache(original: Owner, folder: Path) -> Owner:
    person = copied(original, folder)
    at_home(person, folder.with_name("other"), cache=Path(original.environment["XDG_CACHE_HOME"]))
    return person


def with_nothing(original: Owner, folder: Path) -> Owner:
    person = copied(original, folder)
    at_home(person, folder.with_name("other"))
    return person


def in_place(original: Owner, folder: Path) -> Owner:
    at_home(original, folder.with_name("other"))
    return original


SAME_KEY = (copied, moved, moved_below, linked, with_key)
OTHER_KEY = (with_cache, with_nothing, in_place)


@pytest.mark.parametrize("move", SAME_KEY)
def test_where_the_key_is_known_the_index_goes_along(
    original: Owner, tmp_path: Path, move: Callable[[Owner, Path], Owner]
) -> None:
    person = move(original, tmp_path / "elsewhere")
    done = person.run("sync")
    assert done.code == 0, done
    assert "key" not in done.err, done
    assert re.search(rf"· {NOTES} unchanged\s", done.out), done
    assert "vectors + full text" in person.run("search", "which kettle").err


@pytest.mark.parametrize("move", OTHER_KEY)
def test_another_home_embeds_no_text_again_and_believes_no_row(
    original: Owner, tmp_path: Path, move: Callable[[Owner, Path], Owner]
) -> None:
    person = move(original, tmp_path / "elsewhere")
    with closing(sqlite3.connect(person.folder / ".commonplace/index.sqlite")) as index, index:
        index.execute("UPDATE passages SET text = 'The kettle was planted.'")
    first = person.run("search", "which kettle", "--min-score", "0")
    assert first.err.count(ANOTHER_KEY) == 1
    assert "is red" in first.out
    assert "planted" not in first.out
    assert "vectors + full text" in first.err
    done = person.run("sync")
    assert done.err.count(ANOTHER_KEY) == 1
    assert f"0 vectors computed, {NOTES} reused" in done.out
    again = person.run("search", "which kettle", "--min-score", "0")
    assert ANOTHER_KEY not in again.err
    assert "planted" not in again.out
    assert re.search(rf"· {NOTES} unchanged\s", person.ok("sync"))


def test_an_index_without_a_valid_signature_is_made_anew(original: Owner, tmp_path: Path) -> None:
    person = with_nothing(original, tmp_path / "elsewhere")
    with closing(sqlite3.connect(person.folder / ".commonplace/index.sqlite")) as index, index:
        index.execute("UPDATE passages SET text = 'The kettle was planted.'")
        index.execute("UPDATE meta SET value = 'x' WHERE key = 'signature'")
    found = person.run("search", "which kettle", "--min-score", "0")
    assert "came from elsewhere" in found.err
    assert "planted" not in found.out
    assert "is red" in found.out


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
    person = with_cache(owner, tmp_path / "elsewhere")
    shutil.rmtree(person.folder / ".commonplace")
    assert "2 added" in person.ok("sync")
    assert not [body for body in recorder.bodies[sent:] if "kettle is red" in body]
