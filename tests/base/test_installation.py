"""What is printed to install something: the command that works in this environment, whoever made it."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from commonplace import Memory
from commonplace.base import errors, installation, paths
from commonplace.notes import layout

CLONE = Path(__file__).parents[2]
NEED = "fastembed>=0.6,<1"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment in a folder whose name the shell takes apart, with pip."""
    prefix = tmp_path / "my tools; echo"
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    having(monkeypatch, "pip", "ensurepip")
    return prefix


def having(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in modules else None)


def test_what_extras_ask_for_is_what_the_project_declares() -> None:
    declared = tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))["project"]
    assert declared["name"] == installation.DISTRIBUTION
    for extra, needed in declared["optional-dependencies"].items():
        assert sorted(installation.requirements(extra)) == sorted(needed)
    assert installation.requirements("nothing") == []
    assert installation.add_extra("nothing") == ""


def test_pip_of_this_environment(environment: Path) -> None:
    python = str(environment / "bin" / "python")
    assert shlex.split(installation.add([NEED])) == [python, "-m", "pip", "install", NEED]
    assert shlex.split(installation.add([NEED], again=True))[4:] == ["--force-reinstall", NEED]


def test_uv_where_pip_is_missing(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, "ensurepip")
    python = str(environment / "bin" / "python")
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.9.1\n")
    assert shlex.split(installation.add([NEED])) == ["uv", "pip", "install", "--python", python, NEED]
    assert shlex.split(installation.add([NEED], again=True))[5:] == ["--reinstall", NEED]
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")  # python -m venv --without-pip
    brought, _, installed = installation.add([NEED]).partition(" && ")
    assert shlex.split(brought) == [python, "-m", "ensurepip"]
    assert shlex.split(installed) == [python, "-m", "pip", "install", NEED]
    having(monkeypatch)
    assert installation.add([NEED]).startswith("uv pip install")


def test_pipx_keeps_what_is_injected(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (environment / "pipx_metadata.json").write_text("{}")
    assert shlex.split(installation.add([NEED])) == ["pipx", "inject", environment.name, NEED]
    assert shlex.split(installation.reinstall()) == ["pipx", "reinstall", environment.name]


def test_installed_again_from_where_it_came(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shlex.split(installation.reinstall())[-2:] == ["-e", str(CLONE)]
    monkeypatch.setattr(installation, "checkout", lambda: None)
    git = '{"url": "https://example.org/c.git", "vcs_info": {"vcs": "git"}}'
    for direct, source in (
        (git, "git+https://example.org/c.git"),
        ('{"url": "file:///c.whl"}', "file:///c.whl"),
        ("", installation.DISTRIBUTION),
        ("no JSON", installation.DISTRIBUTION),
    ):
        noted = SimpleNamespace(read_text=lambda name, direct=direct: direct)
        monkeypatch.setattr(metadata, "distribution", lambda name, noted=noted: noted)
        assert shlex.split(installation.reinstall())[-1] == source


def test_what_somebody_types_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for clone, on_path, typed in (
        (None, None, "commonplace"),
        (tmp_path, "/bin/commonplace", "commonplace"),
        (tmp_path / "a b", None, f"'{tmp_path}/a b/run'"),
    ):
        monkeypatch.setattr(installation, "checkout", lambda clone=clone: clone)
        monkeypatch.setattr(shutil, "which", lambda name, found=on_path: found)
        assert installation.typed() == typed


def test_what_is_printed_is_understood_by_the_installer_of_this_environment() -> None:
    command = shlex.split(installation.add(["click>=8.1"]))  # which is there: nothing is fetched
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} made this environment and is not on PATH any more")
    command.insert(command.index("install") + 1, "--no-deps")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# --- no workspace in the clone --------------------------------------------------------------------------


def test_no_workspace_is_made_in_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.checkout() == CLONE
    link = tmp_path / "link"
    link.symlink_to(CLONE / "tests")
    for folder in (CLONE, CLONE / "src", CLONE / "not-there", link):
        with pytest.raises(
            errors.ConfigError, match="in the clone of commonplace itself; name a folder outside"
        ):
            layout.init(folder)
    for named in (CLONE, CLONE / "src", link):
        with pytest.raises(errors.ConfigError, match="in the clone of commonplace itself"):
            Memory.open(named)
    monkeypatch.setenv(paths.WORKSPACE_VARIABLE, str(CLONE))
    with pytest.raises(errors.ConfigError, match="in the clone of commonplace itself"):
        Memory.open()
    beside = tmp_path / "beside"
    assert layout.init(beside)


def test_a_workspace_that_stands_in_the_clone_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout.init(tmp_path)
    monkeypatch.setattr(installation, "checkout", lambda: tmp_path)
    Memory.open(tmp_path).close()
    (tmp_path / "new").mkdir()
    with pytest.raises(errors.ConfigError):
        Memory.open(tmp_path / "new")


@pytest.mark.parametrize("declared", [None, '[project]\nname = "another"\n'])
def test_a_package_that_lies_elsewhere_has_no_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str | None
) -> None:
    package = tmp_path / "src" / "commonplace"
    package.mkdir(parents=True)
    if declared:
        (tmp_path / "pyproject.toml").write_text(declared)
    monkeypatch.setattr(installation, "__file__", str(package / "installation.py"))
    assert installation.checkout() is None
    monkeypatch.setattr(installation, "__file__", str(tmp_path / "site-packages" / "commonplace" / "x.py"))
    assert installation.checkout() is None
