"""Commands that bring a collection up to date: real programs, run in its folder, ended when they take too long."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from commonplace.config.settings import Collection
from commonplace.notes import updates

NAME = Path(sys.executable).name


def program(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_a_command_runs_in_the_folder_without_a_shell(tmp_path: Path) -> None:
    assert updates.run((*program("import sys; open(sys.argv[1], 'w')"), "$HOME; x"), str(tmp_path)) == ""
    assert [path.name for path in tmp_path.iterdir()] == ["$HOME; x"]


def test_what_went_wrong_is_told_in_one_line(tmp_path: Path) -> None:
    failing = program(
        "import sys; print('first\\nfatal: no such\\x1b[31m remote\\n', file=sys.stderr); sys.exit(3)"
    )
    told = updates.run(failing, str(tmp_path))
    assert told.startswith(f"{NAME} exited with 3: fatal: no such")
    assert told.isprintable()
    killed = updates.run(program("import os; os.kill(os.getpid(), 9)"), str(tmp_path))
    assert killed == f"{NAME} was ended by signal 9"
    assert "cannot be started" in updates.run(("no-such-program-here",), str(tmp_path))
    assert "cannot be started" in updates.run(program(""), str(tmp_path / "gone"))


def test_one_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    child = "import time, pathlib; time.sleep(1); pathlib.Path('late').touch()"
    parent = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    )
    assert updates.run(program(parent), str(tmp_path), 0.5) == f"{NAME} was ended after 0.5 s"
    time.sleep(1.2)
    assert not (tmp_path / "late").exists()


def test_of_much_that_it_says_the_end_is_told(tmp_path: Path) -> None:
    talks = (
        "import os, sys; [os.write(2, b'talk\\n' * 10_000) for _ in range(100)]; sys.exit('fatal: at last')"
    )
    assert updates.run(program(talks), str(tmp_path)) == f"{NAME} exited with 1: fatal: at last"


def test_a_daemon_that_it_leaves_is_not_waited_for(tmp_path: Path) -> None:
    daemon = "import time, pathlib; time.sleep(4); pathlib.Path('ended').touch()"
    leaves = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {daemon!r}], start_new_session=True);"
        "sys.exit('fatal: left one')"
    )
    assert updates.run(program(leaves), str(tmp_path)) == f"{NAME} exited with 1: fatal: left one"
    assert not (tmp_path / "ended").exists()


def test_every_collection_with_a_command_has_its_turn(tmp_path: Path) -> None:
    where = str(tmp_path)
    bad, good = program("raise SystemExit(1)"), program("open('done', 'w')")
    found = [Collection("a", where, update=bad), Collection("b", where), Collection("c", where, update=good)]
    assert updates.run_all(found) == [f"collection a: {NAME} exited with 1"]
    assert (tmp_path / "done").exists()
