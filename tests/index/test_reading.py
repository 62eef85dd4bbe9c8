"""Changed files read and cut: batches, moves in time, and files that cannot be read."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import reading
from commonplace.index.reading import Reader, content_hash
from commonplace.notes.scan import CollectionFiles, FileState, scan
from commonplace.types.progress import silent

LONG_AGO = 1_700_000_000


def states(root: Path) -> list[FileState]:
    return sorted(scan([CollectionFiles("memory", str(root))]))


def write(root: Path, name: str, text: str, at: float = LONG_AGO) -> Path:
    path = root / name
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def read(reader: Reader, found: list[FileState]) -> list[str]:
    return [entry.state.path for batch in reader.batches(found, silent) for entry in batch]


def test_a_file_that_went_away_meanwhile_is_a_failure_not_an_error(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, f"{name}.md", "text\n")
    found = states(tmp_path)
    (tmp_path / "b.md").unlink()
    reader = Reader({}, DEFAULT)
    assert read(reader, found) == ["a.md", "c.md"]
    assert [(failure.path, failure.reason) for failure in reader.failed] == [
        ("b.md", "no such file or directory")
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_a_name_that_is_not_utf8_is_a_failure_that_can_be_printed(tmp_path: Path) -> None:
    write(tmp_path, os.fsdecode(b"caf\xe9.md"), "text\n")
    reader = Reader({}, DEFAULT)
    assert read(reader, states(tmp_path)) == []
    (failure,) = reader.failed
    assert failure.path.encode() == "caf\ufffd.md".encode()
    assert "rename it" in failure.reason


@pytest.mark.parametrize("ahead_s", [0, 3600])
def test_a_file_that_may_change_under_the_same_time_is_looked_at_again(tmp_path: Path, ahead_s: int) -> None:
    write(tmp_path, "a.md", "text\n", time.time() + ahead_s)
    ((entry,),) = Reader({}, DEFAULT).batches(states(tmp_path), silent)
    assert entry.state.mtime_ns == 0


def test_progress_is_told_from_the_first_file_to_the_last(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, f"{name}.md", "text\n")
    told: list[tuple[str, int, int]] = []
    list(Reader({}, DEFAULT).batches(states(tmp_path), lambda *step: told.append(step)))
    assert told == [("files", n, 3) for n in range(4)]


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 1000, b"\xff\xfe", b"\xff" * 1000, b"\xef\xbb\xbf", bytes(range(256)) * 40]
)
def test_any_bytes_are_read_as_a_note(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.md").write_bytes(data)
    reader = Reader({}, DEFAULT)
    ((entry,),) = reader.batches(states(tmp_path), silent)
    assert reader.failed == []
    assert entry.hash == content_hash(data)
    assert all("\0" not in passage.text for passage in entry.passages)


def test_a_private_part_that_nobody_closes_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a\n\n<private>\nmine\n")
    write(tmp_path, "b.md", "write `&lt;private>` before it\n\n- <private>x</private>\n")
    reader = Reader({}, DEFAULT)
    read(reader, states(tmp_path))
    assert tuple(reading.lines(reader.notices)) == (
        "a.md:3: <private> is never closed and hides all behind it; write </private>, or &lt;private> to name it",
    )
    for number in range(8):
        write(tmp_path, f"c{number}.md", "<private>")
    reader = Reader({}, DEFAULT)
    read(reader, states(tmp_path))
    assert reading.lines(reader.notices)[-1] == "4 more like this"


def test_a_note_in_another_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "gbk.md").write_bytes("厨房的水管\n".encode("gbk"))
    (tmp_path / "marked.md").write_bytes("Küche 厨房\n".encode("utf-16"))
    (tmp_path / "plain.md").write_bytes("Küche 厨房\n".encode("utf-8-sig"))
    reader = Reader({}, DEFAULT)
    read(reader, states(tmp_path))
    assert tuple(reading.lines(reader.notices)) == (
        "gbk.md: not in UTF-8, so words of it are shown as � and cannot be found; save it as UTF-8",
    )
    for number in range(6):
        (tmp_path / f"latin{number}.md").write_bytes("Café\n".encode("latin-1"))
    reader = Reader({}, DEFAULT)
    read(reader, states(tmp_path))
    assert reading.lines(reader.notices)[-1] == "2 more like this"


def test_a_name_that_holds_a_secret_is_told(tmp_path: Path) -> None:
    folder = "ghp_0123456789abcdefghij0123456789abcd"
    (tmp_path / folder).mkdir()
    write(tmp_path, f"{folder}/b.md", "# Boiler\n")
    reader = Reader({}, DEFAULT)
    read(reader, states(tmp_path))
    assert tuple(reading.lines(reader.notices)) == (
        f"{folder}/b.md: its name holds what looks like a secret, and every answer shows it; "
        "rename it, and change the secret",
    )
