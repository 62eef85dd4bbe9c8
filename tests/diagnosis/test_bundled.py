"""The bundled model: whole, cut short, changed, missing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.diagnosis import machine
from commonplace.providers.embedding import builtin, chinese
from tests.diagnosis.conftest import Present, by_check, states

FINE = {
    "model.model": "ok",
    "model.tokenizer": "ok",
    "model.encoder": "ok",
    "model.pieces": "ok",
    "model.lexicon": "ok",
}


def test_the_files_that_ship(case: Present) -> None:
    found = by_check(machine.model_files(case()))
    assert states(found.values()) == FINE
    assert builtin.FILES[builtin.MODEL][:12] in found["model.model"].told


def test_it_tells_near_from_far(case: Present) -> None:
    assert states(machine.model_vectors(case())) == {"model.vectors": "ok"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in (builtin.FOLDER, chinese.FOLDER):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def cut(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)


def change(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("hurt", [cut, change, Path.unlink], ids=["cut", "changed", "missing"])
@pytest.mark.parametrize("name", [*builtin.FILES, *chinese.FILES])
def test_a_file_that_is_not_what_ships(case: Present, copy: Path, name: str, hurt: object) -> None:
    hurt(copy / name)  # type: ignore[operator]
    found = by_check(machine.model_files(replace(case(), model_folder=copy, chinese_folder=copy)))
    check = f"model.{Path(name).stem}"
    assert states(found.values()) == {**FINE, check: "wrong"}
    assert str(copy / name) in found[check].told
    assert "reinstall" in found[check].remedy
    (vectors,) = machine.model_vectors(replace(case(), model_folder=copy, chinese_folder=copy))
    assert vectors.state == "wrong"
    assert name in vectors.told
