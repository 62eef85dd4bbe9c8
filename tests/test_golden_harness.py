"""The golden harness: two records of the same tree are the same, and a difference is reported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).parents[1]


def golden(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "COMMONPLACE_BENCH"}
    command = [sys.executable, TREE / "tools/golden.py", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_two_records_are_the_same_and_a_difference_is_seen(tmp_path: Path) -> None:
    for name in ("one", "other"):
        done = golden("record", tmp_path / name, "--own", "--only", "commands", "--match", "small-00[3-7]*")
        assert done.returncode == 0, done.stderr
    done = golden("compare", tmp_path / "one", tmp_path / "other")
    assert (done.returncode, done.stdout) == (0, "5 items of commands: 0 differ\n")

    item = tmp_path / "other/commands/small-006-remember.txt"
    item.write_text(item.read_text("utf-8").replace("Friday", "Sunday"), "utf-8")
    done = golden("compare", tmp_path / "one", tmp_path / "other")
    assert done.returncode == 1
    assert "=== commands/small-006-remember" in done.stdout
    assert "Sunday" in done.stdout

    signed = tmp_path / "signed.txt"
    signed.write_text("commands/small-006*  # meant\n", "utf-8")
    assert golden("compare", tmp_path / "one", tmp_path / "other", "--signed", signed).returncode == 0


def test_a_record_without_the_evaluation_data_is_asked_for(tmp_path: Path) -> None:
    """It would differ from one with it in hundreds of items."""
    for arguments in ((), ("--bench", tmp_path / "nowhere")):
        done = golden("record", tmp_path / "one", "--only", "index", *arguments)
        assert done.returncode == 2
        assert "set COMMONPLACE_BENCH to its folder" in done.stderr
        assert not (tmp_path / "one").exists()
