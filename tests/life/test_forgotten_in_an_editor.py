"""What is forgotten while `commonplace open` has its note open stays in no copy of ours; struck words are no facts."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import pytest

from tests.life.conftest import Owner
from tests.life.test_overwritten import everything

EDITOR = """
import subprocess, sys
from pathlib import Path
path = Path(sys.argv[-1])
text = path.read_text()
def run(*arguments):
    subprocess.run([sys.executable, "-m", "commonplace", *arguments], cwd={folder!r}, capture_output=True)
def forget():
    run("forget", "--person", "Zorvexqui", "--yes")
{steps}
"""
STEPS = {
    "not saved": "forget()",
    "saved before": "path.write_text(text + '- of the editor\\n'); forget()",
    "renamed before": "new = path.with_suffix('.swp'); new.write_text(text + '- x\\n'); new.replace(path); forget()",
    "an entry first": "run('remember', 'The lamp is lit.'); path.write_text(text); forget()",
    "an entry about the person": "run('remember', 'Zorvexqui called.'); path.write_text(text); forget()",
    "deleted before": "path.unlink(); forget()",
    "saved after": "forget(); path.write_text(text + '- of the editor\\n')",
    "renamed after": "forget(); new = path.with_suffix('.swp'); new.write_text(text); new.replace(path)",
    "an entry, then saved": "forget(); run('remember', 'The lamp is lit.'); path.write_text(text)",
}


@pytest.mark.parametrize("name", STEPS)
def test_no_copy_keeps_what_was_forgotten_while_an_editor_was_open(
    owner: Owner, tmp_path: Path, name: str
) -> None:
    day = f"memory/{datetime.now():%Y-%m-%d}.md"
    owner.note(day, "# A day\n\n- Zorvexqui hikes.\n- Rain.\n")
    with owner.memory() as memory:
        memory.sync()
        memory.remember("Tea.")
        memory.correct("Rain.", "Sun.")
    script = tmp_path / "editor.py"
    script.write_text(EDITOR.format(folder=str(owner.folder), steps=STEPS[name]))
    owner.environment["EDITOR"] = f"{sys.executable} {script}"
    owner.run("open", day)
    if "forget();" in STEPS[name]:  # the editor has brought the line back
        assert "Zorvexqui" in owner.read(day)
        owner.ok("forget", "--person", "Zorvexqui", "--yes")
    assert "Zorvexqui" not in everything(owner)
    owner.run("restore", "--discard", "--yes")
    owner.run("restore")
    assert "Zorvexqui" not in everything(owner)


HALVES = (
    "- ~~Mira lives in Porto~~ and works at Acme",
    "- Lin lives in ~~Porto~~ Faro since May",
    "The ferry to ~~Porto~~ Faro leaves at ten.",
    "- [ ] ask Bo ~~about Porto~~ about Faro",
    "> Rex, ~~of Porto~~, of Faro",
    "| from | to |\n|---|---|\n| ~~Porto~~ Faro | Lisbon |",
)
