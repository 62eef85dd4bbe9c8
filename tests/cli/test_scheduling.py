"""`schedule`: put in place, shown, taken away."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.upkeep.schedule import due
from tests.cli.conftest import Run
from tests.upkeep.schedule.conftest import CRONTAB, SYSTEMCTL


@pytest.fixture
def crontab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing but cron starts programs at night."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "crontab").write_text(CRONTAB.replace("cat", "/bin/cat").replace("mv", "/bin/mv"))
    (folder / "crontab").chmod(0o755)
    for tool in ("rm", "tail"):
        place = next(found for found in (Path("/bin", tool), Path("/usr/bin", tool)) if found.exists())
        (folder / tool).symlink_to(place)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("STATE", str(tmp_path))
    return tmp_path / "crontab"


def test_installed_shown_and_removed(run: Run, crontab: Path, workspace: Path) -> None:
    shown = run("schedule", "status")
    assert shown.output == "scheduled no\nlast      never\ndue       yes\n"
    done = run("schedule", "install", "--at", "4:05")
    assert done.exit_code == 0
    assert "every night at 04:05, by cron (commonplace-" in done.output
    assert "there is no systemctl here" in done.output
    assert f"-w {workspace} consolidate --if-due" in crontab.read_text()
    told = json.loads(run("schedule", "status", "--format", "json").output)
    assert (told["by"], told["at"], told["due"]) == ("cron", "04:05", True)
    assert datetime.fromisoformat(told["next"]) > datetime.now().astimezone()
    assert run("schedule", "remove").output == "removed from cron\n"
    assert run("schedule", "remove").output == "nothing is scheduled\n"
    assert not crontab.exists()


def test_how_the_last_one_went(run: Run, crontab: Path, workspace: Path) -> None:
    with Memory.open(workspace) as memory:
        now = datetime.now().astimezone()
        due.note_run(memory, now, "2 added")
    shown = run("schedule", "status").output
    assert f"last      {now:%Y-%m-%d %H:%M}: 2 added\ndue       no\n" in shown


def test_a_dry_run_does_nothing(run: Run, crontab: Path, workspace: Path) -> None:
    told = run("schedule", "install", "--dry-run").output
    assert told.startswith(f"cd {workspace} && ")
    assert not crontab.exists()


def test_what_cannot_be_is_an_error_with_the_remedy(run: Run, crontab: Path) -> None:
    assert "write it as 03:30" in run("schedule", "install", "--at", "noon").output
    refused = run("schedule", "install", "--with", "systemd")
    assert "there is no systemctl here" in refused.output
    assert "consolidate --if-due" in refused.output
    assert not crontab.exists()


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with systemd for its users; returns the folder of their units."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL)
    (folder / "systemctl").chmod(0o755)
    for tool in ("mkdir", "ln", "rm", "rmdir"):
        place = next(found for found in (Path("/bin", tool), Path("/usr/bin", tool)) if found.exists())
        (folder / tool).symlink_to(place)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("STATE", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "systemd" / "user"


@pytest.mark.skipif(sys.platform == "darwin", reason="launchd starts services there")
def test_a_service_that_watches_is_put_in_place_shown_and_taken_away(
    run: Run, systemctl: Path, workspace: Path
) -> None:
    told = run("watch", "--install", "--dry-run").output
    assert f'"-w" "{workspace}" "watch"' in told
    assert not systemctl.exists()
    done = run("watch", "--install")
    assert (done.exit_code, done.output.partition("(")[0]) == (0, "watched by systemd ")
    [unit] = systemctl.glob("*.service")
    assert unit.read_text() == told
    assert "watched   by systemd, running\n" in run("schedule", "status").output
    assert json.loads(run("schedule", "status", "--format", "json").output)["watched_by"] == "systemd"
    assert run("watch", "--uninstall", "--dry-run").output == "would be removed from systemd\n"
    assert run("watch", "--uninstall").output == "removed from systemd\n"
    assert not systemctl.exists()
    assert run("watch", "--uninstall").output == "no service watches this workspace\n"


def test_without_systemd_a_service_is_one_clear_line(run: Run, crontab: Path) -> None:
    done = run("watch", "--install")
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert "no service of yours can be made here" in line


@pytest.mark.parametrize(
    "flags", [("--install", "--uninstall"), ("--dry-run",), ("--uninstall", "--no-embed")]
)
def test_flags_that_contradict_each_other_are_refused(run: Run, flags: tuple[str, ...]) -> None:
    assert run("watch", *flags).exit_code == 2
