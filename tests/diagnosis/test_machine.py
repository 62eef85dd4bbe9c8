"""This machine: versions, the vector extension, the files of the bundled models, room on the disks."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from commonplace.base import installation
from commonplace.diagnosis import machine
from commonplace.index.sqlite import vectors
from commonplace.providers.embedding import builtin, chinese
from tests.diagnosis.conftest import Present


def test_the_versions_are_named_and_new_enough(case: Present) -> None:
    (own,) = machine.libraries(case())
    assert own.state == "ok"
    assert f"SQLite {apsw.sqlite_lib_version()}" in own.told
    assert str(Path(machine.__file__).parents[1]) in own.told
    assert "onnxruntime" in " ".join(installation.requirements()), "or nothing was compared"


def test_missing_and_old_libraries(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["no-such-library>=1", "numpy<200,>=99.1", "click<99,>=8"]
    monkeypatch.setattr(installation, "requirements", lambda: needed)
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    _, missing, numpy, sqlite = machine.libraries(case())
    assert (missing.state, missing.told) == ("wrong", "no-such-library is not installed")
    assert numpy.told.endswith("is older than 99.1")
    assert numpy.remedy == installation.add(["numpy<200,>=99.1"], again=True)
    assert sqlite.told == "SQLite 3.40.1 is older than 3.44"


@pytest.mark.parametrize(
    ("version", "numbers"), [("1.19.0rc1", (1, 19, 0)), ("2", (2,)), ("3.54.1.0", (3, 54, 1, 0)), ("dev", ())]
)
def test_as_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert machine.as_numbers(version) == numbers


def test_a_vector_extension_that_is_missing_or_broken(
    case: Present, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(machine.extension(case())) == []
    broken = tmp_path / "vec0.so"
    broken.write_bytes(b"\x7fELF" + b"\0" * 60)
    for place, told in ((None, "is not installed"), (str(broken), "cannot be loaded")):
        monkeypatch.setattr(vectors, "extension_path", lambda place=place: place)
        (found,) = machine.extension(case())
        assert found.state == "warning"
        assert told in found.told
        assert "level 1" in found.told


def test_a_model_file_that_is_not_what_ships(
    case: Present, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(machine.model_files(case())) == []
    for module in (builtin, chinese):
        shutil.copytree(module.FOLDER, tmp_path, dirs_exist_ok=True)  # type: ignore[attr-defined]
        monkeypatch.setattr(module, "FOLDER", tmp_path)
    with open(tmp_path / builtin.MODEL, "r+b") as file:
        file.seek(1000)
        file.write(b"changed")
    os.truncate(tmp_path / builtin.TOKENIZER, 1000)
    (tmp_path / chinese.LEXICON).unlink()
    found = list(machine.model_files(case()))
    assert {finding.state for finding in found} == {"wrong"}
    names = (builtin.MODEL, builtin.TOKENIZER, chinese.LEXICON)
    assert [str(tmp_path / name) in one.told for name, one in zip(names, found, strict=True)] == [True] * 3
    assert "reinstall" in found[0].remedy


@pytest.mark.parametrize(
    ("free", "index", "state"),
    [(5e9, 0, ""), (0.9e9, 0, "warning"), (5e9, 6e8, "warning"), (7e9, 6e8, ""), (99e6, 0, "wrong")],
)
def test_room(
    case: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch, free: float, index: float, state: str
) -> None:
    given = case()
    assert given.workspace is not None
    given.workspace.index.parent.mkdir(parents=True)
    with open(given.workspace.index, "wb") as file:
        file.truncate(int(index))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=int(free)))
    found = list(machine.space(given))
    devices = {place.stat().st_dev for place in (workspace, Path.home())}
    assert [one.state for one in found] == ([state] * len(devices) if state else [])
    assert all(finding.remedy for finding in found)
