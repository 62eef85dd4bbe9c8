"""A process that is killed while it makes a file of SQLite leaves one that the next completes."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from commonplace import Selection
from tests.life.conftest import Owner

FILES = ("index.sqlite", "ledger.sqlite", "usage.sqlite", "answers.sqlite", "vectors.sqlite")
HALVES = {
    "nothing": (),
    "a header": ("CREATE TABLE x(a)", "DROP TABLE x"),
    "another table": ("CREATE TABLE later(a)",),
}


@pytest.mark.parametrize("statements", HALVES.values(), ids=HALVES.keys())
def test_a_file_that_is_half_made_is_completed(
    owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statements: tuple[str, ...]
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for folder in (owner.place("state"), owner.place("index"), cache / "commonplace"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            os.close(os.open(folder / name, os.O_CREAT, 0o600))
            with sqlite3.connect(folder / name) as connection:
                connection.execute("PRAGMA journal_mode=wal")
                for statement in statements:
                    connection.execute(statement)
            connection.close()
    owner.note("MEMORY.md", "# Memory\n\n- Lin hikes.\n- Gas costs 30.\n")
    memory = owner.memory()
    memory.sync()
    assert memory.search("Lin hikes", min_score=0.0).hits
    erased = memory.forget(Selection("text", "Gas costs 30"))
    assert erased.left == ()
    assert owner.read("MEMORY.md") == "# Memory\n\n- Lin hikes.\n"
    for command in ("usage", "costs"):
        done = owner.run(command)
        assert done.code == 0, done
        assert "no such table" not in done.out + done.err


HEAD = b"SQLite format 3\0"
CUT = {"half a header": HEAD[:9], "a header without a page": HEAD.ljust(100, b"\0"), "zeros": bytes(4096)}


@pytest.mark.parametrize("data", CUT.values(), ids=CUT.keys())
def test_a_file_that_is_no_whole_file_is_made_anew_or_named_with_a_remedy(
    owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for folder in (owner.place("state"), owner.place("index"), cache / "commonplace"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            with open(os.open(folder / name, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                file.write(data)
    owner.note("MEMORY.md", "# Memory\n\n- Lin hikes.\n")
    owner.ok("sync")
    assert "Lin hikes" in owner.ok("search", "Lin hikes")
    for command in ("usage", "costs"):
        done = owner.run(command)
        assert done.code == 0 or "damaged; delete it to begin anew" in done.err, done
        (owner.place("state") / ("usage.sqlite" if command == "usage" else "ledger.sqlite")).unlink()
        owner.ok(command)
