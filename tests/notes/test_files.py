"""Nothing is lost: many processes, kill -9, full disks, odd files; entries land where they should."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.markdown.document import Document
from commonplace.notes.appends import append
from commonplace.storage.writes import replace

PROCESSES, APPENDS = 3, 40
APPENDER = """
import sys
from pathlib import Path
from commonplace.base.paths import Workspace
from commonplace.notes.appends import append
note, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
workspace = Workspace(note.parent.parent)
print("ready", flush=True)
for number in range(count):
    append(workspace, note, f"- {name} {number} " + "x" * 50, title="# Day", timeout_s=60)
"""


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "note.md"


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    return paths.Workspace(tmp_path)


@pytest.fixture
def lock(workspace: paths.Workspace) -> Path:
    return paths.lock_file(workspace, "notes")


def start(note: Path, name: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", APPENDER, str(note), name, str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def finish(process: "subprocess.Popen[str]") -> int:
    code = process.wait(timeout=100)
    if process.stdout:
        process.stdout.close()
    return code


def insert(text: str, entry: str, heading: str | None = None) -> tuple[str, int, int]:
    edit = Document.of(text).insert(entry, heading=heading)
    return edit.document.text, *edit.lines


def litter(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]


def test_appends_of_many_processes_all_arrive(note: Path) -> None:
    running = [start(note, f"p{number}", APPENDS) for number in range(PROCESSES)]
    assert [finish(process) for process in running] == [0] * PROCESSES
    lines = note.read_text().splitlines()
    assert lines[:2] == ["# Day", ""]
    wanted = {f"- p{p} {n} " + "x" * 50 for p in range(PROCESSES) for n in range(APPENDS)}
    assert len(lines) == 2 + len(wanted)
    assert set(lines[2:]) == wanted
    assert litter(note.parent) == []


def test_kill_leaves_the_old_or_the_new_file(note: Path, workspace: paths.Workspace) -> None:
    seen = 0
    for round_ in range(5):
        process = start(note, f"r{round_}", 10**6)
        time.sleep(0.01 + round_ * 0.02)
        process.send_signal(signal.SIGKILL)
        assert finish(process) == -signal.SIGKILL
        lines = note.read_text().splitlines() if note.exists() else ["# Day", ""]
        assert lines[:2] == ["# Day", ""]
        assert all(line.startswith("- r") and line.endswith("x" * 50) for line in lines[2:])
        numbers = [int(line.split()[2]) for line in lines[2:] if line.startswith(f"- r{round_} ")]
        assert numbers == list(range(len(numbers)))
        assert len(lines) >= seen
        seen = len(lines)
    append(workspace, note, "- last", timeout_s=1)
    assert note.read_text().splitlines()[-1] == "- last"
    assert litter(note.parent) == []


@pytest.mark.parametrize(("module", "call"), [(os, "fsync"), (os, "replace")])
def test_full_disk_leaves_the_old_file(
    note: Path, workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch, module: ModuleType, call: str
) -> None:
    def full(*arguments: object, **named: object) -> object:
        raise OSError(28, "No space left on device")

    append(workspace, note, "- before")
    monkeypatch.setattr("commonplace.storage.files._exchange_names", lambda place: False)
    monkeypatch.setattr(module, call, full)
    with pytest.raises(NoteUnreadable) as caught:
        append(workspace, note, "- after")
    assert str(caught.value) == f"{note}: no space left on device"
    assert note.read_text() == "- before\n"
    assert litter(note.parent) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"- y\n"),
        (b"- x", b"- x\n- y\n"),
        (b"- x\r\n", b"- x\r\n- y\r\n"),
        (b"a\r\n- x", b"a\r\n- x\r\n- y\r\n"),
        (b"\xef\xbb\xbf- x\n", b"\xef\xbb\xbf- x\n- y\n"),
        (b"- \xff\xfe bytes\n", b"- \xff\xfe bytes\n- y\n"),
        ("\ufeff- x\n".encode("utf-16-le"), "\ufeff- x\n- y\n".encode("utf-16-le")),
        (b"- x\n\n\n", b"- x\n- y\n\n\n"),
        (b"text\n", b"text\n\n- y\n"),
        (b"- x\x0b\x0c\xe2\x80\xa8z\n", b"- x\x0b\x0c\xe2\x80\xa8z\n- y\n"),
    ],
)
def test_bytes_that_were_there_stay(
    note: Path, workspace: paths.Workspace, before: bytes, after: bytes
) -> None:
    note.parent.mkdir()
    note.write_bytes(before)
    append(workspace, note, "- y")
    assert note.read_bytes() == after


def test_change_of_an_editor_meanwhile_is_kept(note: Path, workspace: paths.Workspace) -> None:
    append(workspace, note, "- x")
    rounds = []

    def compose(document: Document) -> Document:
        rounds.append(document.text)
        if len(rounds) == 1:
            note.write_text("- rewritten by an editor\n")
        return document.with_text(document.text + "- y\n")

    replace(workspace, note, compose)
    assert rounds == ["- x\n", "- rewritten by an editor\n"]
    assert note.read_text() == "- rewritten by an editor\n- y\n"


def test_a_file_that_never_rests_is_left(note: Path, workspace: paths.Workspace) -> None:
    def compose(document: Document) -> Document:
        note.write_text(document.text + "more\n")
        return document.with_text(document.text + "- y\n")

    note.parent.mkdir()
    with pytest.raises(NoteUnreadable, match="another program keeps changing it"):
        replace(workspace, note, compose)
    assert set(note.read_text().splitlines()) == {"more"}
    assert litter(note.parent) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Work\n\n- e\n"),
        ("# Day\n", "# Day\n\n## Work\n\n- e\n"),
        ("# Day\n\n## Work\n", "# Day\n\n## Work\n\n- e\n"),
        ("## Work\n- a\n", "## Work\n- a\n- e\n"),
        ("## Work\n\ntext\n", "## Work\n\ntext\n\n- e\n"),
        ("## work ##\n- a\n", "## work ##\n- a\n- e\n"),
        ("## Work\n- a\n\n## Home\n- b\n", "## Work\n- a\n- e\n\n## Home\n- b\n"),
        ("## Work\n- a\n## Home\n", "## Work\n- a\n- e\n\n## Home\n"),
        ("## Work\n- a\n### Sub\n- b\n# Next\n", "## Work\n- a\n- e\n\n### Sub\n- b\n# Next\n"),
        ("## Work\n\n### Sub\n\n- b\n", "## Work\n\n- e\n\n### Sub\n\n- b\n"),
        ("## Work\n```\n## Home\n```\n- a\n", "## Work\n```\n## Home\n```\n- a\n- e\n"),
        ("## Work\n~~~~\n```\n## Work\n~~~\n~~~~\n", "## Work\n~~~~\n```\n## Work\n~~~\n~~~~\n\n- e\n"),
        ("<private>\n## Work\n</private>\n", "<private>\n## Work\n</private>\n\n## Work\n\n- e\n"),
        ("## Work\n<private>\n## A\n</private>\n", "## Work\n<private>\n## A\n</private>\n\n- e\n"),
        ("```\n## Work\n```\n", "```\n## Work\n```\n\n## Work\n\n- e\n"),
        ("Work\n----\n- a\n\nHome\n====\n", "Work\n----\n- a\n- e\n\nHome\n====\n"),
        ("---\n# Work: x\n---\n", "---\n# Work: x\n---\n\n## Work\n\n- e\n"),
        ("## Work\n- 14:05 said\n  # Title\n  more\n", "## Work\n- 14:05 said\n  # Title\n  more\n- e\n"),
        ("## Working\n#Work\n", "## Working\n#Work\n\n## Work\n\n- e\n"),
        ("## Work\r\n- a\r\n\r\n## Home\r\n", "## Work\r\n- a\r\n- e\r\n\r\n## Home\r\n"),
    ],
)
def test_entry_goes_to_the_end_of_its_section(before: str, after: str) -> None:
    text, start, end = insert(before, "- e", "Work")
    assert text == after
    assert (start, end) == (after.split("\n").index("- e\r" if "\r" in after else "- e") + 1,) * 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "- e\n"),
        ("# Day\n", "# Day\n\n- e\n"),
        ("# Day\n\n- a\n\n## Work\n\n- b\n", "# Day\n\n- a\n- e\n\n## Work\n\n- b\n"),
        ("# Day\n\n## Work\n\n- b\n", "# Day\n\n- e\n\n## Work\n\n- b\n"),
        ("Day\n===\n## Work\n", "Day\n===\n\n- e\n\n## Work\n"),
        (
            "---\ntags: x\n---\n# Day\n\nprose\n\n# Next\n",
            "---\ntags: x\n---\n# Day\n\nprose\n\n- e\n\n# Next\n",
        ),
        ("prose\n\n# Work\n\n- b\n", "prose\n\n- e\n\n# Work\n\n- b\n"),
        ("## Work\n\n- b\n", "- e\n\n## Work\n\n- b\n"),
        ("# Day\r\n\r\n## Work\r\n", "# Day\r\n\r\n- e\r\n\r\n## Work\r\n"),
        ("# Day\n\n- a", "# Day\n\n- a\n- e\n"),
    ],
)
def test_an_entry_without_a_heading_stands_under_the_title_alone(before: str, after: str) -> None:
    text, start, end = insert(before, "- e")
    assert text == after
    assert (start, end) == (after.split("\n").index("- e\r" if "\r" in after else "- e") + 1,) * 2


@given(st.text(alphabet="a# \n\r-=`~\u2028", max_size=60), st.sampled_from(["Work", "a", None]))
def test_insertion_only_inserts(before: str, heading: str | None) -> None:
    text, start, end = insert(before, "- e1\n  e2", heading)
    assert Document.of(text).bare[start - 1 : end] == ["- e1", "  e2"]
    assert text.endswith(("\n", "\r"))
    rest = iter(text)
    assert all(character in rest for character in before)
    again, _, _ = insert(text, "- e3", heading)
    assert again.count("- e3") == 1
