"""Who starts a job at night: what they are told, put in place once, taken away without a trace."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import cron, installing, jobs, launchd, systemd
from commonplace.upkeep.schedule.jobs import Job
from tests.upkeep.schedule.conftest import Programs

GOLDEN = Path(__file__).parents[2] / "golden" / "schedule"
PLAIN = Job(
    "commonplace-a1b2c3d4e5f6", "/home/you/notes", "03:30",
    ("/usr/bin/python3", "-P", "-m", "commonplace", "-w", "/home/you/notes", "consolidate", "--if-due"),
    (("PATH", "/usr/bin:/bin"),),
)  # fmt: skip
CODE = """import json, os, sys
with open({out!r}, "w") as file:
    json.dump([sys.argv[1:], os.getcwd(), {{k: os.environ.get(k, "") for k in ("PATH", "XDG_CACHE_HOME")}}], file)
print("told", "sk-")
"""


@pytest.fixture
def home(private_home: Path) -> Path:
    return private_home


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below one."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


# --- what they are told ---------------------------------------------------------------------------------


def test_what_is_written_is_as_it_was() -> None:
    told = {
        "service": systemd.service_unit(PLAIN), "timer": systemd.timer_unit(PLAIN),
        "plist": launchd.property_list(PLAIN).decode(), "crontab": cron.marked(PLAIN).decode(),
    }  # fmt: skip
    assert told == {name: (GOLDEN / f"notes.{name}").read_text("utf-8") for name in told}


def test_a_job_has_one_name_for_one_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to("notes")
    names = {jobs.of(paths.Workspace(tmp_path / name)).name for name in ("notes", "link", "notes/../notes")}
    assert len(names) == 1
    assert jobs.of(paths.Workspace(tmp_path)).name not in names


@pytest.mark.parametrize("at", ["", "24:00", "3", "03:60", "3:30 * * *", "03:30\n"])
def test_what_is_no_time_is_refused(tmp_path: Path, at: str) -> None:
    with pytest.raises(ConfigError, match="time of day"):
        jobs.of(paths.Workspace(tmp_path), at)


def test_what_no_schedule_can_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no schedule can name"):
        jobs.of(paths.Workspace(tmp_path / "a\nb"))


def test_no_secret_of_the_environment_is_carried(workspace: paths.Workspace) -> None:
    secret = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
    job = jobs.of(
        workspace, environ={"OPENAI_API_KEY": secret, "COMMONPLACE_LLM_API_KEY": secret, "PATH": "/bin"}
    )
    told = systemd.service_unit(job) + cron.line(job) + launchd.property_list(job).decode()
    assert secret not in told
    assert "/bin" in told


# --- what they start ------------------------------------------------------------------------------------


@pytest.fixture
def recorded(workspace: paths.Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Job, Path]:
    """A job whose program writes down how it was started, in place of ours."""
    package = tmp_path / "package" / "commonplace"
    package.mkdir(parents=True)
    out = tmp_path / "started.json"
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(CODE.format(out=str(out)))
    (workspace.root / "commonplace.py").write_text("raise SystemExit('code from a folder of notes')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "package"))
    monkeypatch.setenv("PATH", "/opt/of my own %/bin:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", "/tmp/a 'cache' $x")
    return jobs.of(workspace), out


def check(job: Job, out: Path, folder: str | None = None) -> None:
    import json

    arguments, where, environ = json.loads(out.read_text())
    assert arguments == ["-w", job.root, "consolidate", "--if-due"]
    assert folder is None or where == folder
    assert environ == {"PATH": "/opt/of my own %/bin:/usr/bin:/bin", "XDG_CACHE_HOME": "/tmp/a 'cache' $x"}
    out.unlink()


def of_cron(line: str, *, both: bool) -> str:
    """The command of a line as cron reads it; of two backslashes some keep one."""
    command = line.split(" ", 5)[5]
    if both:
        return re.sub(r"\\([\\%])", r"\1", command)
    assert not re.search(r"(?<!\\)%", command)
    return command.replace("\\%", "%")


@pytest.mark.parametrize("both", [True, False])
def test_the_line_of_cron_runs(recorded: tuple[Job, Path], both: bool) -> None:
    job, out = recorded
    command = of_cron(cron.line(job), both=both)
    done = subprocess.run(["/bin/sh", "-c", command], env={}, cwd="/", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    check(job, out, job.root)
    assert (Path(job.root) / ".commonplace" / jobs.LOG).read_text() == "told sk-\n"


def test_the_agent_of_launchd_runs(recorded: tuple[Job, Path]) -> None:
    job, out = recorded
    told = plistlib.loads(launchd.property_list(job))
    subprocess.run(told["ProgramArguments"], env={}, cwd="/", check=True)
    subprocess.run(told["ProgramArguments"], env={}, cwd="/", check=True)
    check(job, out, job.root)
    assert (Path(job.root) / ".commonplace" / jobs.LOG).read_text() == "told sk-\n"  # of the last night alone


def test_the_service_of_systemd_runs(recorded: tuple[Job, Path]) -> None:
    job, out = recorded
    unit = systemd.service_unit(job)
    [command] = [of_systemd(line, dollar=True) for line in unit.splitlines() if line.startswith("ExecStart=")]
    environ = [of_systemd(line)[0] for line in unit.splitlines() if line.startswith("Environment=")]
    subprocess.run(command, env=dict(pair.split("=", 1) for pair in environ), cwd=job.root, check=True)
    check(job, out)


def of_systemd(line: str, *, dollar: bool = False) -> list[str]:
    """The words of a setting as systemd reads them: quotes, backslashes, specifiers, variables."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line.partition("=")[2])
    words = [re.sub(r"\\(.)", r"\1", word) for word in words]
    assert all("%" not in word.replace("%%", "") for word in words)
    words = [word.replace("%%", "%") for word in words]
    if dollar:
        assert all("$" not in word.replace("$$", "") for word in words)
        words = [word.replace("$$", "$") for word in words]
    return words


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd")
def test_systemd_takes_the_units(workspace: paths.Workspace, tmp_path: Path) -> None:
    job = jobs.of(workspace)
    (tmp_path / f"{job.name}.service").write_text(systemd.service_unit(job))
    (tmp_path / f"{job.name}.timer").write_text(systemd.timer_unit(job))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", tmp_path / f"{job.name}.timer"],
        capture_output=True, text=True, check=False, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert job.name not in done.stderr


