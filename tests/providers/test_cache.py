"""Vectors kept for all workspaces: found again, bounded, shared, never an error."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from commonplace.base.errors import NoteUnreadable
from commonplace.providers import cache
from commonplace.providers.cache import VectorCache, vector_key


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "vectors.sqlite")


def rows(numbers: range) -> dict[bytes, bytes]:
    return {cache.vector_key("m", "passage", str(n)): n.to_bytes(4, "big") for n in numbers}


def test_the_oldest_go_first(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = VectorCache(path, limit=10)
    clock = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    for number in range(11):
        clock[0] += 10_000
        made.keep("m", rows(range(number, number + 1)))
    assert made.stats().entries <= 10
    assert made.find(list(rows(range(1)))) == {}
    assert made.find(list(rows(range(2, 11)))) == rows(range(2, 11))


def test_vectors_of_another_length_take_the_place_of_all_others_of_their_model(path: str) -> None:
    made = VectorCache(path)
    made.keep("m", {b"a": b"1234", b"b": b"5678"})
    made.keep("other", {b"c": b"1234"})
    made.keep("m", {b"b": b"12345678"})
    assert made.find([b"a", b"b", b"c"]) == {b"b": b"12345678", b"c": b"1234"}


def test_stats_tell_the_models(path: str) -> None:
    made = VectorCache(path)
    made.keep("a", rows(range(3)))
    made.keep("b", rows(range(3, 8)))
    stats = made.stats()
    assert (stats.entries, dict(stats.models)) == (8, {"a": 3, "b": 5})
    assert stats.bytes > 0
    assert made.forget() == 8
    assert made.stats().entries == 0
    made.keep("a", rows(range(1)))
    assert made.stats().entries == 1


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000, b""])
def test_a_damaged_one_is_begun_anew(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    made = VectorCache(path)
    assert made.find(list(rows(range(2)))) == {}
    made.keep("m", rows(range(2)))
    assert VectorCache(path).find(list(rows(range(2)))) == rows(range(2))


def test_one_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made = VectorCache(str(tmp_path / "file" / "vectors.sqlite"))
    made.keep("m", rows(range(2)))
    assert made.find(list(rows(range(2)))) == {}
    assert made.stats().entries == 0


def test_processes_share_it_without_an_error(path: str) -> None:
    program = (
        "import sys\n"
        "from commonplace.providers import cache\n"
        "made = cache.VectorCache(sys.argv[1], 100_000)\n"
        "own = int(sys.argv[2])\n"
        "for n in range(60):\n"
        "    keys = {cache.vector_key('m', 'passage', f'{own}-{n}-{i}'): b'v' * 384 for i in range(20)}\n"
        "    made.keep('m', keys)\n"
        "    assert made.find(list(keys)) == keys, n\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", program, path, str(n)], stderr=subprocess.PIPE)
        for n in range(4)
    ]
    for process in started:
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 0
    assert VectorCache(path).stats().entries == 4 * 60 * 20


def test_clearing_gives_room_back_and_waits_for_whoever_writes(path: str) -> None:
    one, other = VectorCache(path), VectorCache(path)
    for start in range(0, 400, 100):
        one.keep(
            "m", {vector_key("m", "passage", str(n)): os.urandom(2000) for n in range(start, start + 100)}
        )
    before = os.path.getsize(path) + os.path.getsize(f"{path}-wal")
    assert 0 < one.stats().oldest_s <= time.time()
    assert other.forget() == 400
    assert os.path.getsize(path) + os.path.getsize(f"{path}-wal") < before / 10
    with closing(apsw.Connection(path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(NoteUnreadable, match="locked by another process"):
            other.forget()
        writer.execute("ROLLBACK")
    assert other.forget() == 0
    assert one.stats().oldest_s == 0


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        VectorCache(str(tmp_path / "v.sqlite")).keep("m", {b"k": b"v"})
    finally:
        os.umask(umask)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.iterdir())
