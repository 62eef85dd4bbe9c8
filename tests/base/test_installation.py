"""What is printed to install something: the command that works in this environment, whoever made it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from commonplace.base import installation

CLONE = Path(__file__).parents[2]
NEED = "fastembed>=0.6,<1"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment in a folder whose name the shell takes apart, with pip."""
    prefix = tmp_path / "my tools; echo"
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    having(monkeypatch, "pip")
    return prefix


def having(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in modules else None)


def test_what_extras_ask_for_is_what_the_project_declares() -> None:
    declared = tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))["project"]
    assert declared["name"] == installation.DISTRIBUTION
    for extra, needed in declared["optional-dependencies"].items():
        assert set(map(Requirement, installation.requirements(extra))) == set(map(Requirement, needed))
    assert installation.requirements("nothing") == []
    assert installation.add_extra("nothing") == ""


def test_pip_of_this_environment_or_uv(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = str(environment / "bin" / "python")
    assert shlex.split(installation.add([NEED])) == [python, "-m", "pip", "install", NEED]
    assert shlex.split(installation.add([NEED], again=True))[4:] == ["--force-reinstall", NEED]
    having(monkeypatch)
    assert shlex.split(installation.add([NEED])) == ["uv", "pip", "install", "--python", python, NEED]
    assert shlex.split(installation.add([NEED], again=True))[5:] == ["--reinstall", NEED]


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


def test_a_python_is_started_without_imports_from_the_folder() -> None:
    assert installation.environment({"PYTHONPATH": f"{os.pathsep}lib", "A": "1"}) == {
        "A": "1", "PYTHONPATH": os.path.abspath("lib"),
    }  # fmt: skip
    assert installation.environment({"PYTHONPATH": os.pathsep}) == {}
    assert installation.python("-m", "x")[1:] == ["-P", "-m", "x"]
