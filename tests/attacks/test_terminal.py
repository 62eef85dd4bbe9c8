"""Nothing that notes or models say is obeyed by a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.render import screen
from commonplace.search import pack
from commonplace.types import Hit

HOSTILE = "tea \x1b]0;owned\x07 \x1b[2J \x9b31m \x1b]8;;http://evil\x1b\\ here \x08 end"


def printed(folder: Path, *arguments: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COMMONPLACE_EMBEDDING_PROVIDER": "none"}
    command = [sys.executable, "-m", "commonplace", *arguments]
    done = subprocess.Popen(
        command, cwd=folder, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environ
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        said += data
    os.close(ours)
    done.wait()
    return said.decode("utf-8", "replace").replace("\r\n", "\n")


@pytest.mark.parametrize(
    "command", [["recall", "tea"], ["prompt", "tea"], ["search", "tea"], ["get", "MEMORY.md"]]
)
def test_notes_steer_no_terminal(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text(f"# Memory\n\n- Ann drinks {HOSTILE}\n")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
    said = printed(tmp_path, *command)
    assert "here" in said
    for sequence in ("\x1b]0;", "\x1b[2J", "\x9b", "\x07", "\x08", "\x1b]8;;http://evil"):
        assert sequence not in said


def test_a_block_holds_nothing_that_steers() -> None:
    hit = Hit("a.md", 1, 1, HOSTILE, 1.0, "T", (), None, "workspace", "abc")
    assert not {"\x1b", "\x07", "\x9b", "\x08"} & set(pack.framed([hit], HOSTILE))


def test_what_is_ours_stays() -> None:
    look = screen.Look(color=True, links=True)
    styled = look.link(look.style("a", "match"), "/a b.md", 3) + look.style("b", "dim")
    assert screen.guarded(styled) == styled
    assert screen.guarded(f"{styled}\x1b[2J\x1b]0;x\x07") == f"{styled}\ufffd[2J\ufffd]0;x\ufffd"
