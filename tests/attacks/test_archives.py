"""Archives and transcripts made to fill the memory: each is refused in one line, and what is known stays."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import NoteUnreadable
from commonplace.transcripts import content, formats
from commonplace.upkeep import following
from tests.transcripts import conversations

MIB = 1 << 20


def packed(data: bytes, name: str = "conversations.json") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def refused(data: bytes, told: str, path: str = "x.zip") -> None:
    with pytest.raises(NoteUnreadable, match=told):
        formats.note(io.BytesIO(data), path, "auto")
    with pytest.raises(NoteUnreadable, match=told):
        list(formats.turns(io.BytesIO(data), path, "auto"))


BOMBS = {
    "spaces": b"[" + b" " * (40 * MIB) + b"]",
    "one long text": b'["' + b"x" * (40 * MIB) + b'"]',
    "many lists": b"[[" + b"[]," * (4 * MIB) + b"[]]]",
    "an object of lists": b'{"messages": [' + b"[]," * (4 * MIB) + b"[]]}",
    "many names": b"[{" + b",".join(b'"%x":{}' % n for n in range(1_200_000)) + b"}]",
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("ending", [".json", ".zip"])
def test_a_small_file_that_stands_for_much_takes_little_memory(
    tmp_path: Path, name: str, ending: str
) -> None:
    if (name, ending) == ("spaces", ".json"):
        pytest.skip("blanks between elements cost nothing where they are not packed")
    file = tmp_path / f"x{ending}"
    file.write_bytes(packed(BOMBS[name]) if ending == ".zip" else BOMBS[name])
    program = (
        "import resource, sys\n"
        "from commonplace.base.errors import NoteUnreadable\n"
        "from commonplace.transcripts import formats\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    with open(sys.argv[1], 'rb') as file: formats.note(file, sys.argv[1], 'auto')\n"
        "except NoteUnreadable as error: print(error.reason)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, file], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    told, grown_kib = done.stdout.splitlines()
    assert "more than" in told
    assert int(grown_kib) * (1 if sys.platform != "darwin" else 1 / 1024) < 400 * 1024


def test_what_an_archive_says_of_its_size_is_not_believed() -> None:
    data = bytearray(packed(b'["' + b"x" * (16 * MIB) + b'"]'))
    directory = data.index(b"PK\x01\x02")
    for place in (22, directory + 24):
        struct.pack_into("<L", data, place, 100)
    refused(bytes(data), "the archive")


def test_an_archive_of_very_many_files() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(1_001):
            archive.writestr(f"{number}/conversations.json", b"[]")
    refused(file.getvalue(), "more than 1,000 files of conversations")
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *(0,) * 6, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0) + b"name"
    directory = entry * 65_535 * 2
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65_535, 65_535, len(directory), 0, 0)
    refused(directory + end, "the archive's directory has more than 4 MiB")


def test_a_line_that_stands_for_much_is_no_message() -> None:
    sample = conversations.claude_code()
    bomb = b"[" + b"[]," * content.MOST_VALUES + b"[]]\n"
    note = formats.note(io.BytesIO(bomb * 3 + sample.data), "x.jsonl", "auto")
    assert note.lines[:3] == ("", "", "")
    assert note.lines[3:] == formats.note(io.BytesIO(sample.data), "x.jsonl", "auto").lines


def test_a_list_of_very_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = conversations.claude()
    data = json.dumps([*sample.values, *[1] * 20_000]).encode()
    assert formats.note(io.BytesIO(data), "x.json", "auto").lines
    monkeypatch.setattr(content, "MOST_ELEMENTS", 10_000)
    refused(data, "more than 10,000 elements", "x.json")
    refused(packed(data), "more than 10,000 elements")


def test_an_archive_that_is_damaged_later_is_told_and_what_is_known_stays(tmp_path: Path) -> None:
    root, export = tmp_path / "notes", tmp_path / "export.zip"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n")
    whole = conversations.packed(conversations.claude().data)
    export.write_bytes(whole)
    following.follow(root, str(export), kind="claude")
    with Memory.open(root) as memory:
        assert memory.sync().failed == ()
        (note,) = memory.notes("export")
        for broken in (
            whole[:-30],
            whole[: len(whole) // 2],
            b"",
            packed(json.dumps({"a": 1}).encode(), "a.json"),
        ):
            export.write_bytes(broken)
            for _ in range(2):  # told at every sync, not once
                (failure,) = memory.sync().failed
                assert failure.path.endswith("export.zip")
                assert "the archive" in failure.reason
                assert [one.path for one in memory.notes("export")] == [note.path]
        export.write_bytes(whole)
        assert memory.sync().failed == ()
