"""What starts this program by itself: there and running, its program gone, stopped, its workspace gone."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.diagnosis import schedule
from commonplace.diagnosis.examination import present
from commonplace.upkeep.schedule import due, installing, jobs, service
from tests.diagnosis.conftest import by_check, states
from tests.upkeep.schedule.conftest import Programs
from tests.upkeep.schedule.conftest import programs as programs
from tests.upkeep.schedule.conftest import workspace as workspace

PLATFORMS = {"systemd": "linux", "launchd": "darwin", "cron": "linux"}


def examined(workspace: Workspace) -> dict[str, str]:
    case = present(str(workspace.root))
    return states([*schedule.started(case), *schedule.strays(case)])


@pytest.mark.parametrize("by", list(PLATFORMS))
def test_what_is_in_place_runs_or_is_named(
    programs: Programs,
    workspace: Workspace,
    private_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    state = programs("systemctl", "launchctl", "crontab")
    nobody = examined(workspace)
    assert nobody == {"schedule.night": "ok", "schedule.watcher": "ok"}
    case = present(str(workspace.root))
    installing.install(workspace, by=by)
    assert by_check(schedule.started(case))["schedule.night"].told.endswith(" is in place")
    watches = by != "cron"
    if watches:
        service.install(workspace, platform=PLATFORMS[by])
        assert by_check(schedule.started(case))["schedule.watcher"].told.endswith(" is in place")
        (state / "broken").touch()
        found = by_check(schedule.started(case))
        assert found["schedule.watcher"].state == found["schedule.night"].state == "wrong"
        assert "ctl" in found["schedule.night"].told
        assert found["schedule.watcher"].remedy.endswith(
            "put it in place again: `commonplace watch --install`"
        )
        (state / "broken").rename(state / "failed")
        assert states(schedule.started(case))["schedule.watcher"] == ("wrong" if by == "systemd" else "ok")
        (state / "failed").unlink()
    with Memory.open(workspace.root) as memory:
        due.note_run(memory, datetime.now().astimezone(), "the model did not answer", failed=True)
    assert "the model did not answer" in by_check(schedule.started(case))["schedule.last"].told

    moved = ("/nowhere/bin/python", *jobs.of(workspace).command[1:])
    with monkeypatch.context() as patch:
        patch.setattr(jobs.installation, "python", lambda *words: [*moved[:4], *words[2:]])
        installing.install(workspace, by=by)
    found = by_check(schedule.started(case))
    assert found["schedule.night"].state == "wrong"
    assert "starts /nowhere/bin/python, which is gone" in found["schedule.night"].told
    assert found["schedule.night"].remedy == "put it in place again: `commonplace schedule install`"

    kept = workspace.root.with_name("moved")
    workspace.root.rename(kept)
    told = list(schedule.strays(present(str(kept))))
    assert len(told) == 1 + watches
    assert all(paths.shown(workspace.root) in one.told and one.state == "warning" for one in told)
    assert all(one.remedy for one in told)
    shutil.rmtree(kept)
