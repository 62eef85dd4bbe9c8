"""The service that watches: what is started, put in place once, taken away without a trace, beside the nightly job."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import installing, jobs, launchd, service, systemd
from tests.upkeep.schedule.conftest import Programs
from tests.upkeep.schedule.test_starters import home as home
from tests.upkeep.schedule.test_starters import of_systemd, tree

PLATFORMS = {"systemd": "linux", "launchd": "darwin"}
both = pytest.mark.parametrize("by", list(PLATFORMS))


def test_what_is_started_is_the_watcher_of_this_workspace(workspace: paths.Workspace) -> None:
    job = jobs.watcher(workspace)
    assert job.name == f"{jobs.of(workspace).name}-watch"
    assert job.command[-3:] == ("-w", os.path.realpath(workspace.root), "watch")
    assert jobs.watcher(workspace, embed=False).command[-2:] == ("watch", "--no-embed")
    unit = systemd.watch_unit(job)
    [command] = [of_systemd(line, dollar=True) for line in unit.splitlines() if line.startswith("ExecStart=")]
    told = plistlib.loads(launchd.watch_list(job))
    assert tuple(command) == tuple(told["ProgramArguments"]) == job.command
    assert "commonplace watch --uninstall" in unit
    assert "Restart=on-failure" in unit
    assert told["KeepAlive"] == {"SuccessfulExit": False}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd")
def test_systemd_takes_the_unit(workspace: paths.Workspace, tmp_path: Path) -> None:
    job = jobs.watcher(workspace)
    (tmp_path / f"{job.name}.service").write_text(systemd.watch_unit(job))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", tmp_path / f"{job.name}.service"],
        capture_output=True, text=True, check=False, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert job.name not in done.stderr


@both
def test_files_and_folders_are_as_they_were(
    programs: Programs, workspace: paths.Workspace, home: Path, by: str
) -> None:
    programs("systemctl", "launchctl")
    paths.signing_key()  # which stays
    before = tree(home)
    done = service.install(workspace, platform=PLATFORMS[by])
    assert (done.by, done.running) == (by, True)
    assert service.status(workspace) == done
    once = tree(home)
    assert service.install(workspace, platform=PLATFORMS[by]) == done
    assert tree(home) == once
    service.install(workspace, embed=False, platform=PLATFORMS[by])
    assert tree(home).keys() == once.keys()
    assert tree(home) != once
    assert service.remove(workspace) == [by]
    assert tree(home) == before
    assert service.remove(workspace) == []
    assert service.status(workspace).by == ""


@both
@pytest.mark.parametrize("first", ["night", "watcher"])
def test_it_and_the_nightly_job_leave_each_other_alone(
    programs: Programs, workspace: paths.Workspace, home: Path, by: str, first: str
) -> None:
    programs("systemctl", "launchctl")
    paths.signing_key()
    before, derived = tree(home), tree(workspace.root)
    installing.install(workspace, by=by)
    service.install(workspace, platform=PLATFORMS[by])
    if first == "night":
        installing.remove(workspace)
        assert service.status(workspace).by == by
        service.remove(workspace)
    else:
        service.remove(workspace)
        assert list(installing._standing(workspace)) == [by]
        installing.remove(workspace)
    assert tree(home) == before
    assert not (workspace.derived / "schedule.json").exists()
    assert derived.keys() <= tree(workspace.root).keys()


@both
def test_what_is_refused_leaves_nothing(
    programs: Programs, workspace: paths.Workspace, home: Path, by: str
) -> None:
    state = programs("systemctl", "launchctl")
    paths.signing_key()
    before = tree(home)
    (state / "refuses").touch()
    with pytest.raises(ConfigError, match=by):
        service.install(workspace, platform=PLATFORMS[by])
    assert tree(home) == before


@pytest.mark.parametrize("names", [(), ("systemctl",)])
def test_without_systemd_the_line_says_what_to_do(
    programs: Programs, workspace: paths.Workspace, home: Path, names: tuple[str, ...]
) -> None:
    (programs(*names) / "broken").touch()
    before = tree(home)
    with pytest.raises(
        ConfigError, match=r"no service of yours can be made here \(.*\); let whatever starts"
    ) as caught:
        service.install(workspace, platform="linux")
    assert "a search looks at the files itself" in str(caught.value)
    assert tree(home) == before
