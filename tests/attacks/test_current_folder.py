"""A folder with modules of somebody else: whatever is started there imports none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace.base import installation, paths
from commonplace.upkeep.schedule import templates

SOURCE = Path(commonplace.__file__).parents[1]
MODULES = (
    "json", "logging", "apsw", "sitecustomize", "usercustomize", "socket", "tomlkit", "uvicorn", "numpy",
    "multiprocessing/__init__", "commonplace/__init__", "commonplace/__main__", "yaml/__init__",
)  # fmt: skip
COMMANDS = (["remember", "The kettle is blue."], ["search", "kettle"], ["doctor"])


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def hostile(tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose modules write down that they were imported; this process is in it."""
    folder = tmp_path / "hostile"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n")
    for name in MODULES:
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(canary)!r}, 'a').write(__name__ + chr(10))\nraise SystemExit(9)\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    return folder


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # What the installed program does: its first folder is that of the program, not the current one.
    return subprocess.run(
        [sys.executable, "-P", "-m", "commonplace", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_no_command_imports_from_the_current_folder(hostile: Path, canary: Path) -> None:
    for arguments in COMMANDS:
        done = start(hostile, *arguments)
        assert not canary.exists(), (arguments, canary.read_text())
        assert done.returncode in (0, 1, 3), (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_server_in_the_background_imports_nothing_from_there(hostile: Path, canary: Path) -> None:
    try:
        begun = start(hostile, "serve", "--daemon", "--port", "0")
        assert not canary.exists(), canary.read_text()
        assert begun.returncode == 0, begun.stderr
        assert start(hostile, "serve", "status").stdout.splitlines()[0].endswith("answers")
    finally:
        start(hostile, "serve", "stop")
    assert not canary.exists()


def test_a_server_in_the_background_finds_what_relative_settings_name(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile / "token").write_text("0123456789abcdef-relative\n")
    monkeypatch.setenv("COMMONPLACE_SERVER_TOKEN_FILE", "token")
    monkeypatch.setenv("PYTHONPATH", os.path.relpath(SOURCE, hostile))
    try:
        begun = start(hostile, "serve", "--daemon", "--port", "0")
        assert begun.returncode == 0, begun.stderr
    finally:
        start(hostile, "serve", "stop")


def test_what_is_started_at_night_imports_nothing_from_there(
    hostile: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "PYTHONPATH", f"{os.pathsep}{SOURCE}{os.pathsep}"
    )  # empty: the folder it is started in
    job = templates.nightly(paths.Workspace(hostile))
    assert dict(job.environment)["PYTHONPATH"] == str(SOURCE)
    line = templates.script(job).replace("consolidate --if-due", "status")
    subprocess.run(["/bin/sh", "-c", line], cwd=hostile, check=True, timeout=120)
    assert not canary.exists()


def test_the_path_of_modules_holds_no_place_that_moves(hostile: Path) -> None:
    kept = installation.environment({"PYTHONPATH": os.pathsep.join(["", "lib", "/opt/x", ""]), "A": "1"})
    assert kept == {"PYTHONPATH": os.pathsep.join([str(hostile / "lib"), "/opt/x"]), "A": "1"}
    assert installation.environment({"PYTHONPATH": os.pathsep}) == {}
