"""Names that change places, and leases."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.base import swap

linux = pytest.mark.skipif(sys.platform != "linux", reason="leases of Linux")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "one").write_text("1")
    (tmp_path / "other").write_text("2")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@linux
def test_names_change_places(tmp_path: Path, folder: int) -> None:
    assert swap.exchange(folder, "one", "other")
    assert ((tmp_path / "one").read_text(), (tmp_path / "other").read_text()) == ("2", "1")
    with pytest.raises(FileNotFoundError):
        swap.exchange(folder, "one", "none")
    assert not swap.exchange(folder, "one", "none", missing_ok=True)


@pytest.mark.parametrize("can", ["all", "link", "nothing"])
def test_a_new_name_replaces_nothing(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch, can: str
) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if can != "all":
        monkeypatch.setattr(swap, "_renamed", lambda *arguments: False)
    if can == "nothing":
        monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(FileExistsError):
        swap.move_new(folder, "one", "other")
    assert (tmp_path / "other").read_text() == "2"
    swap.move_new(folder, "one", "new")
    assert sorted(os.listdir(tmp_path)) == ["new", "other"]
    assert (tmp_path / "new").read_text() == "1"


@linux
def test_a_lease_is_given_while_nobody_writes_and_says_who_comes(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.write_text("x")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with open(path, "a"):
            assert swap.lease(descriptor) is False
        assert swap.lease(descriptor) is True
        assert swap.is_leased(descriptor)
        path.read_text()
        assert swap.is_leased(descriptor)
        writer = threading.Thread(target=lambda: path.write_text("longer"))
        writer.start()
        while swap.is_leased(descriptor):
            pass
        assert path.read_text() == "x"  # whoever comes waits, and has truncated nothing
        swap.end_lease(descriptor)
        writer.join()
        assert path.read_text() == "longer"
    finally:
        os.close(descriptor)
