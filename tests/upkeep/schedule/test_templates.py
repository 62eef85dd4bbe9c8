"""Files for systemd, launchd and cron: they start what they say from any path, and carry no key."""

from __future__ import annotations

import plistlib
import shlex
import subprocess
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.upkeep.schedule import templates
from commonplace.upkeep.schedule.templates import Job

NAMES = ["plain", "two words", "it's $HOME", 'a "b"', "100% 茶", "back\\slash"]


@pytest.fixture(params=NAMES)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    (tmp_path / request.param).mkdir()
    return Workspace(tmp_path / request.param)


def job(workspace: Workspace) -> Job:
    environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret", "COMMONPLACE_LLM_KEY": "sk-secret"}
    return templates.nightly(workspace, "4:05", environ)


def unquoted(line: str) -> list[str]:
    """The words of a value as systemd reads them, in which these characters mean themselves doubled."""
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line)]


def test_the_units_of_systemd(workspace: Workspace) -> None:
    made = job(workspace)
    setup = templates.setup(made, "systemd")
    service, timer = setup.files.values()
    (line,) = (line for line in service.splitlines() if line.startswith("ExecStart="))
    assert unquoted(line.removeprefix("ExecStart=")) == list(made.command)
    assert "OnCalendar=*-*-* 04:05:00\nPersistent=true\n" in timer
    assert f"enable --now {made.name}.timer" in setup.start
    assert "secret" not in f"{service}{timer}"
    (watching,) = templates.setup(templates.watcher(workspace), "systemd").files.values()
    assert "Restart=on-failure" in watching
    assert '"watch"' in watching


def test_the_list_of_launchd(workspace: Workspace) -> None:
    (text,) = templates.setup(job(workspace), "launchd").files.values()
    told = plistlib.loads(text.encode())
    assert told["StartCalendarInterval"] == {"Hour": 4, "Minute": 5}
    assert told["ProgramArguments"][-1] == templates.script(job(workspace))
    (text,) = templates.setup(templates.watcher(workspace), "launchd").files.values()
    assert plistlib.loads(text.encode())["ProgramArguments"][-1] == "watch"


def test_the_line_of_cron_runs_in_the_workspace(workspace: Workspace) -> None:
    """Cron hands the line to a shell with its percent signs unescaped; the program here is `pwd`."""
    made = Job("commonplace-x", str(workspace.root), "04:05", ("pwd",), (("PATH", "/usr/bin:/bin"),))
    line = templates.cron_line(made)
    assert line.startswith("5 4 * * * /bin/sh -c ")
    command = line.split(" ", 5)[5].replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", command], check=True, cwd="/")
    assert (workspace.state / templates.LOG).read_text() == f"{workspace.root}\n"


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="write it as 03:30"):
        templates.nightly(Workspace(tmp_path), "noon")
    with pytest.raises(ConfigError, match="cron keeps nothing running"):
        templates.setup(templates.watcher(Workspace(tmp_path)), "cron")
    (tmp_path / "a\nb").mkdir()
    with pytest.raises(ConfigError, match="holds characters that no schedule can name"):
        templates.nightly(Workspace(tmp_path / "a\nb"))
