"""Versions: what is installed, what is missing or too old, extras that break, programs on PATH."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest

from commonplace.base import installation
from commonplace.diagnosis import machine
from commonplace.diagnosis.machine import Library
from tests.diagnosis.conftest import Present, by_check, states

EXTRAS = machine.EXTRAS  # all of them: tests look at one
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def named(requirement: str) -> tuple[str, str]:
    name, _, rest = requirement.partition(">=")
    return name, rest.partition(",")[0]


def test_the_tables_say_what_the_project_says() -> None:
    assert sorted((library.name, library.least) for library in machine.NEEDED) == sorted(
        map(named, PROJECT["dependencies"])
    )
    extras = {name: named(one) for name, (one, *_) in PROJECT["optional-dependencies"].items()}
    assert extras.items() <= {name: row[::2] for name, row in EXTRAS.items()}.items()
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, machine.LEAST_PYTHON))


def test_what_is_needed_is_here(case: Present) -> None:
    found = by_check(machine.libraries(case()))
    assert {finding.state for finding in found.values()} == {"ok"}
    assert "versions.onnxruntime" in found
    assert str(Path(machine.__file__).parents[1]) in found["versions.commonplace"].told


def test_missing_and_old_libraries(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        Library("no-such-library", "no_such", "1"),
        Library("numpy", "numpy", "99.1"),
        Library("click", "no_such_module", "8"),
    )
    monkeypatch.setattr(machine, "NEEDED", rows)
    found = by_check(machine.libraries(case()))
    assert [found[f"versions.{row.name}"].state for row in rows] == ["wrong"] * 3
    assert found["versions.numpy"].told.endswith("is older than 99.1")
    assert found["versions.numpy"].remedy == installation.add(["numpy>=99.1"])


def test_an_old_python(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert by_check(machine.libraries(case()))["versions.python"].state == "wrong"


@pytest.mark.parametrize(
    ("version", "numbers"), [("1.19.0rc1", (1, 19, 0)), ("2", (2,)), ("3.54.1.0", (3, 54, 1, 0)), ("dev", ())]
)
def test_as_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert machine.as_numbers(version) == numbers


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution `broken-extra`, whose module a test writes."""
    site = tmp_path / "site"
    about = site / "broken_extra-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-extra\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    rows = {
        "broken": Library("broken-extra", "broken_extra", "1"),
        "gone": Library("no-such", "no_such", "1"),
    }
    monkeypatch.setattr(machine, "EXTRAS", rows)
    return site / "broken_extra.py"


def test_an_extra_that_can_be_imported_and_one_that_is_not_installed(case: Present, library: Path) -> None:
    library.write_text("print('noise')\n")
    found = by_check(machine.extras(case()))
    assert states(found.values()) == {"versions.broken": "ok", "versions.extras": "skipped"}
    assert found["versions.broken"].told == "broken-extra 1.2 (extra broken)"
    assert found["versions.extras"].told == "not installed: gone"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise ImportError('libfoo.so.1: cannot open')\n", "libfoo.so.1: cannot open"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n", f"code {-4}"),
    ],
    ids=["raises", "dies"],
)
def test_an_extra_that_breaks_where_it_is_imported(
    case: Present, library: Path, text: str, told: str
) -> None:
    library.write_text(text)
    found = by_check(machine.extras(case()))["versions.broken"]
    assert found.state == "warning"
    assert found.told.endswith(told)
    assert found.remedy == installation.add(["broken-extra"], again=True)


def test_an_extra_that_never_ends_to_load(
    case: Present, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(machine, "IMPORT_S", 0.2)
    assert by_check(machine.extras(case()))["versions.broken"].state == "warning"


def test_nothing_of_the_current_folder_is_imported(
    case: Present, library: Path, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.write_text("")
    (nobody / "broken_extra.py").write_text("raise SystemExit('mine')\n")
    assert by_check(machine.extras(case()))["versions.broken"].state == "ok"


def program(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "commonplace"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("requires", "state", "told"),
    [
        ((), "ok", "plain 2.0 (extra plain)"),
        (("apsw>=3",), "ok", "plain 2.0 (extra plain)"),
        (("nowhere-to-be-found>=1", "more ; extra == 'x'"), "warning", "nowhere-to-be-found is missing"),
    ],
)
def test_an_extra_in_python_alone_is_not_imported(
    requires: tuple[str, ...], state: str, told: str,
    case: Present, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Nothing compiled can end a process here: it is enough that all it requires is there."""
    (tmp_path / "plain.py").write_text("raise SystemExit('imported')\n")
    folder = tmp_path / "plain-2.0.dist-info"
    folder.mkdir()
    lines = [
        "Metadata-Version: 2.1",
        "Name: plain",
        "Version: 2.0",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    (folder / "METADATA").write_text("\n".join([*lines, ""]))
    (folder / "RECORD").write_text("plain.py,,\nplain-2.0.dist-info/METADATA,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(machine, "EXTRAS", {"plain": Library("plain", "plain", "1")})
    found = by_check(machine.extras(case()))["versions.plain"]
    assert (found.state, told in found.told) == (state, True), found
    (tmp_path / "plain.py").unlink()
    if state == "ok":
        (found,) = machine.extras(case())
        assert "cannot be imported: plain is missing" in found.told
