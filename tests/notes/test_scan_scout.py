"""A look at the files from a process of its own: the same as one's own, and gone when it is dismissed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone")

# In a process without threads, as a program is when it sends one; the tests have some.
PROGRAM = """
import os, sys, time
from commonplace.notes import scan
sources = [scan.Source("memory", sys.argv[1], ("**/*.md",), ())]
own = scan.fingerprint(scan.look(sources))
"""


def run(folder: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + code, str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    for number in range(3000):  # more than a pipe holds
        (folder / f"a-note-with-a-long-name-{number:05}.md").write_text("x")
    return folder


def test_it_sees_what_one_sees_oneself(folder: Path) -> None:
    code = "sent = scan.send_scout(sources)\nheard = sent.hear()\nsent.dismiss()\nprint(heard == own, len(heard) > 70_000)"
    assert run(folder, code) == "True True\n"


@pytest.mark.parametrize("heard", ["", "sent.hear()\n"])
def test_one_that_is_dismissed_is_gone(folder: Path, heard: str) -> None:
    code = (
        f"sent = scan.send_scout(sources)\n{heard}sent.dismiss()\n"
        "try: os.waitpid(-1, os.WNOHANG); print('a process is left')\n"
        "except ChildProcessError: print('none')\n"
        "print(len(os.listdir('/proc/self/fd')) <= 4)\n"
    )
    assert run(folder, code) == "none\nTrue\n"


def test_what_was_printed_before_is_printed_once(folder: Path) -> None:
    code = "print('once', end='')\nsent = scan.send_scout(sources)\nsent.hear()\nsent.dismiss()"
    assert run(folder, code) == "once"


def test_one_that_fails_tells_nothing_and_says_nothing(folder: Path) -> None:
    code = "scan.look = None\nsent = scan.send_scout(sources)\nprint(sent.hear())\nsent.dismiss()"
    assert run(folder, code) == "b''\n"


def test_where_no_process_can_be_had_there_is_none(folder: Path) -> None:
    code = (
        "def refuse(): raise BlockingIOError(11, 'no processes left')\n"
        "os.fork = refuse\nbefore = len(os.listdir('/proc/self/fd'))\n"
        "print(scan.send_scout(sources), len(os.listdir('/proc/self/fd')) == before)"
    )
    assert run(folder, code) == "None True\n"


def search(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, with a scout sent to however small a workspace."""
    code = (
        "from commonplace.cli import main, session\nfrom commonplace.notes import scan\n"
        "session.SCOUTED_BYTES, sent = 0, scan.send_scout\nimport sys\n"
        "def told(sources):\n    sys.stderr.write('scouted ')\n    return sent(sources)\n"
        "scan.send_scout, scan.can_scout = told, lambda: True\nmain.main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "-w", str(root), "search", "--lexical", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"COMMONPLACE_EMBEDDING_PROVIDER": "none"},
        timeout=60,
    )


def test_a_search_with_a_scout_is_as_fresh_as_one_without(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    note = tmp_path / "memory" / "a.md"
    note.write_text("the walnut desk\n")
    assert search(tmp_path, "walnut").returncode == 0  # makes the index: there is nothing to scout for yet
    for text, asked, code in [
        ("the walnut desk\n", "walnut", 0),  # nothing has changed
        ("a brass lamp\n", "walnut", 3),
        ("a brass lamp\n", "brass", 0),
    ]:
        if note.read_text() != text:
            note.write_text(text)
        done = search(tmp_path, asked)
        assert done.returncode == code, done.stderr
        assert done.stderr.startswith("scouted ")
        assert done.stdout.count("memory/a.md") == (code == 0)
    note.unlink()
    assert search(tmp_path, "brass").returncode == 3
    note.write_text("an oak shelf\n")
    assert search(tmp_path, "oak").stdout.count("oak shelf") == 1


def test_a_search_that_fails_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("the walnut desk\n")
    search(tmp_path, "walnut")
    done = search(tmp_path, "walnut", "-c", "nope")
    assert done.returncode == 1
    assert "scouted commonplace: error: unknown collection 'nope'" in done.stderr


def test_none_is_sent_where_a_search_is_not_to_look(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("the walnut desk\n")
    (tmp_path / "commonplace.toml").write_text("[index]\nsync_on_search = false\n")
    search(tmp_path, "walnut")
    assert search(tmp_path, "walnut").stderr.count("scouted") == 0
