"""The editor: the panel gives up the terminal and comes back."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.conftest import command, environment
from tests.panel.conftest import LONGEST_S, Person, Play

EDITOR = """import sys
from commonplace import Memory
with open(sys.argv[1]) as note:
    text = note.read()
if "Edited" in text:  # the second time an agent writes while the note is open
    with Memory.open({workspace!r}) as memory:
        memory.remember("The gate is green.", long_term=True, section="Tea")
with open(sys.argv[1], "w") as note:
    note.write(text + "- Edited by hand.\\n")
open({asked!r}, "w").write(repr(sys.argv[1:]))
"""


def test_without_a_terminal_of_its_own_no_editor_is_started(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.search("rain")
        await person.press("e")
        await person.until(lambda: "an editor needs a terminal" in person.message)

    play(scene)


def test_in_a_terminal_the_note_is_edited_and_what_an_agent_wrote_meanwhile_put_back(
    workspace: Path, tmp_path: Path
) -> None:
    program = tmp_path / "ed.py"
    program.write_text(EDITOR.format(asked=str(tmp_path / "asked"), workspace=str(workspace)))
    ours, theirs = pty.openpty()
    variables = environment(
        TERM="xterm-256color", COMMONPLACE_EMBEDDING_PROVIDER="none", COLUMNS="120", LINES="40",
        EDITOR=f"{sys.executable} {program}",
    )  # fmt: skip
    variables.pop("VISUAL", None)
    argv = command("-w", workspace, "tui")
    panel = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=variables)
    try:
        os.close(theirs)
        shown = _Screen(ours)
        shown.wait_for("search your memory")
        shown.type("\x1b[B")  # out of the field
        shown.wait_for("c correct")
        shown.type("3")
        shown.wait_for("No coffee")
        shown.type("e")
        shown.wait_for("MEMORY.md: 1 line added, 0 removed")
        shown.wait_for("Edited by hand.")
        shown.type("e")
        shown.wait_for("Put it back?")
        shown.wait_for("+- The gate is green.")
        shown.type("y")
        shown.wait_for("both changes stand")
        shown.type("q")
        shown.drain()
        assert panel.wait(LONGEST_S) == 0
    finally:
        panel.kill()
        panel.wait()
        os.close(ours)
    assert (tmp_path / "asked").read_text() == repr([str(workspace / "MEMORY.md")])
    text = (workspace / "MEMORY.md").read_text("utf-8")
    assert text.endswith("- Edited by hand.\n- Edited by hand.\n")
    assert "- The gate is green." in text


class _Screen:
    """What a program wrote to its terminal so far."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self._seen = terminal, b""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + LONGEST_S
        while text.encode() not in self._seen:
            assert time.monotonic() < end, self._seen[-2000:]
            if select.select([self._terminal], [], [], 0.1)[0]:
                self._seen += os.read(self._terminal, 65536)

    def drain(self) -> None:
        """Read until the program has closed the terminal."""
        try:
            while select.select([self._terminal], [], [], LONGEST_S)[0]:
                if not os.read(self._terminal, 65536):
                    return
        except OSError:
            return
