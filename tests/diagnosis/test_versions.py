"""Versions: what is installed, missing or too old."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from commonplace.base import installation
from commonplace.diagnosis import machine
from commonplace.diagnosis.machine import Library
from tests.diagnosis.conftest import Present, by_check

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def named(requirement: str) -> tuple[str, str]:
    name, _, rest = requirement.partition(">=")
    return name, rest.partition(",")[0]


def test_the_tables_say_what_the_project_says() -> None:
    assert sorted((library.name, library.least) for library in machine.NEEDED) == sorted(
        map(named, PROJECT["dependencies"])
    )
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