# --- put in place, and taken away -----------------------------------------------------------------------

OLD = [b"", b"MAILTO=me\n5 4 * * * true\n", b"# only a remark", b"0 0 * * * a \\% b\r\n\n\n"]


@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize("lenient", [True, False])
def test_a_crontab_is_as_it_was(
    programs: Programs, workspace: paths.Workspace, old: bytes, lenient: bool
) -> None:
    state = programs("crontab")
    crontab = state / "crontab"
    if old:
        crontab.write_bytes(old)
    if lenient:  # takes a last line that has no end
        (state / "lenient").touch()
    assert installing.install(workspace, "04:05", platform="linux").by == "cron"
    once = crontab.read_bytes()
    assert installing.install(workspace, platform="linux").job.at == "04:05"
    assert crontab.read_bytes() == once
    installing.install(workspace, "23:59", platform="linux")
    changed = crontab.read_bytes()
    assert changed.count(b"consolidate --if-due") == 1
    assert b"\n59 23 * * * " in changed
    assert changed.startswith(old)
    assert installing.remove(workspace) == ["cron"]
    left = crontab.read_bytes() if crontab.exists() else b""
    assert left == (old + b"\n" if old == OLD[2] and not lenient else old)
    assert installing.remove(workspace) == []


def test_lines_added_behind_ours_stay_lines(programs: Programs, workspace: paths.Workspace) -> None:
    state = programs("crontab")
    (state / "crontab").write_bytes(OLD[2])
    installing.install(workspace, platform="linux")
    with open(state / "crontab", "ab") as file:
        file.write(b"5 4 * * * true\n")
    installing.remove(workspace)
    assert (state / "crontab").read_bytes() == OLD[2] + b"\n5 4 * * * true\n"


def test_two_workspaces_have_a_line_each(
    programs: Programs, workspace: paths.Workspace, tmp_path: Path
) -> None:
    state = programs("crontab")
    other = paths.Workspace(tmp_path)
    installing.install(workspace, "01:00", platform="linux")
    alone = (state / "crontab").read_bytes()
    installing.install(other, "02:00", platform="linux")
    assert (state / "crontab").read_text().count("--if-due") == 2
    installing.remove(other)
    assert (state / "crontab").read_bytes() == alone
    installing.remove(workspace)
    assert not (state / "crontab").exists()


