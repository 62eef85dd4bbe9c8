"""Several files of a client changed as one: all or none, whatever fails; who is killed leaves what a repeat mends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from commonplace.base.errors import NoteUnreadable
from commonplace.clients import files, installing
from commonplace.clients.table import ClientFolders
from tests.cli.conftest import environment
from tests.clients.test_installing import files_below, made
from tests.clients.test_installing import site as site

SETTINGS = '{"permissions": {"allow": []}, "model": "x"}\n'
SERVERS = '{\n  "oauthAccount": "yours"\n}'


def said(home: Path) -> dict[str, object]:
    """Every file and what it says; temporary files are none, and an empty folder says nothing."""
    found = {name: data for name, data in files_below(home).items() if data and not name.endswith(".tmp")}
    return {name: json.loads(data) if name.endswith(".json") else data for name, data in found.items()}


@pytest.fixture
def settings(site: ClientFolders) -> dict[str, bytes]:
    """A home with settings of somebody; what lies there."""
    (site.home / ".claude").mkdir()
    (site.home / ".claude.json").write_text(SERVERS)
    (site.home / ".claude" / "settings.json").write_text(SETTINGS)
    return files_below(site.home)


def test_a_file_that_cannot_be_made_leaves_the_others_as_they_were(
    site: ClientFolders, settings: dict[str, bytes]
) -> None:
    (site.home / ".claude" / "skills").write_text("a file in the place of a folder")
    before = files_below(site.home)
    with pytest.raises(NoteUnreadable, match=r"SKILL\.md: .*; all files are as they were$"):
        installing.carry_out(made(site), site.environ)
    assert files_below(site.home) == before
    (site.home / ".claude" / "skills").unlink()
    installing.carry_out(made(site), site.environ)
    installing.carry_out(made(site), site.environ, remove=True)
    assert files_below(site.home) == settings


def test_a_first_install_that_fails_leaves_no_file_and_no_folder(site: ClientFolders) -> None:
    before = files_below(site.home)
    with pytest.raises(NoteUnreadable, match=r"settings\.json: .*; all files are as they were$"):
        _with_a_small_disk(site, "install", 1000)
    assert files_below(site.home) == before


def test_a_full_disk_leaves_an_older_install_as_it_was(site: ClientFolders, settings: dict[str, bytes]) -> None:
    installing.carry_out(made(site, program="/opt/old/commonplace"), site.environ)
    before = files_below(site.home)
    with pytest.raises(NoteUnreadable, match=r"SKILL\.md: .*; all files are as they were$"):
        _with_a_small_disk(site, "install", 1500)
    assert files_below(site.home) == before
    installing.carry_out(made(site), site.environ, remove=True)
    assert files_below(site.home) == settings


def test_an_uninstall_that_fails_takes_nothing_out(site: ClientFolders, settings: dict[str, bytes]) -> None:
    padded = json.dumps({"padding": "x" * 40_000})
    (site.home / ".claude.json").write_text(padded)
    installing.carry_out(made(site), site.environ)
    before = files_below(site.home)
    with pytest.raises(NoteUnreadable, match=r"\.claude\.json: .*; all files are as they were$"):
        _with_a_small_disk(site, "uninstall", 30_000)
    assert files_below(site.home) == before
    installing.carry_out(made(site), site.environ, remove=True)
    assert (site.home / ".claude.json").read_text() == padded


def _with_a_small_disk(site: ClientFolders, what: str, size: int) -> None:
    """Change the files in a process that can write no file above a size; raise what it raised."""
    code = (
        "import resource, signal, sys; from pathlib import Path; "
        "from commonplace.base.errors import NoteUnreadable; "
        "from tests.clients import test_halfway; "
        f"test_halfway.carry_out({what!r}, Path({str(site.home)!r}), Path({str(site.project)!r}), {size})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), timeout=60)
    assert done.returncode == 3, done.stderr.decode()
    path, _, reason = done.stdout.decode().partition("\n")
    raise NoteUnreadable(path, reason)


def carry_out(what: str, home: Path, project: Path, size: int) -> None:
    """Run in a child: its files have a largest size. What fails is printed."""
    import resource

    place = installing.site({"HOME": str(home), "USERPROFILE": str(home), "PATH": ""}, project)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    steps = made(place)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        installing.carry_out(steps, place.environ, remove=what == "uninstall")
    except NoteUnreadable as error:
        print(f"{error.path}\n{error.reason}", flush=True)
        os._exit(3)


def test_what_somebody_changes_meanwhile_is_not_given_back_and_is_named(
    site: ClientFolders, settings: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (site.home / ".claude" / "skills").write_text("a file in the place of a folder")
    real = files.restore

    def late(edit: files.Edit, environ: Mapping[str, str], done: files.Done) -> bool:
        if edit.path.name == ".claude.json":
            edit.path.write_text(edit.path.read_text().replace("yours", "theirs"))
        return real(edit, environ, done)

    monkeypatch.setattr(files, "restore", late)
    with pytest.raises(NoteUnreadable, match=r"\.claude\.json could not be given back; call this again"):
        installing.carry_out(made(site), site.environ)
    assert "theirs" in (site.home / ".claude.json").read_text()
    assert (site.home / ".claude" / "settings.json").read_text() == SETTINGS
    installing.carry_out(made(site), site.environ, remove=True)
    assert (site.home / ".claude.json").read_text() == SERVERS.replace("yours", "theirs")


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.clients.test_halfway import files_below, installing, made, said
home, project, what, repeat, stride = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5], int(sys.argv[5])
place = installing.site({"HOME": str(home), "USERPROFILE": str(home), "PATH": ""}, project)
old, new = made(place, program="/opt/old/commonplace"), made(place)
before, left = said(home), 0
os.fsync = lambda descriptor: None  # a kill cuts no power

def die():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def fatal(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        die()
        done = real(*arguments, **named)
        die()
        return done
    setattr(os, name, call)

for name in ("replace", "rename", "link", "unlink", "mkdir", "rmdir"):
    fatal(name)
for step in range(1, 400, stride):
    if what != "install":
        installing.carry_out(old, place.environ)
    child = os.fork()
    if not child:
        left = step
        installing.carry_out(new, place.environ, remove=what == "uninstall")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if repeat == "install":
        installing.carry_out(new, place.environ)
        assert b"/opt/bin/commonplace" in files_below(home)[".claude/settings.json"], step
    installing.carry_out(new, place.environ, remove=True)
    assert said(home) == before, (step, files_below(home))
    if not os.WIFSIGNALED(status):
        assert status == 0, step
        break
else:
    raise AssertionError("it never ended")
print(step)
"""


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("repeat", ["install", "uninstall"])
@pytest.mark.parametrize("what", ["install", "upgrade", "uninstall"])
def test_who_is_killed_at_any_step_leaves_what_a_repeat_mends(
    site: ClientFolders, settings: dict[str, bytes], what: str, repeat: str, stride: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(site.home), str(site.project), what, repeat, str(stride)],
        capture_output=True, env=environment(), timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > stride
