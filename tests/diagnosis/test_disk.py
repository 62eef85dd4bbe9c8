"""Room on the disks: plenty, little, next to none; files as well as bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commonplace.diagnosis import machine
from tests.diagnosis.conftest import Present


@pytest.mark.parametrize(
    ("free", "index", "state"),
    [
        (5e9, 0, "ok"),
        (0.9e9, 0, "warning"),
        (5e9, 600_000_000, "warning"),
        (7e9, 600_000_000, "ok"),
        (99e6, 0, "wrong"),
        (0, 10**9, "wrong"),
    ],
)
def test_bytes(free: float, index: int, state: str) -> None:
    found = machine.bytes_left(Path("/notes"), int(free), index)
    assert found.state == state
    assert bool(found.remedy) == (state != "ok")


def test_each_disk_is_told_once(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=50_000_000))
    found = [finding for finding in machine.space(case()) if finding.check == "disk.space"]
    devices = {(place.stat().st_dev) for place in (case().place, Path.home())}
    assert len(found) == len(devices)
    assert {finding.state for finding in found} == {"wrong"}


def test_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    assert machine.existing(tmp_path / "a" / "b") == tmp_path
    assert machine.existing(Path("relative/none")) == Path()
