"""SQLite: what it can do, and where its files lie."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from commonplace.diagnosis import machine
from commonplace.index.sqlite import vectors
from tests.diagnosis.conftest import Present, by_check, states


def test_all_that_is_needed_works(case: Present) -> None:
    assert states(machine.features(case())) == {
        "sqlite.version": "ok",
    }


def test_a_sqlite_of_the_system_that_is_too_old(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    found = by_check(machine.features(case()))["sqlite.version"]
    assert found.state == "wrong"
    assert "older than 3.44" in found.told


def test_the_extension_computes(case: Present) -> None:
    assert states(machine.extension(case())) == {"sqlite.extension": "ok"}


def test_an_extension_that_is_missing_or_broken(
    case: Present, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "vec0.so"
    broken.write_bytes(b"\x7fELF" + b"\0" * 60)
    for place, told in ((None, "is not installed"), (str(broken), "cannot be loaded")):
        monkeypatch.setattr(vectors, "extension_path", lambda place=place: place)
        found = by_check(machine.extension(case()))["sqlite.extension"]
        assert found.state == "warning"
        assert told in found.told
        assert "level 1" in found.told