def test_another_time_leaves_it_with_who_starts_it(
    programs: Programs, workspace: paths.Workspace, home: Path
) -> None:
    programs("crontab", "systemctl")
    installing.install(workspace, "04:00", "cron", platform="linux")
    done = installing.install(workspace, "05:00", platform="linux")
    assert (done.by, done.job.at) == ("cron", "05:00")
    assert installing.install(workspace, by="systemd", platform="linux").by == "systemd"
    assert installing.install(workspace, "06:00", platform="linux").by == "systemd"


def test_a_crontab_that_cannot_be_read_is_not_overwritten(
    programs: Programs, workspace: paths.Workspace
) -> None:
    state = programs("crontab")
    (state / "crontab").write_bytes(OLD[1])
    (state / "broken").touch()
    with pytest.raises(ConfigError, match=r"not allowed.*let whatever starts programs at night run"):
        installing.install(workspace, platform="linux")
    assert (state / "crontab").read_bytes() == OLD[1]


@pytest.mark.parametrize("by", ["systemd", "launchd"])
def test_files_and_folders_are_as_they_were(
    programs: Programs, workspace: paths.Workspace, home: Path, by: str
) -> None:
    programs("systemctl", "launchctl")
    paths.signing_key()  # which stays
    before = tree(home)
    installing.install(workspace, "04:05", by)
    once = tree(home)
    assert once != before
    installing.install(workspace, by=by)
    assert tree(home) == once
    installing.install(workspace, "05:06", by)
    assert tree(home).keys() == once.keys()
    assert tree(home) != once
    assert installing.remove(workspace) == [by]
    assert tree(home) == before


@pytest.mark.parametrize("by", ["systemd", "launchd"])
def test_folders_that_were_there_stay(
    programs: Programs, workspace: paths.Workspace, home: Path, by: str
) -> None:
    programs("systemctl", "launchctl")
    (home / "config" / "systemd" / "user").mkdir(parents=True)
    (home / "Library" / "LaunchAgents").mkdir(parents=True)
    before = tree(home)
    installing.install(workspace, by=by)
    installing.remove(workspace)
    assert tree(home) == before


def test_without_a_bus_cron_starts_it(programs: Programs, workspace: paths.Workspace, home: Path) -> None:
    state = programs("systemctl", "crontab")
    (state / "crontab").write_bytes(OLD[1])
    before = tree(home)
    real = (state.parent / "programs" / "systemctl").read_text()
    (state.parent / "programs" / "systemctl").write_text(real.replace('"$STATE/broken"', '"$STATE/calls"'))
    done = installing.install(workspace, platform="linux")
    assert done.by == "cron"
    assert "Failed to connect to bus" in done.passed_over[0]
    assert tree(home) == before


@pytest.mark.parametrize("by", ["systemd", "launchd"])
def test_what_is_refused_leaves_nothing(
    programs: Programs, workspace: paths.Workspace, home: Path, by: str
) -> None:
    state = programs("systemctl", "launchctl")
    paths.signing_key()  # which stays
    before = tree(home)
    (state / "refuses").touch()
    with pytest.raises(ConfigError, match=by):
        installing.install(workspace, by=by)
    assert tree(home) == before
    (state / "refuses").unlink()
    installing.install(workspace, "04:05", by)
    standing = tree(home)
    (state / "refuses").touch()
    with pytest.raises(ConfigError, match=by):
        installing.install(workspace, "05:06", by)
    assert tree(home) == standing


def test_another_starter_takes_the_place_of_the_first(
    programs: Programs, workspace: paths.Workspace, home: Path
) -> None:
    state = programs("systemctl", "crontab")
    installing.install(workspace, "04:05", "cron")
    done = installing.install(workspace, by="systemd", platform="linux")
    assert (done.by, done.job.at) == ("systemd", "04:05")
    assert not (state / "crontab").exists()
    assert "enable" in (state / "calls").read_text()


def test_where_nobody_can_start_it_the_remedy_is_told(programs: Programs, workspace: paths.Workspace) -> None:
    programs()
    with pytest.raises(
        ConfigError, match=r"there is no systemctl.*there is no crontab.*consolidate --if-due"
    ):
        installing.install(workspace, platform="linux")


def test_a_real_installation_starts_this_package(
    programs: Programs, workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(commonplace.__file__).parents[1]))
    job = jobs.of(workspace)
    told = jobs.script(job).replace("consolidate --if-due", "status")
    subprocess.run(["/bin/sh", "-c", told], env={"HOME": os.environ["HOME"]}, cwd="/", check=True)
    assert "notes" in (workspace.derived / jobs.LOG).read_text()
    assert sys.executable in told
