"""`schedule`: what the system would start, printed or written, and how the last one went."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.upkeep.schedule import due
from tests.cli.conftest import Run


def test_it_is_printed_and_nothing_is_written(
    run: Run, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    done = run("schedule", "print", "--with", "systemd", "--at", "4:05")
    assert done.exit_code == 0
    assert f'"-w" "{workspace}" "consolidate" "--if-due"' in done.stdout
    assert "systemctl --user daemon-reload" in done.stdout
    assert not list((tmp_path / "config").rglob("*.timer"))
    assert "OnCalendar=*-*-* 04:05:00" in done.stdout
    assert "crontab -" in run("schedule", "print", "--with", "cron").stdout
    assert '"watch"' in run("schedule", "print", "--with", "systemd", "--watch").stdout


def test_it_is_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    done = run("schedule", "print", "--with", "systemd", "--write")
    files = {path.suffix for path in (tmp_path / "config" / "systemd" / "user").iterdir()}
    assert (done.exit_code, files) == (0, {".service", ".timer"})
    assert "# to start it:" in done.stdout


def test_how_the_last_one_went(run: Run, workspace: Path) -> None:
    assert run("schedule", "status").output == "last      never\ndue       yes\n"
    with Memory.open(workspace) as memory:
        now = datetime.now().astimezone()
        due.note_run(memory, now, "2 added")
    assert run("schedule", "status").output == f"last      {now:%Y-%m-%d %H:%M}: 2 added\ndue       no\n"
    told = json.loads(run("schedule", "status", "--format", "json").output)
    assert (told["result"], told["due"]) == ("2 added", False)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("schedule print --at noon", "write it as 03:30"),
        ("schedule print --watch --at 4:00", "--at and --watch exclude each other"),
    ],
)
def test_what_cannot_be_is_an_error_with_the_remedy(run: Run, typed: str, told: str) -> None:
    done = run(*typed.split())
    assert done.exit_code in (1, 2)
    assert told in done.stderr
