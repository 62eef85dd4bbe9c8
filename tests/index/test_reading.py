"""Changed files read and cut: batches, moves in time, and files that cannot be read."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import reading
from commonplace.index.base import Known
from commonplace.index.reading import Reader, content_hash
from commonplace.notes.scan import FileState, Source, scan
from commonplace.types.progress import silent

LONG_AGO = 1_700_000_000


def states(root: Path) -> list[FileState]:
    return sorted(scan([Source("memory", str(root))]))


def write(root: Path, name: str, text: str, at: float = LONG_AGO) -> Path:
    path = root / name
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def known(text: str) -> Known:
    values = {"hash": content_hash(text.encode())}
    return Known(*(values.get(name, 0) for name in Known._fields))  # type: ignore[arg-type]


def read(reader: Reader, found: list[FileState]) -> list[str]:
    return [entry.state.path for batch in reader.batches(found, silent) for entry in batch]


def test_a_new_a_changed_and_a_touched_file_are_told_apart(tmp_path: Path) -> None:
    for name in ("new", "changed", "touched"):
        write(tmp_path, f"{name}.md", f"text of {name}\n")
    manifest = {
        ("memory", "changed.md"): known("before\n"),
        ("memory", "touched.md"): known("text of touched\n"),
    }
    reader = Reader(manifest, DEFAULT)
    assert read(reader, states(tmp_path)) == ["changed.md", "new.md"]
    assert reader.added == [content_hash(b"text of new\n")]
    assert reader.changed == 1
    assert [state.path for state in reader.touched] == ["touched.md"]
    assert reader.failed == []


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


def test_a_file_that_became_a_folder_is_a_failure(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "text\n")
    found = states(tmp_path)
    (tmp_path / "a.md").unlink()
    (tmp_path / "a.md").mkdir()
    reader = Reader({}, DEFAULT)
    assert read(reader, found) == []
    assert [failure.reason for failure in reader.failed] == ["a folder, not a regular file"]


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_a_name_that_is_not_utf8_is_a_failure_that_can_be_printed(tmp_path: Path) -> None:
    write(tmp_path, os.fsdecode(b"caf\xe9.md"), "text\n")
    reader = Reader({}, DEFAULT)
    assert read(reader, states(tmp_path)) == []
    (failure,) = reader.failed
    assert failure.path.encode() == "caf\ufffd.md".encode()
    assert "rename it" in failure.reason


def test_size_and_time_are_those_of_what_was_read(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", "before\n")
    found = states(tmp_path)
    write(tmp_path, "a.md", "after, and longer\n", LONG_AGO + 5)
    ((entry,),) = Reader({}, DEFAULT).batches(found, silent)
    assert entry.note.lines == ("after, and longer",)
    assert (entry.state.size, entry.state.mtime_ns) == (path.stat().st_size, (LONG_AGO + 5) * 10**9)


@pytest.mark.parametrize("ahead_s", [0, 3600])
def test_a_file_that_may_change_under_the_same_time_is_looked_at_again(tmp_path: Path, ahead_s: int) -> None:
    write(tmp_path, "a.md", "text\n", time.time() + ahead_s)
    ((entry,),) = Reader({}, DEFAULT).batches(states(tmp_path), silent)
    assert entry.state.mtime_ns == 0


def test_large_files_are_handed_over_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_BYTES", 25)
    for name in "abcde":
        write(tmp_path, f"{name}.md", "ten bytes\n")
    found = list(Reader({}, DEFAULT).batches(states(tmp_path), silent))
    assert [[entry.state.path[0] for entry in batch] for batch in found] == [["a", "b", "c"], ["d", "e"]]


def test_progress_is_told_from_the_first_file_to_the_last(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, f"{name}.md", "text\n")
    told: list[tuple[str, int, int]] = []
    list(Reader({}, DEFAULT).batches(states(tmp_path), lambda *step: told.append(step)))
    assert told == [("files", n, 3) for n in range(4)]


def test_nothing_to_read_is_told_as_done() -> None:
    told: list[tuple[str, int, int]] = []
    assert list(Reader({}, DEFAULT).batches([], lambda *step: told.append(step))) == []
    assert told == [("files", 0, 0)]


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


def test_a_hash_is_32_digits_and_differs_with_a_byte() -> None:
    assert len(content_hash(b"")) == 32
    assert content_hash(b"a") != content_hash(b"b")


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
