"""Programs of others: what they print is bounded, what they say is one line, and nothing of them survives its end."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from commonplace.providers import program


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_it_prints_is_returned_where_somebody_wants_it(tmp_path: Path) -> None:
    code = python("import os, sys; print(os.getcwd(), os.environ['NAME'], sys.stdin.read())")
    done = program.run(code, str(tmp_path), 30, most_bytes=1000, environ={**os.environ, "NAME": "x"})
    assert done == (f"{tmp_path.resolve()} x \n".encode(), "", False)
    assert program.run(code, str(tmp_path), 30, environ={**os.environ, "NAME": "x"}).printed == b""


def test_one_that_prints_too_much_is_ended_with_its_children(tmp_path: Path) -> None:
    code = python(
        "import subprocess, sys; child = subprocess.Popen(['sleep', '600']);"
        "open('child', 'w').write(str(child.pid)); [print('x' * 1000, flush=True) for _ in iter(int, 1)]"
    )
    done = program.run(code, str(tmp_path), 30, most_bytes=5000)
    assert done.is_cut
    assert len(done.printed) <= 5000
    end = time.monotonic() + 10
    while is_alive(int((tmp_path / "child").read_text())):
        assert time.monotonic() < end


def test_a_failure_is_one_line_without_secrets_and_controls(tmp_path: Path) -> None:
    says = "import sys; sys.exit('one\\nfatal: https://me:hunter2secret@example.com\\x1b[31m failed\\n\\n')"
    done = program.run(python(says), str(tmp_path), 30)
    assert done.failure.startswith("exited with 1: fatal: ")
    assert "hunter2secret" not in done.failure
    assert done.failure.isprintable()


def test_one_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    for command, folder in (
        (["no-such-program"], tmp_path),
        (python(""), tmp_path / "gone"),
        (["a\0b"], tmp_path),
    ):
        with pytest.raises(program.NotStarted, match=r"."):
            program.run(command, str(folder), 30)
